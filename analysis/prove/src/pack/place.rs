//! Where tasks go: each to a core that stays schedulable with it, and where none does, what failed on each.
//!
//! The heuristics are those of bin packing (thesis 2.4.2.1); a core is as large as the exact test of its policy says: processor
//! demand under EDF, response times under fixed priorities. Tasks that have a core stay there.

use crate::effort::Effort;
use crate::pack::bins::{Fit, Order};
use crate::pack::items::{Items, Share, sums_cmp};
use crate::task::{Task, TaskSet, Ticks};
use crate::uni::fp::{self, Response};
use crate::uni::qpa::qpa;
use core::cmp::Ordering;

/// What makes a core full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Capacity<'k> {
    /// Earliest deadline first: the processor demand of some interval exceeds it.
    Edf,
    /// Fixed priorities: some response time exceeds its deadline. `keys[i]` is the priority of task `i`, the smallest the most
    /// urgent, ties by position.
    Fixed(&'k [u64]),
}

/// Why a core does not take a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Full {
    /// `sum C_i / T_i > 1`.
    Utilization {
        /// The sum with the task, in millionths, rounded up.
        millionths: u64,
    },
    /// The processor demand of some interval is longer than the interval, `sum (floor((L - D_i) / T_i) + 1) C_i > L`.
    Demand {
        /// The utilisation with the task, in millionths, rounded up.
        millionths: u64,
    },
    /// `R_i > D_i`.
    Response {
        /// The most urgent task that is late.
        late: usize,
        /// Its deadline.
        deadline: Ticks,
    },
    /// The effort ran out.
    Undecided,
    /// Next fit has gone on to a later core.
    Behind,
}

/// A task that no core takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unplaced {
    /// Which.
    pub task: usize,
    /// By core, why not.
    pub tried: Vec<Full>,
}

/// Tasks as they are on each of some cores, which need not be equally fast.
#[derive(Clone, Copy, Debug)]
pub struct Sizes<'t> {
    /// By kind of core, all tasks with their execution times there, those of one kind as long as those of any other.
    pub kinds: &'t [Vec<Task>],
    /// By core, its kind.
    pub kind_of: &'t [usize],
}

impl Sizes<'_> {
    fn on(&self, core: usize) -> &[Task] {
        self.kind_of.get(core).and_then(|&kind| self.kinds.get(kind)).map_or(&[], Vec::as_slice)
    }
}

/// Gives each task a core: `held[i]` where it has one, else one that `fit` chooses, tasks in `order`.
///
/// Loads are utilisations, compared exactly, and of equal ones the lowest core goes first. Next fit begins at core 0.
///
/// # Errors
/// The first task that no core takes. Tasks that have a core are not asked whether they fit there.
pub fn place(
    tasks: &[Task],
    held: &[Option<usize>],
    cores: usize,
    how: (Fit, Order),
    capacity: Capacity<'_>,
    effort: &mut Effort<'_>,
) -> Result<Vec<usize>, Unplaced> {
    let (kinds, kind_of) = ([tasks.to_vec()], vec![0; cores]);
    place_among(Sizes { kinds: &kinds, kind_of: &kind_of }, held, how, capacity, effort)
}

