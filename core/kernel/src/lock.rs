//! Semaphores and mutexes: who owns what, who waits, and at which rank a holder runs.
//!
//! The table decides; it touches no queue. What its decisions change, a thread that was granted a lock or
//! whose rank rose or fell, is handed to the threads' domains afterwards, so that no domain is entered while
//! the table is.
//!
//! What a wrong use does is defined, counted in [`LockFaults`] and never stops the kernel:
//!
//! | use                                            | effect                                  |
//! |------------------------------------------------|-----------------------------------------|
//! | taking a mutex that one holds already          | none; the mutex is not counted twice     |
//! | giving back a mutex that one does not hold     | none                                    |
//! | finishing a job while holding mutexes          | none: they are held on into the next job |
//! | ending while holding mutexes                   | each goes to its most urgent waiter      |
//! | waiting in a circle                            | all in the circle wait for ever         |
//! | a semaphore beyond 2^32 - 1 units              | stays at the most                       |
//! | a lock that does not exist                     | none                                    |

use crate::config::LockConfig;
use crate::steps::Steps;
use alloc::vec::Vec;
use solo_model::work::LockProtocol;
use solo_model::{LockId, TaskId, ThreadId};
use solo_schedule::Rank;

/// A wrong use of a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockFault {
    /// A thread took a mutex that it holds already.
    Relocked {
        /// The thread.
        thread: ThreadId,
        /// The mutex.
        lock: LockId,
    },
    /// A thread gave back a mutex that it does not hold.
    NotOwner {
        /// The thread.
        thread: ThreadId,
        /// The mutex.
        lock: LockId,
        /// Who holds it.
        owner: Option<ThreadId>,
    },
    /// A thread ended while it held a mutex.
    ExitedHolding {
        /// The thread.
        thread: ThreadId,
        /// The mutex.
        lock: LockId,
    },
    /// A thread waits for a mutex whose holder waits, directly or over others, for the thread.
    Deadlock {
        /// The thread that closed the circle.
        thread: ThreadId,
        /// The mutex it waits for.
        lock: LockId,
    },
    /// A semaphore has no room for another unit.
    Overflow {
        /// The semaphore.
        lock: LockId,
    },
    /// There is no such lock.
    NoSuchLock {
        /// The thread.
        thread: ThreadId,
        /// The lock it named.
        lock: LockId,
    },
}

/// The wrong uses of locks since the start.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct LockFaults {
    count: u64,
    first: Option<LockFault>,
    last: Option<LockFault>,
}

impl LockFaults {
    /// How many there were.
    pub const fn count(&self) -> u64 {
        self.count
    }
    /// The first one.
    pub const fn first(&self) -> Option<LockFault> {
        self.first
    }
    /// The last one.
    pub const fn last(&self) -> Option<LockFault> {
        self.last
    }
    pub(crate) fn add(&mut self, fault: LockFault) {
        self.count += 1;
        self.first = self.first.or(Some(fault));
        self.last = Some(fault);
    }
}

/// The answer to a request for a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(crate) enum Acquired {
    /// The thread has it.
    Taken,
    /// The thread waits for it.
    Waits {
        /// Its holder waits, directly or over others, for the thread: none of them goes on.
        circle: bool,
    },
    /// A wrong use: nothing changed.
    Refused,
}

/// The answer to giving back a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(crate) enum Released {
    /// It is free, or has a unit more.
    Free,
    /// This thread had waited and has it now.
    Granted(ThreadId),
    /// A wrong use: nothing changed.
    Refused,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Lock {
    protocol: LockProtocol,
    users: Vec<TaskId>,
    /// Units of a semaphore.
    units: u32,
    /// The holder of a mutex.
    owner: Option<ThreadId>,
    /// The rank of the holder of a ceiling mutex.
    ceiling: Option<Rank>,
    /// The most urgent waiter; the others follow in their seats.
    first_waiter: Option<ThreadId>,
    /// The next mutex that the owner holds.
    next_held: Option<LockId>,
}

