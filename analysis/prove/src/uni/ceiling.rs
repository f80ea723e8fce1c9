//! Fixed priorities on one core with locks under the immediate priority ceiling protocol.

use crate::effort::Effort;
use crate::task::{Task, Ticks};
use crate::uni::fp::{Response, response};

/// A stretch of a task's execution time during which it holds a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CriticalSection {
    /// The position of the task, most urgent first.
    pub task: usize,
    /// Which lock.
    pub lock: usize,
    /// The longest time of holding it.
    pub length: Ticks,
}

/// How long each task can be delayed by less urgent ones: by the longest of their sections whose lock's
/// ceiling (the most urgent task that ever takes it) is at least as urgent as the task, less one unit because
/// the section must have begun before; once a job (Sha, Rajkumar & Lehoczky, IEEE Trans. Computers 39(9),
/// 1990, for ceiling protocols; thesis 4.2.1 for EPOS's).
pub fn blocking(tasks: usize, sections: &[CriticalSection]) -> Vec<Ticks> {
    let ceiling =
        |lock| sections.iter().filter(|section| section.lock == lock).map(|section| section.task).min();
    let delays = |rank: usize| {
        sections
            .iter()
            .filter(|section| section.task > rank && ceiling(section.lock).is_some_and(|top| top <= rank))
            .map(|section| Ticks(section.length.get().saturating_sub(1)))
            .max()
            .unwrap_or_default()
    };
    (0..tasks).map(delays).collect()
}

/// Bounds on the response times of `tasks`, most urgent first, that take locks as in `sections`.
///
/// `None` where the effort ran out or the numbers left 64 bits.
pub fn response_times(
    tasks: &[Task],
    sections: &[CriticalSection],
    effort: &mut Effort<'_>,
) -> Option<Vec<Response>> {
    let delays = blocking(tasks.len(), sections);
    let below = |rank: usize| response(&tasks[rank], &tasks[..rank], delays[rank], &mut *effort);
    (0..tasks.len()).map(below).collect::<Result<_, _>>().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sections_with_a_ceiling_as_urgent_as_the_task_block_it() {
        let section = |task, lock, length| CriticalSection { task, lock, length: Ticks(length) };
        // Lock 0 is shared by the first and third task, lock 1 by the second and third.
        let sections = [section(0, 0, 2), section(2, 0, 5), section(1, 1, 3), section(2, 1, 9)];
        assert_eq!(blocking(3, &sections), [Ticks(4), Ticks(8), Ticks(0)]);
        let tasks = [Task::implicit(3, 20), Task::implicit(5, 40), Task::implicit(12, 60)];
        let times = response_times(&tasks, &sections, &mut Effort::default()).unwrap();
        assert_eq!(times, [7, 16, 20].map(|t| Response::Within(Ticks(t))));
    }
}
