//! The locks of an experiment, and who holds them.

use crate::journal::Journal;
use crate::priorities::{self, Scheduling};
use crate::sched;
use crate::sync::{Mutex, Semaphore, Wait};
use solo_model::record::{LockAction, SwitchReason};
use solo_model::work::LockProtocol;
use solo_model::{Experiment, LockId};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// A lock in Linux's words.
enum Kind {
    Semaphore(Semaphore),
    Mutex(Mutex),
    /// A mutex, and the priority of whoever takes it.
    Ceiling(Mutex, Scheduling),
}

/// All locks, by their position.
pub(crate) struct Locks(Vec<Kind>);

/// What a thread holds, and how it is scheduled without.
pub(crate) struct Held {
    base: Scheduling,
    locks: Vec<LockId>,
}

impl Locks {
    /// The locks of an experiment whose tasks are scheduled like this.
    ///
    /// # Errors
    /// What the system says where it has no such lock.
    pub(crate) fn new(experiment: &Experiment, scheduling: &[Scheduling]) -> io::Result<Self> {
        let ceiling = |lock: LockId| {
            let users = experiment.tasks.iter().zip(scheduling);
            let users = users.filter(|(task, _)| priorities::locks_of(task).contains(&lock));
            users.map(|(_, scheduling)| *scheduling).max().unwrap_or(Scheduling::Other)
        };
        let one = |(index, lock): (usize, &solo_model::work::Lock)| {
            Ok(match lock.protocol {
                LockProtocol::Semaphore { units } => Kind::Semaphore(Semaphore::new(units)?),
                LockProtocol::Plain => Kind::Mutex(Mutex::new(false)?),
                LockProtocol::Inheritance => Kind::Mutex(Mutex::new(true)?),
                LockProtocol::Ceiling => Kind::Ceiling(Mutex::new(false)?, ceiling(LockId(index as u16))),
            })
        };
        experiment.locks.iter().enumerate().map(one).collect::<io::Result<_>>().map(Self)
    }

    /// Takes a lock, or waits for it. False where the run ended meanwhile.
    pub(crate) fn take(
        &self,
        lock: LockId,
        held: &mut Held,
        journal: &mut Journal,
        over: &AtomicBool,
    ) -> bool {
        let Some(kind) = self.0.get(lock.index()) else { return true };
        if let Kind::Ceiling(_, ceiling) = kind {
            // First the priority: who is raised can't be preempted by those who also take it.
            schedule(held.now(self).max(*ceiling));
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
                    schedule(held.now(self));
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
        let Some(kind) = self.0.get(lock.index()) else { return };
        journal.lock(lock, LockAction::Released);
        match kind {
            Kind::Semaphore(semaphore) => semaphore.give(),
            Kind::Mutex(mutex) | Kind::Ceiling(mutex, _) => {
                let Some(position) = held.locks.iter().rposition(|&own| own == lock) else { return };
                held.locks.remove(position);
                mutex.give();
                if let Kind::Ceiling(..) = kind {
                    schedule(held.now(self));
                }
            }
        }
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
    pub(crate) fn new(base: Scheduling) -> Self {
        Self { base, locks: Vec::with_capacity(8) }
    }

    /// How the thread is scheduled with what it holds.
    fn now(&self, locks: &Locks) -> Scheduling {
        let ceiling = |lock: &LockId| match locks.0.get(lock.index()) {
            Some(Kind::Ceiling(_, ceiling)) => Some(*ceiling),
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