/// What a thread has to do with locks.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Seat {
    /// The rank that the criterion gives to its job.
    base: Option<Rank>,
    /// The rank it has by the mutexes it holds.
    boost: Option<Rank>,
    waits_for: Option<LockId>,
    next_waiter: Option<ThreadId>,
    first_held: Option<LockId>,
}

impl Seat {
    fn rank(&self) -> Option<Rank> {
        match (self.base, self.boost) {
            (Some(base), Some(boost)) => Some(base.min(boost)),
            (base, boost) => base.or(boost),
        }
    }
}

/// All locks, and what each thread has to do with them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LockTable {
    locks: Vec<Lock>,
    seats: Vec<Seat>,
    /// Threads whose rank has changed since the last call of `take_reranked`, each at most once.
    reranked: Vec<ThreadId>,
    pub(crate) faults: LockFaults,
}

impl LockTable {
    /// How many locks there are.
    pub(crate) fn count(&self) -> usize {
        self.locks.len()
    }

    pub(crate) fn new(locks: &[LockConfig], threads: usize) -> Self {
        let lock = |config: &LockConfig| Lock {
            protocol: config.protocol,
            users: config.users.clone(),
            units: match config.protocol {
                LockProtocol::Semaphore { units } => units,
                LockProtocol::Plain | LockProtocol::Inheritance | LockProtocol::Ceiling => 0,
            },
            owner: None,
            ceiling: None,
            first_waiter: None,
            next_held: None,
        };
        Self {
            locks: locks.iter().map(lock).collect(),
            seats: alloc::vec![Seat::default(); threads],
            reranked: Vec::with_capacity(threads),
            faults: LockFaults::default(),
        }
    }

    /// The tasks whose most urgent sets the rank of a holder; `None` where the lock has no ceiling.
    pub(crate) fn ceiling_users(&self, lock: LockId) -> Option<&[TaskId]> {
        let lock = self.locks.get(lock.index())?;
        (lock.protocol == LockProtocol::Ceiling).then_some(&lock.users)
    }

    /// Who has `lock` next when it is given back.
    pub(crate) fn first_waiter(&self, lock: LockId) -> Option<ThreadId> {
        self.locks.get(lock.index())?.first_waiter
    }

    /// The rank at which `thread` runs: its job's own, or that of a mutex it holds.
    pub(crate) fn rank(&self, thread: ThreadId) -> Option<Rank> {
        self.seats[thread.index()].rank()
    }

    /// The criterion gives another rank to `thread`, which does not wait for a lock. Returns the rank at
    /// which it runs.
    pub(crate) fn set_base(&mut self, thread: ThreadId, base: Rank) -> Rank {
        let seat = &mut self.seats[thread.index()];
        seat.base = Some(base);
        seat.rank().unwrap_or(base)
    }

    /// `thread` asks for `lock`; `ceiling` is the rank that the lock's users would have if released now.
    pub(crate) fn acquire(&mut self, thread: ThreadId, lock: LockId, ceiling: Option<Rank>) -> Acquired {
        let Some(state) = self.locks.get_mut(lock.index()) else {
            self.faults.add(LockFault::NoSuchLock { thread, lock });
            return Acquired::Refused;
        };
        if let LockProtocol::Semaphore { .. } = state.protocol {
            if state.units > 0 {
                state.units -= 1;
                return Acquired::Taken;
            }
        } else if state.owner.is_none() {
            self.hand_over(thread, lock, ceiling);
            return Acquired::Taken;
        } else if state.owner == Some(thread) {
            self.faults.add(LockFault::Relocked { thread, lock });
            return Acquired::Refused;
        }
        Acquired::Waits { circle: self.wait(thread, lock) }
    }

