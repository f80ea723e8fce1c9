//! EDF on one core with locks under the stack resource policy, which immediate deadline floors equal.

use crate::effort::Effort;
use crate::task::{Task, Ticks};
use crate::uni::ceiling::CriticalSection;
use crate::uni::edf::Core;
use crate::uni::fp::Response;

/// How long a job due within `window` of the start of its busy period can be delayed by one that is due later:
/// by the longest section of a task with a longer deadline whose lock some task with a deadline up to `window`
/// takes, less one unit because the section must have begun before (Baker, Real-Time Systems 3(1), 1991; Baruah,
/// RTSS 2006, for the bound by deadlines).
pub fn blocking(tasks: &[Task], sections: &[CriticalSection], window: Ticks) -> Ticks {
    let floor = |lock| {
        let users = sections.iter().filter(|section| section.lock == lock);
        users.map(|section| tasks[section.task].d).min()
    };
    sections
        .iter()
        .filter(|section| tasks[section.task].d > window && floor(section.lock).is_some_and(|d| d <= window))
        .map(|section| Ticks(section.length.get().saturating_sub(1)))
        .max()
        .unwrap_or_default()
}

/// Bounds on the response times of `tasks` under EDF with the sections' locks under the stack resource policy.
///
/// `None` where the effort ran out or the numbers left 64 bits.
pub fn response_times(
    tasks: &[Task],
    sections: &[CriticalSection],
    effort: &mut Effort<'_>,
) -> Option<Vec<Response>> {
    let most = sections.iter().map(|section| section.length.get().saturating_sub(1)).max().unwrap_or(0);
    let delay = |window: u64| blocking(tasks, sections, Ticks(window)).get();
    let core = Core { tasks, above: &[], blocking: &delay, blocking_most: most };
    (0..tasks.len()).map(|index| Some(core.respond(index, effort).ok()?.response)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_later_deadline_blocks_and_only_through_a_lock_of_an_earlier_one() {
        let tasks = [Task::implicit(2, 10), Task::implicit(3, 20), Task::implicit(5, 40)];
        let section = |task, lock, length| CriticalSection { task, lock, length: Ticks(length) };
        // The first and third share lock 0; lock 1 is the third's alone with the second.
        let sections = [section(0, 0, 1), section(2, 0, 4), section(1, 1, 2), section(2, 1, 5)];
        let delay = |window| blocking(&tasks, &sections, Ticks(window)).get();
        assert_eq!([delay(9), delay(10), delay(19), delay(20), delay(39), delay(40)], [0, 3, 3, 4, 4, 0]);
        // The first: its own 2 and a blocking of 3.
        let times = response_times(&tasks, &sections, &mut Effort::default()).unwrap();
        assert_eq!(times[0], Response::Within(Ticks(5)));
        let free = response_times(&tasks, &[], &mut Effort::default()).unwrap();
        assert_eq!(free[0], Response::Within(Ticks(2)), "nothing that is due earlier delays it");
    }
}
