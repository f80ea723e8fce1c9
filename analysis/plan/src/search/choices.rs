//! What was chosen, what was tried, and what lacked.

use crate::objection::NoRoom;
use crate::request::Heuristic;
use crate::{Plan, Refused};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use solo_model::{Bandwidth, Bytes, CoreId, Duration, Events};
use solo_prove::system::{Judged, Overall};

/// What is planned beside cores, colors, budgets and windows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Aims {
    /// DRAM banks of their own for cores that use memory.
    pub banks: bool,
}

/// What is chosen for a wish, in the order of the unfolded request; what the wish says itself is not repeated.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct WishChoice {
    /// The name of the task, or of the pattern.
    pub name: String,
    /// Its core.
    pub core: Option<CoreId>,
    /// Its colors of the last-level cache, ascending.
    pub colors: Option<Vec<u16>>,
    /// Its DRAM banks, ascending.
    pub banks: Option<Vec<u16>>,
}

/// Everything that is chosen.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Choices {
    /// The names of patterns whose copies stand for themselves, for they may go to cores of their own: each with how many there are.
    pub unfolded: Vec<(String, u64)>,
    /// By wish.
    pub tasks: Vec<WishChoice>,
    /// The misses that cores may cause in a regulation period, by core.
    pub budgets: Vec<(CoreId, Events)>,
    /// The regulation period, where it is another than the usual one.
    pub period: Option<Duration>,
    /// Windows of partitions, by core.
    pub cycles: Vec<CycleChoice>,
}

/// The windows of a core.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CycleChoice {
    /// The core.
    pub core: CoreId,
    /// After how long they repeat.
    pub length: Duration,
    /// By their begin.
    pub windows: Vec<WindowChoice>,
}

/// A window.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WindowChoice {
    /// The name of the partition.
    pub partition: String,
    /// When it begins in its cycle.
    pub begin: Duration,
    /// How long it is.
    pub length: Duration,
}

/// How the time of a core was divided.
#[derive(Clone, PartialEq, Debug)]
pub struct Division {
    /// The core.
    pub core: CoreId,
    /// By which rule.
    pub rule: WindowRule,
    /// The windows.
    pub cycle: CycleChoice,
    /// The partitions of the core.
    pub partitions: Vec<DividedPartition>,
    /// What of a cycle is nobody's.
    pub idle: Duration,
    /// What was tried before on this core, and why it failed.
    pub tried: Vec<(WindowRule, NoPlan)>,
}

/// What a partition needs of its core.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DividedPartition {
    /// Its name.
    pub name: String,
    /// From one window to the next; `None` for one without deadlines, which gets what is left.
    pub period: Option<Duration>,
    /// The shortest window with which its deadlines are proved.
    pub least: Option<Duration>,
}

/// From one window of a partition to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowRule {
    /// The shortest period of its tasks, divided by so much.
    Own {
        /// By how much.
        parts: u64,
    },
    /// The shortest period of all partitions of the core, divided by so much.
    Common {
        /// By how much.
        parts: u64,
    },
}

/// How tasks were given cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CoreRule {
    /// By bin packing.
    Packed(Heuristic),
    /// Worst fit, in an order that was drawn: the how manyth.
    Drawn(u32),
    /// Tasks with deadlines that use memory on cores of their own, the others by bin packing.
    Apart(Heuristic),
    /// As `partition` says, which places groups of tasks by their colors.
    ByColor,
    /// As they are written.
    Written,
}

/// How bandwidth was divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BudgetRule {
    /// The same for each core.
    Even {
        /// The part of what can be reserved that was handed out, in percent.
        part: u64,
    },
    /// In proportion to the misses that tasks declare, over their periods.
    ByNeed {
        /// The part of what can be reserved that was handed out, in percent.
        part: u64,
    },
    /// A quarter of the budget of the core with most slack was moved to the core with least, so many times.
    Shifted(u32),
}

/// What stood in the way.
#[derive(Clone, PartialEq, Debug)]
pub enum NoPlan {
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
            Self::Late { needs, has, .. } => {
                let off = u128::from(needs.get().saturating_sub(has.get())) * 1_000_000;
                u64::try_from(off / u128::from(has.get().max(1))).unwrap_or(u64::MAX >> 1).min(u64::MAX >> 1)
            }
            Self::Windows { asked, .. } => asked.saturating_sub(1_000_000).max(1),
            Self::NothingLeft { .. } => 1,
            // A common period always has a table: where that asks for too much of the core, that is nearer.
            Self::NoTable { .. } => u64::MAX >> 1,
            Self::Unpartitioned { .. } => u64::MAX - 6,
            Self::NoRoom { .. } => u64::MAX - 8,
            Self::Bandwidth { .. } | Self::Colors { .. } | Self::Banks { .. } | Self::BankMemory { .. } => {
                u64::MAX - 16
            }
            Self::Refused(_) => u64::MAX - 4,
            Self::Together(..) => u64::MAX - 2,
            Self::Processors { .. } | Self::Unsized(_) => u64::MAX - 32,
            Self::Rounds => u64::MAX,
        }
    }
}

/// An attempt that came to nothing.
#[derive(Clone, PartialEq, Debug)]
pub struct Round {
    /// How cores were given.
    pub cores: CoreRule,
    /// Whether memory was counted into execution times for that.
    pub charged: bool,
    /// How bandwidth was divided, where it came to that.
    pub budgets: Option<BudgetRule>,
    /// The cores of the tasks; empty where none were found.
    pub placed: Vec<CoreId>,
    /// The regulation period, where it is another than the usual one.
    pub period: Option<Duration>,
    /// What stood in the way.
    pub lack: NoPlan,
}

/// A plan and its verdict.
#[derive(Clone, PartialEq, Debug)]
pub struct Planned {
    /// The experiment, with what else was decided.
    pub plan: Plan,
    /// What the analysis says.
    pub judged: Judged,
    /// What that comes to: never that a deadline may be missed.
    pub overall: Overall,
    /// How cores were given.
    pub rule: CoreRule,
    /// Whether memory was counted into execution times for that.
    pub charged: bool,
    /// How bandwidth was divided, where it was.
    pub budgets: Option<BudgetRule>,
    /// How the time of cores was divided among partitions, where that was chosen.
    pub divisions: Vec<Division>,
    /// What best effort got beyond that, where it got anything.
    pub spare: Option<Spare>,
}

/// Bandwidth that best effort got because the deadlines are proved without it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spare {
    /// The budgets before, by core, in misses a regulation period.
    pub before: Vec<(CoreId, Events)>,
    /// The cores that run best effort, ascending: each got the same.
    pub to: Vec<CoreId>,
    /// How many plans were judged for it.
    pub checks: u32,
    /// What it cost, by core.
    pub slack: Vec<Slack>,
}

/// The slack of a core's tightest task, in parts of a million of its deadline; a million where nothing is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slack {
    /// The core.
    pub core: CoreId,
    /// Before best effort got the rest.
    pub before: i64,
    /// After that.
    pub after: i64,
}

/// How a search ended.
#[derive(Clone, PartialEq, Debug)]
pub enum Ending {
    /// With a plan.
    Planned(Box<Planned>),
    /// Without one: what stood in the way of the nearest attempt.
    Impossible(NoPlan),
    /// What the request says can't be had, whatever is chosen.
    Refused(Box<Refused>),
}

/// A search.
#[derive(Clone, PartialEq, Debug)]
pub struct Search {
    /// The choices of the plan, or of the nearest attempt.
    pub choices: Choices,
    /// What was tried before, in order.
    pub rounds: Vec<Round>,
    /// How it ended.
    pub ending: Ending,
}
