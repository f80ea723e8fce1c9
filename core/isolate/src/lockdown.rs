//! Colored Lockdown (SCE 2.3): hot pages are moved to colors in which they fit, then loaded and locked.
//!
//! ```text
//!   page ranks of each task ──▶ choose ──▶ recolor ──▶ lock order
//!                                colors x (ways - 1) pages fit at most
//! ```
//!
//! All pages of one color share the same sets: as many of them as a set has ways fit, less the one way that is
//! left to everything that is not locked. A plan is made whole before anything changes.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;
use solo_model::isolation::{LockTime, Lockdown, LockedPage};
use solo_model::names::{Explain, TaskNames, called};
use solo_model::work::{Buffer, Pattern, Step, Visit, Work};
use solo_model::{BufferId, Bytes, Color, CoreId, Duration, Events, Task, TaskId};

/// A page of a task and how often it is accessed: one line of a profile, as an offset into a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RankedPage {
    /// The task.
    pub task: TaskId,
    /// The region.
    pub buffer: BufferId,
    /// The page of the region, from 0.
    pub page: u64,
    /// Accesses that the profile counted.
    pub accesses: u64,
}

/// The size of the pages that recordings are counted in.
const RECORDED_PAGE: Bytes = Bytes::from_kib(4);

/// Page ranks of a task from the description of its work: accesses spread evenly over the pages that each step
/// touches, which is exact on average, and for a recorded program the accesses of each of its pages.
/// `recorded[trace]` has them, for pages of 4 KiB, the first page first; a recording that is not there is spread
/// evenly.
pub fn ranks(
    task: TaskId,
    work: &Work,
    buffers: &[Buffer],
    page: Bytes,
    recorded: &[Vec<Events>],
) -> Vec<RankedPage> {
    let page = page.max(Bytes::new(1));
    let mut counts = BTreeMap::new();
    // How often the current step is done, and each repetition around it.
    let (mut times, mut outer) = (1_u64, Vec::new());
    for visit in work.walk() {
        match visit {
            Visit::Begin { times: inner } => {
                outer.push(times);
                times = times.saturating_mul(u64::from(inner));
            }
            Visit::End { .. } => times = outer.pop().unwrap_or(1),
            Visit::Step(step) => count_accesses(step, times, buffers, page, recorded, &mut counts),
        }
    }
    // What a job takes from a heap is somewhere else each time.
    let stays = |&((buffer, _), _): &((BufferId, u64), u64)| !work.allocates(buffer);
    let ranked = |((buffer, page), accesses)| RankedPage { task, buffer, page, accesses };
    counts.into_iter().filter(stays).map(ranked).collect()
}

/// Adds the accesses of a step that is done so many times.
fn count_accesses(
    step: &Step,
    times: u64,
    buffers: &[Buffer],
    page: Bytes,
    recorded: &[Vec<Events>],
    counts: &mut BTreeMap<(BufferId, u64), u64>,
) {
    if let Step::Replay(replay) = step
        && let Some(pages) = recorded.get(replay.trace as usize).filter(|pages| !pages.is_empty())
    {
        let all: u64 = pages.iter().map(|count| count.get()).sum();
        let each = u128::from(replay.accesses.unwrap_or(all)) * u128::from(times);
        for (at, count) in (0_u64..).zip(pages) {
            let share = u128::from(count.get()) * each / u128::from(all.max(1));
            let number = at * RECORDED_PAGE.get() / page.get();
            let count: &mut u64 = counts.entry((replay.buffer, number)).or_default();
            *count = count.saturating_add(u64::try_from(share).unwrap_or(u64::MAX));
        }
        return;
    }
    let (buffer, accesses, reach) = match (step, step.touch()) {
        (Step::Replay(replay), _) => (replay.buffer, replay.accesses.unwrap_or(1), u64::MAX),
        (_, Some(touch)) => {
            let from_the_start = matches!(touch.pattern, Pattern::Sweep | Pattern::Stream);
            let reach = touch.stride.get().saturating_mul(touch.accesses);
            (touch.buffer, touch.accesses, if from_the_start { reach.max(1) } else { u64::MAX })
        }
        (_, None) => return,
    };
    let whole = buffers.get(buffer.index()).map_or(Bytes::ZERO, |buffer| buffer.size);
    let touched = whole.min(Bytes::new(reach)).in_pieces_of(page);
    for number in 0..touched {
        let count: &mut u64 = counts.entry((buffer, number)).or_default();
        *count = count.saturating_add(accesses.saturating_mul(times) / touched);
    }
}

/// The cache that pages are locked in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockableCache {
    /// Its page colors.
    pub colors: u16,
    /// Its ways.
    pub ways: u16,
}

impl LockableCache {
    /// Pages of one color that can be locked: one way is left to what is not locked.
    pub fn per_color(&self) -> u64 {
        u64::from(self.ways.saturating_sub(1))
    }
    /// Pages that can be locked.
    pub fn capacity(&self) -> u64 {
        self.per_color() * u64::from(self.colors)
    }
}

