//! Isolation as a description: who owns which colors, banks, ways and locked pages, and how much bandwidth.
//!
//! Plain data. What it means is decided in `solo-isolate`; a machine is checked against it before anything
//! changes. Everything absent means that the mechanism is off.

use crate::event::EventId;
use crate::id::{Bank, BufferId, Color, CoreId, TaskId};
use crate::partition::Partitions;
use crate::task::Task;
use crate::units::{Bandwidth, Bytes, Duration, Events};
use alloc::string::String;
use alloc::vec::Vec;

/// What an experiment asks of isolation.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Isolation {
    /// Bandwidth budgets (MemGuard).
    pub bandwidth: Option<Regulation>,
    /// Which memory each task's pages come from.
    pub memory: Option<Coloring>,
    /// Which ways of the last-level cache each core may fill.
    pub ways: Vec<WayMask>,
    /// Which pages are held in the last-level cache.
    pub lockdown: Option<Lockdown>,
    /// Who runs when, where time is divided into windows.
    #[cfg_attr(feature = "serde", serde(default))]
    pub partitions: Option<Partitions>,
}

impl Isolation {
    /// True where no mechanism is on.
    pub fn is_off(&self) -> bool {
        *self == Self::default()
    }
}

/// How many events a core or a task may cause in a regulation period.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Budget {
    /// A data rate; a cache line moves with each event.
    Rate(Bandwidth),
    /// Events in a period.
    Events(Events),
    /// Thousandths of the guaranteed bandwidth.
    Share(u32),
    /// A share of the guaranteed bandwidth by weight, among the cores that are active when a period begins.
    Weight(u32),
}

/// What happens when all active cores have used their budgets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Sharing {
    /// They wait for the next period.
    #[default]
    None,
    /// Nobody is regulated until the next period.
    Spare,
    /// A new period begins at once, so that the surplus is divided like the budgets.
    Proportional,
}

/// Who may use what a core has reserved and does not use.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Reclaim {
    /// Nobody.
    #[default]
    Off,
    /// Cores put it into one pool at the start of a period (MemGuard of 2013).
    Pool,
    /// Cores take it from one another, core after core (MemGuard of 2022, without spending it twice).
    Peers,
}

/// How a core's use in the next period is predicted.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Prediction {
    /// Exponentially weighted moving average in which the last period weighs one half.
    #[default]
    EwmaHalf,
    /// The same with one quarter.
    EwmaQuarter,
    /// A least-mean-squares filter over the last four periods.
    Lms,
    /// What each core will use, period after period: `oracle[core][period]`. Beyond its end a core is
    /// predicted to use nothing.
    Oracle(Vec<Vec<Events>>),
}

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Counted {
    /// One event, against one budget.
    One(EventId),
    /// Lines read and lines written back, each against a budget of its own; whichever is exhausted first stops
    /// the core.
    ReadsAndWrites,
}

/// What happens to a core that needs more than it kept after it gave too much away, while nobody has any left.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum WrongDonation {
    /// It goes on up to its reservation, and what is used beyond the sum of reservations is counted as
    /// overdraft.
    #[default]
    Overdraw,
    /// It is stopped: the sum of reservations holds without exception, its own reservation does not.
    Throttle,
}

/// What a task gives away of its core's budget at the start of a period.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Donation {
    /// Nothing.
    Nothing,
    /// What it is not expected to use.
    Surplus,
    /// Everything.
    Everything,
}

/// The reservation of a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CoreBudget {
    /// The core.
    pub core: CoreId,
    /// Of reads, or of the one event that is counted.
    pub budget: Budget,
    /// Of lines written back, where they are counted by themselves; absent means half of `budget`.
    pub writes: Option<Budget>,
}

/// Reservations that are others from a moment of the run on.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BudgetChange {
    /// When, since the beginning of the run: they hold in each regulation period that begins then or later.
    pub at: Duration,
    /// The cores that have others from here on, each of which has had one from the start.
    pub cores: Vec<CoreBudget>,
}

/// What a task may use of its core's budget, wherever it runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TaskBudget {
    /// The task.
    pub task: TaskId,
    /// Its own limit within a period; absent for none.
    pub budget: Option<Budget>,
    /// What it gives away.
    pub donates: Donation,
}

/// What is reserved for something that uses memory and is no core: the [`Device`](crate::Device) of this name, which wait states hold to
/// it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DmaMaster {
    /// Its name.
    pub name: String,
    /// What memory moves for it at most, each of its transactions counted as a line.
    pub rate: Bandwidth,
}

