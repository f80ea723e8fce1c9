//! The smallest change that would make a task's proof hold.

use super::pace::Pace;
use super::{System, TaskFinding, Whose, shorten};
use crate::effort::Effort;
use solo_model::policy::Scope;
use solo_model::task::Release;
use solo_model::units::Duration;
use solo_model::{Experiment, TaskClass, TaskId};

/// One change; everything else stays. The changed experiment was judged: the task is proved, and no other task has
/// lost its proof. [`Change::apply`] makes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// Shorten a task's longest execution time.
    Wcet {
        /// The task.
        task: usize,
        /// Now.
        from: Duration,
        /// The longest found that is proved.
        to: Duration,
    },
    /// Lengthen a task's period, and its deadline with it where the two are equal.
    Period {
        /// The task.
        task: usize,
        /// Now.
        from: Duration,
        /// The shortest found that is proved.
        to: Duration,
    },
    /// Allow the task a longer deadline.
    Deadline {
        /// The task.
        task: usize,
        /// Now.
        from: Duration,
        /// The shortest found that is proved.
        to: Duration,
    },
    /// Move a task to another core or cluster.
    Move {
        /// The task.
        task: usize,
        /// The position of the domain in the order of lowest cores.
        to: usize,
    },
}

impl Change {
    /// Makes the change. A shorter execution time is taken off the computation outside critical sections first. False
    /// where it can't be made.
    pub fn apply(&self, experiment: &mut Experiment) -> bool {
        let cores = experiment.platform.cores.len();
        let home = match *self {
            Self::Move { to, .. } => {
                experiment.policy.domains(cores).get(to).and_then(|domain| domain.lowest())
            }
            _ => None,
        };
        let (Self::Wcet { task, .. }
        | Self::Period { task, .. }
        | Self::Deadline { task, .. }
        | Self::Move { task, .. }) = *self;
        if let Self::Wcet { task, to, .. } = *self {
            let Some(mut changed) = experiment.tasks.get(task).cloned() else { return false };
            let pace = Pace::of_task(experiment, &changed);
            let made = shorten::shorten(&mut changed, to, &pace);
            experiment.tasks[task] = changed;
            return made;
        }
        let Some(task) = experiment.tasks.get_mut(task) else { return false };
        match *self {
            Self::Wcet { .. } => false,
            Self::Period { to, .. } => {
                let deadline = task.relative_deadline();
                let Release::Periodic { period, .. } = &mut task.release else { return false };
                if deadline == Some(*period) {
                    task.deadline = Some(to);
                }
                *period = to;
                true
            }
            Self::Deadline { to, .. } => {
                task.deadline = Some(to);
                true
            }
            Self::Move { .. } => {
                task.core = home;
                home.is_some()
            }
        }
    }
}

/// A period is stretched at most this many times.
const STRETCH: u64 = 16;
/// So many of the largest contributors are considered.
const SUSPECTS: usize = 3;
/// The work of copying a task, in steps of the analysis.
const COPY: usize = 64;
/// A change is rounded to so many digits, where the rounded one holds as well.
const DIGITS: u32 = 3;

/// For a task that isn't proved: one change of each kind, of the task itself and of those that delay it most.
pub fn mends(experiment: &Experiment, task: usize, effort: &mut Effort<'_>) -> Vec<Change> {
    let judged = System::of(experiment).judge(effort);
    let Some(TaskFinding::NotProved(gap)) = judged.tasks.get(task).map(|found| &found.outcome) else {
        return Vec::new();
    };
    let proved: Vec<bool> =
        judged.tasks.iter().map(|found| matches!(found.outcome, TaskFinding::Proved(_))).collect();
    let others = gap.parts.iter().filter_map(|part| match part.whose {
        Whose::Task(other) => Some(other),
        _ => None,
    });
    let suspects: Vec<usize> = core::iter::once(task).chain(others.take(SUSPECTS)).collect();
    let mut search = Search { experiment, task, proved, effort };
    let mut found = Vec::new();
    for &suspect in &suspects {
        found.extend(search.wcet(suspect));
        found.extend(search.period(suspect));
    }
    found.extend(search.deadline());
    // Moving any one of them may do; the least first.
    found.extend(suspects.iter().rev().find_map(|&suspect| search.elsewhere(suspect)));
    found
}

