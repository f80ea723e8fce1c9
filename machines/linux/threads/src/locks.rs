//! The locks of an experiment, and who holds them.

use crate::journal::Journal;
use crate::plane::Plane;
use crate::priorities::{self, Scheduling};
use crate::sched;
use crate::sync::{Mutex, Semaphore, Wait};
use solo_model::record::{LockAction, SwitchReason};
use solo_model::work::LockProtocol;
use solo_model::{Experiment, LockId, TaskId};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// A lock in Linux's words.
enum Kind {
    Semaphore(Semaphore),
    Mutex(Mutex),
    /// A mutex, and how urgent it makes who takes it.
    Ceiling(Mutex, Ceiling),
}

/// How urgent a lock makes who takes it.
enum Ceiling {
    /// As the most urgent who ever takes it.
    Fixed(Scheduling),
    /// More than these, the users of the lock, by the plane.
    Above(Vec<TaskId>),
}

/// All locks, by their position.
pub(crate) struct Locks<'r> {
    kinds: Vec<Kind>,
    /// Who knows ranks, where threads have any.
    plane: Option<&'r dyn Plane>,
}

/// What a thread holds, and how it is scheduled without.
pub(crate) struct Held {
    task: TaskId,
    base: Scheduling,
    locks: Vec<LockId>,
}

impl<'r> Locks<'r> {
    /// The locks of an experiment whose tasks are scheduled like this, by a plane or without.
    ///
    /// # Errors
    /// What the system says where it has no such lock.
    pub(crate) fn new(
        experiment: &Experiment,
        scheduling: &[Scheduling],
        plane: Option<&'r dyn Plane>,
    ) -> io::Result<Self> {
        let ceiling = |lock: LockId| {
            let users = (0..).map(TaskId).zip(&experiment.tasks).zip(scheduling);
            let users = users.filter(|((_, task), _)| priorities::locks_of(task).contains(&lock));
            match plane {
                Some(_) => Ceiling::Above(users.map(|((id, _), _)| id).collect()),
                None => Ceiling::Fixed(
                    users.map(|(_, scheduling)| *scheduling).max().unwrap_or(Scheduling::Other),
                ),
            }
        };
        let one = |(index, lock): (usize, &solo_model::work::Lock)| {
            Ok(match lock.protocol {
                LockProtocol::Semaphore { units } => Kind::Semaphore(Semaphore::new(units)?),
                LockProtocol::Plain => Kind::Mutex(Mutex::new(false)?),
                LockProtocol::Inheritance => Kind::Mutex(Mutex::new(true)?),
                LockProtocol::Ceiling => Kind::Ceiling(Mutex::new(false)?, ceiling(LockId(index as u16))),
            })
        };
        let kinds = experiment.locks.iter().enumerate().map(one).collect::<io::Result<_>>()?;
        Ok(Self { kinds, plane })
    }

    /// Takes a lock, or waits for it. False where the run ended meanwhile.
    pub(crate) fn take(
        &self,
        lock: LockId,
        held: &mut Held,
        journal: &mut Journal,
        over: &AtomicBool,
    ) -> bool {
        let Some(kind) = self.kinds.get(lock.index()) else { return true };
        // First the priority: who is raised can't be preempted by those who also take it.
        match kind {
            Kind::Ceiling(_, Ceiling::Fixed(ceiling)) => schedule(held.now(self).max(*ceiling)),
            Kind::Ceiling(_, Ceiling::Above(users)) => {
                self.on_plane(|plane| plane.raise(held.task, lock, users));
            }
            Kind::Semaphore(_) | Kind::Mutex(_) => {}
        }
        let taken = match kind {
            Kind::Semaphore(semaphore) => semaphore.try_take(),
            Kind::Mutex(mutex) | Kind::Ceiling(mutex, _) => mutex.try_take(),
        };
        if taken {
            journal.lock(lock, LockAction::Acquired);
        } else {
            journal.lock(lock, LockAction::Waits);
            let since = journal.now();
            let wait = || match kind {
                Kind::Semaphore(semaphore) => semaphore.wait(),
                Kind::Mutex(mutex) | Kind::Ceiling(mutex, _) => mutex.wait(),
            };
            while wait() == Wait::NotYet {
                if over.load(Ordering::Relaxed) {
                    journal.away(since, SwitchReason::Blocked);
                    self.lower(kind, lock, held);
                    return false;
                }
            }
            journal.away(since, SwitchReason::Blocked);
            journal.lock(lock, LockAction::Granted);
        }
        if !matches!(kind, Kind::Semaphore(_)) {
            held.locks.push(lock);
        }
        true
    }

    /// Gives a lock back.
    pub(crate) fn give(&self, lock: LockId, held: &mut Held, journal: &mut Journal) {
        let Some(kind) = self.kinds.get(lock.index()) else { return };
        journal.lock(lock, LockAction::Released);
        match kind {
            Kind::Semaphore(semaphore) => semaphore.give(),
            Kind::Mutex(mutex) | Kind::Ceiling(mutex, _) => {
                let Some(position) = held.locks.iter().rposition(|&own| own == lock) else { return };
                held.locks.remove(position);
                mutex.give();
                self.lower(kind, lock, held);
            }
        }
    }

    /// Who has given a lock back, or waits for it no longer, is as urgent as without it.
    fn lower(&self, kind: &Kind, lock: LockId, held: &Held) {
        match kind {
            Kind::Ceiling(_, Ceiling::Fixed(_)) => schedule(held.now(self)),
            Kind::Ceiling(_, Ceiling::Above(_)) => self.on_plane(|plane| plane.lower(held.task, lock)),
            Kind::Semaphore(_) | Kind::Mutex(_) => {}
        }
    }

    /// A plane that is gone schedules nobody; who attached it says so.
    fn on_plane(&self, ask: impl FnOnce(&dyn Plane) -> io::Result<()>) {
        let _ = self.plane.map(ask);
    }

    /// Gives back what a job holds that does not go on.
    pub(crate) fn give_all(&self, held: &mut Held, journal: &mut Journal) {
        while let Some(&lock) = held.locks.last() {
            self.give(lock, held, journal);
        }
    }
}

impl Held {
    /// Nothing yet.
    pub(crate) fn new(task: TaskId, base: Scheduling) -> Self {
        Self { task, base, locks: Vec::with_capacity(8) }
    }

    /// How the thread is scheduled with what it holds.
    fn now(&self, locks: &Locks<'_>) -> Scheduling {
        let ceiling = |lock: &LockId| match locks.kinds.get(lock.index()) {
            Some(Kind::Ceiling(_, Ceiling::Fixed(ceiling))) => Some(*ceiling),
            _ => None,
        };
        self.locks.iter().filter_map(ceiling).fold(self.base, Ord::max)
    }
}

/// Schedules the calling thread like this. It was allowed when the thread began, and nobody takes it away.
fn schedule(how: Scheduling) {
    let done = match how {
        Scheduling::Fifo(priority) => sched::fifo(priority),
        Scheduling::RoundRobin(priority) => sched::round_robin(priority),
        Scheduling::Other | Scheduling::Ranked => sched::other(),
        Scheduling::Deadline { runtime, deadline, period } => sched::deadline(runtime, deadline, period),
    };
    debug_assert!(done.is_ok(), "{done:?}");
}
