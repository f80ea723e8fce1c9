//! The smallest change that would make a task's proof hold.

use super::{Declared, Outcome, System, Whose};
use crate::budget::Budget;
use solo_model::TaskClass;
use solo_model::policy::{Policy, Scope};
use solo_model::units::Duration;

/// One change; everything else stays. The changed system was judged: the task is proved, and no other task has
/// lost its proof.
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

/// A period is stretched at most this many times.
const STRETCH: u64 = 16;
/// So many of the largest contributors are considered.
const SUSPECTS: usize = 3;
/// Halving ends when it has come this close.
const PRECISION: u64 = 1 << 10;

/// For a task that isn't proved: one change of each kind, of the task itself and of those that delay it most.
pub fn mends(system: &System, task: usize, budget: &mut Budget<'_>) -> Vec<Change> {
    let judged = system.judge(budget);
    let Some(Outcome::NotProved(gap)) = judged.tasks.get(task).map(|found| &found.outcome) else {
        return Vec::new();
    };
    let proved: Vec<bool> =
        judged.tasks.iter().map(|found| matches!(found.outcome, Outcome::Proved(_))).collect();
    let others = gap.parts.iter().filter_map(|part| match part.whose {
        Whose::Task(other) => Some(other),
        _ => None,
    });
    let suspects: Vec<usize> = core::iter::once(task).chain(others.take(SUSPECTS)).collect();
    let mut search = Search { system, task, proved, budget };
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
    system: &'a System,
    task: usize,
    proved: Vec<bool>,
    budget: &'b mut Budget<'c>,
}

impl Search<'_, '_, '_> {
    /// Whether the task is proved with the change and nothing that was proved is lost.
    fn holds(&mut self, change: impl Fn(&mut System)) -> bool {
        let mut changed = self.system.clone();
        change(&mut changed);
        let judged = changed.judge(self.budget);
        judged.tasks.iter().enumerate().all(|(task, found)| {
            matches!(found.outcome, Outcome::Proved(_)) || task != self.task && !self.proved[task]
        })
    }

    fn wcet(&mut self, task: usize) -> Option<Change> {
        let from = self.system.tasks[task].wcet?.time();
        let with = |system: &mut System, c: u64| {
            system.tasks[task].wcet = Some(Declared::Wcet(Duration::new(c)));
            for (_, length) in &mut system.tasks[task].sections {
                *length = length.map(|length| length.min(Duration::new(c)));
            }
        };
        let (mut low, mut high) = (1, from.get());
        if high <= low || !self.holds(|system| with(system, low)) {
            return None;
        }
        while high - low > PRECISION.min(from.get() / PRECISION).max(1) {
            let middle = low + (high - low) / 2;
            if self.holds(|system| with(system, middle)) { low = middle } else { high = middle }
        }
        Some(Change::Wcet { task, from, to: Duration::new(low) })
    }

    fn period(&mut self, task: usize) -> Option<Change> {
        let from = self.system.tasks[task].period?;
        let with = |system: &mut System, t: u64| {
            let member = &mut system.tasks[task];
            if member.deadline == member.period {
                member.deadline = Some(Duration::new(t));
            }
            member.period = Some(Duration::new(t));
        };
        let to = self.least_above(from, with)?;
        Some(Change::Period { task, from, to })
    }

    fn deadline(&mut self) -> Option<Change> {
        let task = self.task;
        let from = self.system.tasks[task].deadline?;
        // Beyond the period more jobs than one may be pending; that is another scenario.
        let most = self.system.tasks[task].period?;
        if from >= most {
            return None;
        }
        let to = self.least_above(from, |system, d| system.tasks[task].deadline = Some(Duration::new(d)))?;
        (to <= most).then_some(Change::Deadline { task, from, to })
    }

    fn least_above(&mut self, from: Duration, with: impl Fn(&mut System, u64)) -> Option<Duration> {
        let (mut low, mut high) = (from.get(), from.get().saturating_mul(STRETCH));
        if !self.holds(|system| with(system, high)) {
            return None;
        }
        while high - low > PRECISION.min(from.get() / PRECISION).max(1) {
            let middle = low + (high - low) / 2;
            if self.holds(|system| with(system, middle)) { high = middle } else { low = middle }
        }
        Some(Duration::new(high))
    }

    fn elsewhere(&mut self, task: usize) -> Option<Change> {
        let member = &self.system.tasks[task];
        if matches!(self.system.policy, Policy { scope: Scope::Global, .. })
            || member.class == TaskClass::BestEffort
        {
            return None;
        }
        let home = member.domain;
        (0..self.system.domains.len())
            .filter(|&to| to != home)
            .find(|&to| self.holds(|system| system.tasks[task].domain = to))
            .map(|to| Change::Move { task, to })
    }
}
