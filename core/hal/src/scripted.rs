//! Counters that read what is written down, for cases that every machine must decide alike.

use crate::pmu::{CounterId, PmuError};
use alloc::vec::Vec;
use solo_model::listening::ScriptedCount;
use solo_model::{Caps, CoreId, EventId, EventSet, Experiment, Instant};

/// The counters of all cores by a script: a machine asks them instead of its own. They raise no interrupt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScriptedCounters {
    script: Vec<ScriptedCount>,
    /// What each counter counts, and what is taken off since it was last written to.
    counters: Vec<(CoreId, CounterId, EventId, u64)>,
}

impl ScriptedCounters {
    /// How many counters each core has.
    pub const COUNTERS: u8 = 4;

    /// Counters that read what `script` says; `None` where it says nothing.
    pub fn new(script: &[ScriptedCount]) -> Option<Self> {
        let room = Self::COUNTERS as usize * (1 + script.iter().map(|count| count.core.index()).max()?);
        Some(Self { script: script.to_vec(), counters: Vec::with_capacity(room) })
    }

    /// The counters of an experiment, where it writes counts down.
    pub fn of(experiment: &Experiment) -> Option<Self> {
        Self::new(&experiment.listening.as_ref()?.script)
    }

    /// What a machine is able to do when it asks the script of `experiment` instead of its own counters.
    pub fn lend(experiment: &Experiment, caps: Caps) -> Caps {
        match Self::of(experiment) {
            Some(_) => Caps {
                counters: Self::COUNTERS,
                fixed_counters: 0,
                counter_width: 64,
                counter_overflow: false,
                countable: EventSet::ALL,
                ..caps
            },
            None => caps,
        }
    }

    /// As [`Pmu::configure`](crate::Pmu::configure), at `now`.
    ///
    /// # Errors
    /// If there is no such counter.
    pub fn configure(
        &mut self,
        core: CoreId,
        counter: CounterId,
        event: EventId,
        now: Instant,
    ) -> Result<(), PmuError> {
        if counter.0 >= Self::COUNTERS {
            return Err(PmuError::NoSuchCounter { counter, counters: Self::COUNTERS });
        }
        let counted = self.counted(core, event, now);
        self.counters.retain(|known| (known.0, known.1) != (core, counter));
        self.counters.push((core, counter, event, counted));
        Ok(())
    }

    /// As [`Pmu::read`](crate::Pmu::read), at `now`.
    ///
    /// # Errors
    /// If the counter was not configured.
    pub fn read(&self, core: CoreId, counter: CounterId, now: Instant) -> Result<u64, PmuError> {
        let known = self.counters.iter().find(|known| (known.0, known.1) == (core, counter));
        let &(_, _, event, off) =
            known.ok_or(PmuError::NoSuchCounter { counter, counters: Self::COUNTERS })?;
        Ok(self.counted(core, event, now).wrapping_sub(off))
    }

    /// As [`Pmu::write`](crate::Pmu::write), at `now`.
    ///
    /// # Errors
    /// If the counter was not configured.
    pub fn write(
        &mut self,
        core: CoreId,
        counter: CounterId,
        value: u64,
        now: Instant,
    ) -> Result<(), PmuError> {
        let place = self.counters.iter().position(|known| (known.0, known.1) == (core, counter));
        let place = place.ok_or(PmuError::NoSuchCounter { counter, counters: Self::COUNTERS })?;
        let counted = self.counted(core, self.counters[place].2, now);
        self.counters[place].3 = counted.wrapping_sub(value);
        Ok(())
    }

    /// What the script says has been counted until `now`.
    fn counted(&self, core: CoreId, event: EventId, now: Instant) -> u64 {
        let of = |count: &&ScriptedCount| count.core == core && count.event == event && count.at <= now;
        self.script.iter().filter(of).fold(0, |sum, count| sum.saturating_add(count.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_reads_what_the_script_says_since_it_was_written() {
        let (core, counter, event) = (CoreId(1), CounterId(0), EventId::SNOOP_HITM);
        let at = Instant::new;
        let count = |at, count| ScriptedCount { core, event, at, count };
        let script = [count(at(10), 5), count(at(20), 7), count(at(20), 1)];
        let mut counters = ScriptedCounters::new(&script).expect("it says something");
        assert!(counters.read(core, counter, at(0)).is_err(), "nobody has said what it counts");
        counters.configure(core, counter, event, at(0)).expect("it is there");
        let read = |counters: &ScriptedCounters, now| counters.read(core, counter, at(now));
        assert_eq!([9, 10, 19, 20].map(|now| read(&counters, now)), [Ok(0), Ok(5), Ok(5), Ok(13)]);
        counters.write(core, counter, 0, at(15)).expect("it is configured");
        assert_eq!([15, 20].map(|now| read(&counters, now)), [Ok(0), Ok(8)]);
        assert!(counters.configure(core, CounterId(4), event, at(0)).is_err());
        assert!(ScriptedCounters::new(&[]).is_none());
    }
}
