//! The memory that an experiment's threads stand on: stacks, buffers and heaps, of their colors where it says so.

use super::mediators::MOST_RECORDS;
use super::port::Port;
use super::run_memory;
use crate::memory::{Need, RunMemory};
use crate::module::{STACK_BYTES, STACK_RESERVE};
use crate::paging::PAGE;
use crate::placement::{ColorSource, MemoryUser};
use crate::stacks::Stacks;
use alloc::string::String;
use alloc::vec::Vec;
use solo_isolate::admission::{coloring_fits, group_of, groups, holder_of, kernel_group};
use solo_isolate::frames::{FramesError, Group, GroupId, Order};
use solo_isolate::heap::{ColoredHeaps, HeapError, JobHeaps, Mode};
use solo_isolate::{Classes, MemoryMap};
use solo_model::isolation::{Coloring, Fallback};
use solo_model::platform::FramePolicy;
use solo_model::{BufferId, Bytes, Color, Experiment, Record, TaskId, ThreadId};

/// The heap of a group: for requests while it runs.
const HEAP: Bytes = Bytes::from_kib(64);
/// What the general heap keeps beside the piece that it lends a run with colors.
const REST: Bytes = Bytes::from_mib(24);
/// The most that a system heap takes: mapping it takes time.
const MOST_SYSTEM: Bytes = Bytes::from_mib(64);

/// Memory that programs touch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    /// Its first byte.
    pub base: u64,
    /// Its size in bytes.
    pub length: u64,
}

/// Memory that a task needs and does not get.
#[derive(Clone, Debug)]
pub struct MissingMemory {
    /// For what, and how much.
    pub buffer: String,
    /// Why.
    pub error: FramesError,
}

/// What threads stand on.
#[derive(Debug)]
pub struct TaskMemory {
    /// A stack for each thread.
    pub stacks: Stacks,
    /// The buffers; without length where there was no memory.
    pub buffers: Vec<Region>,
    /// What each task missing.
    pub missing: Vec<Option<MissingMemory>>,
    /// The group of each task.
    pub groups: Vec<GroupId>,
    /// The heap of each group; `None` where there was no memory for it.
    pub heaps: Vec<Option<u64>>,
    /// The heaps of colors from which jobs take memory while they run, and where each is.
    pub of_jobs: Option<(JobHeaps, Vec<u64>)>,
}

impl TaskMemory {
    /// Maps all of it, and keeps its memory until the run is over. Where the kernel has a color, the system heap is open from
    /// here on.
    ///
    /// # Errors
    /// A sentence about what can't be had. Where only a buffer can't, because colors hold too little, that is what its tasks are missing.
    #[inline(never)] // once, not for each criterion
    pub fn allocate<P: Port>(experiment: &Experiment, source: ColorSource) -> Result<Self, String> {
        let takes_memory = experiment.tasks.iter().any(|task| task.work.allocations().next().is_some());
        let default = takes_memory.then(Coloring::default);
        let coloring = experiment.isolation.memory.as_ref().or(default.as_ref());
        let (mut memory, jobs) = match coloring {
            None => (plain::<P>(experiment)?, None),
            Some(coloring) => colored::<P>(experiment, coloring, source)?,
        };
        let group = |task| coloring.map_or(GroupId(0), |coloring| group_of(coloring, task));
        let tasks = || (0..experiment.tasks.len()).map(|task| TaskId(task as u32));
        let groups: Vec<_> = tasks().map(|task| group(Some(task))).collect();
        let stacks = Stacks::new(&mut memory, groups.iter().copied(), STACK_BYTES + STACK_RESERVE).map_err(
            |(task, error)| {
                alloc::format!(
                    "no memory for the stack of task {}: {error}",
                    experiment.tasks[task.index()].name
                )
            },
        )?;
        let mut missing = alloc::vec![None; experiment.tasks.len()];
        let mut buffers = Vec::with_capacity(experiment.buffers.len());
        for (index, buffer) in experiment.buffers.iter().enumerate() {
            let id = BufferId(index as u32);
            let pages = buffer.size.in_pieces_of(Bytes::new(PAGE));
            if experiment.tasks.iter().any(|task| task.work.allocates(id)) {
                memory.expect(MemoryUser::Buffer(id));
                buffers.push(Region { base: 0, length: buffer.size.get() });
                continue;
            }
            let holder = holder_of(&experiment.tasks, &experiment.devices, id);
            let mapped = memory.map(MemoryUser::Buffer(id), group(holder), pages);
            if let Err(error) = &mapped {
                let lacking = MissingMemory {
                    buffer: alloc::format!("{} of {}", buffer.name, buffer.size),
                    error: error.clone(),
                };
                let without = experiment.tasks.iter().zip(&mut missing);
                without
                    .filter(|(task, _)| task.work.touches(id))
                    .for_each(|(_, own)| _ = own.get_or_insert(lacking.clone()));
            }
            buffers.push(
                mapped
                    .map_or(Region { base: 0, length: 0 }, |base| Region { base, length: buffer.size.get() }),
            );
        }
        let heap = |group: u16| memory.map(MemoryUser::Heap(group), GroupId(group), HEAP.get() / PAGE).ok();
        let heaps = (0..coloring.map_or(1, |coloring| coloring.owners.len() as u16 + 1)).map(heap).collect();
        let of_jobs = match jobs {
            None => None,
            Some(jobs) => Some(place_heaps(&mut memory, jobs)?),
        };
        if coloring.is_some_and(|coloring| coloring.kernel.is_some()) {
            memory
                .move_image()
                .map_err(|error| alloc::format!("the kernel's color can't hold the image: {error}"))?;
            memory.open_system_heap(MOST_SYSTEM);
        }
        run_memory::keep::<P>(memory);
        Ok(Self { stacks, buffers, missing, groups, heaps, of_jobs })
    }
}

