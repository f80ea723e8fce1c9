//! Address spaces: which frames hold which buffer.

use crate::frames::{FrameError, Frames};
use crate::memory::PhysicalAddress;
use crate::outcome::SimError;
use solo_isolate::admission::{group_of, groups, holder_of, kernel_group};
use solo_isolate::frames::{GroupId, Order};
use solo_isolate::heap::{HeapPlace, JobHeaps};
use solo_isolate::{ColoredFrames, IsolationRefusal, MemoryMap};
use solo_model::isolation::{Coloring, LockedPage};
use solo_model::platform::FramePolicy;
use solo_model::work::Buffer;
use solo_model::{BufferId, Bytes, Experiment, Platform};

/// The page tables of all buffers.
pub(crate) struct Spaces {
    tables: Vec<Box<[u64]>>,
    /// Where each buffer begins in its first page.
    starts: Vec<u64>,
    /// By color, the frames of its heap, where jobs take memory from it.
    heaps: Vec<Box<[u64]>>,
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
        let takes_memory = experiment.tasks.iter().any(|task| task.work.allocations().next().is_some());
        if isolation.memory.is_none() && locked.is_empty() && !takes_memory {
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
            if experiment.tasks.iter().any(|task| task.work.allocates(id)) {
                // A job takes its memory from a heap, and touches it after that.
                tables.push(Box::default());
                continue;
            }
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
        let mut heaps = vec![Box::default(); usize::from(map.colors().count())];
        if let Some(jobs) = JobHeaps::of(coloring, map.colors().count(), &experiment.tasks, 0) {
            for &color in jobs.colors_in_use() {
                let pages = jobs.size().in_pieces_of(platform.page);
                let mut table = Vec::with_capacity(pages as usize);
                for _ in 0..pages {
                    let taken = frames.allocate_color(GroupId(0), color);
                    let free = frames.free_frames();
                    let heap = || format!("the heap of {color}");
                    table.push(taken.map_err(|error| wrong(&heap(), error, free))?.frame.0);
                }
                heaps[usize::from(color.0)] = table.into_boxed_slice();
            }
        }
        Ok(Self { kernel, heaps, ..Self::with(platform, tables) })
    }

    /// The heaps of an experiment whose jobs take memory while they run.
    pub(crate) fn job_heaps(&self, experiment: &Experiment) -> Option<JobHeaps> {
        let coloring = experiment.isolation.memory.clone().unwrap_or_default();
        JobHeaps::of(&coloring, self.heaps.len() as u16, &experiment.tasks, experiment.buffers.len())
    }

    /// A job has taken memory for a buffer.
    pub(crate) fn place(&mut self, buffer: BufferId, size: Bytes, at: HeapPlace) {
        let heap = &self.heaps[usize::from(at.color.0)];
        let first = at.offset.get() >> self.page_shift;
        let last = (at.offset.get() + size.get() - 1) >> self.page_shift;
        self.tables[buffer.index()] = heap[first as usize..=last as usize].into();
        self.starts[buffer.index()] = at.offset.get() & self.page_mask;
    }

    fn with(platform: &Platform, tables: Vec<Box<[u64]>>) -> Self {
        Self {
            starts: vec![0; tables.len()],
            tables,
            heaps: Vec::new(),
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
        let offset = Bytes::new(offset.get() + self.starts[buffer.index()]);
        let page = (offset.get() >> self.page_shift) as usize;
        let frame = if page < table.len() { table[page] } else { table[page % table.len()] };
        PhysicalAddress(frame << self.page_shift | offset.get() & self.page_mask)
    }
}
