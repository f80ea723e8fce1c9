//! The contract between a policy that listens and whoever carries out what it says.
//!
//! ```text
//!   what happened (Hook) ──▶ Placement ──▶ Actions: move, hold, weight, kind, ways, slow
//!                               │ asks
//!                               ▼
//!                  Situation: metrics by id, who runs where
//! ```
//!
//! A criterion orders jobs and knows nothing else. A placement is a state machine that remembers: the kernel tells it what
//! happens and carries out what it answers; on stock Linux an agent does the same with affinity and the freezer. It asks for
//! metrics by their ids and never for what is counted, so the monitor behind a metric can be exchanged without a line here.

use crate::job::TaskParameters;
use alloc::boxed::Box;
use core::any::Any;
use core::fmt::Debug;
use solo_model::sample::Why;
use solo_model::{CoreId, CoreSet, Duration, DutyCycle, Fixed, Instant, MetricId, TaskId};

pub use solo_model::KindId;

/// Whose metric.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Whose {
    /// A task's, wherever it ran.
    Task(TaskId),
    /// A core's, whoever ran there.
    Core(CoreId),
}

/// What a placement hears (PMCTrack 3: the hooks of a monitoring module).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hook {
    /// The policy is switched on: nothing has been told before.
    Enable,
    /// A task exists.
    Fork(TaskId),
    /// A task goes on with another program: what was known of it holds no more. A kernel whose tasks are fixed never says so;
    /// Linux does.
    Exec(TaskId),
    /// A task comes onto a core.
    SwitchIn {
        /// The task.
        task: TaskId,
        /// The core.
        core: CoreId,
    },
    /// A task leaves a core.
    SwitchOut {
        /// The task.
        task: TaskId,
        /// The core.
        core: CoreId,
    },
    /// A task comes onto another core than it left.
    Migrate {
        /// The task.
        task: TaskId,
        /// Where it ran before; `None` the first time.
        from: Option<CoreId>,
        /// Where it runs now.
        to: CoreId,
    },
    /// A sampling period is over on a core, whose samples have been told. The next one ends at `next`.
    Tick {
        /// The core.
        core: CoreId,
        /// The end of the next period.
        next: Instant,
    },
    /// The monitors have looked at what was counted.
    Sample {
        /// Whose counts they were.
        of: Whose,
        /// Where they were counted.
        core: CoreId,
        /// Why there is a sample.
        why: Why,
    },
    /// A task has ended.
    Exit(TaskId),
}

/// What is to be done about a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// The task runs on this core from its next boundary on, or on a core that shares its queue.
    Move {
        /// The task.
        task: TaskId,
        /// The core.
        core: CoreId,
    },
    /// The task gives its core away and is not ready before this time. Where nobody else is ready its core is idle (thesis
    /// 8.2.3, *yield*).
    Hold {
        /// The task.
        task: TaskId,
        /// When it is ready again.
        until: Instant,
    },
    /// The task's time slices are so many thousandths of the quantum.
    Weight {
        /// The task.
        task: TaskId,
        /// Thousandths; 1000 is the quantum.
        per_mille: u32,
    },
    /// The task runs on cores of this kind from its next boundary on.
    Kind {
        /// The task.
        task: TaskId,
        /// The kind.
        kind: KindId,
    },
    /// The task fills only these ways of its last level from now on, whichever core it is on (CAT). What is there stays.
    Ways {
        /// The task.
        task: TaskId,
        /// A bit for each way, the lowest for way 0; without a gap.
        mask: u64,
    },
    /// The clock of a core runs for so much of the time from now on, whoever is on it.
    Slow {
        /// The core.
        core: CoreId,
        /// How much of the time.
        duty: DutyCycle,
    },
}

/// At most [`Actions::MOST`] actions, in the order in which they are to be carried out.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[must_use]
pub struct Actions {
    list: [Option<Action>; Self::MOST],
}

impl Actions {
    /// The most actions that follow from one hook.
    pub const MOST: usize = 8;
    /// Nothing is to be done.
    pub const NONE: Self = Self { list: [None; Self::MOST] };

    /// One action.
    pub const fn one(action: Action) -> Self {
        let mut actions = Self::NONE;
        actions.list[0] = Some(action);
        actions
    }

