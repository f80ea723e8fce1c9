//! What is refused before anything changes.

use crate::capacity::{Capacity, capacity, happens};
use crate::frames::{FramesError, Group, GroupId};
use crate::map::MapError;
use crate::regulator::budget::rate_of;
use crate::regulator::{Allowance, Config, Direction};
use crate::ways::{self, WayError};
use crate::{ColoredFrames, MemoryMap};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use solo_model::isolation::{Allocation, Budget, Coloring, Counted, Isolation, Regulation, WayOwner};
use solo_model::names::{Explain, TaskNames, called};
use solo_model::text::{Ranges, counted};
use solo_model::{
    Bandwidth, Bank, BufferId, Color, CoreId, Device, Duration, EventId, Events, Platform, Task, TaskClass,
    TaskId,
};

/// Why isolation can't be had as it is described.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IsolationRefusal {
    /// The regulation period is zero.
    ZeroPeriod,
    /// A budget of nothing.
    ZeroBudget {
        /// The core.
        core: CoreId,
    },
    /// More is reserved than memory guarantees.
    Overbooked {
        /// The reservations of all cores, writes included where they are counted.
        reserved: Bandwidth,
        /// Of DMA masters.
        dma: Bandwidth,
        /// The guaranteed bandwidth, reads and writes together where lines are written back.
        guaranteed: Bandwidth,
        /// Lines that move at most for each event that is counted: 2 where a miss may push a modified line out.
        transfers: u64,
        /// True where reads and writes are counted, with a budget each.
        each: bool,
    },
    /// Weights are to divide a bandwidth of which nothing is left beside the fixed reservations.
    NothingToDivide {
        /// The fixed reservations, DMA included.
        reserved: Bandwidth,
        /// What can be reserved.
        guaranteed: Bandwidth,
    },
    /// What budgets become during the run can't be had either.
    Later {
        /// From when on.
        at: Duration,
        /// Why not.
        refusal: Box<IsolationRefusal>,
    },
    /// A change of budgets comes before the one that stands before it.
    OutOfOrder {
        /// When.
        at: Duration,
    },
    /// The budget of a core is to change that has none.
    NoBudget {
        /// The core.
        core: CoreId,
    },
    /// The event that budgets are of can't happen on this platform.
    NeverHappens {
        /// The event.
        event: EventId,
    },
    /// A core that does not exist.
    NoSuchCore {
        /// The core.
        core: CoreId,
        /// How many there are.
        cores: usize,
    },
    /// The platform has no usable map of colors and banks.
    Map(MapError),
    /// Colors or banks that do not exist, or do not occur together.
    Memory {
        /// The task.
        task: TaskId,
        /// What is wrong.
        error: FramesError,
    },
    /// A task takes the kernel's color.
    KernelColor {
        /// The task.
        task: TaskId,
        /// The color.
        color: Color,
    },
    /// Two hard tasks on different cores share a color, and nothing says that they should.
    SharedColor {
        /// One task.
        first: TaskId,
        /// The other.
        second: TaskId,
        /// The color.
        color: Color,
    },
    /// A buffer has more pages than are left of its task's colors and banks.
    NoPages {
        /// Whose colors and banks; `None` for memory that is nobody's.
        task: Option<TaskId>,
        /// The buffer.
        buffer: BufferId,
        /// Its pages; 1 where a page of one color is to be locked.
        asked: u64,
        /// Pages of these colors and banks that nobody holds before this buffer.
        free: u64,
        /// The colors that it may have; of a page that is to be locked, that one.
        colors: Vec<Color>,
        /// The banks; empty for all.
        banks: Vec<Bank>,
    },
    /// A way mask that the cache can't have.
    Ways {
        /// Whose.
        owner: WayOwner,
        /// What is wrong.
        error: WayError,
    },
    /// So many pages are locked in a color that a way mask may be left without a way there.
    MaskedAndLocked {
        /// Whose mask.
        owner: WayOwner,
        /// The ways of the mask.
        masked: u64,
        /// The color.
        color: Color,
        /// Pages locked in it, a way each.
        locked: u64,
    },
    /// More pages are to be locked in a color than fit.
    TooManyLocked {
        /// The color.
        color: Color,
        /// Pages to be locked in it.
        pages: u64,
        /// Pages that fit, one in each way.
        capacity: u64,
    },
}

