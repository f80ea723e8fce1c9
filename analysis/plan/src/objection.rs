//! Why a request can't be had as it stands, and what is probably not meant: data, with places.

use crate::listen::Deaf;
use crate::place::TextRange;
use alloc::string::String;
use alloc::vec::Vec;
use solo_isolate::admission::IsolationRefusal;
use solo_isolate::diagnose::Warning;
use solo_isolate::lockdown::LockError;
use solo_isolate::ways::WayError;
use solo_model::migration::Stays;
use solo_model::partition::WindowError;
use solo_model::{Bytes, CoreId, Device, Duration, Policy, TaskId};
use solo_prove::color::ColorError;
use solo_prove::pack::Full;

/// Something that can't be had.
#[derive(Clone, PartialEq, Debug)]
pub struct Objection {
    /// What it is about.
    pub at: TextRange,
    /// What is wrong.
    pub fault: Fault,
}

/// A part without which there is no experiment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The chip.
    Platform,
    /// The policy.
    Scheduler,
    /// Any task.
    Tasks,
    /// When the run ends.
    End,
}

/// What a policy needs to know of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Needed {
    /// A core of its own, or one of its cluster.
    Core,
    /// A deadline.
    Deadline,
    /// A period.
    Period,
    /// A declared execution time.
    Wcet,
    /// A priority.
    Priority,
}

/// Why a task is not of a partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Apart {
    /// The partition's tasks are not all assigned to one core.
    OtherCore,
    /// It is in another partition, too.
    Twice,
}

/// Why time can't be divided into windows as wished.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Undivided {
    /// The windows are none.
    Wrong(WindowError),
    /// No partition is called that.
    NoSuchPartition {
        /// The name.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// The partition's tasks are on another core.
    OtherCore {
        /// The name of the partition.
        partition: String,
        /// The core of its tasks.
        core: CoreId,
    },
    /// A partition of a core whose time is divided has no window: it would never run.
    NoWindow {
        /// The name of the partition.
        partition: String,
        /// The core.
        core: CoreId,
    },
    /// The policy has one queue for several cores.
    SharedQueue {
        /// The policy.
        policy: Policy,
    },
    /// The scheduler listens, and might move tasks out of their windows.
    Listener,
    /// A time lies between two ticks.
    BetweenTicks {
        /// The time.
        time: Duration,
        /// The tick.
        tick: Duration,
    },
}

/// Why interrupts of devices and sporadic tasks don't go together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReleaseFault {
    /// A device releases a task that is not there.
    NoTask {
        /// The device.
        device: String,
        /// What it is to release.
        task: String,
        /// The tasks that there are.
        known: Vec<String>,
    },
    /// A device releases a task that is not sporadic.
    NotSporadic {
        /// The device.
        device: String,
        /// The task.
        task: String,
        /// Where the task says when its jobs are released, or else the task.
        task_at: TextRange,
    },
    /// A device releases a pattern of tasks, and its interrupt releases one.
    Copies {
        /// The device.
        device: String,
        /// The pattern.
        task: String,
        /// How many there are.
        copies: u64,
    },
    /// No device releases a sporadic task.
    Nobody {
        /// The task.
        task: String,
    },
}

/// Why a device can't be had as wished.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DeviceFault {
    /// Nobody owns it: there is no such task or partition.
    NoOwner {
        /// The device.
        device: String,
        /// Who is said to own it.
        owner: String,
        /// The tasks and partitions that there are.
        known: Vec<String>,
    },
    /// It can't release what it is to release, or nobody releases a task.
    Release(ReleaseFault),
    /// Bandwidth is reserved for a device that is not there.
    NoDevice {
        /// Its name.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// A slot is longer than the time to the next.
    LongSlot {
        /// How long it is.
        slot: Duration,
        /// From slot to slot.
        period: Duration,
    },
    /// It takes longer than a slot, even where memory takes no time.
    ShortSlot {
        /// How long it takes at least.
        needs: Duration,
        /// How long the slot is.
        slot: Duration,
    },
    /// An input's physical step is to end after the slot that moves what it took.
    InputBefore {
        /// When the step ends.
        ends: Duration,
        /// When the slot begins.
        slot: Duration,
    },
    /// An output's physical step is to begin before the slot that moves what it gives is over.
    OutputBefore {
        /// When the step begins.
        begins: Duration,
        /// When the slot is over.
        slot: Duration,
    },
    /// Physical steps of one piece of hardware overlap.
    Busy {
        /// Its name.
        hardware: String,
        /// The device that stands first.
        first: String,
        /// The other one.
        second: String,
    },
    /// It moves more than its buffer holds.
    SmallBuffer {
        /// What it moves.
        moves: Bytes,
        /// What the buffer holds.
        size: Bytes,
    },
    /// It writes into a buffer of which pages are locked in the cache.
    LockedBuffer,
    /// Tasks may run on the core that starts it.
    BusyCore {
        /// The core.
        core: CoreId,
        /// One of the tasks.
        task: String,
        /// The policy lets any task run on it.
        shared: bool,
    },
    /// Slots of one core overlap.
    Overlap {
        /// The device that stands first.
        first: Device,
        /// The other one.
        second: Device,
    },
}

/// Why a core does not take a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoRoom {
    /// The core.
    pub core: CoreId,
    /// The equation that fails there, with its numbers; times are nanoseconds.
    pub full: Full,
    /// The task that would be late, where one is known.
    pub late: Option<TaskId>,
}

