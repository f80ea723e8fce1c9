//! Where a task may run, and what it reserves there under `SCHED_DEADLINE`.

use super::NotRtApp;
use solo_model::policy::Scope;
use solo_model::task::Task;
use solo_model::units::Duration;
use solo_model::work::{Step, Visit, walk};
use solo_model::{CoreId, CoreSet, Experiment};

/// The shortest execution time that Linux reserves: `sched_runtime` is kept without its last ten bits.
const SHORTEST: Duration = Duration::new(1 << 10);

/// The periods that Linux reserves time in, unless `kernel.sched_deadline_period_min_us` and `_max_us` are changed: 100 us and 2^22 us.
const PERIODS: std::ops::RangeInclusive<Duration> =
    Duration::from_micros(100)..=Duration::from_micros(1 << 22);

/// The three times of `sched_setattr`.
pub(crate) struct Reservation {
    pub(crate) runtime: Duration,
    pub(crate) deadline: Duration,
    pub(crate) period: Duration,
}

impl Reservation {
    /// For a task: the declared execution time, or what its work computes on the slowest core that it may get where that is more. `grain`
    /// is what execution times are whole numbers of.
    pub(crate) fn of(experiment: &Experiment, task: &Task, grain: Duration) -> Result<Self, NotRtApp> {
        let refused = || NotRtApp::Reservation { task: task.name.clone() };
        let (Some(period), Some(deadline)) = (task.release.period(), task.relative_deadline()) else {
            return Err(refused());
        };
        let platform = &experiment.platform;
        let speed = platform.slowest(cores(experiment, task).unwrap_or_else(|| platform.core_set()));
        let computed = speed.longest(Duration::new(computed(&task.work.steps)));
        let least = computed.max(task.wcet.unwrap_or(Duration::ZERO)).max(SHORTEST).get();
        let Some(runtime) = least.checked_next_multiple_of(grain.get()).map(Duration::new) else {
            return Err(refused());
        };
        if runtime > deadline || deadline > period {
            return Err(refused());
        }
        if !PERIODS.contains(&period) {
            return Err(NotRtApp::ReservedPeriod { task: task.name.clone(), period });
        }
        Ok(Self { runtime, deadline, period })
    }
}

/// Where a thread may run; `None` for everywhere.
pub(super) fn cores(experiment: &Experiment, task: &Task) -> Option<CoreSet> {
    let policy = &experiment.policy;
    let core: CoreId = task.core?;
    if policy.criterion.is_bound() {
        return Some(CoreSet::only(core));
    }
    match &policy.scope {
        Scope::Global => None,
        Scope::Partitioned => Some(CoreSet::only(core)),
        Scope::Clustered(sets) => sets.iter().find(|set| set.contains(core)).copied(),
    }
}

/// On a core of the reference kind, at most.
fn computed(steps: &[Step]) -> u64 {
    let mut factors = vec![1_u64];
    let mut sum = 0_u64;
    for visit in walk(steps) {
        let factor = factors.last().copied().unwrap_or(1);
        match visit {
            Visit::Begin { times } => factors.push(factor.saturating_mul(times.into())),
            Visit::End { .. } => drop(factors.pop()),
            Visit::Step(Step::Compute(span)) => {
                sum = sum.saturating_add(span.most.get().saturating_mul(factor));
            }
            Visit::Step(Step::Execute(execute)) => {
                sum = sum.saturating_add(execute.on_reference.get().saturating_mul(factor));
            }
            Visit::Step(_) => {}
        }
    }
    sum
}
