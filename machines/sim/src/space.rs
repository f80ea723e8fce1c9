//! Address spaces: which frames hold which buffer.

use crate::frames::{FrameError, Frames};
use crate::memory::PhysicalAddress;
use crate::outcome::SimError;
use solo_isolate::admission::{group_of, groups, holder_of, kernel_group};
use solo_isolate::frames::Order;
use solo_isolate::{ColoredFrames, IsolationRefusal, MemoryMap};
use solo_model::isolation::{Coloring, LockedPage};
use solo_model::platform::FramePolicy;
use solo_model::work::Buffer;
use solo_model::{BufferId, Bytes, Experiment, Platform};

/// The page tables of all buffers.
pub(crate) struct Spaces {
    tables: Vec<Box<[u64]>>,
    /// The frames of the kernel's own data, where it touches any.
    kernel: Vec<u64>,
    page_shift: u32,
    page_mask: u64,
}

impl Spaces {
    /// Gives every page of every buffer a frame: of its owner's colors and banks where the experiment says so,
    /// else by the platform's policy. The kernel's own data have `kernel_size` bytes.
    pub(crate) fn of(experiment: &Experiment, kernel_size: Bytes) -> Result<Self, SimError> {
        let isolation = &experiment.isolation;
        let locked = isolation.lockdown.as_ref().map_or(&[][..], |lockdown| &lockdown.pages);
        if isolation.memory.is_none() && locked.is_empty() {
            let mut frames = Frames::new(&experiment.platform, experiment.seed);
            return Self::new(&experiment.platform, &experiment.buffers, &mut frames)
                .map_err(SimError::Frames);
        }
        let coloring = isolation.memory.clone().unwrap_or_default();
        Self::colored(experiment, kernel_size, &coloring, locked)
    }

    /// Gives every page of every buffer a frame, in the order of the experiment.
    fn new(platform: &Platform, buffers: &[Buffer], frames: &mut Frames) -> Result<Self, FrameError> {
        let mut tables = Vec::with_capacity(buffers.len());
        for buffer in buffers {
            let pages = buffer.size.in_pieces_of(platform.page);
            let table: Result<Box<[u64]>, FrameError> =
                (0..pages).map(|_| frames.allocate(None).map(|frame| frame.0)).collect();
            tables.push(table?);
        }
        Ok(Self::with(platform, tables))
    }

    /// The same from the colored frames that the RTOS itself would use. A buffer belongs to the first task that
    /// touches it; pages that are to be locked come first, each of its own color.
    fn colored(
        experiment: &Experiment,
        kernel_size: Bytes,
        coloring: &Coloring,
        locked: &[LockedPage],
    ) -> Result<Self, SimError> {
        let platform = &experiment.platform;
        let map =
            MemoryMap::of(platform).map_err(|error| SimError::Isolation(IsolationRefusal::Map(error)))?;
        let map = map.grouped(coloring.groups);
        let count = platform.dram.size.get() / platform.page.get().max(1);
        let order = match platform.frames {
            FramePolicy::Sequential => Order::Ascending,
            FramePolicy::Random => Order::Shuffled(experiment.seed),
        };
        let wrong =
            |buffer: &str, error, free| SimError::ColoredFrames { buffer: buffer.to_owned(), error, free };
        let mut frames = ColoredFrames::new(map.clone(), count, &groups(coloring, &map), order)
            .map_err(|error| wrong("all", error, count))?;
        let mut kernel = Vec::new();
        if coloring.kernel_data.is_some() {
            // Where the kernel has no color, its pages lie anywhere (S2).
            let group = kernel_group(coloring);
            for _ in 0..kernel_size.in_pieces_of(platform.page) {
                let taken = frames.allocate(group);
                let free = frames.free_frames();
                kernel.push(taken.map_err(|error| wrong("the kernel", error, free))?.frame.0);
            }
        }
        let mut tables = Vec::with_capacity(experiment.buffers.len());
        for (index, buffer) in experiment.buffers.iter().enumerate() {
            let id = BufferId(index as u32);
            let owner = holder_of(&experiment.tasks, &experiment.devices, id);
            let group = group_of(coloring, owner);
            let pages = buffer.size.in_pieces_of(platform.page);
            let mut table = Vec::with_capacity(pages as usize);
            for page in 0..pages {
                let wanted = locked.iter().find(|locked| locked.buffer == id && locked.page == page);
                let taken = match wanted {
                    Some(locked) => frames.allocate_color(group, locked.color),
                    None => frames.allocate(group),
                };
                let free = frames.free_frames();
                table.push(taken.map_err(|error| wrong(&buffer.name, error, free))?.frame.0);
            }
            tables.push(table.into_boxed_slice());
        }
        Ok(Self { kernel, ..Self::with(platform, tables) })
    }

    fn with(platform: &Platform, tables: Vec<Box<[u64]>>) -> Self {
        Self {
            tables,
            kernel: Vec::new(),
            page_shift: platform.page.get().trailing_zeros(),
            page_mask: platform.page.get() - 1,
        }
    }

    /// The frames of the kernel's own data.
    pub(crate) fn kernel_frames(&self) -> Vec<u64> {
        self.kernel.clone()
    }

    /// The physical address of a byte of a buffer. Offsets beyond the end wrap around.
    pub(crate) fn translate(&self, buffer: BufferId, offset: Bytes) -> PhysicalAddress {
        let table = &self.tables[buffer.index()];
        let page = (offset.get() >> self.page_shift) as usize;
        let frame = if page < table.len() { table[page] } else { table[page % table.len()] };
        PhysicalAddress(frame << self.page_shift | offset.get() & self.page_mask)
    }
}
