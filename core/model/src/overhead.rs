//! The sources of run-time overhead (thesis 2.5, Table 5) and what they cost.

use crate::units::{Bytes, Duration};
use alloc::string::String;
use alloc::vec::Vec;

/// The sources of run-time overhead, a line each: the line registers a source for the whole house.
///
/// ```text
/// /// What it is.
/// Name = "name in files": path, "name in words";
/// ```
/// The lines stand in the order in which records number them; a new one comes last.
macro_rules! sources {
    ($with:ident) => {
        $with! {
            /// Saving one thread's registers and loading another's: `cxs`.
            ContextSwitch = "context-switch": Path::Switch, "context switch";
            /// Handling a timer interrupt: counting a tick or reprogramming a one-shot timer: `tck`.
            Tick = "tick": Path::Tick, "tick";
            /// Releasing all threads whose time has come: `rel`.
            Release = "release": Path::Release, "release";
            /// Choosing the thread to run, with its queue operations: `scd`.
            Scheduling = "scheduling": Path::Decision, "scheduling";
            /// The way of a reschedule request from one core to another: `ipi`.
            Ipi = "ipi": Path::Request, "reschedule request";
            /// Loss of cache affinity after a preemption or migration (CPMD): `cpd`. The simulated caches produce it
            /// by themselves; the probe marks its start.
            CacheAffinity = "cache-affinity": Path::Affinity, "loss of cache affinity";
            /// Reading a core's counters for a scheduler that listens, and what it makes of them. With the tick beside it, it is
            /// the handler and the evaluation of thesis Table 17.
            Counters = "counters": Path::Counters, "reading counters";
        }
    };
}