    /// Adds an action; `None` where there are [`Self::MOST`] of them already.
    pub fn push(&mut self, action: Action) -> Option<()> {
        *self.list.iter_mut().find(|place| place.is_none())? = Some(action);
        Some(())
    }

    /// The actions, in their order.
    pub fn iter(&self) -> impl Iterator<Item = Action> + '_ {
        self.list.iter().flatten().copied()
    }
}

/// What a placement may ask while it decides.
pub trait Situation {
    /// The last value of a metric; `None` where nothing is known. That is not zero. What was made of a core's counts is known in
    /// the sampling period in which it was made and in the next one: after that its monitor is silent or late, and nothing is
    /// known. What was made of a task's counts is known as long as the task lives, which may sleep for many periods.
    fn metric(&self, whose: Whose, metric: MetricId) -> Option<Fixed>;
    /// How long ago the value was made; `None` where nothing is known.
    fn age(&self, whose: Whose, metric: MetricId) -> Option<Duration>;
    /// The task on a core; `None` where it is idle or is not there.
    fn running(&self, core: CoreId) -> Option<TaskId>;
    /// What is known of a task; `None` where there is no such task.
    fn parameters(&self, task: TaskId) -> Option<TaskParameters>;
    /// The cores that tasks can be placed on.
    fn cores(&self) -> CoreSet;
    /// The kind of a core; `None` where there is no such core.
    fn kind(&self, core: CoreId) -> Option<KindId>;
    /// True where a task is on a core or waits for one, and not for a lock, a time or its next release. Who does not know says
    /// so of every task.
    fn is_ready(&self, task: TaskId) -> bool {
        self.parameters(task).is_some()
    }
}

/// A policy that listens.
///
/// A value like any policy: no clock, no input or output, no float, no lock, no allocation after its construction; what happens
/// and when is told. The same value runs in the kernel of each machine and in an agent on stock Linux.
pub trait Placement: PlacementValue {
    /// The name on reports.
    fn name(&self) -> &'static str;

    /// Hears, before anything else, of all tasks that there will be, in their order: here it takes the memory that it needs for them.
    fn prepare(&mut self, _tasks: &[TaskParameters]) {}

    /// Takes in what happened at `now` and says what is to be done.
    fn on(&mut self, now: Instant, hook: Hook, situation: &dyn Situation) -> Actions;
}

/// What makes a placement a value: it can be copied and compared, as all that a kernel keeps can. Every `Placement` that is
/// `Clone` and `PartialEq` has it.
pub trait PlacementValue: Any + Debug + Send + Sync {
    /// A copy.
    fn copied(&self) -> Box<dyn Placement>;
    /// True where `other` is the same policy in the same state.
    fn same(&self, other: &dyn Placement) -> bool;
}

impl<T: Placement + Clone + PartialEq + Debug + Send + Sync + 'static> PlacementValue for T {
    fn copied(&self) -> Box<dyn Placement> {
        Box::new(self.clone())
    }

    fn same(&self, other: &dyn Placement) -> bool {
        (other as &dyn Any).downcast_ref::<T>().is_some_and(|other| self == other)
    }
}

/// Any placement, as a value that a kernel keeps.
#[derive(Debug)]
pub struct Placed(Box<dyn Placement>);

impl Placed {
    /// `placement`, whichever it is.
    pub fn new(placement: impl Placement) -> Self {
        Self(Box::new(placement))
    }

    /// The name on reports.
    pub fn name(&self) -> &'static str {
        self.0.name()
    }

    /// Tells the policy of all tasks that there will be, before anything else.
    pub fn prepare(&mut self, tasks: &[TaskParameters]) {
        self.0.prepare(tasks);
    }

    /// Tells the policy what happened at `now`; what it answers is to be done.
    pub fn on(&mut self, now: Instant, hook: Hook, situation: &dyn Situation) -> Actions {
        self.0.on(now, hook, situation)
    }
}

impl Clone for Placed {
    fn clone(&self) -> Self {
        Self(self.0.copied())
    }
}

impl PartialEq for Placed {
    fn eq(&self, other: &Self) -> bool {
        self.0.same(other.0.as_ref())
    }
}

impl Eq for Placed {}