    /// `thread` gives `lock` back; `ceiling` as for `acquire`, for the next holder.
    pub(crate) fn release(&mut self, thread: ThreadId, lock: LockId, ceiling: Option<Rank>) -> Released {
        let Some(state) = self.locks.get_mut(lock.index()) else {
            self.faults.add(LockFault::NoSuchLock { thread, lock });
            return Released::Refused;
        };
        if let LockProtocol::Semaphore { .. } = state.protocol {
            return self.add_unit(lock);
        }
        if state.owner != Some(thread) {
            let owner = state.owner;
            self.faults.add(LockFault::NotOwner { thread, lock, owner });
            return Released::Refused;
        }
        self.give_up(thread, lock, ceiling)
    }

    /// True where `thread` holds a mutex.
    pub(crate) fn holds_any(&self, thread: ThreadId) -> bool {
        self.seats[thread.index()].first_held.is_some()
    }

    /// A mutex that `thread` still holds although it has ended, as a fault; to be released by the caller.
    pub(crate) fn left_behind(&mut self, thread: ThreadId) -> Option<LockId> {
        let lock = self.seats[thread.index()].first_held?;
        self.faults.add(LockFault::ExitedHolding { thread, lock });
        Some(lock)
    }

    /// A thread whose rank has changed and was not yet reported.
    pub(crate) fn take_reranked(&mut self) -> Option<ThreadId> {
        self.reranked.pop()
    }

    /// True where `take_reranked` has something to report.
    pub(crate) fn any_reranked(&self) -> bool {
        !self.reranked.is_empty()
    }

    fn add_unit(&mut self, lock: LockId) -> Released {
        if let Some(waiter) = self.take_first_waiter(lock) {
            return Released::Granted(waiter);
        }
        let state = &mut self.locks[lock.index()];
        match state.units.checked_add(1) {
            Some(units) => {
                state.units = units;
                Released::Free
            }
            None => {
                self.faults.add(LockFault::Overflow { lock });
                Released::Refused
            }
        }
    }

    fn give_up(&mut self, thread: ThreadId, lock: LockId, ceiling: Option<Rank>) -> Released {
        self.unlink_held(thread, lock);
        self.locks[lock.index()].owner = None;
        self.locks[lock.index()].ceiling = None;
        self.refresh(thread);
        match self.take_first_waiter(lock) {
            Some(waiter) => {
                self.hand_over(waiter, lock, ceiling);
                Released::Granted(waiter)
            }
            None => Released::Free,
        }
    }

    /// Makes `thread` the holder of a mutex that has none.
    fn hand_over(&mut self, thread: ThreadId, lock: LockId, ceiling: Option<Rank>) {
        let state = &mut self.locks[lock.index()];
        state.owner = Some(thread);
        state.ceiling = ceiling.map(|ceiling| ceiling.ceiling(TaskId(thread.0)));
        state.next_held = self.seats[thread.index()].first_held.replace(lock);
        self.refresh(thread);
    }

    fn unlink_held(&mut self, thread: ThreadId, lock: LockId) {
        let next = self.locks[lock.index()].next_held.take();
        let mut at = self.seats[thread.index()].first_held;
        if at == Some(lock) {
            self.seats[thread.index()].first_held = next;
            return;
        }
        let mut steps = Steps::at_most(self.locks.len());
        while let Some(held) = at {
            steps.take();
            at = self.locks[held.index()].next_held;
            if at == Some(lock) {
                self.locks[held.index()].next_held = next;
            }
        }
    }

    /// Lets `thread` wait for `lock`. True where it waits in a circle.
    fn wait(&mut self, thread: ThreadId, lock: LockId) -> bool {
        let circle = self.waits_in_circle(thread, lock);
        if circle {
            self.faults.add(LockFault::Deadlock { thread, lock });
        }
        self.seats[thread.index()].waits_for = Some(lock);
        self.link_waiter(thread, lock);
        self.boost_owner(lock);
        circle
    }