/// How many pages a task wants locked, and in which colors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockRequest {
    /// The task.
    pub task: TaskId,
    /// How many of its most accessed pages.
    pub pages: u64,
    /// Its colors; empty for all.
    pub colors: Vec<Color>,
    /// In which partition's windows its pages are locked; `None` for always.
    pub window: Option<Window>,
}

/// The windows of an IMA partition (SCE 2.4, Fig. 16): partitions of one core take turns, so that what they lock
/// is never locked at the same time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Window {
    /// The core.
    pub core: CoreId,
    /// Which of the experiment's partitions.
    pub partition: u32,
}

impl Window {
    /// The windows in which the pages of `task` are locked, as a lockdown says.
    pub fn of(when: LockTime, partitions: &[Vec<TaskId>], tasks: &[Task], task: TaskId) -> Option<Self> {
        let partition = partitions.iter().position(|tasks| tasks.contains(&task));
        let core = tasks.get(task.index()).and_then(|task| task.core);
        let window = partition.zip(core).filter(|_| when == LockTime::Partition);
        window.map(|(partition, core)| Self { core, partition: partition as u32 })
    }
}

/// How many pages of one color are locked at the same time at most.
#[derive(Clone, Default, Debug)]
struct Turns {
    always: u64,
    windows: BTreeMap<Window, u64>,
}

impl Turns {
    /// Pages that may be locked while `window` is: those of it, those locked for good, and of every other core those
    /// of its largest window.
    fn beside(&self, window: Option<Window>) -> u64 {
        let mut largest: BTreeMap<CoreId, u64> = BTreeMap::new();
        for (other, &pages) in &self.windows {
            if window.is_none_or(|window| window.core != other.core || window == *other) {
                let most = largest.entry(other.core).or_default();
                *most = pages.max(*most);
            }
        }
        self.always + largest.values().sum::<u64>()
    }

    fn add(&mut self, window: Option<Window>) {
        match window {
            None => self.always += 1,
            Some(window) => *self.windows.entry(window).or_default() += 1,
        }
    }
}

/// The most pages of a color that are locked at the same time, for each color of `lockdown` once.
pub(crate) fn locked_at_once(lockdown: &Lockdown, tasks: &[Task]) -> Vec<(Color, u64)> {
    let mut colors: BTreeMap<Color, Turns> = BTreeMap::new();
    for page in &lockdown.pages {
        let window = Window::of(lockdown.when, &lockdown.partitions, tasks, page.task);
        colors.entry(page.color).or_default().add(window);
    }
    colors.into_iter().map(|(color, turns)| (color, turns.beside(None))).collect()
}

/// Why nothing is locked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LockError {
    /// The machine can't hold lines or pages in its cache.
    NoLocking,
    /// More pages than fit.
    TooManyPages {
        /// The task whose page did not fit.
        task: TaskId,
        /// Pages that all tasks want.
        wanted: u64,
        /// Pages that fit into the colors the task may use.
        capacity: u64,
    },
    /// A color that does not exist.
    NoSuchColor {
        /// The task.
        task: TaskId,
        /// The color.
        color: Color,
        /// How many there are.
        colors: u16,
    },
    /// A task wants more pages than its profile has.
    ShortProfile {
        /// The task.
        task: TaskId,
        /// What it wants.
        wanted: u64,
        /// What the profile has.
        profiled: u64,
    },
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.explain(&(), f)
    }
}

impl Explain for LockError {
    fn explain(&self, names: &dyn TaskNames, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let called = |task: &TaskId| called(names, *task);
        match self {
            Self::NoLocking => write!(f, "this machine cannot lock lines or pages in its cache"),
            Self::TooManyPages { task, wanted, capacity } => write!(
                f,
                "{wanted} pages are to be locked and {} can have {capacity}: a color holds one page in each way, \
                 and one way of each stays free for everybody else",
                called(task)
            ),
            Self::NoSuchColor { task, color, colors } => {
                let last = colors.saturating_sub(1);
                write!(f, "{} names {color}; there are colors 0 to {last}", called(task))
            }
            Self::ShortProfile { task, wanted, profiled } => {
                write!(f, "{} wants {wanted} pages locked and its profile has {profiled}", called(task))
            }
        }
    }
}

impl core::error::Error for LockError {}

