//! What a thread goes on with before the next operation of its program.

use crate::memory::PhysicalAddress;
use crate::space::Spaces;
use solo_model::{BufferId, Bytes};
use solo_workload::Access;

/// What comes first.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Again {
    /// An access that found no free miss register.
    Access(Access),
    /// The next line that caches are emptied of.
    Flush,
}

/// What a thread has yet to empty caches of.
#[derive(Debug)]
pub(crate) struct Flushing {
    /// The caches; those of the core that began it.
    pub(crate) caches: Vec<usize>,
    /// Their lines.
    pub(crate) lines: Lines,
    /// How many of them are done.
    pub(crate) done: u64,
}

/// Lines that caches are emptied of.
#[derive(Debug)]
pub(crate) enum Lines {
    /// Those that the caches held when it began.
    Held(Vec<PhysicalAddress>),
    /// Those of a buffer of this size.
    Of(BufferId, Bytes),
}

impl Flushing {
    /// The next line; `None` where all are done.
    pub(crate) fn next(&self, spaces: &Spaces, line: Bytes) -> Option<PhysicalAddress> {
        match &self.lines {
            Lines::Held(lines) => lines.get(self.done as usize).copied(),
            Lines::Of(buffer, size) => {
                let offset = Bytes::new(self.done.saturating_mul(line.get()));
                (offset < *size).then(|| spaces.translate(*buffer, offset))
            }
        }
    }
}
