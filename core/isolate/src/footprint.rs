//! The kernel's own data in memory, and what of it each path touches (thesis 6.1, 6.2).
//!
//! ```text
//!   threads   a block for each thread
//!   domains   a lock and a queue for each domain
//!   cores     state and stack of each core
//!   walked    what each release reads besides
//!
//!   any entry       the state and stack of the core, the lock of its domain
//!   release         the block of the thread, the queue of its domain, what is walked
//!   switch          the queue of the core's domain, the blocks of both threads
//! ```
//!
//! A machine that simulates caches touches these, and an analysis counts them.

use alloc::vec::Vec;
use solo_model::isolation::KernelData;
use solo_model::{Bytes, CoreId, CoreSet, Experiment, TaskId};

/// A stack as deep as an entry takes it.
const STACK: u64 = 512;
/// A key and a position for each thread of a queue.
const QUEUE_ENTRY: u64 = 32;
/// A lock, and who waits for it.
const LOCK: u64 = 8;

/// Some of the kernel's data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stretch {
    /// Its first byte, from the beginning of the kernel's data.
    pub from: u64,
    /// How many bytes, at least one.
    pub bytes: u64,
    /// They are written, or only read.
    pub writes: bool,
}

/// What a kernel keeps of a thread and of a core, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blocks {
    /// Of a thread.
    pub thread: Bytes,
    /// Of a core, its queues apart.
    pub core: Bytes,
}

/// Where the kernel's data lie.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Footprint {
    line: u64,
    threads: u64,
    data: KernelData,
    blocks: Blocks,
    domains: Vec<CoreSet>,
    /// Of each task, the position of its domain.
    homes: Vec<usize>,
    cores: u64,
}

impl Footprint {
    /// Of the kernel that runs an experiment, with blocks of these sizes.
    pub fn of(experiment: &Experiment, data: KernelData, blocks: Blocks) -> Self {
        let cores = experiment.platform.cores.len();
        let domains = experiment.policy.domains(cores);
        let home = |core: Option<CoreId>| {
            core.and_then(|core| domains.iter().position(|domain| domain.contains(core))).unwrap_or(0)
        };
        let homes = experiment.tasks.iter().map(|task| home(task.core)).collect();
        let line = experiment.platform.line().get().max(1);
        Self {
            line,
            threads: experiment.tasks.len() as u64,
            data,
            blocks,
            domains,
            homes,
            cores: cores as u64,
        }
    }

    /// All of it.
    pub fn size(&self) -> Bytes {
        Bytes::new(self.walked_from().saturating_add(self.data.walked.get()))
    }

    /// What any entry touches on a core: its state and stack, and the lock of its domain.
    pub fn entry(&self, core: CoreId) -> [Stretch; 2] {
        let own = self.cores_from().saturating_add(self.each(self.core()).saturating_mul(core.0.into()));
        let lock = self.domain_from(self.domain_of(core));
        [
            Stretch { from: own, bytes: self.core(), writes: true },
            Stretch { from: lock, bytes: LOCK, writes: true },
        ]
    }

    /// What the release of a task touches: its thread, its queue, and what is walked.
    pub fn release(&self, task: TaskId) -> impl Iterator<Item = Stretch> + use<> {
        let walked = Stretch { from: self.walked_from(), bytes: self.data.walked.get(), writes: false };
        let home = self.homes.get(task.index()).copied().unwrap_or(0);
        [self.thread(task), self.queue(home), walked].into_iter().filter(|stretch| stretch.bytes > 0)
    }

    /// What a switch on a core touches, from one thread to another.
    pub fn switch(
        &self,
        core: CoreId,
        threads: [Option<TaskId>; 2],
    ) -> impl Iterator<Item = Stretch> + use<> {
        let [from, to] = threads.map(|task| task.map(|task| self.thread(task)));
        [Some(self.queue(self.domain_of(core))), from, to].into_iter().flatten()
    }

    /// The most lines that an entry, a release and a switch touch.
    pub fn lines(&self) -> [u64; 3] {
        let of = |stretch: Stretch| {
            let last = stretch.from.saturating_add(stretch.bytes).saturating_sub(1);
            let number = |byte: u64| byte.checked_div(self.line).unwrap_or(0);
            number(last).saturating_sub(number(stretch.from)).saturating_add(1)
        };
        let sum = |all: &mut dyn Iterator<Item = Stretch>| all.map(of).fold(0, u64::saturating_add);
        let cores = (0..self.cores).map(|core| CoreId(core as u16));
        let tasks = || (0..self.threads).map(|task| TaskId(task as u32));
        let entry = cores.clone().map(|core| sum(&mut self.entry(core).into_iter())).max().unwrap_or(0);
        let release = tasks().map(|task| sum(&mut self.release(task))).max().unwrap_or(0);
        let thread = tasks().map(|task| of(self.thread(task))).max().unwrap_or(0);
        let queue = cores.map(|core| of(self.queue(self.domain_of(core)))).max().unwrap_or(0);
        [entry, release, queue.saturating_add(thread.saturating_mul(2))]
    }

    /// The first bytes of the lines of a stretch.
    pub fn lines_of(&self, stretch: Stretch) -> impl Iterator<Item = u64> + use<> {
        let (line, last) = (self.line, stretch.from.saturating_add(stretch.bytes).saturating_sub(1));
        let first = stretch.from.checked_div(line).unwrap_or(0);
        (first..=last.checked_div(line).unwrap_or(0)).map(move |number| number.saturating_mul(line))
    }

    /// State and stack of a core.
    const fn core(&self) -> u64 {
        self.blocks.core.get().saturating_add(STACK)
    }

    fn thread(&self, task: TaskId) -> Stretch {
        let from = self.each(self.blocks.thread.get()).saturating_mul(task.0.into());
        Stretch { from, bytes: self.blocks.thread.get(), writes: true }
    }

    /// The queue of a domain, as deep as a heap of all threads.
    fn queue(&self, domain: usize) -> Stretch {
        let depth = u64::from(u64::BITS.saturating_sub(self.threads.leading_zeros())).max(1);
        let from = self.domain_from(domain).saturating_add(self.each(LOCK));
        Stretch { from, bytes: depth.saturating_mul(QUEUE_ENTRY), writes: true }
    }

    /// What a block of so many bytes takes with what lies between it and the next.
    fn each(&self, bytes: u64) -> u64 {
        if self.data.packed { bytes } else { bytes.next_multiple_of(self.line) }
    }

    fn domain_of(&self, core: CoreId) -> usize {
        self.domains.iter().position(|domain| domain.contains(core)).unwrap_or(0)
    }

    /// Where the lock and the queue of a domain are: whatever blocks do, domains share no line.
    fn domain_from(&self, domain: usize) -> u64 {
        let threads =
            self.each(self.blocks.thread.get()).saturating_mul(self.threads).next_multiple_of(self.line);
        threads.saturating_add(self.each_domain().saturating_mul(domain as u64))
    }

    fn each_domain(&self) -> u64 {
        let queue = self.threads.max(1).saturating_mul(QUEUE_ENTRY);
        self.each(LOCK).saturating_add(queue).next_multiple_of(self.line)
    }

    fn cores_from(&self) -> u64 {
        self.domain_from(self.domains.len())
    }

    fn walked_from(&self) -> u64 {
        let cores = self.each(self.core()).saturating_mul(self.cores);
        self.cores_from().saturating_add(cores).next_multiple_of(self.line)
    }
}