/// The heaps of colors, whose groups come behind all others.
type JobGroups = (JobHeaps, u16);

/// Maps the heaps that some job may ask.
fn place_heaps<P: Port>(
    memory: &mut RunMemory<P>,
    (jobs, first): JobGroups,
) -> Result<(JobHeaps, Vec<u64>), String> {
    let mut bases = alloc::vec![0; usize::from(memory.colors().colors().count())];
    for (at, &color) in (first..).zip(jobs.colors_in_use()) {
        let pages = jobs.size().in_pieces_of(Bytes::new(PAGE));
        let base = memory.map(MemoryUser::HeapOfColor(color), GroupId(at), pages);
        bases[usize::from(color.0)] =
            base.map_err(|error| alloc::format!("no memory for the heap of {color}: {error}"))?;
    }
    Ok((jobs, bases))
}

/// Memory for exactly what the experiment needs, whatever its color.
fn plain<P: Port>(experiment: &Experiment) -> Result<RunMemory<P>, String> {
    let none = || Classes::new(&[]);
    let map =
        MemoryMap::new(Bytes::new(PAGE), none(), none(), None).map_err(|error| alloc::format!("{error}"))?;
    let all = [Group { colors: Vec::new(), banks: Vec::new(), fallback: Fallback::Fail }];
    let stacks = experiment.tasks.len() as u64 * (STACK_BYTES + STACK_RESERVE).div_ceil(PAGE);
    let of = |bytes: Bytes| bytes.in_pieces_of(Bytes::new(PAGE));
    let buffers = experiment.buffers.iter().map(|buffer| of(buffer.size)).fold(0, u64::saturating_add);
    let pages = stacks.saturating_add(buffers).saturating_add(of(HEAP)).min(u64::MAX >> 16);
    let pieces = (experiment.tasks.len() + experiment.buffers.len() + 1) as u64;
    let memory = RunMemory::new(map, &all, GroupId(0), Order::Ascending, Need::Pages { pages, pieces });
    memory.map_err(|error| match experiment.buffers.iter().max_by_key(|buffer| buffer.size) {
        Some(largest) => alloc::format!("no memory for buffer {} of {}: {error}", largest.name, largest.size),
        None => alloc::format!("no memory for {} stacks: {error}", experiment.tasks.len()),
    })
}

