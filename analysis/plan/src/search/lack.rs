//! What stands in the way of a plan, and how far it is from one.

use crate::Refused;
use crate::objection::NoRoom;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use solo_ima::Impossible;
use solo_model::{Bandwidth, Bytes, CoreId, Direction, Duration};

/// What stood in the way.
#[derive(Clone, PartialEq, Debug)]
pub enum NoPlan {
    /// The I/O of partitions has no table.
    Io(IoLack),
    /// A job may end after the window with which it is released, and so after the slot that moves what it answers.
    Outlasts {
        /// The task's name.
        task: String,
        /// Its partition.
        partition: String,
        /// How long after the window's begin.
        needs: Duration,
        /// The window.
        has: Duration,
    },
    /// Tasks ask for more processor time than cores have.
    Processors {
        /// In millionths of a core, rounded up.
        asked: u64,
        /// The cores.
        cores: usize,
    },
    /// More cores use memory than there are colors that nobody has.
    Colors {
        /// Cores that need one.
        needed: usize,
        /// Colors.
        there: usize,
    },
    /// More cores use memory than there are banks that placement of pages controls.
    Banks {
        /// Cores that need one.
        needed: usize,
        /// Banks.
        there: usize,
    },
    /// The banks of a core don't hold what its tasks touch.
    BankMemory {
        /// The core.
        core: CoreId,
        /// What its tasks touch.
        needs: Bytes,
        /// What its banks hold.
        holds: Bytes,
    },
    /// The misses that tasks declare are more than memory guarantees.
    Bandwidth {
        /// What is asked for.
        needed: Bandwidth,
        /// What can be reserved in misses.
        there: Bandwidth,
    },
    /// No core takes a task.
    NoRoom {
        /// Its name.
        task: String,
        /// By core, why not.
        tried: Vec<NoRoom>,
        /// Of the emptiest core: what its tasks would ask for, in millionths of a core; 0 where nothing says.
        asked: u64,
    },
    /// A job may be late.
    Late {
        /// The task.
        task: usize,
        /// Its name.
        name: String,
        /// Where it is.
        core: Option<CoreId>,
        /// What it may need.
        needs: Duration,
        /// What it has.
        has: Duration,
        /// What of it is budgets and memory that serves others.
        memory: Duration,
    },
    /// Two tasks use the same memory or a cache that nothing divides: they belong on one core.
    Together(usize, usize),
    /// Two tasks on different cores take this lock, and there is no analysis of that: they belong on one core.
    Lock(String),
    /// The tasks that share some cores ask for more than all of their time: some of their jobs fall behind for ever.
    Overload {
        /// The lowest of the cores.
        core: CoreId,
        /// How many they are.
        cores: usize,
        /// In millionths of one.
        asked: u64,
    },
    /// The windows that the deadlines of a core's partitions need are more than its time.
    Windows {
        /// The core.
        core: CoreId,
        /// The partitions with deadlines.
        partitions: Vec<String>,
        /// In millionths of the core.
        asked: u64,
    },
    /// The windows of a core can't be placed so that none overlap.
    NoTable {
        /// The core.
        core: CoreId,
        /// The partition that had no place most often.
        partition: String,
    },
    /// A partition without deadlines gets no time: those with deadlines need all of it.
    NothingLeft {
        /// The core.
        core: CoreId,
        /// The partition.
        partition: String,
    },
    /// A task in no partition is on a core whose time has to be divided.
    Unpartitioned {
        /// Its name.
        task: String,
        /// The core.
        core: CoreId,
    },
    /// Nothing says how long jobs of a task take.
    Unsized(String),
    /// A plan refused it.
    Refused(Box<Refused>),
    /// There were too many rounds.
    Rounds,
}

