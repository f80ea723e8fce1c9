//! What somebody wishes of a run, as far as it is said.
//!
//! Names of platforms, policies, cores, buffers and locks are resolved, for they only mean what they mean. Names of tasks that
//! isolation is for are not: a wish with `copies` becomes several tasks, and that is planned.

use crate::place::{Said, TextRange, Wish};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use solo_model::isolation::{
    Allocation, Budget, BudgetChange, CoreBudget, Counted, DmaMaster, Donation, Fallback, LockTime,
    Prediction, Reclaim, Sharing, WrongDonation,
};
use solo_model::listening::{Observed, Reaction};
use solo_model::policy::Scope;
use solo_model::work::{Buffer, Lock, Step, TraceSource};
use solo_model::{
    Bandwidth, BufferId, Bytes, CoreId, Criterion, Direction, Duration, Events, Fixed, Migration,
    OverheadTable, PerMille, Platform, Recycling, TaskClass,
};
use solo_prove::color::Method;
use solo_prove::pack::{Fit, Order};
use solo_prove::wcet::Curve;

/// Everything that is wished of one run.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Request {
    /// What the scenario is called.
    pub name: String,
    /// What the variant is called; empty for the scenario as it stands.
    pub variant: String,
    /// Where it begins, for what is missing altogether.
    pub at: TextRange,
    /// The chip.
    pub platform: Said<Platform>,
    /// The policy.
    pub scheduler: Said<SchedulerWish>,
    /// When the run ends.
    pub end: Said<EndWish>,
    /// The source of all randomness.
    pub seed: Said<u64>,
    /// The interval at which counters are sampled.
    pub sample: Said<Duration>,
    /// More jobs than this are spread over several runs.
    pub jobs_per_replication: Said<u64>,
    /// Memory that tasks share.
    pub buffers: Vec<Buffer>,
    /// Semaphores and mutexes.
    pub locks: Vec<Lock>,
    /// Recorded programs that tasks replay.
    pub recordings: Vec<Recording>,
    /// The tasks, or patterns of tasks, that could be read.
    pub tasks: Vec<TaskWish>,
    /// True where some could not: none is missed then that would end the run.
    pub tasks_in_part: bool,
    /// Which of them are threads of one program.
    pub applications: Vec<ApplicationWish>,
    /// The devices that could be read.
    pub devices: Vec<DeviceWish>,
    /// True where some could not: names are not missed then.
    pub devices_in_part: bool,
    /// Who is to be isolated how.
    pub isolation: IsolationWish,
}

/// A recorded program.
#[derive(Clone, PartialEq, Debug)]
pub struct Recording {
    /// Where it is and what it holds.
    pub source: TraceSource,
    /// How often each of its pages of 4 KiB is accessed.
    pub pages: Vec<Events>,
}

/// When a run is to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndWish {
    /// After so many jobs of each periodic task.
    Jobs(u64),
    /// At this time.
    At(Duration),
}

/// How tasks are to share cores.
#[derive(Clone, PartialEq, Debug)]
pub struct SchedulerWish {
    /// Partitioned, clustered (on the request's platform) or global.
    pub scope: Scope,
    /// The ordering rule; its place is that of the policy's name.
    pub criterion: Wish<Criterion>,
    /// The time slice, or the interval at which laxities are compared.
    pub quantum: Said<Duration>,
    /// The tick.
    pub tick: Said<Duration>,
    /// The most urgent job is to have the fastest core.
    pub fastest_first: bool,
    /// What kernel paths cost.
    pub overheads: Said<OverheadTable>,
    /// How tasks that name no core are given one.
    pub partition: Said<Partitioner>,
    /// What a core takes where tasks are partitioned by color.
    pub capacity: Said<CoreCapacity>,
    /// What 0.69 is multiplied by for the most that hard tasks may use of all cores (thesis 8.1), in thousandths.
    pub alpha: Said<u64>,
    /// What the scheduler listens to beside the criterion.
    pub monitor: Said<MonitorWish>,
}

/// How tasks are given cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Partitioner {
    /// One after the other, as long as the exact test of the policy holds.
    Tasks(Heuristic),
    /// In groups that share colors, as long as a bound on utilisation holds.
    Colors(Method),
}

