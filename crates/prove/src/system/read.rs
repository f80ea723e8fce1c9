//! From an experiment to what the analysis needs of it.

use super::{LockUse, Member, System};
use solo_model::policy::{Scope, Timing};
use solo_model::task::{Release, Task};
use solo_model::units::Duration;
use solo_model::work::Step;
use solo_model::{CoreId, CoreSet, Experiment};

/// A longest execution time and where it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Declared {
    /// The scenario says so: a promise of its writer.
    Wcet(Duration),
    /// The work computes for that long at most and touches no memory.
    Work(Duration),
}

impl Declared {
    /// The time.
    pub const fn time(self) -> Duration {
        match self {
            Self::Wcet(time) | Self::Work(time) => time,
        }
    }
}

/// The system of an experiment.
pub(super) fn system(experiment: &Experiment) -> System {
    let cores = experiment.platform.cores.len();
    let domains: Vec<CoreSet> = experiment.policy.scope.domains(cores);
    let domain_of = |core: CoreId| domains.iter().position(|domain| domain.contains(core));
    let member = |task: &Task| {
        let domain = match experiment.policy.scope {
            Scope::Global => Some(0),
            _ => task.core.and_then(domain_of),
        };
        member(experiment, task, domain.unwrap_or(0))
    };
    System {
        policy: experiment.policy.clone(),
        overheads: experiment.overheads.clone(),
        domains: domains.iter().map(|domain| domain.len()).collect(),
        tasks: experiment.tasks.iter().map(member).collect(),
        locks: experiment
            .locks
            .iter()
            .map(|lock| LockUse { name: lock.name.clone(), protocol: lock.protocol })
            .collect(),
        regulated: experiment.isolation.bandwidth.is_some(),
    }
}

fn member(experiment: &Experiment, task: &Task, domain: usize) -> Member {
    let mut walk = Walk::default();
    walk.steps(&task.work.steps);
    let slowest = experiment.platform.kinds.iter().map(|kind| kind.smt_speed.get()).min().unwrap_or(1000);
    let from_work = walk.computed.map(|time| Declared::Work(stretched(time, slowest)));
    let aligned = |tick: Duration| {
        let offset = task.release.offset();
        offset.get().is_multiple_of(tick.get())
            && task.release.period().is_none_or(|period| period.get().is_multiple_of(tick.get()))
    };
    Member {
        class: task.class,
        domain,
        wcet: task.wcet.map(Declared::Wcet).or(from_work),
        period: task.release.period(),
        once: matches!(task.release, Release::Once { .. }),
        deadline: task.relative_deadline(),
        jitter: match experiment.policy.timing {
            Timing::Tick(tick) if !aligned(tick) => tick,
            _ => Duration::ZERO,
        },
        priority: task.priority,
        lock_operations: walk.operations,
        sections: walk
            .sections
            .into_iter()
            .map(|(lock, length)| (lock, length.map(|length| stretched(length, slowest))))
            .collect(),
    }
}

/// A computation while the SMT sibling computes too.
fn stretched(time: Duration, smt_speed_per_mille: u16) -> Duration {
    let speed = u128::from(smt_speed_per_mille.clamp(1, 1000));
    Duration::new(u64::try_from(u128::from(time.get()) * 1000 / speed).unwrap_or(u64::MAX))
}

/// What a job does, step by step.
struct Walk {
    /// What it computes at most; `None` once it touches memory or suspends itself.
    computed: Option<Duration>,
    operations: u64,
    /// Locks held, with what had been computed when they were taken.
    held: Vec<(usize, Option<Duration>)>,
    sections: Vec<(usize, Option<Duration>)>,
}

impl Default for Walk {
    fn default() -> Self {
        Self { computed: Some(Duration::ZERO), operations: 0, held: Vec::new(), sections: Vec::new() }
    }
}

impl Walk {
    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Compute(span) => {
                    self.computed = self.computed.map(|sum| sum.saturating_add(span.most));
                }
                Step::Touch(_) | Step::Replay(_) | Step::Sleep(_) => self.computed = None,
                Step::Acquire(lock) => {
                    self.operations += 1;
                    self.held.push((lock.index(), self.computed));
                }
                Step::Release(lock) => self.give_back(lock.index()),
                Step::Repeat { times, steps } => self.repeat(*times, steps),
            }
        }
    }

    fn give_back(&mut self, lock: usize) {
        self.operations += 1;
        if let Some(at) = self.held.iter().rposition(|&(held, _)| held == lock) {
            let (_, since) = self.held.remove(at);
            let length = self.computed.zip(since).map(|(now, since)| now.saturating_sub(since));
            self.sections.push((lock, length));
        }
    }

    /// One round is walked; the others compute as long and take the same locks for as long.
    fn repeat(&mut self, times: u32, steps: &[Step]) {
        if times == 0 {
            return;
        }
        let (before, operations) = (self.computed, self.operations);
        self.steps(steps);
        let round = self.computed.zip(before).map(|(after, before)| after.saturating_sub(before));
        let more = u64::from(times - 1);
        self.operations += (self.operations - operations).saturating_mul(more);
        self.computed = self
            .computed
            .zip(round)
            .map(|(sum, round)| sum.saturating_add(Duration::new(round.get().saturating_mul(more))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::LockId;
    use solo_model::work::Span;

    #[test]
    fn a_job_that_only_computes_tells_how_long() {
        let compute = |ms| Step::Compute(Span::exactly(Duration::from_millis(ms)));
        let steps = [
            compute(1),
            Step::Repeat {
                times: 3,
                steps: vec![Step::Acquire(LockId(0)), compute(2), Step::Release(LockId(0)), compute(1)],
            },
        ];
        let mut walk = Walk::default();
        walk.steps(&steps);
        assert_eq!(walk.computed, Some(Duration::from_millis(10)));
        assert_eq!((walk.operations, walk.sections), (6, vec![(0, Some(Duration::from_millis(2)))]));
        assert_eq!(stretched(Duration::new(600), 600), Duration::new(1000));
    }
}
