//! The smallest change that makes a test accept.

use crate::catalogue::Test;
use crate::effort::Effort;
use crate::task::{Task, TaskSet, Ticks};
use core::fmt;

/// One change; the rest stays as it is. The test accepts the changed set: it was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mend {
    /// Shorten a task's worst-case execution time.
    Wcet {
        /// The task.
        task: usize,
        /// Its execution time now.
        from: Ticks,
        /// The longest one found that is accepted.
        to: Ticks,
    },
    /// Lengthen a task's period (and its deadline with it where the two are equal).
    Period {
        /// The task.
        task: usize,
        /// Its period now.
        from: Ticks,
        /// The shortest one found that is accepted.
        to: Ticks,
    },
    /// Add cores.
    Cores {
        /// Cores now.
        from: u32,
        /// The fewest found that are accepted.
        to: u32,
    },
}

impl fmt::Display for Mend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wcet { task, from, to } => write!(f, "shorten task {task} from {from} to {to}"),
            Self::Period { task, from, to } => {
                write!(f, "lengthen the period of task {task} from {from} to {to}")
            }
            Self::Cores { from, to } => write!(f, "use {to} cores instead of {from}"),
        }
    }
}

/// A period is stretched at most this many times.
const STRETCH: u64 = 16;
/// So many cores are added at most.
const MORE_CORES: u32 = 64;

/// Changes that make `test` accept, one of each kind for each of the tasks named, found by halving. Tests that
/// are not sustainable may accept smaller changes too; every change listed is accepted. Ends early, with what
/// it has, when the effort does.
pub fn mends(test: &Test, set: &TaskSet, tasks: &[usize], effort: &mut Effort<'_>) -> Vec<Mend> {
    let mut found = Vec::new();
    let mut seen = Vec::new();
    for &index in tasks {
        if seen.contains(&index) || index >= set.tasks().len() {
            continue;
        }
        seen.push(index);
        let task = set.tasks()[index];
        let mut shorter = |c: u64| accepts(test, set, index, Task { c: Ticks(c), ..task }, effort);
        if let Some(to) = largest_below(task.c.get(), &mut shorter) {
            found.push(Mend::Wcet { task: index, from: task.c, to: Ticks(to) });
        }
        let mut longer = |t: u64| {
            let d = if task.d == task.t { Ticks(t) } else { task.d };
            accepts(test, set, index, Task { t: Ticks(t), d, ..task }, effort)
        };
        if let Some(to) = smallest_above(task.t.get(), task.t.get() * STRETCH, &mut longer) {
            found.push(Mend::Period { task: index, from: task.t, to: Ticks(to) });
        }
    }
    if let Some(to) = more_cores(test, set, effort) {
        found.push(Mend::Cores { from: set.cores(), to });
    }
    found
}

fn accepts(test: &Test, set: &TaskSet, index: usize, task: Task, effort: &mut Effort<'_>) -> bool {
    let mut tasks = set.tasks().to_vec();
    tasks[index] = task;
    TaskSet::new(set.cores(), tasks).is_ok_and(|changed| (test.run)(&changed, effort).accepts())
}

fn more_cores(test: &Test, set: &TaskSet, effort: &mut Effort<'_>) -> Option<u32> {
    let mut with = |cores: u64| {
        let changed =
            u32::try_from(cores).ok().and_then(|cores| TaskSet::new(cores, set.tasks().to_vec()).ok());
        changed.is_some_and(|changed| (test.run)(&changed, effort).accepts())
    };
    let cores = u64::from(set.cores());
    let to = smallest_above(cores, cores + u64::from(MORE_CORES), &mut with)?;
    u32::try_from(to).ok()
}

/// The largest accepted value in `1..value`, if acceptance never returns once lost.
fn largest_below(value: u64, accepts: &mut impl FnMut(u64) -> bool) -> Option<u64> {
    let mut high = value;
    let mut low = 1;
    if high <= low || !accepts(low) {
        return None;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if accepts(middle) { low = middle } else { high = middle }
    }
    Some(low)
}

/// The smallest accepted value in `value + 1..=most`, if acceptance stays once gained.
fn smallest_above(value: u64, most: u64, accepts: &mut impl FnMut(u64) -> bool) -> Option<u64> {
    let (mut low, mut high) = (value, most);
    if high <= low || !accepts(high) {
        return None;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if accepts(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::find;

    /// Thesis Fig. 20: the third task responds within 26 and is due at 25.
    #[test]
    fn the_thesis_example_is_mended_by_one_unit() {
        let tasks = vec![Task::implicit(2, 10), Task::implicit(5, 15), Task::implicit(10, 25)];
        let set = TaskSet::new(1, tasks).unwrap();
        let found = mends(find("fp_rm").unwrap(), &set, &[2], &mut Effort::default());
        let expected = [
            Mend::Wcet { task: 2, from: Ticks(10), to: Ticks(9) },
            Mend::Period { task: 2, from: Ticks(25), to: Ticks(26) },
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn another_core_is_a_mend_for_a_global_test() {
        let set = TaskSet::new(2, vec![Task::implicit(51, 100); 4]).unwrap();
        let found = mends(find("gfb").unwrap(), &set, &[], &mut Effort::default());
        assert_eq!(found, [Mend::Cores { from: 2, to: 4 }]);
    }
}
