//! When a core has counted too much, and who is to blame: what all placements of `[scheduler.monitor]` have in common.

use crate::placement::{Situation, Whose};
use alloc::vec::Vec;
use solo_model::{CoreId, CoreSet, Fixed, Listening, MetricId, TaskClass, TaskId};

/// Two thresholds, what each core is between them, and whom it may concern.
///
/// A core is loud from when it has counted more than the upper threshold until it counts no more than the lower one. The core
/// counts, not the task: what the task's predecessors in the period did is laid to whoever runs at its end, as in thesis 8.2.3.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Alert {
    metric: MetricId,
    above: Fixed,
    calm: Fixed,
    classes: Vec<TaskClass>,
    loud: CoreSet,
}

impl Alert {
    /// Over metric 0, what each core counted in a period.
    pub(super) fn new(listening: &Listening) -> Self {
        Self {
            metric: MetricId(0),
            above: listening.threshold,
            calm: listening.calm.unwrap_or(listening.threshold),
            classes: listening.classes.clone(),
            loud: CoreSet::EMPTY,
        }
    }

    /// Looks at what `core` has counted: true where it is loud. A core of which nothing is known is not.
    pub(super) fn look(&mut self, core: CoreId, situation: &dyn Situation) -> bool {
        let limit = if self.loud.contains(core) { self.calm } else { self.above };
        let loud = self.count(core, situation).is_some_and(|count| count > limit);
        self.loud = if loud { self.loud.with(core) } else { self.loud.without(core) };
        loud
    }

    /// The cores that were loud when they were looked at last.
    pub(super) const fn loud(&self) -> CoreSet {
        self.loud
    }

    /// What `core` has counted, as far as is known.
    pub(super) fn count(&self, core: CoreId, situation: &dyn Situation) -> Option<Fixed> {
        situation.metric(Whose::Core(core), self.metric)
    }

    /// The task on `core`, where it is of a class that it may concern.
    pub(super) fn concerned(&self, core: CoreId, situation: &dyn Situation) -> Option<TaskId> {
        let class = |task| situation.parameters(task).map(|parameters| parameters.class);
        situation.running(core).filter(|&task| class(task).is_some_and(|class| self.classes.contains(&class)))
    }

    /// Looks at what `core` has counted and says whom it concerns.
    pub(super) fn culprit(&mut self, core: CoreId, situation: &dyn Situation) -> Option<TaskId> {
        if self.look(core, situation) { self.concerned(core, situation) } else { None }
    }
}