macro_rules! define {
    ($($(#[$doc:meta])* $name:ident = $word:literal: $path:expr, $words:literal;)+) => {
        /// A source of run-time overhead. The kernel brackets each with a probe.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
        #[repr(u8)]
        pub enum Overhead { $($(#[$doc])* $name,)+ }

        impl Overhead {
            /// How many there are.
            pub const COUNT: usize = [$($word),+].len();

            /// All sources by their paths, in the order of the thesis's Table 5.
            pub const ALL: [Self; Self::COUNT] = by_path([$(Self::$name),+]);

            /// The name in files and tables.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $word),+ }
            }

            /// The name in words.
            pub const fn words(self) -> &'static str {
                match self { $(Self::$name => $words),+ }
            }

            /// The path of the kernel that it belongs to.
            pub const fn path(self) -> Path {
                match self { $(Self::$name => $path),+ }
            }
        }
    };
}

sources!(define);

/// The sources in the order of their paths; those of one path stay in theirs.
const fn by_path(mut sources: [Overhead; Overhead::COUNT]) -> [Overhead; Overhead::COUNT] {
    let mut sorted = 1;
    while sorted < sources.len() {
        let mut at = sorted;
        while at > 0 && sources[at - 1].path() as u8 > sources[at].path() as u8 {
            (sources[at - 1], sources[at]) = (sources[at], sources[at - 1]);
            at -= 1;
        }
        sorted += 1;
    }
    sources
}

/// A path of the kernel, in the order of the thesis's Table 5: analyses charge what all sources on it cost each time the path
/// is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Path {
    /// Another thread comes onto a core.
    Switch,
    /// The thread to run is chosen.
    Decision,
    /// Threads are released.
    Release,
    /// A timer interrupts.
    Tick,
    /// A request goes from one core to another: time passes on its way, and not on a core.
    Request,
    /// A thread finds caches cold: time passes in the caches, and not in the kernel.
    Affinity,
    /// The counters of a core are looked at, because a period is over or one has overflowed.
    Counters,
}

/// What each source costs, as a step function of the number of threads (thesis 5.1).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OverheadTable {
    /// Where the numbers come from.
    pub source: String,
    /// For each source in the order of [`Overhead::ALL`]: steps `(from this many threads, cost)`, ascending.
    pub steps: [Vec<(u32, Duration)>; Overhead::COUNT],
    /// What a job that is resumed has lost with the caches, by the memory that it touches (thesis 5.8): steps `(up to so many bytes,
    /// loss)`, ascending. Counted beside the steps of [`Overhead::CacheAffinity`], which are one loss for all.
    #[cfg_attr(feature = "serde", serde(default))]
    pub affinity: Vec<(Bytes, Duration)>,
    /// The costs were taken without cache misses: what a path misses comes on top, where the kernel's data are simulated.
    #[cfg_attr(feature = "serde", serde(default))]
    pub without_misses: bool,
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

    /// What a job that touches so much memory has lost with the caches when it is resumed, one of `threads`: the loss that was measured at
    /// the next larger size, and never less than at a smaller one. Beyond the largest size memory is lost piece by piece, each as large
    /// as that; who touches nothing loses nothing.
    pub fn loss_of_affinity(&self, touched: Bytes, threads: u32) -> Duration {
        if touched.get() == 0 {
            return Duration::ZERO;
        }
        let for_all = self.cost_of_path(Path::Affinity, threads);
        let smaller = self.affinity.iter().take_while(|(size, _)| *size < touched);
        let next = self.affinity.iter().find(|(size, _)| *size >= touched);
        let most = smaller.chain(next).map(|&(_, loss)| loss).max().unwrap_or(Duration::ZERO);
        let pieces = match (next, self.affinity.last()) {
            (None, Some(&(largest, _))) => touched.in_pieces_of(Bytes::new(largest.get().max(1))),
            _ => 1,
        };
        for_all.saturating_add(Duration::new(most.get().saturating_mul(pieces)))
    }

    /// The cost of all sources on `path` with `threads` threads.
    pub fn cost_of_path(&self, path: Path, threads: u32) -> Duration {
        let sources = Overhead::ALL.into_iter().filter(|source| source.path() == path);
        sources.fold(Duration::ZERO, |sum, source| sum.saturating_add(self.cost(source, threads)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn a_loss_of_affinity_is_that_of_the_next_larger_size_and_never_falls() {
        let us = Duration::from_micros;
        let kib = Bytes::from_kib;
        let affinity = vec![(kib(4), us(3)), (kib(64), us(50)), (kib(256), us(40))];
        let mut table = OverheadTable { affinity, ..OverheadTable::free() };
        let loss = |table: &OverheadTable, bytes| table.loss_of_affinity(bytes, 5);
        assert_eq!(loss(&table, Bytes::ZERO), Duration::ZERO);
        assert_eq!(loss(&table, Bytes::new(1)), us(3));
        assert_eq!(loss(&table, kib(4)), us(3));
        assert_eq!(loss(&table, kib(5)), us(50));
        // 256 KiB lost less than 64 KiB did: the more memory, the more is counted.
        assert_eq!(loss(&table, kib(200)), us(50));
        // Nobody measured as much: three pieces of at most 256 KiB.
        assert_eq!(loss(&table, kib(600)), us(150));
        assert_eq!(loss(&table, Bytes::new(u64::MAX)).get(), 50_000 * (u64::MAX.div_ceil(256 << 10)));
        let row = Overhead::ALL.iter().position(|&source| source.path() == Path::Affinity).unwrap_or(0);
        table.steps[row] = vec![(0, us(1))];
        assert_eq!(loss(&table, kib(4)), us(4));
        assert_eq!(loss(&OverheadTable::free(), kib(4)), Duration::ZERO);
    }

    #[test]
    fn sources_stand_in_the_order_of_the_table_and_a_path_costs_what_its_sources_cost() {
        let names = Overhead::ALL.map(Overhead::name);
        let table = ["context-switch", "scheduling", "release", "tick", "ipi", "cache-affinity", "counters"];
        let known = names.iter().filter(|name| table.contains(name));
        assert!(known.eq(&table), "{names:?}");
        let mut costs = OverheadTable::free();
        for (place, steps) in (0..).zip(&mut costs.steps) {
            steps.push((0, Duration::new(1 << place)));
        }
        let paths = [
            Path::Switch,
            Path::Decision,
            Path::Release,
            Path::Tick,
            Path::Request,
            Path::Affinity,
            Path::Counters,
        ];
        let sum: u64 = paths.iter().map(|&path| costs.cost_of_path(path, 1).get()).sum();
        assert_eq!(sum, (1 << Overhead::COUNT) - 1, "each source is charged once");
    }

    #[test]
    fn a_step_never_falls_below_an_earlier_one() {
        let mut table = OverheadTable::free();
        table.steps[0] = vec![(5, Duration::new(30)), (25, Duration::new(50)), (50, Duration::new(40))];
        let cost = |threads| table.cost(Overhead::ContextSwitch, threads).get();
        assert_eq!([cost(4), cost(5), cost(24), cost(25), cost(60)], [0, 30, 30, 50, 50]);
        assert_eq!(table.cost(Overhead::Ipi, 60), Duration::ZERO);
    }
}
