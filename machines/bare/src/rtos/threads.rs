//! Threads: their stacks, programs and own time.

use super::clock::timebase;
use super::port::Port;
use super::run_memory;
use super::task_memory::{Heaps, MissingMemory, Region, TaskMemory};
use super::turns;
use crate::context::Context;
use crate::lock::SpinLock;
use crate::placement::MemoryUser;
use crate::stacks::Stacks;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU64, Ordering};
use solo_isolate::heap::{HeapError, JobHeaps};
use solo_model::{BufferId, Bytes, Color, Duration, Experiment, Instant, TaskId, ThreadId};
use solo_workload::{Access, AccessKind, Program, WorkError};

/// The most rounds of computation between two looks at the clock: about two microseconds of the instruction clock.
const MOST_ROUNDS: u64 = 400;
/// The size of a cache line.
const LINE: Bytes = Bytes::new(64);

/// A thread's own time: what it has consumed of its core, without the kernel's paths.
#[derive(Debug)]
pub struct OwnTime {
    consumed: AtomicU64,
    resumed: AtomicU64,
}

impl OwnTime {
    const fn new() -> Self {
        Self { consumed: AtomicU64::new(0), resumed: AtomicU64::new(0) }
    }

    /// The thread leaves its core at tick `at`.
    #[inline]
    pub fn leave(&self, at: u64) {
        let ran = at.saturating_sub(self.resumed.load(Ordering::Relaxed));
        // Above zero, so that who reads both notices.
        self.consumed.fetch_add(ran.max(1), Ordering::Relaxed);
    }

    /// The thread has its core back at tick `at`.
    #[inline]
    pub fn resume(&self, at: u64) {
        self.resumed.store(at, Ordering::Relaxed);
    }

    /// The ticks it has consumed by the clock of its core, asked by itself.
    #[inline]
    fn ticks(&self, clock: impl Fn() -> u64) -> u64 {
        loop {
            let before = self.consumed.load(Ordering::Acquire);
            let since = clock().saturating_sub(self.resumed.load(Ordering::Acquire));
            if self.consumed.load(Ordering::Acquire) == before {
                return before + since;
            }
        }
    }
}

/// What threads need, one entry each.
pub struct Threads<P> {
    /// Settled clock: the instants at which they will have computed what they are computing.
    finishes: Vec<AtomicU64>,
    /// Names of their tasks.
    pub names: Vec<String>,
    /// Their own times.
    pub times: Vec<OwnTime>,
    /// Their stacks.
    pub stacks: Stacks,
    /// What they need and do not get.
    pub missing: Vec<Option<MissingMemory>>,
    programs: Vec<UnsafeCell<Program>>,
    /// Where buffers begin, and how long they are; what a job takes from a heap is somewhere else each time.
    buffers: Vec<(AtomicU64, u64)>,
    /// The heaps from which jobs take memory while they run, and where that of each color begins.
    of_jobs: Option<(SpinLock<P, JobHeaps>, Vec<u64>)>,
    heaps: SpinLock<P, Heaps>,
}

// SAFETY: a program is used by its own thread only (see `program`); buffers are only touched by volatile accesses
// of single bytes, whose values nobody relies on.
unsafe impl<P> Sync for Threads<P> {}
// SAFETY: nothing in it belongs to a core.
unsafe impl<P> Send for Threads<P> {}

/// Why threads could not be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ThreadError {
    /// The work of a task can't be performed.
    Work(String, WorkError),
    /// The boot module carries no recorded programs.
    Traces,
}

impl core::fmt::Display for ThreadError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Work(task, error) => write!(f, "task {task}: {error}"),
            Self::Traces => write!(f, "recorded programs do not run on bare metal yet"),
        }
    }
}

impl<P: Port> Threads<P> {
    /// The threads of an experiment, in their memory.
    pub fn new(experiment: &Experiment, memory: TaskMemory) -> Result<Self, ThreadError> {
        if !experiment.traces.is_empty() {
            return Err(ThreadError::Traces);
        }
        let count = experiment.tasks.len();
        let mut programs = Vec::with_capacity(count);
        for (index, task) in experiment.tasks.iter().enumerate() {
            let id = TaskId(index as u32);
            let program = Program::new(&task.work, id, &experiment.buffers, LINE, experiment.seed, &[])
                .map_err(|error| ThreadError::Work(task.name.clone(), error))?;
            programs.push(UnsafeCell::new(program));
        }
        Ok(Self {
            names: experiment.tasks.iter().map(|task| task.name.clone()).collect(),
            finishes: (0..count).map(|_| AtomicU64::new(0)).collect(),
            times: (0..count).map(|_| OwnTime::new()).collect(),
            heaps: SpinLock::new(Heaps::new(&memory)),
            // A copy, which lies in the kernel's heap.
            buffers: memory
                .buffers
                .iter()
                .map(|region| (AtomicU64::new(region.base), region.length))
                .collect(),
            of_jobs: memory.of_jobs.map(|(heaps, bases)| (SpinLock::new(heaps), bases)),
            stacks: memory.stacks,
            missing: memory.missing,
            programs,
        })
    }

    /// Where each thread begins.
    pub fn contexts(&self, entry: extern "C" fn() -> !) -> Vec<Context> {
        // SAFETY: the stacks were made for these threads, nobody has used them yet, and they end at multiples of
        // the page size.
        let begin = |index| unsafe { P::begin(entry, self.stacks.end(index)) };
        (0..self.programs.len()).map(begin).collect()
    }

    /// Settled clock: when `thread` will have computed what it is computing.
    pub fn finish(&self, thread: ThreadId) -> Instant {
        Instant::new(self.finishes[thread.index()].load(Ordering::Acquire))
    }

