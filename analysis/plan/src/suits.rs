//! Whether a task suits itself and the policy.

use crate::TextRange;
use crate::request::{ReleaseWish, TaskWish};
use crate::{Doubtful, Draft, Fault, Needed};
use alloc::borrow::ToOwned;
use alloc::vec;
use alloc::vec::Vec;
use solo_model::policy::{Parameter, Scope};
use solo_model::task::Release;
use solo_model::work::{MOST_IDLE_STEPS, SHORTEST_ROUND, Step, Visit, about, idle_steps, walk};
use solo_model::{CoreId, Duration, Policy, RelativeSpeed, Task, TaskClass};

impl Draft<'_> {
    pub(crate) fn suits(&mut self, wish: &TaskWish, task: &Task) {
        self.check_times(wish, task);
        if let Some(policy) = self.policy.clone() {
            self.check_policy(wish, task, &policy);
        }
    }

    /// Declared times that contradict each other.
    fn check_times(&mut self, wish: &TaskWish, task: &Task) {
        let name = || wish.name.value.clone();
        if let (Some(wcet), Some(due)) = (wish.wcet.wish(), task.relative_deadline())
            && wcet.value > due
        {
            let due_at = match (wish.deadline.wish(), wish.release) {
                (Some(deadline), _) => deadline.at,
                (None, Some(ReleaseWish::Periodic(period) | ReleaseWish::Sporadic(period))) => period.at,
                (None, _) => wish.at,
            };
            self.object(wcet.at, Fault::WcetBeyondDeadline { task: name(), wcet: wcet.value, due, due_at });
        }
        if let (Some(wcet), Some(work)) = (wish.wcet.wish(), wish.work.wish()) {
            let computed = self.slowest_for(task.core).longest(longest_computation(&work.value.steps));
            if wcet.value < computed {
                let doubt = Doubtful::ComputesBeyondWcet {
                    task: name(),
                    wcet: wcet.value,
                    computed,
                    work_at: work.at,
                };
                self.doubt(wcet.at, doubt);
            }
        }
        if let Some(work) = wish.work.wish() {
            self.check_length(&name(), work.at, &work.value.steps, &task.release);
        }
        // Policies that order by deadlines say so themselves.
        let by_deadline =
            self.policy.as_ref().is_some_and(|policy| policy.criterion.needs(Parameter::Deadline));
        if task.class != TaskClass::BestEffort
            && !by_deadline
            && task.relative_deadline().is_none()
            && matches!(task.release, Release::Once { .. } | Release::Continuous { .. })
            && wish.deadline.is_nothing()
        {
            self.object(wish.at, Fault::NoDeadline { task: name() });
        }
    }

    /// How fast the slowest core computes that a task may run on which names this core, or none.
    pub(crate) fn slowest_for(&self, core: Option<CoreId>) -> RelativeSpeed {
        let Some(platform) = self.request.platform.value() else { return RelativeSpeed::REFERENCE };
        let domains =
            self.policy.as_ref().map_or_else(Vec::new, |policy| policy.domains(platform.cores.len()));
        let home = core.and_then(|core| domains.into_iter().find(|cores| cores.contains(core)));
        platform.slowest(home.unwrap_or(platform.core_set()))
    }

    /// Work that no machine would come to the end of.
    fn check_length(&mut self, task: &str, at: TextRange, work: &[Step], release: &Release) {
        let steps = idle_steps(work);
        if steps > MOST_IDLE_STEPS {
            let task = task.to_owned();
            self.object(at, Fault::IdleSteps { task, steps, most: MOST_IDLE_STEPS });
        } else if matches!(release, Release::Continuous { .. }) && about(work) < SHORTEST_ROUND {
            let task = task.to_owned();
            self.object(at, Fault::TooBrief { task, about: about(work), least: SHORTEST_ROUND });
        }
    }

    /// What the policy needs of a task.
    fn check_policy(&mut self, wish: &TaskWish, task: &Task, policy: &Policy) {
        let Some(policy_at) = self.request.scheduler.value().map(|scheduler| scheduler.criterion.at) else {
            return;
        };
        let bound = policy.scope != Scope::Global || policy.criterion.is_bound();
        let deadline = task.relative_deadline().is_none();
        let graded = task.class != TaskClass::BestEffort;
        let needs = [
            (bound && wish.core.is_nothing() && !self.assigns(task), Needed::Core),
            (
                graded
                    && deadline
                    && policy.criterion.needs(Parameter::Deadline)
                    && wish.deadline.is_nothing(),
                Needed::Deadline,
            ),
            (
                graded && policy.criterion.needs(Parameter::Period) && task.release.period().is_none(),
                Needed::Period,
            ),
            (graded && policy.criterion.needs(Parameter::Wcet) && wish.wcet.is_nothing(), Needed::Wcet),
            (
                graded && policy.criterion.needs(Parameter::Priority) && wish.priority.is_nothing(),
                Needed::Priority,
            ),
        ];
        for (_, needed) in needs.into_iter().filter(|(lacks, _)| *lacks) {
            let task = wish.name.value.clone();
            self.object(wish.at, Fault::PolicyNeeds { task, needed, policy: policy.clone(), policy_at });
        }
    }
}

/// What a job computes at most on a core of the reference kind, memory apart.
pub(crate) fn longest_computation(steps: &[Step]) -> Duration {
    let mut rounds = vec![1_u64];
    let mut sum = 0_u64;
    for visit in walk(steps) {
        let times = rounds.last().copied().unwrap_or(1);
        let length = match visit {
            Visit::Begin { times: more } => {
                rounds.push(times.saturating_mul(u64::from(more)));
                0
            }
            Visit::End { .. } => {
                rounds.pop();
                0
            }
            Visit::Step(Step::Compute(span)) => span.most.get(),
            Visit::Step(Step::Touch(touch)) => touch.think.get().saturating_mul(touch.accesses),
            Visit::Step(_) => 0,
        };
        sum = sum.saturating_add(length.saturating_mul(times));
    }
    Duration::new(sum)
}