impl fmt::Display for IsolationRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.explain(&(), f)
    }
}

impl Explain for IsolationRefusal {
    fn explain(&self, names: &dyn TaskNames, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let called = |task: &TaskId| called(names, *task);
        match self {
            Self::ZeroPeriod => write!(f, "the regulation period is zero"),
            Self::ZeroBudget { core } => write!(f, "the budget of {core} is zero: it could never run"),
            Self::Overbooked { reserved, dma, guaranteed, transfers, each } => {
                let moved = if *each { Moved::Each } else { Moved::InMisses(*transfers) };
                let guaranteed = guaranteed.beside(*reserved);
                write!(
                    f,
                    "reservations of {reserved}{moved} (and {dma} for DMA) exceed the guaranteed bandwidth of {guaranteed}"
                )
            }
            Self::NothingToDivide { reserved, guaranteed } => write!(
                f,
                "weights divide what fixed reservations leave, and those of {reserved} leave nothing of {}",
                guaranteed.beside(*reserved)
            ),
            Self::Later { at, refusal } => {
                write!(f, "from {at} on: ")?;
                refusal.explain(names, f)
            }
            Self::OutOfOrder { at } => write!(f, "budgets change at {at}, behind a change that comes later"),
            Self::NoBudget { core } => write!(f, "{core} has no budget from the start that could change"),
            Self::NeverHappens { event } => {
                write!(
                    f,
                    "{} can't happen on this platform, so that budgets of it would count nothing",
                    event.canonical().map_or("this event", |definition| &definition.name)
                )
            }
            Self::NoSuchCore { core, cores } => {
                write!(f, "{core} does not exist: the platform has cores 0 to {}", cores.saturating_sub(1))
            }
            Self::NoPages { .. } => self.few_pages(names, f),
            Self::Map(error) => write!(f, "{error}"),
            Self::Memory { task, error } => write!(f, "{}: {error}", called(task)),
            Self::KernelColor { task, color } => {
                write!(f, "{} takes {color}, which belongs to the kernel", called(task))
            }
            Self::SharedColor { first, second, color } => {
                write!(
                    f,
                    "{} and {} are hard and share {color}, and nothing says that they should",
                    called(first),
                    called(second)
                )
            }
            Self::Ways { owner: WayOwner::Core(core), error } => write!(f, "{core}: {error}"),
            Self::Ways { owner: WayOwner::Task(task), error } => write!(f, "{}: {error}", called(task)),
            Self::MaskedAndLocked { owner, masked, color, locked } => {
                match owner {
                    WayOwner::Core(core) => write!(f, "{core}")?,
                    WayOwner::Task(task) => write!(f, "{}", called(task))?,
                }
                write!(
                    f,
                    " may fill {masked} ways, and {locked} pages are locked in {color}, a way each: nothing may \
                     be left to it; lock fewer pages a color or widen the mask"
                )
            }
            Self::TooManyLocked { color, pages, capacity } => {
                write!(
                    f,
                    "{pages} pages are to be locked in {color}, which has {capacity} ways, each for a page"
                )
            }
        }
    }
}

impl core::error::Error for IsolationRefusal {}

/// That each miss moves more than a line, where it does.
enum Moved {
    /// By events of which each moves so many lines.
    InMisses(u64),
    /// By reads and by writes.
    Each,
}

impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Each => f.write_str(" in reads and writes"),
            Self::InMisses(..=1) => Ok(()),
            Self::InMisses(transfers) => {
                write!(f, " in misses, each of which may write a line back and so move {transfers}")
            }
        }
    }
}

/// `color 3`, `colors 3-5, 7` or `any color`.
fn numbered(noun: &str, numbers: &[u16]) -> String {
    match numbers {
        [] => format!("any {noun}"),
        [one] => format!("{noun} {one}"),
        _ => format!("{noun}s {}", Ranges(numbers)),
    }
}

impl IsolationRefusal {
    /// Who asks for how many pages, of which colors and banks, and how many there are.
    fn few_pages(&self, names: &dyn TaskNames, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::NoPages { task, asked, free, colors, banks, .. } = self else { return Ok(()) };
        match task {
            Some(task) => write!(f, "{}", called(names, *task))?,
            None => write!(f, "memory that no task touches")?,
        }
        let colors: Vec<u16> = colors.iter().map(|color| color.0).collect();
        let banks: Vec<u16> = banks.iter().map(|bank| bank.0).collect();
        let (one_color, one_bank) = (colors.len() == 1, banks.len() == 1);
        write!(
            f,
            " needs {} of {} in {}, which {} {free} free",
            counted(*asked, "page"),
            numbered("color", &colors),
            numbered("bank", &banks),
            if one_color && one_bank { "has" } else { "have" },
        )
    }