    /// Sets [`Self::finish`].
    pub(super) fn set_finish(&self, thread: ThreadId, at: Instant) {
        self.finishes[thread.index()].store(at.get(), Ordering::Release);
    }

    /// The program of `thread`.
    ///
    /// # Safety
    /// Only the thread itself may ask, and only once at a time.
    #[expect(clippy::mut_from_ref, reason = "each program belongs to one thread")]
    pub unsafe fn program(&self, thread: ThreadId) -> &mut Program {
        // SAFETY: the caller is the only user.
        unsafe { &mut *self.programs[thread.index()].get() }
    }

    /// Computes until `thread`, which asks, has consumed `span` more of its own time.
    pub fn compute(&self, thread: ThreadId, span: Duration) {
        // It is not asked in the loop which clock that is: without budgets of instructions this is as short as it was.
        if turns::are_kept::<P>() {
            self.compute_by(thread, span, turns::clock::<P>);
        } else {
            self.compute_by(thread, span, P::time_stamp);
        }
    }

    fn compute_by(&self, thread: ThreadId, span: Duration, clock: impl Fn() -> u64) {
        let time = &self.times[thread.index()];
        let end = time.ticks(&clock) + timebase().ticks(span);
        loop {
            let left = end.saturating_sub(time.ticks(&clock));
            if left == 0 {
                return;
            }
            spin::<P>(left);
        }
    }

    /// `thread` asks the heap of its colors for `size`, writes all of it and gives it back.
    ///
    /// # Errors
    /// If the heap has no such block.
    #[inline(never)] // once, not for each criterion
    pub fn demand(&self, thread: ThreadId, size: Bytes) -> Result<(), HeapError> {
        let region = self.heaps.lock().allocate(thread, size)?;
        for offset in 0..region.length {
            // SAFETY: the heap gave the block to this thread, and its pages are mapped.
            unsafe { region.byte(offset).write_volatile(1) };
        }
        self.heaps.lock().release(thread, region)
    }

    /// `thread` takes memory for a buffer from the heap of a color.
    ///
    /// # Errors
    /// If that heap has not as much.
    #[inline(never)] // once, not for each criterion
    pub(super) fn take(
        &self,
        thread: ThreadId,
        buffer: BufferId,
        size: Bytes,
        color: Option<Color>,
    ) -> Result<(), HeapError> {
        let (Some((heaps, bases)), Some((begin, _))) = (&self.of_jobs, self.buffers.get(buffer.index()))
        else {
            return Ok(());
        };
        let place = heaps.lock().take(thread, buffer, size, color)?;
        let base = bases.get(usize::from(place.color.0)).copied().unwrap_or_default();
        let address = base + place.offset.get();
        begin.store(address, Ordering::Relaxed);
        run_memory::with::<P, _>(|memory| memory.found(MemoryUser::Buffer(buffer), address, size.get()));
        Ok(())
    }

    /// Gives the memory of a buffer back.
    pub(super) fn give_back(&self, buffer: BufferId) {
        self.of_jobs.as_ref().map(|(heaps, _)| heaps.lock().give_back(buffer));
    }

    /// The job of `thread` is over: what it has taken and not given back is given back.
    pub(super) fn end_job(&self, thread: ThreadId) {
        if let Some((heaps, _)) = &self.of_jobs {
            heaps.lock().end_job(thread);
        }
    }

    /// The heaps of colors.
    pub(super) fn heaps(&self) -> &SpinLock<P, Heaps> {
        &self.heaps
    }

    /// Writes the lines of a buffer back to memory and takes them out of all caches, one after the other: interrupts come between two.
    pub fn flush(&self, buffer: BufferId) {
        let (Some(line), (base, length)) = (P::flushed_line(), &self.buffers[buffer.index()]) else { return };
        let base = base.load(Ordering::Relaxed);
        for address in lines(base, *length, line) {
            P::flush_line(address);
        }
    }

    /// Performs the accesses to one line.
    pub fn touch(&self, access: &Access, mut think: impl FnMut(Duration)) {
        let (base, length) = &self.buffers[access.buffer.index()];
        let buffer = Region { base: base.load(Ordering::Relaxed), length: *length };
        for (offset, kind) in access.each() {
            let byte = buffer.byte(offset.get());
            // SAFETY: the offset was checked against the buffer, which is mapped; the byte is only reached by volatile accesses.
            unsafe {
                match kind {
                    AccessKind::Write => byte.write_volatile(1),
                    AccessKind::Read | AccessKind::Fetch => {
                        byte.read_volatile();
                    }
                }
            }
            if !access.think.is_zero() {
                think(access.think);
            }
        }
    }
}

/// Where the lines of `line` bytes begin that hold `length` bytes from `base` on.
pub fn lines(base: u64, length: u64, line: u64) -> impl Iterator<Item = u64> {
    (base / line..(base + length).div_ceil(line)).map(move |at| at * line)
}

impl Region {
    /// A byte of it.
    ///
    /// # Panics
    /// Beyond its end.
    #[inline]
    pub fn byte(self, offset: u64) -> *mut u8 {
        assert!(offset < self.length, "byte {offset} of {}", self.length);
        core::ptr::with_exposed_provenance_mut((self.base + offset) as usize)
    }
}

/// Computes for a while, at most a sixteenth of `left` ticks where an instruction takes no more than one. Looking
/// at the clock and letting another core run are slow under an emulator.
pub fn spin<P: Port>(left: u64) {
    for round in 0..(left / 16).min(MOST_ROUNDS) {
        core::hint::black_box(round);
    }
    P::pause();
}