impl Partitioner {
    /// All of them with their names in scenario files.
    pub fn all() -> Vec<(&'static str, Self)> {
        let tasks = Heuristic::ALL.into_iter().map(|(name, one)| (name, Self::Tasks(one)));
        tasks.chain(Method::ALL.into_iter().map(|(name, one)| (name, Self::Colors(one)))).collect()
    }

    /// The name in scenario files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tasks(heuristic) => heuristic.name(),
            Self::Colors(method) => method.name(),
        }
    }
}

/// The utilisation that a core takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CoreCapacity {
    /// All of it, as under EDF.
    Edf,
    /// `n (2^(1/n) - 1)`, as rate-monotonic scheduling is sure of; n counts all tasks that are placed, for no core gets more.
    Rm,
    /// So many thousandths.
    Share(PerMille),
}

/// What a scheduler is to listen to, and what it is to do about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MonitorWish {
    /// What is looked at on each core.
    pub observed: Wish<Observed>,
    /// Where its largest set of events stands, where sets take turns.
    pub largest_set: Option<TextRange>,
    /// How often.
    pub period: Wish<Duration>,
    /// How long each set of events counts, where sets take turns and a time is said.
    pub turn: Option<Wish<Duration>>,
    /// The upper threshold, and the lower one, where there is one, which is no higher.
    pub threshold: Wish<(Fixed, Option<Fixed>)>,
    /// The classes that it may concern; at least one.
    pub classes: Wish<Vec<TaskClass>>,
    /// What is done above the threshold.
    pub reaction: Wish<Reaction>,
    /// The reaction's own settings, in the order of its registration.
    pub settings: Vec<u64>,
    /// Which of the free ids a process gets, where what it holds of the last level is observed.
    pub recycling: Recycling,
    /// Whether what the monitor says of each task is recorded; nothing for what the reaction does by itself.
    pub recorded: Option<bool>,
    /// Tasks that are one process, by their names.
    pub processes: Vec<Vec<Wish<String>>>,
}

/// How tasks are given cores (thesis 2.4.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Heuristic {
    /// Which core of those with room.
    pub fit: Fit,
    /// Which task first.
    pub order: Order,
}

impl Heuristic {
    /// All heuristics with their names in scenario files: first, best, worst, next fit, and the same for the largest task first.
    pub const ALL: [(&'static str, Self); 8] = [
        ("ff", Self { fit: Fit::First, order: Order::Given }),
        ("bf", Self { fit: Fit::Best, order: Order::Given }),
        ("wf", Self { fit: Fit::Worst, order: Order::Given }),
        ("nf", Self { fit: Fit::Next, order: Order::Given }),
        ("ffd", Self { fit: Fit::First, order: Order::Decreasing }),
        ("bfd", Self { fit: Fit::Best, order: Order::Decreasing }),
        ("wfd", Self { fit: Fit::Worst, order: Order::Decreasing }),
        ("nfd", Self { fit: Fit::Next, order: Order::Decreasing }),
    ];

    /// The name in scenario files.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, known)| *known == self).map_or("ff", |(name, _)| name)
    }
}

/// When jobs are to be released.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReleaseWish {
    /// One each so long.
    Periodic(Wish<Duration>),
    /// One where a device interrupts, and none sooner after the one before.
    Sporadic(Wish<Duration>),
    /// One job.
    Once,
    /// The next as soon as the last has finished.
    Continuous,
}

