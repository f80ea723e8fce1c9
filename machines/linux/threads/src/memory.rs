//! The buffers that jobs touch: real memory, shared by all threads.

use crate::flush;
use solo_model::BufferId;
use solo_model::work::Buffer;
use solo_workload::{Access, AccessKind};
use std::sync::atomic::{AtomicU8, Ordering};

/// The buffers of an experiment, by their position.
pub(crate) struct Memory(Vec<Vec<AtomicU8>>);

impl Memory {
    /// All of it, each page written once, so that no job meets a page that is not there.
    pub(crate) fn new(buffers: &[Buffer]) -> Self {
        let page = |buffer: &Buffer| (0..buffer.size.get()).map(|_| AtomicU8::new(1)).collect();
        Self(buffers.iter().map(page).collect())
    }

    /// Takes the lines of a buffer out of all caches, as long as `goes_on`. False where it did not go on.
    pub(crate) fn flush(&self, buffer: BufferId, goes_on: impl FnMut() -> bool) -> bool {
        match (self.0.get(buffer.index()), flush::line()) {
            (Some(bytes), Some(line)) => flush::flush(bytes, line, goes_on),
            _ => true,
        }
    }

    /// Performs the accesses to one line, with what follows each.
    pub(crate) fn touch(&self, access: &Access, mut think: impl FnMut()) {
        let Some(buffer) = self.0.get(access.buffer.index()) else { return };
        for (offset, kind) in access.each() {
            let byte = usize::try_from(offset.get()).ok().and_then(|offset| buffer.get(offset));
            let Some(byte) = byte else { return };
            match kind {
                AccessKind::Write => byte.store(1, Ordering::Relaxed),
                AccessKind::Read | AccessKind::Fetch => {
                    std::hint::black_box(byte.load(Ordering::Relaxed));
                }
            }
            if !access.think.is_zero() {
                think();
            }
        }
    }
}