/// Bandwidth regulation (MemGuard, case study 2.2; SCE 2.2).
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Regulation {
    /// The regulation period P.
    pub period: Duration,
    /// What is counted.
    pub counted: Counted,
    /// The reservations; cores that are not named are not regulated.
    pub cores: Vec<CoreBudget>,
    /// What becomes of them during the run, in the order of time.
    #[cfg_attr(feature = "serde", serde(default))]
    pub changes: Vec<BudgetChange>,
    /// One entry for each task of the experiment, in its order.
    pub tasks: Vec<TaskBudget>,
    /// When all active cores are exhausted.
    pub sharing: Sharing,
    /// Unused reservations.
    pub reclaim: Reclaim,
    /// How use is predicted, where reclaiming is on.
    pub prediction: Prediction,
    /// The least that is asked for when a core needs more than its budget, Qmin; above zero.
    pub quantum: Events,
    /// Of a core that gave too much away.
    pub wrong_donation: WrongDonation,
    /// What a core uses beyond its limit (misses that were under way) is taken off its next budget, and
    /// fractions of events are carried from period to period.
    pub carry_over: bool,
    /// By how many thousandths of the throttled time a throttled thread's time slice is shortened (BWLOCK++'s
    /// throttle-fair scheduling); 0 for off.
    pub charge_per_mille: u32,
    /// The bandwidth that memory guarantees whatever the addresses as long as lines are only read, r_min.
    pub guaranteed: Bandwidth,
    /// The same where lines are written back as well: reads and writes together. `None` where `guaranteed` holds for both.
    #[cfg_attr(feature = "serde", serde(default))]
    pub guaranteed_with_writes: Option<Bandwidth>,
    /// Reservations above what is guaranteed are wanted: none of them is guaranteed then.
    pub best_effort: bool,
    /// What is reserved for devices.
    pub dma: Vec<DmaMaster>,
}

impl Regulation {
    /// Budgets of `cores`, renewed every `period`, out of what memory is `guaranteed` to move; nothing is shared, given away, carried
    /// on or charged, and no task has a budget of its own. What differs, a caller changes.
    pub fn new(period: Duration, counted: Counted, cores: Vec<CoreBudget>, guaranteed: Bandwidth) -> Self {
        Self {
            period,
            counted,
            cores,
            changes: Vec::new(),
            tasks: Vec::new(),
            sharing: Sharing::None,
            reclaim: Reclaim::Off,
            prediction: Prediction::EwmaHalf,
            quantum: Events::new(1),
            wrong_donation: WrongDonation::Overdraw,
            carry_over: false,
            charge_per_mille: 0,
            guaranteed,
            guaranteed_with_writes: None,
            best_effort: false,
            dma: Vec::new(),
        }
    }

    /// What is reserved for the device of this name, where anything is.
    pub fn reserved_for(&self, device: &str) -> Option<Bandwidth> {
        self.dma.iter().find(|master| master.name == device).map(|master| master.rate)
    }

    /// What is reserved from the start on and after each change, with the time since the start: the same regulation as
    /// if it were so for good.
    pub fn steps(&self) -> impl Iterator<Item = (Duration, Self)> + '_ {
        let mut now = Self { changes: Vec::new(), ..self.clone() };
        let first = core::iter::once((Duration::ZERO, now.clone()));
        first.chain(self.changes.iter().map(move |change| {
            for entry in &change.cores {
                if let Some(known) = now.cores.iter_mut().find(|known| known.core == entry.core) {
                    *known = *entry;
                }
            }
            (change.at, now.clone())
        }))
    }

    /// The first key of a scenario by which a core may use more than the budget that it has from the start; `None` where each core
    /// keeps to its own.
    pub fn loosened_by(&self) -> Option<&'static str> {
        if self.sharing != Sharing::None {
            Some("sharing")
        } else if self.reclaim != Reclaim::Off {
            Some("reclaim")
        } else if self.carry_over {
            Some("carry-over")
        } else if !self.changes.is_empty() {
            Some("at")
        } else {
            None
        }
    }

    /// Lines that move at most for each event that is counted: 2 where a miss may push a modified line out, for some task writes, and
    /// writes are not counted by themselves; else 1.
    pub fn transfers(&self, tasks: &[Task]) -> u64 {
        match self.counted {
            Counted::One(_) if tasks.iter().any(|task| task.work.writes()) => 2,
            Counted::One(_) | Counted::ReadsAndWrites => 1,
        }
    }
}