impl NoPlan {
    /// How far it is from a plan: smaller is nearer.
    pub(super) fn distance(&self) -> u64 {
        match self {
            Self::Late { needs, has, .. } => over(*needs, *has),
            Self::Outlasts { needs, has, .. } => over(*needs, *has),
            Self::Io(lack) => lack.distance(),
            Self::Windows { asked, .. } => asked.saturating_sub(1_000_000).max(1),
            Self::Overload { cores, asked, .. } => asked.saturating_sub(*cores as u64 * 1_000_000).max(1),
            Self::NothingLeft { .. } => 1,
            // A common period always has a table: where that asks for too much of the core, that is nearer.
            Self::NoTable { .. } => u64::MAX >> 1,
            Self::Unpartitioned { .. } => u64::MAX - 6,
            Self::NoRoom { .. } => u64::MAX - 8,
            Self::Bandwidth { .. } | Self::Colors { .. } | Self::Banks { .. } | Self::BankMemory { .. } => {
                u64::MAX - 16
            }
            Self::Refused(_) => u64::MAX - 4,
            Self::Together(..) | Self::Lock(_) => u64::MAX - 2,
            Self::Processors { .. } | Self::Unsized(_) => u64::MAX - 32,
            Self::Rounds => u64::MAX,
        }
    }
}

/// By how much something is too long, in parts of a million of what there is.
pub(super) fn over(needs: Duration, has: Duration) -> u64 {
    let off = u128::from(needs.get().saturating_sub(has.get())) * 1_000_000;
    u64::try_from(off / u128::from(has.get().max(1))).unwrap_or(u64::MAX >> 1).min(u64::MAX >> 1)
}

/// Why I/O has no table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IoLack {
    /// A partition has two devices of a direction, and its steps are one input and one output.
    TwoSides {
        /// The partition.
        partition: String,
        /// The direction.
        direction: Direction,
    },
    /// Input and output of a partition have different periods.
    Periods {
        /// The partition.
        partition: String,
        /// The input's.
        input: Duration,
        /// The output's.
        output: Duration,
    },
    /// The period of a task is no multiple of that of its partition's devices.
    TaskPeriod {
        /// The task.
        task: String,
        /// The partition.
        partition: String,
        /// The task's.
        period: Duration,
        /// The devices'.
        devices: Duration,
    },
    /// A task is released at another time than its partition's window begins: the scenario says when, or a device does.
    Released {
        /// The task.
        task: String,
        /// The partition.
        partition: String,
    },
    /// No task of a partition has a deadline: nothing says how long its window is to be.
    NoDeadline {
        /// The partition.
        partition: String,
    },
    /// The windows of a core are written, and the slots of a partition there are not.
    Written {
        /// The partition.
        partition: String,
        /// The core.
        core: CoreId,
    },
    /// Tasks are on all cores: none is left to start devices.
    NoCore {
        /// So many there are.
        cores: usize,
    },
    /// Arithmetic shows that there is no table.
    Never {
        /// Why.
        why: Impossible,
        /// The names of the partitions that it speaks of by their places,
        partitions: Vec<String>,
        /// and of the hardware.
        hardware: Vec<String>,
    },
    /// Steps of these lengths and periods are no problem of whole numbers that a search can take.
    TooFine,
    /// The search gave up.
    NoPlace {
        /// The partition of which a step had no place most often.
        partition: String,
        /// The step.
        step: solo_ima::Step,
        /// How often.
        times: u64,
        /// How often it began anew.
        restarts: u64,
    },
}

impl IoLack {
    /// How far it is from a table: smaller is nearer.
    pub(super) fn distance(&self) -> u64 {
        match self {
            Self::Never { why, .. } => match *why {
                Impossible::TooLong { takes, latency, .. } | Impossible::Waits { takes, latency, .. } => {
                    over(takes, latency)
                }
                Impossible::Overload { utilization_ppm, .. } => utilization_ppm.saturating_sub(1_000_000),
                Impossible::Pair { together, modulus, .. } => over(together, modulus),
                Impossible::Fixed { .. } => u64::MAX >> 1,
            },
            Self::NoPlace { .. } => u64::MAX >> 1,
            _ => u64::MAX - 24,
        }
    }
}