/// A task, or the pattern of several.
#[derive(Clone, PartialEq, Debug)]
pub struct TaskWish {
    /// Its name.
    pub name: Wish<String>,
    /// Where it begins.
    pub at: TextRange,
    /// Hard, soft or best effort.
    pub class: TaskClass,
    /// When jobs are released; `None` where nothing is said.
    pub release: Option<ReleaseWish>,
    /// The release time of the first job.
    pub offset: Said<Duration>,
    /// The relative deadline.
    pub deadline: Said<Duration>,
    /// The declared worst-case execution time.
    pub wcet: Said<Duration>,
    /// Misses of the last-level cache of a job at most.
    pub misses: Said<u64>,
    /// Execution times and misses by locked pages: what it declares is the point of as many as are locked.
    pub curve: Option<Wish<Curve>>,
    /// The static priority.
    pub priority: Said<u32>,
    /// The core that it is assigned to.
    pub core: Said<CoreId>,
    /// When it is moved to another core; `None` where that is never.
    pub migrate: Said<Option<Migration>>,
    /// So many tasks of this kind, numbered from 0; `None` for one that is not numbered.
    pub copies: Option<u64>,
    /// What each job does.
    pub work: Said<Steps>,
    /// Colors of the last-level cache, ascending.
    pub colors: Option<Wish<Vec<u16>>>,
    /// DRAM banks, ascending.
    pub banks: Option<Wish<Vec<u16>>>,
    /// Ways of the last-level cache, a bit each.
    pub ways: Option<Wish<u64>>,
    /// What it may use of its core's budget.
    pub budget: Option<Wish<Budget>>,
    /// What it gives away of it.
    pub donates: Option<Wish<Donation>>,
}

/// A program of one or more threads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApplicationWish {
    /// Its name.
    pub name: Wish<String>,
    /// How much it counts against others.
    pub weight: u32,
    /// The names of the tasks that are its threads, the first one first.
    pub threads: Vec<String>,
}

/// A device that moves data by itself.
#[derive(Clone, PartialEq, Debug)]
pub struct DeviceWish {
    /// Where it begins.
    pub at: TextRange,
    /// Its name.
    pub name: Wish<String>,
    /// The name of the task or partition whose data it moves.
    pub owner: Wish<String>,
    /// The name of the sporadic task that it releases.
    pub releases: Option<Wish<String>>,
    /// Into memory or out of it.
    pub direction: Direction,
    /// What it moves in each slot.
    pub moves: Wish<Bytes>,
    /// A shared buffer; its own memory where nothing is said.
    pub buffer: Option<Wish<BufferId>>,
    /// From slot to slot.
    pub period: Wish<Duration>,
    /// When the first slot begins; at once where nothing is said, unless that is planned.
    pub offset: Option<Wish<Duration>>,
    /// How long a slot is; the period where nothing is said.
    pub slot: Option<Wish<Duration>>,
    /// The core that starts it.
    pub core: Option<Wish<CoreId>>,
    /// The name of the piece of hardware that it is, where others are it, too; its own where nothing is said.
    pub hardware: Option<Wish<String>>,
    /// How long the hardware is busy with the world, before each input and after each output.
    pub physical: Option<Wish<Duration>>,
    /// When that begins for the first time.
    pub physical_offset: Option<Wish<Duration>>,
    /// How fast its own side is.
    pub rate: Option<Bandwidth>,
    /// After how many bytes it waits where its bandwidth is limited.
    pub wait_every: Option<Wish<Bytes>>,
}

/// Steps of a job; their buffers are positions in `regions`, for each copy of a task has memory of its own.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Steps {
    /// The steps.
    pub steps: Vec<Step>,
    /// The memory that they touch.
    pub regions: Vec<Region>,
    /// How many steps there are, those inside repetitions included.
    pub count: usize,
}

/// Memory that steps touch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    /// Which.
    pub memory: Memory,
    /// What it is called behind the name of a task whose own it is, for example `64KiB`.
    pub name: String,
}

/// Whose memory steps touch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Memory {
    /// Shared with other tasks: one of the request's buffers.
    Shared(BufferId),
    /// The task's own, shared by its steps of the same size.
    Private(Bytes),
    /// The task's own, in the shape of a recorded program: which of the request's, and its size.
    Recorded(u32, Bytes),
    /// What a job takes from a heap while it runs: which of the task's, and its size.
    Allocated(u32, Bytes),
}

/// Something for the tasks of a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named<T> {
    /// The name of a task or of a pattern of tasks.
    pub name: Wish<String>,
    /// What for them.
    pub wish: Wish<T>,
}

/// How tasks are to be isolated from one another.
#[derive(Clone, PartialEq, Default, Debug)]
pub enum IsolationWish {
    /// Not at all, whatever tasks say for themselves.
    #[default]
    Off,
    /// By these mechanisms, and as tasks say for themselves.
    By(Box<Mechanisms>),
}