/// Where the memory of an experiment comes from.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Coloring {
    /// Into how many groups the colors are merged (thesis 4.3.2, super colors); 0 for as many as there are.
    pub groups: u16,
    /// The kernel's own color.
    pub kernel: Option<Color>,
    /// Who takes pages from where; a task that is not named takes any page that is not the kernel's.
    pub owners: Vec<ColorOwner>,
    /// What happens when an owner's colors or banks are exhausted.
    pub fallback: Fallback,
    /// Hard tasks on different cores may share colors.
    pub shared: bool,
    /// The simulated kernel's paths touch the kernel's data in the caches (thesis 6.1, S1 against S2); nothing: they touch none.
    /// They take the time that they take without, unless the costs of its paths were taken
    /// [without cache misses](crate::OverheadTable::without_misses).
    #[cfg_attr(feature = "serde", serde(default))]
    pub kernel_data: Option<KernelData>,
    /// The heaps from which jobs take memory while they run; nothing: the default ones.
    #[cfg_attr(feature = "serde", serde(default))]
    pub heaps: Heaps,
}

/// A heap for each color, from which jobs take memory while they run (thesis 4.3.3, 4.3.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Heaps {
    /// Who decides about colors.
    pub allocation: Allocation,
    /// What each heap holds.
    pub size: Bytes,
}

impl KernelData {
    /// The most that a release reads.
    pub const MOST_WALKED: Bytes = Bytes::from_mib(16);
}

impl Heaps {
    /// The most that a heap holds: what describes it takes a third as much again.
    pub const MOST: Bytes = Bytes::from_mib(16);
}

impl Default for Heaps {
    fn default() -> Self {
        Self { allocation: Allocation::User, size: Bytes::from_kib(256) }
    }
}

/// Who decides about the colors of memory that jobs take while they run (thesis 4.3.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Allocation {
    /// The program names a color with each allocation; color 0 where it names none.
    #[default]
    User,
    /// The color follows from the thread: its number modulo the number of colors, the kernel's left out. What a program names is ignored.
    Os,
}

/// What the simulated kernel's paths touch, beside its threads, queues and cores.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct KernelData {
    /// So many bytes are read at each release.
    pub walked: Bytes,
    /// Blocks of threads and of cores lie one right behind the other, so that two may be in one line (false sharing); else each
    /// begins at a line.
    pub packed: bool,
}

/// The memory of one task.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ColorOwner {
    /// The task.
    pub task: TaskId,
    /// Its colors; empty for all but the kernel's.
    pub colors: Vec<Color>,
    /// Its DRAM banks; empty for all.
    pub banks: Vec<Bank>,
}

/// What happens when the colors or banks that were asked for are exhausted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Fallback {
    /// The request fails.
    #[default]
    Fail,
    /// Another page is taken, and counted.
    Borrow,
}

/// The ways of the last-level cache that a core or a task may fill.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct WayMask {
    /// Whose accesses.
    pub owner: WayOwner,
    /// A bit for each way, the first lowest; a run of ones.
    pub mask: u64,
}

/// Whose accesses a way mask concerns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum WayOwner {
    /// A core's.
    Core(CoreId),
    /// A task's, on whichever core it runs.
    Task(TaskId),
}

/// Colored Lockdown (SCE 2.3).
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Lockdown {
    /// Pages to lock, in the order of locking.
    pub pages: Vec<LockedPage>,
    /// When they are loaded and locked.
    #[cfg_attr(feature = "serde", serde(default))]
    pub when: LockTime,
    /// The tasks of each IMA partition, where they are loaded and locked at the start of its windows.
    #[cfg_attr(feature = "serde", serde(default))]
    pub partitions: Vec<Vec<TaskId>>,
}

/// When pages are loaded and locked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum LockTime {
    /// Before the run, in no time.
    #[default]
    Boot,
    /// At the start of the task's first job, by accesses that take their time; never unlocked.
    Task,
    /// At the start of each job, and unlocked at its end: a partition of one task.
    Job,
    /// Those of all tasks of an IMA partition when a window of it begins: when one of its tasks begins a job on a
    /// core on which another partition was last; the other's pages are unlocked then (SCE 2.4, Fig. 16a).
    Partition,
}

/// A page that is held in the last-level cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LockedPage {
    /// The task that asked for it.
    pub task: TaskId,
    /// The buffer.
    pub buffer: BufferId,
    /// The page of the buffer, from 0.
    pub page: u64,
    /// The color that it is moved to.
    pub color: Color,
}