    /// What can't be had, whenever that is.
    pub fn itself(&self) -> &Self {
        match self {
            Self::Later { refusal, .. } => refusal.itself(),
            _ => self,
        }
    }
}

/// Checks all that an experiment asks of isolation against the platform. Whether a machine can do it is for the machine's own
/// abilities to say (`solo_hal::admit`).
///
/// # Errors
/// The first thing that can't be had.
pub fn fits(isolation: &Isolation, platform: &Platform, tasks: &[Task]) -> Result<(), IsolationRefusal> {
    if let Some(regulation) = &isolation.bandwidth {
        regulation_fits(regulation, platform, tasks)?;
    }
    let takes_memory = tasks.iter().any(|task| task.work.allocations().next().is_some());
    let default = takes_memory.then(Coloring::default);
    if let Some(coloring) = isolation.memory.as_ref().or(default.as_ref()) {
        coloring_fits(coloring, platform, tasks)?;
    }
    let last = platform.last_level();
    let ways = last.map_or(0, |cache| cache.ways);
    for mask in &isolation.ways {
        ways::check(mask.mask, ways).map_err(|error| IsolationRefusal::Ways { owner: mask.owner, error })?;
    }
    let Some(lockdown) = isolation.lockdown.as_ref().filter(|lockdown| !lockdown.pages.is_empty()) else {
        return Ok(());
    };
    // All ways: then memory that is not locked goes past the cache. Plans leave one ([`crate::lockdown::plan`]).
    let capacity = u64::from(ways);
    for (color, pages) in crate::lockdown::locked_at_once(lockdown, tasks) {
        if pages > capacity {
            return Err(IsolationRefusal::TooManyLocked { color, pages, capacity });
        }
        // Locked lines lie in any way, so that they may be the very ones of a mask.
        let masks = isolation.ways.iter().map(|mask| (mask.owner, u64::from(mask.mask.count_ones())));
        if let Some((owner, masked)) = masks.filter(|&(_, masked)| masked <= pages).min_by_key(|&(_, n)| n) {
            return Err(IsolationRefusal::MaskedAndLocked { owner, masked, color, locked: pages });
        }
    }
    Ok(())
}

/// Checks reservations against the platform and its guaranteed bandwidth.
///
/// # Errors
/// If a core does not exist, a budget or the period is zero, the event can't happen, or more is reserved than is guaranteed and
/// best effort was not asked for; the same for what budgets become during the run.
pub fn regulation_fits(
    regulation: &Regulation,
    platform: &Platform,
    tasks: &[Task],
) -> Result<(), IsolationRefusal> {
    if regulation.period.is_zero() {
        return Err(IsolationRefusal::ZeroPeriod);
    }
    if let Some(event) = events_of_budgets(regulation).into_iter().find(|&event| !happens(event, platform)) {
        return Err(IsolationRefusal::NeverHappens { event });
    }
    let cores = platform.cores.len();
    if let Some(entry) = regulation.cores.iter().find(|entry| entry.core.index() >= cores) {
        return Err(IsolationRefusal::NoSuchCore { core: entry.core, cores });
    }
    let mut last = Duration::ZERO;
    for change in &regulation.changes {
        if core::mem::replace(&mut last, change.at) > change.at {
            return Err(IsolationRefusal::OutOfOrder { at: change.at });
        }
        let known = |core: CoreId| regulation.cores.iter().any(|entry| entry.core == core);
        if let Some(entry) = change.cores.iter().find(|entry| !known(entry.core)) {
            return Err(IsolationRefusal::NoBudget { core: entry.core });
        }
    }
    for (at, step) in regulation.steps() {
        step_fits(&step, platform, tasks).map_err(|refusal| match at.is_zero() {
            true => refusal,
            false => IsolationRefusal::Later { at, refusal: Box::new(refusal) },
        })?;
    }
    Ok(())
}

