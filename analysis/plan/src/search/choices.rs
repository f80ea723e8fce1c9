//! What was chosen, what was tried, and what lacked.

use super::lack::NoPlan;
use crate::request::Heuristic;
use crate::{Plan, Refused};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use solo_model::{CoreId, Duration, Events};
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
    /// When its first job is released: with the window of a partition that exchanges data with devices.
    pub offset: Option<Duration>,
}

/// The pages of a task that are locked in the windows of its partition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PagesChoice {
    /// The name of the task.
    pub task: String,
    /// How many, the most accessed first; above zero.
    pub pages: u64,
}

/// The slots of a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceChoice {
    /// Its name.
    pub name: String,
    /// The I/O core.
    pub core: CoreId,
    /// When the first slot begins.
    pub offset: Duration,
    /// When the hardware is busy with the world for the first time, where it is at all.
    pub physical_offset: Option<Duration>,
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
    /// Slots of devices, in the order of the request.
    pub devices: Vec<DeviceChoice>,
    /// Locked pages, by task.
    pub pages: Vec<PagesChoice>,
}

impl Choices {
    /// Takes out how time is divided.
    pub(super) fn undivide(&mut self) {
        (self.cycles, self.devices, self.pages) = (Vec::new(), Vec::new(), Vec::new());
        for task in &mut self.tasks {
            task.offset = None;
        }
    }
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
    /// All ways to give them cores, one after the other: the how manyth.
    Each(u32),
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
    /// How slots of devices were found, where they were,
    pub table: Option<IoTable>,
    /// and what they are.
    pub devices: Vec<DeviceChoice>,
    /// What best effort got beyond that, where it got anything.
    pub spare: Option<Spare>,
}

/// How a table of I/O was found.
#[derive(Clone, PartialEq, Debug)]
pub struct IoTable {
    /// The core that starts all devices.
    pub core: CoreId,
    /// How often the search began anew.
    pub restarts: u64,
    /// What was tried before: how the periods of windows were chosen, and why that failed.
    pub tried: Vec<(WindowRule, NoPlan)>,
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
