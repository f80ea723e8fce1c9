//! An experiment in the words of what enforces it elsewhere: commands and files of Linux, of hypervisors, of kernel modules.
//!
//! | target | what it says | format after |
//! |---|---|---|
//! | `resctrl` | ways and bandwidth of each core | Linux, Documentation/filesystems/resctrl.rst |
//! | `pqos` | the same | pqos(8) of intel-cmt-cat |
//! | `palloc` | colors, or banks, of each task | PALLOC's README |
//! | `memguard` | bandwidth of each core | MemGuard's README |
//! | `xen` | colors of each core | Xen's docs/misc/cache-coloring.rst, xl.cfg(5) |
//! | `bao` | the same | Bao's `struct config` |
//! | `cpuset` | the core of each task | Linux, Documentation/admin-guide/cgroup-v2.rst |
//! | `chrt` | the policy and priority of each task | chrt(1) |
//!
//! A target that would say less of the cache or of bandwidth than it is there for refuses and says why. What is another target's part is left
//! to that one: colors are not MemGuard's, budgets not Xen's.

mod budgets;
mod colors;
mod linux;

use crate::rt_app::NotRtApp;
use solo_model::{Bandwidth, CoreId, Duration, Experiment};

/// Whom to write for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Enforcer {
    /// Linux's resctrl file system.
    Resctrl,
    /// Intel's pqos.
    Pqos,
    /// The page allocator by color and bank.
    Palloc,
    /// The kernel module of bandwidth budgets.
    MemGuard,
    /// Domains of Xen.
    Xen,
    /// Virtual machines of Bao.
    Bao,
    /// Linux's control groups of processors.
    Cpuset,
    /// Scheduling policies and priorities of Linux.
    Chrt,
}

impl Enforcer {
    /// All of them with their names.
    pub const ALL: [(&'static str, Self); 8] = [
        ("resctrl", Self::Resctrl),
        ("pqos", Self::Pqos),
        ("palloc", Self::Palloc),
        ("memguard", Self::MemGuard),
        ("xen", Self::Xen),
        ("bao", Self::Bao),
        ("cpuset", Self::Cpuset),
        ("chrt", Self::Chrt),
    ];

    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, one)| *one)
    }
}

/// Why a target can't say what an experiment says.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotEnforceable {
    /// The cache is divided by colors.
    #[error("it divides the cache by ways, and this plan divides it by colors: export palloc, xen or bao")]
    ByColors,
    /// Nothing is in this target's part.
    #[error("there is nothing for it to do: {0}")]
    Nothing(&'static str),
    /// The queue of a task is not that of one core, or the task migrates.
    #[error(
        "it binds work to single cores, and here tasks move: choose a P- policy, and no task with `migrate`"
    )]
    Moves,
    /// Tasks of a core differ.
    #[error("it has one setting for a core, and tasks on {0} have different ones")]
    Differ(CoreId),
    /// Ways that are no stretch.
    #[error("its masks are stretches of ways, and those of {0} are not")]
    Stretch(CoreId),
    /// The last level of the cache is one that it doesn't divide, or at which it limits no bandwidth.
    #[error(
        "it divides caches of the second and third level and limits bandwidth at the third, and this chip's last level is the L{level}: \
         export palloc, xen or bao for colors, memguard for budgets"
    )]
    Level {
        /// Of the chip's last cache.
        level: u8,
    },
    /// Budgets that are no rates of their own.
    #[error("it knows rates of single cores only: {0}")]
    Budgets(&'static str),
    /// A budget below its unit.
    #[error("its smallest budget is 1 MiB/s, and {core} has {rate}")]
    TooSmall {
        /// The core.
        core: CoreId,
        /// What it has.
        rate: Bandwidth,
    },
    /// Another regulation period.
    #[error(
        "it renews budgets every {its}, and the plan does every {ours}: give [isolation.bandwidth] that period"
    )]
    Period {
        /// What it does.
        its: Duration,
        /// What is planned.
        ours: Duration,
    },
    /// Colors and banks at once.
    #[error("it has one set of bins, and this plan has both colors and banks")]
    ColorsAndBanks,
    /// Address bits that it can't take.
    #[error("it can't tell these {0} apart by one address bit each")]
    Map(&'static str),
    /// More colors or bins than it has.
    #[error("it has {most} of them at most, and this platform has {count}")]
    TooMany {
        /// How many there are.
        count: u64,
        /// How many it has.
        most: u64,
    },
    /// Time is divided into windows.
    #[error("it has no windows of partitions, and this plan divides the time of {0}")]
    Windows(CoreId),
    /// Pages are locked in the cache.
    #[error("it locks no pages in a cache, and this plan locks {0} of them")]
    Locked(usize),
    /// Linux's policies have no place for a task.
    #[error("{0}")]
    Ranks(NotRtApp),
}

/// Writes an experiment for a target.
///
/// # Errors
/// [`NotEnforceable`].
pub fn export_plan(target: Enforcer, experiment: &Experiment) -> Result<String, NotEnforceable> {
    let cores = experiment.platform.cores.len();
    let moves = experiment.policy.domains(cores).iter().any(|domain| domain.len() > 1);
    let migrates = experiment.tasks.iter().any(|task| task.migrate.is_some());
    if migrates || (target != Enforcer::Chrt && moves) {
        return Err(NotEnforceable::Moves);
    }
    let isolation = &experiment.isolation;
    let cycle = isolation.partitions.as_ref().and_then(|partitions| partitions.cycles().first());
    if let (Enforcer::Chrt, Some(cycle)) = (target, cycle) {
        return Err(NotEnforceable::Windows(cycle.core));
    }
    let locked = isolation.lockdown.as_ref().map_or(0, |lockdown| lockdown.pages.len());
    let divides_caches = match target {
        Enforcer::Resctrl | Enforcer::Pqos | Enforcer::Palloc | Enforcer::Xen | Enforcer::Bao => true,
        Enforcer::MemGuard | Enforcer::Cpuset | Enforcer::Chrt => false,
    };
    if divides_caches && locked > 0 {
        return Err(NotEnforceable::Locked(locked));
    }
    match target {
        Enforcer::Resctrl => budgets::resctrl(experiment),
        Enforcer::Pqos => budgets::pqos(experiment),
        Enforcer::MemGuard => budgets::memguard(experiment),
        Enforcer::Palloc => colors::palloc(experiment),
        Enforcer::Xen => colors::xen(experiment),
        Enforcer::Bao => colors::bao(experiment),
        Enforcer::Cpuset => linux::cpuset(experiment),
        Enforcer::Chrt => linux::chrt(experiment),
    }
}

/// The tasks of a core, as a comment. Names hold no line breaks: whoever reads scenarios refuses them.
fn tasks_of(experiment: &Experiment, core: CoreId) -> String {
    let here = experiment.tasks.iter().filter(|task| task.core == Some(core));
    here.map(|task| task.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// The cores that have tasks, ascending.
fn cores(experiment: &Experiment) -> Vec<CoreId> {
    let mut cores: Vec<CoreId> = experiment.tasks.iter().filter_map(|task| task.core).collect();
    cores.sort_unstable();
    cores.dedup();
    cores
}