struct Search<'a, 'b, 'c> {
    experiment: &'a Experiment,
    task: usize,
    proved: Vec<bool>,
    effort: &'b mut Effort<'c>,
}

impl Search<'_, '_, '_> {
    /// Whether the task is proved with the change and nothing that was proved is lost.
    fn holds(&mut self, change: Change) -> bool {
        // A copy of many tasks takes time as well.
        if self.effort.spend(COPY * self.experiment.tasks.len()).is_err() {
            return false;
        }
        let mut changed = self.experiment.clone();
        if !change.apply(&mut changed) {
            return false;
        }
        let judged = System::of(&changed).judge(self.effort);
        judged.tasks.iter().enumerate().all(|(task, found)| {
            matches!(found.outcome, TaskFinding::Proved(_)) || task != self.task && !self.proved[task]
        })
    }

    fn wcet(&mut self, task: usize) -> Option<Change> {
        let of = &self.experiment.tasks[task];
        let from = shorten::execution(of, &Pace::of_task(self.experiment, of))?;
        let change = |c: u64| Change::Wcet { task, from, to: Duration::new(c) };
        let (mut low, mut high) = (1, from.get());
        if high <= low || !self.holds(change(low)) {
            return None;
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.holds(change(middle)) { low = middle } else { high = middle }
        }
        let round = |unit: u64| low / unit * unit;
        self.rounded(low, round, change)
    }

    fn period(&mut self, task: usize) -> Option<Change> {
        let from = self.experiment.tasks[task].release.period()?;
        self.least_above(from, |to| Change::Period { task, from, to })
    }

    fn deadline(&mut self) -> Option<Change> {
        let task = self.task;
        let of = &self.experiment.tasks[task];
        let from = of.relative_deadline()?;
        // Beyond the period more jobs than one may be pending; that is another scenario.
        let most = of.release.period()?;
        if from >= most {
            return None;
        }
        let found = self.least_above(from, |to| Change::Deadline { task, from, to })?;
        matches!(found, Change::Deadline { to, .. } if to <= most).then_some(found)
    }

    fn least_above(&mut self, from: Duration, change: impl Fn(Duration) -> Change) -> Option<Change> {
        let change = |value: u64| change(Duration::new(value));
        let (mut low, mut high) = (from.get(), from.get().saturating_mul(STRETCH));
        if !self.holds(change(high)) {
            return None;
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.holds(change(middle)) { high = middle } else { low = middle }
        }
        let round = |unit: u64| high.div_ceil(unit).saturating_mul(unit);
        self.rounded(high, round, change)
    }

    /// The change to the roundest of the values near `exact` that holds.
    fn rounded(
        &mut self,
        exact: u64,
        round: impl Fn(u64) -> u64,
        change: impl Fn(u64) -> Change,
    ) -> Option<Change> {
        let digits = exact.checked_ilog10()? + 1;
        let units = (0..=digits.saturating_sub(DIGITS)).rev().map(|exponent| 10_u64.pow(exponent));
        let mut values = units.map(round).filter(|&value| value > 0);
        let value = values.find(|&value| self.holds(change(value)))?;
        Some(change(value))
    }

    fn elsewhere(&mut self, task: usize) -> Option<Change> {
        let policy = &self.experiment.policy;
        let of = &self.experiment.tasks[task];
        let global = policy.scope == Scope::Global && !policy.criterion.is_bound();
        // A partition is on the core of its windows.
        let partitions = self.experiment.isolation.partitions.as_ref();
        let confined = partitions.is_some_and(|all| all.of(TaskId(task as u32)).is_some());
        if global || confined || of.class == TaskClass::BestEffort {
            return None;
        }
        let domains = policy.domains(self.experiment.platform.cores.len());
        let home = of.core.and_then(|core| domains.iter().position(|domain| domain.contains(core)));
        let others = (0..domains.len()).filter(|&to| Some(to) != home);
        others.map(|to| Change::Move { task, to }).find(|&change| self.holds(change))
    }
}