/// As [`place`], on cores that may differ in speed: a task asks of each core what it asks for there, and which task is the larger is told
/// by the first kind of core.
///
/// # Errors
/// As [`place`].
pub fn place_among(
    sizes: Sizes<'_>,
    held: &[Option<usize>],
    (fit, order): (Fit, Order),
    capacity: Capacity<'_>,
    effort: &mut Effort<'_>,
) -> Result<Vec<usize>, Unplaced> {
    let cores = sizes.kind_of.len();
    let mut contents: Vec<Vec<usize>> = vec![Vec::new(); cores];
    for (task, core) in held.iter().enumerate() {
        if let Some(content) = core.and_then(|core| contents.get_mut(core)) {
            content.push(task);
        }
    }
    let shares: Vec<Vec<Share>> =
        sizes.kinds.iter().map(|tasks| tasks.iter().map(Share::of).collect()).collect();
    let loads: Vec<Items<'_>> = shares.iter().map(|shares| Items::single(shares)).collect();
    let load_cmp = |contents: &[Vec<usize>], a: usize, b: usize| {
        let load = |core: usize| loads[sizes.kind_of[core]].ratios(contents[core].iter().copied());
        sums_cmp(load(a), load(b))
    };
    let mut waiting: Vec<usize> = (0..held.len()).filter(|&task| held[task].is_none()).collect();
    if let (Order::Decreasing, Some(tasks)) = (order, sizes.kinds.first()) {
        waiting.sort_by(|&a, &b| larger(&tasks[a], &tasks[b]));
    }
    let mut homes = held.to_vec();
    let mut open = 0;
    for task in waiting {
        let mut candidates: Vec<usize> = (0..cores).collect();
        match fit {
            Fit::First => {}
            Fit::Next => candidates.retain(|&core| core >= open),
            Fit::Best => candidates.sort_by(|&a, &b| load_cmp(&contents, b, a)),
            // The emptiest is the one that is meant: where it does not take the task, the others are only tried.
            Fit::Worst => candidates.sort_by(|&a, &b| load_cmp(&contents, a, b)),
        }
        let mut why = |core: usize| full(sizes.on(core), &contents[core], task, capacity, effort);
        let Some(core) = candidates.into_iter().find(|&core| why(core).is_none()) else {
            let left = |core: usize| fit == Fit::Next && core < open;
            let why = |core| if left(core) { Full::Behind } else { why(core).unwrap_or(Full::Undecided) };
            let tried = (0..cores).map(why).collect();
            return Err(Unplaced { task, tried });
        };
        contents[core].push(task);
        homes[task] = Some(core);
        open = core;
    }
    Ok(homes.into_iter().map(Option::unwrap_or_default).collect())
}

/// `C / T` in steps of 2^-32, rounded down.
fn share(task: &Task) -> u128 {
    (u128::from(task.c()) << 32) / u128::from(task.t().max(1))
}

/// The larger utilisation first, exactly.
fn larger(a: &Task, b: &Task) -> Ordering {
    let (a, b) = (u128::from(a.c()) * u128::from(b.t()), u128::from(b.c()) * u128::from(a.t()));
    b.cmp(&a)
}

/// The natural logarithm of 2 in steps of 2^-32, rounded down: below `n (2^(1/n) - 1)` for every `n`.
const LN_2: u128 = 2_977_044_471;

/// True where response times need not be looked at: `own`, the most urgent first, have rate-monotonic priorities, deadlines not below periods,
/// and a sum of utilisations within the bound of Liu & Layland (1973). Thousands of small tasks are placed so without a search.
fn within_liu_layland(own: &[Task]) -> bool {
    let up = |task: &Task| (u128::from(task.c()) << 32).div_ceil(u128::from(task.t().max(1)));
    own.iter().map(up).sum::<u128>() <= LN_2
        && own.is_sorted_by_key(Task::t)
        && own.iter().all(|task| task.d() >= task.t())
}

/// Why a core with `content` does not take `task`; `None` where it does.
fn full(
    tasks: &[Task],
    content: &[usize],
    task: usize,
    capacity: Capacity<'_>,
    effort: &mut Effort<'_>,
) -> Option<Full> {
    let mut all: Vec<usize> = content.to_vec();
    all.push(task);
    let up = |task: &Task| (u128::from(task.c()) * 1_000_000).div_ceil(u128::from(task.t().max(1)));
    let sum: u128 = all.iter().map(|&task| up(&tasks[task])).sum();
    let millionths = u64::try_from(sum).unwrap_or(u64::MAX);
    let overloaded = all.iter().map(|&task| share(&tasks[task])).sum::<u128>() > 1 << 32;
    if overloaded {
        return Some(Full::Utilization { millionths });
    }
    match capacity {
        Capacity::Edf => {
            let set = TaskSet::new(1, all.iter().map(|&task| tasks[task]).collect());
            let Ok(set) = set else { return Some(Full::Undecided) };
            match qpa(&set, effort).decided() {
                Some(true) => None,
                Some(false) if set.is_implicit() => Some(Full::Utilization { millionths }),
                Some(false) => Some(Full::Demand { millionths }),
                None => Some(Full::Undecided),
            }
        }
        Capacity::Fixed(keys) => {
            all.sort_by_key(|&task| (keys[task], task));
            let own: Vec<Task> = all.iter().map(|&task| tasks[task]).collect();
            if within_liu_layland(&own) {
                return None;
            }
            let Some(responses) = fp::response_times(&own, effort) else { return Some(Full::Undecided) };
            let late = responses.iter().position(|response| *response == Response::Late)?;
            Some(Full::Response { late: all[late], deadline: own[late].d })
        }
    }
}
