//! Control of a last-level cache: which ways a core may fill, which pages stay, and whose lines are in it.

use solo_model::{Bytes, CoreId, Rmid};

/// Pages that are locked and unlocked together, by a number: those of a task come first, by the task's number, then those of
/// each partition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PageGroup(pub u32);

/// Control of the last-level cache of each core. The kernel says when; which lines the pages of a group are, and in which
/// cache, the machine knows from the experiment.
///
/// A machine without it keeps the bodies that stand here, which do nothing: its [`Caps`](solo_model::Caps) promise no ways and
/// no locks, so that no experiment that needs them is admitted.
pub trait CacheControl {
    /// From the next switch of `core` on, what runs there fills only these ways of the last level, a bit each (CAT). Lines
    /// elsewhere still hit.
    fn fill_ways(&mut self, _core: CoreId, _mask: u64) {}

    /// The same from now on: for what runs on `core` already.
    fn fill_ways_now(&mut self, _core: CoreId, _mask: u64) {}

    /// From the next switch of `core` on, lines that it brings into its last level carry this id (the register of Intel CMT).
    /// Lines that are there keep theirs.
    fn tag_lines(&mut self, _core: CoreId, _rmid: Rmid) {}

    /// What the lines take that carry this id in the last level of `core`; `None` where that can't be told.
    fn occupancy(&self, _core: CoreId, _rmid: Rmid) -> Option<Bytes> {
        None
    }

    /// The thread on `core` loads the pages of `group` and locks each line as it has arrived, before it goes on with its work
    /// (Colored Lockdown, SCE 2.3).
    fn lock_pages(&mut self, _core: CoreId, _group: PageGroup) {}

    /// The pages of `group` are unlocked by `core`, before it goes on with anything else.
    fn unlock_pages(&mut self, _core: CoreId, _group: PageGroup) {}
}
