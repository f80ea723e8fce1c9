//! Who waits for a lock that never comes free: tasks that wait in a circle, and those that wait for what they hold.

use solo_model::record::{LockAction, LockRecord};
use solo_model::{LockId, TaskId};
use std::collections::{BTreeMap, BTreeSet};

/// What locks are held and waited for.
#[derive(Default)]
pub(super) struct Circles {
    owners: BTreeMap<LockId, TaskId>,
    waiting: BTreeMap<TaskId, LockId>,
    closed: BTreeSet<TaskId>,
}

impl Circles {
    pub(super) fn lock(&mut self, record: &LockRecord) {
        let (task, lock) = (record.task, record.lock);
        match record.action {
            LockAction::Acquired => {
                self.owners.insert(lock, task);
            }
            LockAction::Waits => {
                self.waiting.insert(task, lock);
            }
            LockAction::Granted => {
                self.waiting.remove(&task);
                self.owners.insert(lock, task);
            }
            // The next one may have it already.
            LockAction::Released => {
                if self.owners.get(&lock) == Some(&task) {
                    self.owners.remove(&lock);
                }
            }
            LockAction::Deadlock => self.close(task),
        }
    }

    /// All tasks of the circle that this one has closed.
    fn close(&mut self, task: TaskId) {
        let mut at = Some(task);
        while let Some(task) = at.filter(|&task| self.closed.insert(task)) {
            at = self.waiting.get(&task).and_then(|lock| self.owners.get(lock)).copied();
        }
    }

    /// The tasks that never go on.
    pub(super) fn stuck(&self) -> BTreeSet<TaskId> {
        let mut stuck = self.closed.clone();
        loop {
            let behind = |(task, lock): (&TaskId, &LockId)| {
                let owner = self.owners.get(lock)?;
                (stuck.contains(owner) && !stuck.contains(task)).then_some(*task)
            };
            let more: Vec<TaskId> = self.waiting.iter().filter_map(behind).collect();
            if more.is_empty() {
                return stuck;
            }
            stuck.extend(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::Instant;

    #[test]
    fn a_circle_and_those_behind_it_never_go_on() {
        let mut circles = Circles::default();
        let mut say = |task: u32, lock: u16, action| {
            let at = Instant::ZERO;
            circles.lock(&LockRecord { at, task: TaskId(task), lock: LockId(lock), action });
        };
        // 5 gave 9 back before anything went wrong, and 6 waits for 3, which goes on.
        say(5, 9, LockAction::Acquired);
        say(6, 9, LockAction::Waits);
        say(6, 9, LockAction::Granted);
        say(5, 9, LockAction::Released);
        say(3, 8, LockAction::Acquired);
        say(6, 8, LockAction::Waits);
        for (task, own) in [(0, 0), (1, 1), (2, 2)] {
            say(task, own, LockAction::Acquired);
        }
        say(0, 1, LockAction::Waits);
        say(1, 2, LockAction::Waits);
        // Behind one of the circle, and behind that one.
        say(4, 7, LockAction::Acquired);
        say(4, 1, LockAction::Waits);
        say(7, 7, LockAction::Waits);
        say(2, 0, LockAction::Waits);
        say(2, 0, LockAction::Deadlock);
        assert!(circles.stuck().into_iter().eq([0, 1, 2, 4, 7].map(TaskId)), "{:?}", circles.stuck());
    }
}