/// Mechanisms of isolation; whatever is not said is off.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Mechanisms {
    /// Where they are written.
    pub at: TextRange,
    /// Bandwidth budgets.
    pub bandwidth: Said<BandwidthWish>,
    /// Memory by color and bank.
    pub coloring: ColoringWish,
    /// Ways by task, a bit each.
    pub ways: Vec<Named<u64>>,
    /// Pages held in the cache.
    pub lockdown: Option<LockdownWish>,
    /// IMA partitions.
    pub partitions: Vec<PartitionWish>,
    /// When they run.
    pub cycles: Vec<CycleWish>,
}

/// Bandwidth budgets.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct BandwidthWish {
    /// The budgets of cores.
    pub cores: Vec<CoreBudget>,
    /// Where these stand.
    pub cores_at: TextRange,
    /// What they become during the run.
    pub changes: Vec<Wish<BudgetChange>>,
    /// The regulation period.
    pub period: Option<Wish<Duration>>,
    /// What is counted.
    pub counted: Option<Wish<Counted>>,
    /// When all active cores are exhausted.
    pub sharing: Option<Wish<Sharing>>,
    /// Who may use what is not used.
    pub reclaim: Option<Wish<Reclaim>>,
    /// How use is predicted.
    pub prediction: Option<Wish<Prediction>>,
    /// The least that is asked for.
    pub quantum: Option<Wish<u64>>,
    /// Of a core that gave too much away.
    pub wrong_donation: Option<Wish<WrongDonation>>,
    /// Whether use beyond a budget is taken off the next.
    pub carry_over: Option<Wish<bool>>,
    /// Thousandths of throttled time that shorten a time slice.
    pub charge: Option<Wish<u32>>,
    /// What memory was measured to guarantee.
    pub guaranteed: Option<Wish<Bandwidth>>,
    /// Whether more may be reserved than is guaranteed.
    pub best_effort: Option<Wish<bool>>,
    /// What is reserved for devices.
    pub dma: Vec<Wish<DmaMaster>>,
}

/// Memory by color and bank.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct ColoringWish {
    /// Colors by task.
    pub colors: Vec<Named<Vec<u16>>>,
    /// Banks by task.
    pub banks: Vec<Named<Vec<u16>>>,
    /// What holds for all memory.
    pub memory: MemoryWish,
    /// True where some of it can't be read: names are looked up then, and nothing is decided.
    pub in_part: bool,
}

/// What holds for all memory that is colored.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct MemoryWish {
    /// What happens when colors are exhausted.
    pub fallback: Option<Wish<Fallback>>,
    /// Into how many groups colors are merged.
    pub groups: Option<Wish<u16>>,
    /// The kernel's own color.
    pub kernel: Option<Wish<u16>>,
    /// Whether hard tasks may share colors.
    pub shared: Option<Wish<bool>>,
    /// Whether kernel paths touch the kernel's data.
    pub kernel_touches: Option<Wish<bool>>,
    /// What they read at each release besides.
    pub kernel_walks: Option<Wish<Bytes>>,
    /// The kernel's blocks lie one right behind the other.
    pub kernel_packed: Option<Wish<bool>>,
    /// Who decides about the colors of what jobs take from heaps.
    pub allocation: Option<Wish<Allocation>>,
    /// What the heap of each color holds.
    pub heap: Option<Wish<Bytes>>,
}

/// Pages held in the last-level cache.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct LockdownWish {
    /// Where it is written.
    pub at: TextRange,
    /// When pages are locked.
    pub when: Option<Wish<LockTime>>,
    /// How many of their most accessed pages, by task.
    pub pages: Vec<Named<u64>>,
}

/// An IMA partition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartitionWish {
    /// Its name.
    pub name: Wish<String>,
    /// The names of its tasks.
    pub tasks: Vec<Wish<String>>,
}

/// The windows of a core, over and over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CycleWish {
    /// Where it begins.
    pub at: TextRange,
    /// The core.
    pub core: Wish<CoreId>,
    /// After how long it repeats.
    pub length: Wish<Duration>,
    /// Its windows.
    pub windows: Vec<WindowWish>,
}

/// A window of a partition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WindowWish {
    /// Where it stands.
    pub at: TextRange,
    /// The name of the partition.
    pub partition: Wish<String>,
    /// When it begins in its cycle.
    pub begin: Duration,
    /// How long it is.
    pub length: Duration,
}
