//! Address spaces: which frames hold which buffer.

use crate::frames::Frames;
use crate::memory::PhysicalAddress;
use solo_hal::{FrameAllocator, FrameError};
use solo_model::work::Buffer;
use solo_model::{BufferId, Bytes, Platform};

/// The page tables of all buffers.
pub(crate) struct Spaces {
    tables: Vec<Box<[u64]>>,
    page_shift: u32,
    page_mask: u64,
}

impl Spaces {
    /// Gives every page of every buffer a frame, in the order of the experiment.
    pub(crate) fn new(
        platform: &Platform,
        buffers: &[Buffer],
        frames: &mut Frames,
    ) -> Result<Self, FrameError> {
        let mut tables = Vec::with_capacity(buffers.len());
        for buffer in buffers {
            let pages = buffer.size.in_pieces_of(platform.page);
            let table: Result<Box<[u64]>, FrameError> =
                (0..pages).map(|_| frames.allocate(None).map(|frame| frame.0)).collect();
            tables.push(table?);
        }
        Ok(Self {
            tables,
            page_shift: platform.page.get().trailing_zeros(),
            page_mask: platform.page.get() - 1,
        })
    }

    /// The physical address of a byte of a buffer. Offsets beyond the end wrap around.
    pub(crate) fn translate(&self, buffer: BufferId, offset: Bytes) -> PhysicalAddress {
        let table = &self.tables[buffer.index()];
        let page = (offset.get() >> self.page_shift) as usize;
        let frame = if page < table.len() { table[page] } else { table[page % table.len()] };
        PhysicalAddress(frame << self.page_shift | offset.get() & self.page_mask)
    }
}
