//! Response times of the tasks of one core whose memory bandwidth is a budget (SCE 3.2; B_reg and joint budgets are ours).

use crate::effort::Effort;
use crate::exact::{Ratio, sum_cmp};
use crate::task::{Task, Ticks};
use crate::uni::fp::{Higher, Response, response_over};
use crate::verdict::Stop;
use crate::wcet::Regulation;
use core::cmp::Ordering;
use solo_model::Duration;

/// A task of the core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Load {
    /// The execution time alone, `C`.
    pub alone: Duration,
    /// `mu`: transactions of a job with memory, in both directions.
    pub transactions: u64,
    /// The least time between releases.
    pub period: Duration,
    /// The relative deadline.
    pub deadline: Duration,
    /// How long after its release a job may become ready.
    pub jitter: Duration,
}

/// What runs on the core beside the tasks, less urgent than all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Less {
    /// Transactions that it may make in a regulation period: the core's budget where nothing limits it, 0 where it makes none.
    pub transactions: u64,
    /// The longest that a job waits for locks of less urgent tasks, `B_lock`, with what is charged for their transactions meanwhile.
    pub locks: Duration,
}

/// The tasks with `C_sce` as their execution times and jitter taken off.
fn inflated(regulation: &Regulation, core: usize, tasks: &[Load]) -> Option<Vec<Task>> {
    let limit = Ticks::LIMIT.get();
    let task = |task: &Load| {
        let stall = regulation.charge(core, task.transactions)?;
        let c = task.alone.saturating_add(stall).get().max(1);
        let (t, d) = (task.period.get().min(limit), task.deadline.get().min(limit));
        let jitter = task.jitter.get();
        (c <= limit).then(|| Task::new(c, t.saturating_sub(jitter).max(1), d.saturating_sub(jitter)))
    };
    tasks.iter().map(task).collect()
}

/// Response times under fixed priorities, the most urgent first:
/// `R = B_reg + B_lock + B_one + C_sce_i + sum ceil((R + J_j) / T_j) C_sce_j`; `None` for a task that may respond after its deadline. The
/// answer is `None` where the core has no budget, or numbers or effort do not suffice.
///
/// `B_reg` counts unless all that the core transfers in a regulation period is less than its budget; `B_one`, a transaction under way,
/// where anything less urgent transfers.
pub fn response_fixed(
    regulation: &Regulation,
    core: usize,
    tasks: &[Load],
    less: Less,
    effort: &mut Effort<'_>,
) -> Option<Vec<Option<Duration>>> {
    let inflated = inflated(regulation, core, tasks)?;
    let spent = blocking(regulation, core, tasks, less);
    let mut responses = Vec::with_capacity(tasks.len());
    for (at, task) in tasks.iter().enumerate() {
        let higher: Vec<Higher> = inflated[..at]
            .iter()
            .zip(tasks)
            .map(|(inflated, load)| Higher {
                task: Task::new(inflated.c(), load.period.get().clamp(1, Ticks::LIMIT.get()), inflated.d()),
                lead: load.jitter.get(),
            })
            .collect();
        let one = less.transactions > 0 || tasks[at + 1..].iter().any(|lower| lower.transactions > 0);
        let blocking = spent.saturating_add(under_way(regulation, core, one));
        let response = response_over(&inflated[at], &higher, Ticks(blocking.get()), effort).ok()?;
        responses.push(match response {
            Response::Within(time) => Some(Duration::new(time.get()).saturating_add(task.jitter)),
            Response::Late => None,
        });
    }
    Some(responses)
}

/// `B_one`, where some less urgent transaction may be under way.
fn under_way(regulation: &Regulation, core: usize, some: bool) -> Duration {
    if some { regulation.under_way(core) } else { Duration::ZERO }
}

/// `B_reg + B_lock`. In a regulation period execute jobs that are released in it, and those released before that are not due yet.
fn blocking(regulation: &Regulation, core: usize, tasks: &[Load], less: Less) -> Duration {
    let of = |task: &Load| {
        let window = regulation.period().saturating_add(task.deadline).saturating_add(task.jitter);
        window.get().div_ceil(task.period.get().max(1)).saturating_mul(task.transactions)
    };
    let all = tasks.iter().fold(less.transactions, |sum, task| sum.saturating_add(of(task)));
    regulation.blocking(core, all).saturating_add(less.locks)
}

/// Whether all deadlines hold under EDF: `B_reg + B_lock + B_one + sum (floor((t - D_i) / T_i) + 1) C_sce_i <= t` for every deadline `t`
/// of the busy period. The blocking counts for every `t`: jobs due later and earlier ones spend from the same budget, and may be in the
/// middle of a transaction. `None` where the core has no budget, or numbers or effort do not suffice.
pub fn response_edf(
    regulation: &Regulation,
    core: usize,
    tasks: &[Load],
    less: Less,
    effort: &mut Effort<'_>,
) -> Option<bool> {
    let inflated = inflated(regulation, core, tasks)?;
    let one = less.transactions > 0 || (tasks.len() > 1 && tasks.iter().any(|task| task.transactions > 0));
    let spent = blocking(regulation, core, tasks, less);
    let blocking = spent.saturating_add(under_way(regulation, core, one)).get();
    let used = inflated.iter().map(|task| Ratio::new(task.c(), task.t()));
    if sum_cmp(used, 1) == Ordering::Greater {
        return Some(false);
    }
    demand_holds(&inflated, blocking, effort).ok()
}

/// `blocking + sum dbf(t) <= t` for every deadline `t` up to the end of the busy period that begins with the blocking.
fn demand_holds(tasks: &[Task], blocking: u64, effort: &mut Effort<'_>) -> Result<bool, Stop> {
    let first: u64 = tasks.iter().map(Task::c).sum::<u64>().saturating_add(blocking);
    let mut busy = first;
    loop {
        effort.spend(tasks.len())?;
        let work = |task: &Task| u128::from(busy.div_ceil(task.t())) * u128::from(task.c());
        let next = tasks.iter().map(work).sum::<u128>() + u128::from(blocking);
        let next = u64::try_from(next).map_err(|_| Stop::Overflow)?;
        if next == busy {
            break;
        }
        busy = next;
    }
    let mut due: Vec<u64> = tasks.iter().map(Task::d).collect();
    loop {
        effort.spend(tasks.len())?;
        let Some(at) = due.iter().copied().min().filter(|&at| at <= busy) else { return Ok(true) };
        let demand: u128 = tasks.iter().map(|task| crate::demand::dbf(task, at)).sum();
        if demand + u128::from(blocking) > u128::from(at) {
            return Ok(false);
        }
        for (due, task) in due.iter_mut().zip(tasks) {
            if *due == at {
                *due = due.checked_add(task.t()).ok_or(Stop::Overflow)?;
            }
        }
    }
}
