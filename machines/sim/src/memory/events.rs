//! Events that only look on, and the front-side bus of platforms that have one.

use super::bus::Transaction;
use super::coherence::State;
use super::hierarchy::Hierarchy;
use solo_model::{CoreId, CoreSet, Picoseconds, Signal, SignalCounts};

/// What the caches that meet at memory said to an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Outside {
    /// The core that an agent which has the line counts for.
    pub(super) owner: Option<CoreId>,
    /// That agent has changed it.
    pub(super) dirty: bool,
}

/// A second-level cache has taken a line in; into a way that was `empty`, or in the place of another.
#[inline(always)]
pub(super) fn count_fill(counts: &mut SignalCounts, state: State, empty: bool) {
    counts.increment(Signal::L2AddressStrobes);
    if empty {
        counts.increment(Signal::L2LinesInInvalid);
    }
    if matches!(state, State::Shared | State::Forward) {
        counts.increment(Signal::L2LinesInShared);
    }
}

impl Hierarchy {
    /// First-level data caches of these cores were looked up for another core.
    pub(super) fn count_snoops(&mut self, cores: CoreSet, write: bool) {
        let event = if write { Signal::CmpSnoopInvalidate } else { Signal::CmpSnoopShare };
        cores.iter().for_each(|core| self.counts[core.index()].increment(event));
    }

    /// An access goes over the bus, which it reaches after `base`; `here` where a cache of the path has the line and
    /// only wants the permission to write it. True where caches answer, and the time until they do; else the time
    /// until memory is asked.
    pub(super) fn over_the_bus(
        &mut self,
        core: CoreId,
        now: Picoseconds,
        base: Picoseconds,
        (here, write): (bool, bool),
        outside: &Outside,
    ) -> (bool, Picoseconds) {
        let transaction = match outside {
            _ if here => Transaction::Invalidate,
            Outside { dirty: true, .. } => Transaction::Modified,
            // Who gives a clean line up answers like one who never had it.
            Outside { owner: Some(_), .. } if !write => Transaction::Hit,
            Outside { .. } => Transaction::Clean,
        };
        let Some(bus) = &mut self.bus else { return (here, base) };
        let granted = bus.transact(now + base, core, outside.owner, transaction, &mut self.counts);
        match transaction {
            Transaction::Clean | Transaction::Hit => (false, base + granted.addressed),
            _ => (true, base + granted.answered),
        }
    }

    /// A changed line leaves the outermost cache at `at`: when it is at memory.
    #[inline]
    pub(super) fn write_back_over_the_bus(&mut self, core: CoreId, at: Picoseconds) -> Picoseconds {
        match &mut self.bus {
            None => at,
            Some(bus) => at + bus.transact(at, core, None, Transaction::WriteBack, &mut self.counts).answered,
        }
    }
}
