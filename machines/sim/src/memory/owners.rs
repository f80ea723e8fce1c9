//! Whose the lines of a cache are: each carries the id of whoever brought it in (Intel CMT; PMCTrack 4.3).

use solo_model::Rmid;

/// Where the id of a line stands in the word that has its holders, whose bits are below.
const SHIFT: u32 = 16;

/// An id, above the bits of holders.
pub(crate) const fn tag(rmid: Rmid) -> u64 {
    (rmid.0 as u64) << SHIFT
}

/// The id of each line, and how many lines each id has.
#[derive(Clone, Debug)]
pub(super) struct Owners {
    by_slot: Box<[u16]>,
    lines: Box<[u64]>,
}

impl Owners {
    /// So many ids; the lines that are there already are nobody's.
    pub(super) fn new(slots: usize, rmids: u16, held: u64) -> Self {
        let mut lines: Box<[u64]> = vec![0; usize::from(rmids.max(1))].into();
        lines[Rmid::NOBODY.index()] = held;
        Self { by_slot: vec![0; slots].into(), lines }
    }

    /// The line in `slot` leaves.
    pub(super) fn leave(&mut self, slot: usize) {
        self.lines[usize::from(self.by_slot[slot])] -= 1;
    }

    /// A line comes into `slot`, with the id that stands [above](tag) its holders. An id that there is not is nobody's.
    pub(super) fn come(&mut self, slot: usize, holders: u64) {
        let rmid = (holders >> SHIFT) as u16;
        let rmid = if usize::from(rmid) < self.lines.len() { rmid } else { Rmid::NOBODY.0 };
        self.by_slot[slot] = rmid;
        self.lines[usize::from(rmid)] += 1;
    }

    /// The lines that carry an id.
    pub(super) fn lines(&self, rmid: Rmid) -> Option<u64> {
        self.lines.get(rmid.index()).copied()
    }
}
