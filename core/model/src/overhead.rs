//! The six sources of run-time overhead (thesis 2.5, Table 5) and what they cost.

use crate::units::Duration;
use alloc::string::String;
use alloc::vec::Vec;

/// A source of run-time overhead. The kernel brackets each with a probe.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[repr(u8)]
pub enum Overhead {
    /// Saving one thread's registers and loading another's: `cxs`.
    ContextSwitch,
    /// Handling a timer interrupt: counting a tick or reprogramming a one-shot timer: `tck`.
    Tick,
    /// Releasing all threads whose time has come: `rel`.
    Release,
    /// Choosing the thread to run, with its queue operations: `scd`.
    Scheduling,
    /// The way of a reschedule request from one core to another: `ipi`.
    Ipi,
    /// Loss of cache affinity after a preemption or migration (CPMD): `cpd`. The simulated caches produce it
    /// by themselves; the probe marks its start.
    CacheAffinity,
}

impl Overhead {
    /// All sources, in the order of the thesis's Table 5.
    pub const ALL: [Self; 6] =
        [Self::ContextSwitch, Self::Scheduling, Self::Release, Self::Tick, Self::Ipi, Self::CacheAffinity];

    /// The name in files and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ContextSwitch => "context-switch",
            Self::Tick => "tick",
            Self::Release => "release",
            Self::Scheduling => "scheduling",
            Self::Ipi => "ipi",
            Self::CacheAffinity => "cache-affinity",
        }
    }
}

/// What each source costs, as a step function of the number of threads (thesis 5.1).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OverheadTable {
    /// Where the numbers come from.
    pub source: String,
    /// For each source in the order of [`Overhead::ALL`]: steps `(from this many threads, cost)`, ascending.
    pub steps: [Vec<(u32, Duration)>; 6],
}

impl OverheadTable {
    /// A table in which everything is free: the ideal machine of schedulability theory.
    pub fn free() -> Self {
        Self { source: String::from("free"), ..Self::default() }
    }

    /// The cost of `overhead` with `threads` threads: that of the last step at or below, but never less than
    /// an earlier step (the thesis's step function), zero before the first.
    pub fn cost(&self, overhead: Overhead, threads: u32) -> Duration {
        let row = Overhead::ALL.iter().position(|&o| o == overhead).unwrap_or(0);
        let reached = self.steps[row].iter().take_while(|(from, _)| *from <= threads);
        reached.map(|&(_, cost)| cost).max().unwrap_or(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn a_step_never_falls_below_an_earlier_one() {
        let mut table = OverheadTable::free();
        table.steps[0] = vec![(5, Duration::new(30)), (25, Duration::new(50)), (50, Duration::new(40))];
        let cost = |threads| table.cost(Overhead::ContextSwitch, threads).get();
        assert_eq!([cost(4), cost(5), cost(24), cost(25), cost(60)], [0, 30, 30, 50, 50]);
        assert_eq!(table.cost(Overhead::Ipi, 60), Duration::ZERO);
    }
}