/// Plans which pages are moved to which color and locked in which order: the most accessed pages of all tasks
/// first, each into the color of its task that has most room. `can_lock`: whether the machine can lock at all.
///
/// # Errors
/// If the machine cannot lock, or the pages do not fit: nothing has changed then.
pub fn plan(
    can_lock: bool,
    cache: LockableCache,
    profile: &[RankedPage],
    requests: &[LockRequest],
) -> Result<Vec<LockedPage>, LockError> {
    if !can_lock {
        return Err(LockError::NoLocking);
    }
    let mut chosen = Vec::new();
    for request in requests {
        let task = request.task;
        if let Some(&color) = request.colors.iter().find(|color| color.0 >= cache.colors) {
            return Err(LockError::NoSuchColor { task, color, colors: cache.colors });
        }
        let mut pages: Vec<RankedPage> = profile.iter().filter(|page| page.task == task).copied().collect();
        let profiled = pages.len() as u64;
        if request.pages > profiled {
            return Err(LockError::ShortProfile { task, wanted: request.pages, profiled });
        }
        rank(&mut pages);
        pages.truncate(usize::try_from(request.pages).unwrap_or(usize::MAX));
        chosen.extend(pages);
    }
    let wanted = chosen.len() as u64;
    rank(&mut chosen);
    let mut used = alloc::vec![Turns::default(); usize::from(cache.colors)];
    // Tasks that are confined to few colors choose first: the others find room elsewhere.
    let freedom = |task: TaskId| {
        let colors = requests.iter().find(|request| request.task == task).map_or(0, |r| r.colors.len());
        if colors == 0 { usize::from(cache.colors) } else { colors }
    };
    let mut order: Vec<usize> = (0..chosen.len()).collect();
    order.sort_by_key(|&at| freedom(chosen[at].task));
    let mut colors = alloc::vec![Color(0); chosen.len()];
    for at in order {
        let task = chosen[at].task;
        let request = requests.iter().find(|request| request.task == task);
        let own = request.map_or(&[][..], |request| &request.colors);
        let allowed = |color: &u16| own.is_empty() || own.contains(&Color(*color));
        let window = request.and_then(|request| request.window);
        let taken = |color: u16| used[usize::from(color)].beside(window);
        let best = (0..cache.colors).filter(allowed).map(|color| (taken(color), color)).min();
        let best = best.filter(|&(taken, _)| taken < cache.per_color()).map(|(_, color)| color);
        let Some(color) = best else {
            let capacity = cache.per_color() * freedom(task) as u64;
            return Err(LockError::TooManyPages { task, wanted, capacity });
        };
        used[usize::from(color)].add(window);
        colors[at] = Color(color);
    }
    let locked = |(page, color): (&RankedPage, &Color)| LockedPage {
        task: page.task,
        buffer: page.buffer,
        page: page.page,
        color: *color,
    };
    Ok(chosen.iter().zip(&colors).map(locked).collect())
}

/// Most accessed first; ties by task and place, so that a plan never depends on the order of a profile.
fn rank(pages: &mut [RankedPage]) {
    pages.sort_by_key(|page| (core::cmp::Reverse(page.accesses), page.task, page.buffer, page.page));
}

/// A point of a progressive lockdown curve (SCE Figs. 7, 11).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CurvePoint {
    /// Pages that are locked, the most accessed first.
    pub pages: u64,
    /// The longest execution time that was observed.
    pub worst: Duration,
    /// The shortest.
    pub best: Duration,
    /// The most misses of the last-level cache of one job: residual misses.
    pub residual_misses: u64,
}

/// What a progressive lockdown curve says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockdownCurve {
    points: Vec<CurvePoint>,
}

impl LockdownCurve {
    /// The curve through these points, sorted by locked pages; of several of the same number the extremes of
    /// all count.
    pub fn new(points: &[CurvePoint]) -> Self {
        let mut points = points.to_vec();
        points.sort_by_key(|point| point.pages);
        points.dedup_by(|later, earlier| {
            let same = later.pages == earlier.pages;
            if same {
                earlier.worst = earlier.worst.max(later.worst);
                earlier.best = earlier.best.min(later.best);
                earlier.residual_misses = earlier.residual_misses.max(later.residual_misses);
            }
            same
        });
        Self { points }
    }

    /// The points, fewest pages first.
    pub fn points(&self) -> &[CurvePoint] {
        &self.points
    }

    /// The fewest measured pages with which the execution time stays within `wanted`, at that and every larger
    /// number that was measured: a later point that is worse is not ignored.
    pub fn pages_for(&self, wanted: Duration) -> Option<CurvePoint> {
        let bad = self.points.iter().rposition(|point| point.worst > wanted);
        self.points.get(bad.map_or(0, |at| at + 1)).copied()
    }

    /// The point from which on the execution time falls by less than `per_mille` thousandths of its whole fall:
    /// more pages are not worth their cache.
    pub fn knee(&self, per_mille: u64) -> Option<CurvePoint> {
        let first = self.points.first()?.worst.get();
        let least = self.points.iter().map(|point| point.worst.get()).min()?;
        let fall = u128::from(first.saturating_sub(least));
        let near = |point: &&CurvePoint| {
            let above = u128::from(point.worst.get().saturating_sub(least));
            above * 1000 <= fall * u128::from(per_mille)
        };
        self.points.iter().find(near).copied()
    }

    /// Where the curve rises although more is locked: measured, so possible, but not what ranks promise.
    pub fn rises(&self) -> impl Iterator<Item = (CurvePoint, CurvePoint)> + '_ {
        let pairs = self.points.windows(2).map(|pair| (pair[0], pair[1]));
        pairs.filter(|(fewer, more)| more.worst > fewer.worst)
    }
}

/// Accesses that the `pages` most accessed pages leave to the rest, of one task: what the curve follows when
/// every access costs the same.
pub fn uncovered(profile: &[RankedPage], pages: u64) -> u64 {
    let mut all = profile.to_vec();
    rank(&mut all);
    all.iter().skip(usize::try_from(pages).unwrap_or(usize::MAX)).map(|page| page.accesses).sum()
}