/// What can't be had.
#[derive(Clone, PartialEq, Debug)]
pub enum Fault {
    /// A part is missing altogether.
    Incomplete {
        /// Which.
        part: Part,
    },
    /// The policy can't schedule a task without knowing more of it.
    PolicyNeeds {
        /// The name of the task.
        task: String,
        /// What it lacks.
        needed: Needed,
        /// The policy.
        policy: Policy,
        /// Where the policy is named.
        policy_at: TextRange,
    },
    /// A task is to migrate and can't.
    Stays {
        /// The name of the task.
        task: String,
        /// Why not.
        why: Stays,
        /// The policy.
        policy: Policy,
        /// Where the policy is named.
        policy_at: TextRange,
    },
    /// Nothing says when jobs of a task with deadlines are released.
    NoRelease {
        /// The name of the task.
        task: String,
    },
    /// A hard or soft task without a deadline.
    NoDeadline {
        /// The name of the task.
        task: String,
    },
    /// A task that is to be given a core, and nothing says how long its jobs take.
    Unsized {
        /// The name of the task.
        task: String,
    },
    /// No test says what a core can take under this policy.
    NoCapacity {
        /// The policy.
        policy: Policy,
    },
    /// A task that no core takes.
    Unplaced {
        /// The name of the task.
        task: String,
        /// By core, what failed; tasks are numbers of the experiment.
        tried: Vec<NoRoom>,
    },
    /// A task with a core of its own, where groups of tasks are given cores.
    CoreAndPartition {
        /// The name of the task.
        task: String,
    },
    /// Tasks that can't be given cores by their colors.
    Colors {
        /// What fails; tasks are positions in `tasks`.
        error: ColorError,
        /// The tasks that were to be placed, as numbers of the experiment.
        tasks: Vec<TaskId>,
    },
    /// A declared execution time beyond the deadline.
    WcetBeyondDeadline {
        /// The name of the task.
        task: String,
        /// What is declared.
        wcet: Duration,
        /// When it is due after its release.
        due: Duration,
        /// Where that stands.
        due_at: TextRange,
    },
    /// More tasks than there may be.
    TooManyTasks {
        /// So many with this one.
        tasks: u64,
        /// So many there may be.
        most: u64,
    },
    /// More steps of all tasks together than there may be.
    TooManySteps {
        /// So many there may be.
        most: u64,
    },
    /// A task that releases its next job as soon as one is done, and whose jobs take next to no time.
    TooBrief {
        /// The name of the task.
        task: String,
        /// What a job takes about.
        about: Duration,
        /// What it has to take.
        least: Duration,
    },
    /// A job that does so many steps at one instant that no machine comes to their end.
    IdleSteps {
        /// The name of the task.
        task: String,
        /// So many steps.
        steps: u64,
        /// So many there may be.
        most: u64,
    },
    /// Two tasks of a name.
    Duplicate {
        /// The name.
        name: String,
        /// Where the first is named.
        first: TextRange,
    },
    /// The memory of all tasks does not fit into the platform's.
    Memory {
        /// What they need together.
        needed: Bytes,
        /// What there is.
        available: Bytes,
        /// The platform.
        platform: String,
        /// The name and size of the largest buffer.
        largest: Option<(String, Bytes)>,
    },
    /// A run by jobs in which no task is periodic.
    JobsOfNone,
    /// A run by jobs that takes longer than every clock.
    RunTooLong {
        /// The jobs.
        jobs: u64,
        /// The longest period.
        period: Duration,
        /// So many there may be.
        most: u64,
    },
    /// Isolation for a task that there is not.
    NoSuchTask {
        /// The name.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// What was wished of isolation can't be had on this platform.
    Refused(IsolationRefusal),
    /// No set of ways of the last-level cache.
    Ways {
        /// What is wrong with it.
        error: WayError,
        /// The ways that there are.
        ways: u16,
    },
    /// Pages can't be locked as wished.
    Locking {
        /// Why.
        error: LockError,
        /// So many can be locked for all tasks.
        capacity: u64,
    },
    /// A task touches so many pages that the busiest can't be found.
    TooManyPagesToRank {
        /// The pages.
        pages: u64,
        /// So many there may be.
        most: u64,
    },
    /// A task can't be in a partition.
    NotInPartition {
        /// The name of the task, or of its pattern.
        task: String,
        /// The name of the partition.
        partition: String,
        /// Why.
        why: Apart,
    },
    /// Time can't be divided as wished.
    Windows(Undivided),
    /// A device can't be had as wished.
    Device(DeviceFault),
    /// The scheduler can't listen as wished.
    Deaf(Deaf),
    /// A task whose pages are to be locked in its partition's windows is in no partition.
    NoPartition {
        /// The task.
        task: TaskId,
    },
}

/// Something that is probably not meant as it is written.
#[derive(Clone, PartialEq, Debug)]
pub struct Doubt {
    /// What it is about.
    pub at: TextRange,
    /// What is doubtful.
    pub what: Doubtful,
}

/// What is probably not meant.
#[derive(Clone, PartialEq, Debug)]
pub enum Doubtful {
    /// A task computes for longer than its declared execution time.
    ComputesBeyondWcet {
        /// The name of the task.
        task: String,
        /// What is declared.
        wcet: Duration,
        /// What its steps compute at most.
        computed: Duration,
        /// Where the steps stand.
        work_at: TextRange,
    },
    /// Tasks of this policy are given no core.
    UnusedPartition,
    /// The scheduler is to do something about tasks of classes that no task has.
    NobodyConcerned,
    /// A task has a budget, and nobody counts.
    UnusedBudget,
    /// Bandwidth is regulated, and nothing is reserved for this device: it takes what it gets.
    Uncontrolled {
        /// Its name.
        device: String,
    },
    /// A mechanism would silently do nothing, or less than is expected of it.
    Ineffective(Warning),
}
