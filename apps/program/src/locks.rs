//! Semaphores and mutexes of a program. They are declared, so that the kernel knows who uses them before the run: ceilings stand on
//! that, and cores that share no lock share no part of the kernel.

use crate::limits::MOST_THREADS;
use crate::system;
use alloc::boxed::Box;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use solo_model::LockId;

/// How a mutex keeps its holder from being held up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// Not at all: priority inversion shows.
    Plain,
    /// The holder runs at the rank of its most urgent waiter.
    Inheritance,
    /// The holder runs at the rank of the most urgent thread that ever takes the mutex (immediate priority ceiling, thesis 4.2.1).
    Ceiling,
}

/// A lock and the threads that said that they use it, a bit each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Declared {
    pub(crate) lock: LockId,
    users: &'static AtomicU64,
}

impl Declared {
    pub(crate) fn new(lock: LockId) -> Self {
        Self { lock, users: Box::leak(Box::new(AtomicU64::new(0))) }
    }

    /// The thread of this number uses it.
    pub(crate) fn allow(self, thread: usize) {
        debug_assert!(thread < MOST_THREADS);
        self.users.fetch_or(1 << thread, Ordering::Relaxed);
    }

    /// Ends the thread that asks where it did not say that it uses this.
    fn check(self) {
        let Some(thread) = system::this_thread() else { return };
        if self.users.load(Ordering::Relaxed) >> thread & 1 == 0 {
            system::end(
                "it takes a lock that it was not declared to use: its declaration has to name it (.uses; in C solo_uses_...)",
            );
        }
    }

    fn acquire(self) {
        self.check();
        system::acquire(self.lock);
    }

    fn release(self) {
        self.check();
        system::release(self.lock);
    }
}

/// A counting semaphore. See [`Program::semaphore`](crate::Program::semaphore).
#[derive(Clone, Copy, Debug)]
pub struct Semaphore(pub(crate) Declared);

impl Semaphore {
    /// Takes a unit, or waits for one (p, wait).
    #[inline]
    pub fn acquire(self) {
        self.0.acquire();
    }

    /// Adds a unit, which whoever waits most urgently takes (v, signal).
    #[inline]
    pub fn release(self) {
        self.0.release();
    }
}

/// No thread.
const NOBODY: usize = usize::MAX;

/// A mutex. See [`Program::mutex`](crate::Program::mutex).
#[derive(Clone, Copy, Debug)]
pub struct Mutex {
    declared: Declared,
    /// The number of the thread that holds it; or [`NOBODY`].
    holder: &'static AtomicUsize,
}

impl Mutex {
    pub(crate) fn new(declared: Declared) -> Self {
        Self { declared, holder: Box::leak(Box::new(AtomicUsize::new(NOBODY))) }
    }

    /// Takes it, or waits for it. It is given back when the guard goes, or the thread ends. A thread that holds it already is ended.
    #[inline]
    pub fn lock(self) -> Guard {
        let Some(thread) = system::this_thread() else { return Guard(self, PhantomData) };
        if self.holder.load(Ordering::Relaxed) == thread {
            system::end("it takes a mutex that it holds already: it would wait for itself for ever");
        }
        self.declared.acquire();
        self.holder.store(thread, Ordering::Relaxed);
        Guard(self, PhantomData)
    }

    /// Gives it back, for languages without guards: who took it has let go of the guard without giving it back. A thread that does not
    /// hold it is ended.
    #[doc(hidden)]
    pub fn unlock(self) {
        let Some(thread) = system::this_thread() else { return };
        if self.holder.load(Ordering::Relaxed) != thread {
            system::end("it gives back a mutex that it does not hold");
        }
        self.holder.store(NOBODY, Ordering::Relaxed);
        self.declared.release();
    }
}

/// A mutex that is held.
#[derive(Debug)]
#[must_use = "the mutex is given back when this goes"]
pub struct Guard(Mutex, OfThisThread);

/// The thread that took a mutex gives it back: its guard goes to no other.
type OfThisThread = PhantomData<*const ()>;

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.unlock();
    }
}

/// What a thread can be declared to use.
pub trait Lock: Copy {
    #[doc(hidden)]
    fn number(self) -> LockId;
    #[doc(hidden)]
    fn allow(self, thread: usize);
}

impl Lock for Semaphore {
    fn number(self) -> LockId {
        self.0.lock
    }
    fn allow(self, thread: usize) {
        self.0.allow(thread);
    }
}

impl Lock for Mutex {
    fn number(self) -> LockId {
        self.declared.lock
    }
    fn allow(self, thread: usize) {
        self.declared.allow(thread);
    }
}