    /// Follows the chain of holders from `lock`: does it lead back to `thread`?
    fn waits_in_circle(&self, thread: ThreadId, lock: LockId) -> bool {
        let mut lock = lock;
        // A chain can't be longer than there are threads unless it runs in a circle of its own.
        for _ in 0..self.seats.len() {
            match self.locks[lock.index()].owner {
                Some(owner) if owner == thread => return true,
                Some(owner) => match self.seats[owner.index()].waits_for {
                    Some(next) => lock = next,
                    None => return false,
                },
                None => return false,
            }
        }
        false
    }

    /// Puts `thread` among the waiters of `lock`: by rank, first come first served among equals.
    fn link_waiter(&mut self, thread: ThreadId, lock: LockId) {
        let rank = self.rank(thread);
        let (mut before, mut after) = (None, self.locks[lock.index()].first_waiter);
        let mut steps = Steps::at_most(self.seats.len());
        while let Some(other) = after.filter(|&other| self.rank(other) <= rank) {
            steps.take();
            before = Some(other);
            after = self.seats[other.index()].next_waiter;
        }
        self.seats[thread.index()].next_waiter = after;
        match before {
            Some(other) => self.seats[other.index()].next_waiter = Some(thread),
            None => self.locks[lock.index()].first_waiter = Some(thread),
        }
    }

    fn unlink_waiter(&mut self, thread: ThreadId, lock: LockId) {
        let next = self.seats[thread.index()].next_waiter.take();
        let mut at = self.locks[lock.index()].first_waiter;
        if at == Some(thread) {
            self.locks[lock.index()].first_waiter = next;
            return;
        }
        let mut steps = Steps::at_most(self.seats.len());
        while let Some(waiter) = at {
            steps.take();
            at = self.seats[waiter.index()].next_waiter;
            if at == Some(thread) {
                self.seats[waiter.index()].next_waiter = next;
            }
        }
    }

    fn take_first_waiter(&mut self, lock: LockId) -> Option<ThreadId> {
        let waiter = self.locks[lock.index()].first_waiter?;
        self.unlink_waiter(waiter, lock);
        self.seats[waiter.index()].waits_for = None;
        Some(waiter)
    }

    /// Lets the holder of `lock` inherit from its waiters, and the holder of what that one waits for, and so
    /// on. Ends at a rank that does not change, so also in a circle: ranks only rise on the way, and once around all have the highest.
    /// As many steps as there are threads, at most.
    fn boost_owner(&mut self, lock: LockId) {
        let mut next = Some(lock);
        let mut steps = Steps::at_most(self.seats.len());
        while let Some(lock) = next {
            steps.take();
            let Some(owner) = self.locks[lock.index()].owner else { return };
            if !self.refresh(owner) {
                return;
            }
            next = self.seats[owner.index()].waits_for;
            if let Some(waits_for) = next {
                self.unlink_waiter(owner, waits_for);
                self.link_waiter(owner, waits_for);
            }
        }
    }

    /// Computes the rank that `thread` has by the mutexes it holds. True where its rank changed.
    fn refresh(&mut self, thread: ThreadId) -> bool {
        let before = self.rank(thread);
        let mut boost = None;
        let mut held = self.seats[thread.index()].first_held;
        let mut steps = Steps::at_most(self.locks.len());
        while let Some(lock) = held {
            steps.take();
            let lock = &self.locks[lock.index()];
            let gives = match lock.protocol {
                LockProtocol::Ceiling => lock.ceiling,
                LockProtocol::Inheritance => lock.first_waiter.and_then(|waiter| self.rank(waiter)),
                LockProtocol::Plain | LockProtocol::Semaphore { .. } => None,
            };
            boost = match (boost, gives) {
                (Some(a), Some(b)) => Some(Rank::min(a, b)),
                (a, b) => a.or(b),
            };
            held = lock.next_held;
        }
        self.seats[thread.index()].boost = boost;
        let changed = self.rank(thread) != before;
        if changed && !self.reranked.contains(&thread) {
            self.reranked.push(thread);
        }
        changed
    }
}