/// Memory by color and bank.
fn colored<P: Port>(
    experiment: &Experiment,
    coloring: &Coloring,
    source: ColorSource,
) -> Result<(RunMemory<P>, Option<JobGroups>), String> {
    let platform = &experiment.platform;
    if platform.page != Bytes::new(PAGE) {
        return Err(alloc::format!("pages of {}: this machine places pages of 4 KiB", platform.page));
    }
    let map = match source {
        ColorSource::Platform => {
            coloring_fits(coloring, platform, &experiment.tasks)
                .map_err(|refusal| alloc::format!("{refusal}"))?;
            MemoryMap::of(platform)
        }
        ColorSource::Processor => {
            let cache = P::last_level().ok_or("the processor doesn't tell of its caches")?;
            cache.map(platform.page)
        }
    };
    let map = map.map_err(|error| alloc::format!("{error}"))?.grouped(coloring.groups);
    let order = match platform.frames {
        FramePolicy::Sequential => Order::Ascending,
        FramePolicy::Random => Order::Shuffled(experiment.seed),
    };
    // Where the kernel has no heap of its own, its records lie in the general one.
    let records = Bytes::new((MOST_RECORDS * size_of::<Record>()) as u64);
    let rest = if coloring.kernel.is_some() { REST } else { REST + records };
    let mut groups = groups(coloring, &map);
    let first = groups.len() as u16;
    let jobs = JobHeaps::of(coloring, map.colors().count(), &experiment.tasks, experiment.buffers.len());
    let in_use = jobs.as_ref().map_or(&[][..], JobHeaps::colors_in_use);
    groups.extend(in_use.iter().map(|&color| Group {
        colors: alloc::vec![color],
        banks: Vec::new(),
        fallback: Fallback::Fail,
    }));
    let memory = RunMemory::new(map, &groups, kernel_group(coloring), order, Need::AllBut(rest))?;
    Ok((memory, jobs.map(|jobs| (jobs, first))))
}

/// The heaps of threads, each of its group's colors: requests while they run, in bounded time.
#[derive(Debug)]
pub struct Heaps {
    heaps: ColoredHeaps,
    places: Vec<Option<u64>>,
    groups: Vec<GroupId>,
}

impl Heaps {
    /// The heaps that `memory` has pages for.
    #[inline(never)] // once, not for each criterion
    pub fn new(memory: &TaskMemory) -> Self {
        let count = memory.heaps.len() as u16;
        // A heap for each group of owners: where owners have one color each, the thesis's heap for each color.
        let heaps = ColoredHeaps::new(count, HEAP, None, Mode::UserCentric);
        Self { heaps, places: memory.heaps.clone(), groups: memory.groups.clone() }
    }

    /// Memory for `thread`, of its task's colors.
    ///
    /// # Errors
    /// If its heap has no such block.
    pub fn allocate(&mut self, thread: ThreadId, size: Bytes) -> Result<Region, HeapError> {
        let group = self.groups[thread.index()].0;
        let color = Color(group);
        let place = self.places[usize::from(group)];
        let base = place.ok_or(HeapError::Exhausted { color, wanted: size, free: Bytes::ZERO })?;
        let offset = self.heaps.allocate(thread, Some(color), size)?;
        Ok(Region { base: base + offset.get() - u64::from(group) * HEAP.get(), length: size.get() })
    }

    /// Gives back what [`Self::allocate`] gave to `thread`.
    ///
    /// # Errors
    /// If no block begins there.
    pub fn release(&mut self, thread: ThreadId, region: Region) -> Result<(), HeapError> {
        let group = self.groups[thread.index()].0;
        let base = self.places[usize::from(group)].unwrap_or_default();
        let offset = region.base.wrapping_sub(base).wrapping_add(u64::from(group) * HEAP.get());
        self.heaps.release(Bytes::new(offset)).map(drop)
    }

    /// Memory for `thread` of the colors of `group`, which a program names.
    ///
    /// # Errors
    /// If that heap has no such block.
    pub(super) fn allocate_in(
        &mut self,
        thread: ThreadId,
        group: GroupId,
        size: Bytes,
    ) -> Result<Region, HeapError> {
        let color = Color(group.0);
        let place = self.places.get(usize::from(group.0)).copied().flatten();
        let base = place.ok_or(HeapError::Exhausted { color, wanted: size, free: Bytes::ZERO })?;
        let offset = self.heaps.allocate(thread, Some(color), size)?;
        Ok(Region { base: base + offset.get() - u64::from(group.0) * HEAP.get(), length: size.get() })
    }

    /// Gives back the block that begins at `address`, of whichever heap.
    ///
    /// # Errors
    /// If no block begins there.
    pub(super) fn release_at(&mut self, address: u64) -> Result<(), HeapError> {
        let own = |&(_, base): &(u64, u64)| (base..base + HEAP.get()).contains(&address);
        let heaps = (0..).zip(&self.places).filter_map(|(group, place)| Some((group, (*place)?)));
        let offset = heaps.filter(own).map(|(group, base)| group * HEAP.get() + (address - base)).next();
        self.heaps.release(Bytes::new(offset.unwrap_or(u64::MAX))).map(drop)
    }

    /// The group of `thread`.
    pub(super) fn group(&self, thread: ThreadId) -> GroupId {
        self.groups.get(thread.index()).copied().unwrap_or(GroupId(0))
    }
}