/// The same for reservations that do not change.
fn step_fits(regulation: &Regulation, platform: &Platform, tasks: &[Task]) -> Result<(), IsolationRefusal> {
    let config = Config::new(regulation, platform, tasks);
    let line = platform.line();
    let (mut sum, mut weighs) = (Events::ZERO, false);
    for (at, own) in config.cores.iter().enumerate() {
        for direction in Direction::ALL.into_iter().take(config.directions) {
            match own.map(|own| own[direction]) {
                Some(Allowance::Fixed { events, fraction: 0 }) if events.is_zero() => {
                    return Err(IsolationRefusal::ZeroBudget { core: CoreId(at as u16) });
                }
                Some(Allowance::Weight(0)) => {
                    return Err(IsolationRefusal::ZeroBudget { core: CoreId(at as u16) });
                }
                Some(Allowance::Fixed { events, .. }) => sum = sum.saturating_add(events),
                Some(Allowance::Weight(_)) => weighs = true,
                None => {}
            }
        }
    }
    let reserved = rate_of(sum, regulation.period, line);
    let dma: Bandwidth =
        regulation.dma.iter().fold(Bandwidth::ZERO, |sum, master| sum.saturating_add(master.rate));
    // The comparison is made in bytes per second; rounding up of the events must not refuse an exact fit.
    let slack = rate_of(Events::new(1), regulation.period, line);
    let Capacity { rate: guaranteed, transfers } = capacity(regulation, tasks);
    let moved = Bandwidth::new(reserved.get().saturating_mul(transfers)).saturating_add(dma);
    if !regulation.best_effort && moved > guaranteed.saturating_add(Bandwidth::new(slack.get() * transfers)) {
        let reserved = asked(regulation, config.directions).unwrap_or(reserved);
        let each = config.directions > 1;
        return Err(IsolationRefusal::Overbooked { reserved, dma, guaranteed, transfers, each });
    }
    if weighs && config.guaranteed.is_zero() {
        let reserved = reserved.saturating_add(dma);
        return Err(IsolationRefusal::NothingToDivide {
            reserved,
            guaranteed: capacity(regulation, tasks).countable(),
        });
    }
    Ok(())
}

/// The sum of all budgets as they were asked for, where all are rates: whole events come to a little less.
fn asked(regulation: &Regulation, directions: usize) -> Option<Bandwidth> {
    let rate = |budget| if let Budget::Rate(rate) = budget { Some(rate) } else { None };
    regulation.cores.iter().try_fold(Bandwidth::ZERO, |sum, entry| {
        let reads = rate(entry.budget)?;
        let writes = match entry.writes {
            _ if directions < 2 => Bandwidth::ZERO,
            Some(writes) => rate(writes)?,
            None => Bandwidth::new(reads.get() / 2),
        };
        Some(sum.saturating_add(reads).saturating_add(writes))
    })
}

/// The events that budgets are of.
fn events_of_budgets(regulation: &Regulation) -> Vec<EventId> {
    match regulation.counted {
        Counted::One(event) => alloc::vec![event],
        Counted::ReadsAndWrites => alloc::vec![EventId::DRAM_READS, EventId::DRAM_WRITES],
    }
}

/// The groups that frames are handed out to: group 0 for tasks without a wish, then one for each owner, the
/// kernel's last where it has a color.
pub fn groups(coloring: &Coloring, map: &MemoryMap) -> Vec<Group> {
    let all = (0..map.colors().count()).map(Color).filter(|color| Some(*color) != coloring.kernel);
    let others: Vec<Color> = all.collect();
    let fallback = coloring.fallback;
    let rest = Group { colors: others.clone(), banks: Vec::new(), fallback };
    let mut groups = alloc::vec![rest];
    groups.extend(coloring.owners.iter().map(|owner| Group {
        colors: if owner.colors.is_empty() { others.clone() } else { owner.colors.clone() },
        banks: owner.banks.clone(),
        fallback,
    }));
    groups.extend(coloring.kernel.map(|color| Group {
        colors: alloc::vec![color],
        banks: Vec::new(),
        fallback,
    }));
    groups
}

/// The group, among [`groups`], that the pages of `task` come from.
pub fn group_of(coloring: &Coloring, task: Option<TaskId>) -> GroupId {
    let owner = coloring.owners.iter().position(|owner| Some(owner.task) == task);
    GroupId(owner.map_or(0, |at| at as u16 + 1))
}

/// The group, among [`groups`], that the kernel's pages come from: its own where it has a color.
pub fn kernel_group(coloring: &Coloring) -> GroupId {
    GroupId(coloring.kernel.map_or(0, |_| coloring.owners.len() as u16 + 1))
}

/// The task whose colors and banks a buffer has: the first that touches it, else the owner of a device that does.
pub fn holder_of(tasks: &[Task], devices: &[Device], buffer: BufferId) -> Option<TaskId> {
    let device = || devices.iter().find(|device| device.buffer == buffer).map(|device| device.owner);
    owner_of(tasks, buffer).or_else(device)
}

/// The task that a buffer belongs to: the first that touches it.
pub fn owner_of(tasks: &[Task], buffer: BufferId) -> Option<TaskId> {
    let owner = tasks.iter().position(|task| task.work.touches(buffer));
    owner.map(|at| TaskId(at as u32))
}

/// What is wrong with the colors and banks of a group, said of the task that it belongs to.
pub(crate) fn of_owner(coloring: &Coloring, error: FramesError) -> IsolationRefusal {
    let owner = match &error {
        FramesError::NoSuchColor { group, .. }
        | FramesError::NoSuchBank { group, .. }
        | FramesError::Disjoint { group } => coloring.owners.get(usize::from(group.0).wrapping_sub(1)),
        _ => None,
    };
    let task = owner.or(coloring.owners.first()).map_or(TaskId(0), |owner| owner.task);
    IsolationRefusal::Memory { task, error }
}

/// Checks the colors that tasks name for what they take from heaps, where they are asked.
fn heap_colors_fit(coloring: &Coloring, colors: u16, tasks: &[Task]) -> Result<(), IsolationRefusal> {
    if coloring.heaps.allocation == Allocation::Os {
        let takes = |task: &Task| task.work.allocations().next().is_some();
        let first = (0..).map(TaskId).zip(tasks).find(|(_, task)| takes(task));
        // The only color there is.
        return match (first, coloring.kernel) {
            (Some((task, _)), Some(color)) if colors < 2 => {
                Err(IsolationRefusal::KernelColor { task, color })
            }
            _ => Ok(()),
        };
    }
    for (task, work) in (0..).map(TaskId).zip(tasks.iter().map(|task| &task.work)) {
        for (_, named) in work.allocations() {
            let color = named.unwrap_or_default();
            if color.0 >= colors {
                let error = FramesError::NoSuchColor { group: GroupId(0), color, colors };
                return Err(IsolationRefusal::Memory { task, error });
            }
            if coloring.kernel == Some(color) {
                return Err(IsolationRefusal::KernelColor { task, color });
            }
        }
    }
    Ok(())
}

/// Checks colors and banks against the platform.
///
/// # Errors
/// If they do not exist or occur together, belong to the kernel, or two hard tasks on different cores share one
/// although both are confined.
pub fn coloring_fits(
    coloring: &Coloring,
    platform: &Platform,
    tasks: &[Task],
) -> Result<(), IsolationRefusal> {
    let map = MemoryMap::of(platform).map_err(IsolationRefusal::Map)?.grouped(coloring.groups);
    heap_colors_fit(coloring, map.colors().count(), tasks)?;
    let groups = groups(coloring, &map);
    ColoredFrames::new(map, 0, &groups, crate::frames::Order::Ascending)
        .map_err(|error| of_owner(coloring, error))?;
    for owner in &coloring.owners {
        if let Some(color) = coloring.kernel.filter(|kernel| owner.colors.contains(kernel)) {
            return Err(IsolationRefusal::KernelColor { task: owner.task, color });
        }
    }
    let hard = |task: TaskId| tasks.get(task.index()).is_some_and(|task| task.class == TaskClass::Hard);
    let core = |task: TaskId| tasks.get(task.index()).and_then(|task| task.core);
    let confined: Vec<_> = coloring.owners.iter().filter(|owner| hard(owner.task)).collect();
    for (at, first) in confined.iter().enumerate() {
        for second in &confined[at + 1..] {
            let apart = core(first.task).is_none() || core(first.task) != core(second.task);
            let shared = first.colors.iter().find(|color| second.colors.contains(color));
            if let (true, Some(&color), false) = (apart, shared, coloring.shared) {
                return Err(IsolationRefusal::SharedColor { first: first.task, second: second.task, color });
            }
        }
    }
    Ok(())
}
