//! Exclusion between cores.

use crate::isa::Isa;
use crate::ticket::Tickets;
use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

/// A lock that is taken in the order of arrival, with interrupts kept out: a core waits at most for the
/// sections of the others that came before it.
pub struct SpinLock<I, T> {
    tickets: Tickets,
    isa: PhantomData<fn() -> I>,
    value: UnsafeCell<T>,
}

// SAFETY: the tickets let one core at a time reach the value.
unsafe impl<I, T: Send> Sync for SpinLock<I, T> {}

/// The right to the value.
pub struct Guard<'l, I: Isa, T> {
    lock: &'l SpinLock<I, T>,
    interrupts: bool,
}

impl<I: Isa, T> SpinLock<I, T> {
    /// A lock around `value`.
    pub const fn new(value: T) -> Self {
        Self { tickets: Tickets::new(), isa: PhantomData, value: UnsafeCell::new(value) }
    }

    /// Waits for the value. Interrupts are kept out until the guard goes, and then are as they were.
    #[inline]
    pub fn lock(&self) -> Guard<'_, I, T> {
        self.lock_and_tell().0
    }

    /// The same, and whether another core had it.
    #[inline]
    pub(crate) fn lock_and_tell(&self) -> (Guard<'_, I, T>, bool) {
        let interrupts = I::interrupts_enabled();
        I::disable_interrupts();
        let ticket = self.tickets.draw();
        let mut waited = false;
        while !self.tickets.serves(ticket) {
            waited = true;
            I::pause();
        }
        (Guard { lock: self, interrupts }, waited)
    }

    /// Lets the next core in, in place of a guard that was forgotten.
    ///
    /// # Safety
    /// This core must hold the lock, and no guard or reference to the value may live.
    #[inline]
    pub unsafe fn release_forgotten(&self) {
        self.tickets.serve_next();
    }

    /// The value, whoever holds it.
    ///
    /// # Safety
    /// No other core may be running, or the lock must be held by this core with its guard forgotten.
    #[expect(clippy::mut_from_ref, reason = "the lock, not the borrow, keeps others out")]
    pub unsafe fn force(&self) -> &mut T {
        // SAFETY: the caller vouches that nobody else reaches the value.
        unsafe { &mut *self.value.get() }
    }
}

impl<'l, I: Isa, T> Guard<'l, I, T> {
    /// Whose guard it is.
    pub fn lock(&self) -> &'l SpinLock<I, T> {
        self.lock
    }

    /// Keeps the lock beyond the guard; interrupts stay out. Returns whether the guard would let them in.
    #[must_use]
    pub fn forget(self) -> bool {
        let interrupts = self.interrupts;
        core::mem::forget(self);
        interrupts
    }
}

impl<I: Isa, T> Deref for Guard<'_, I, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the guard is the right to the value.
        unsafe { &*self.lock.value.get() }
    }
}

impl<I: Isa, T> DerefMut for Guard<'_, I, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard is the right to the value, and there is one.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<I: Isa, T> Drop for Guard<'_, I, T> {
    #[inline(never)] // once for each type: drops are many, and 4 KB of the image where inlined
    fn drop(&mut self) {
        // SAFETY: this guard held the lock and goes now.
        unsafe { self.lock.release_forgotten() };
        if self.interrupts {
            I::enable_interrupts();
        }
    }
}

impl<I, T> fmt::Debug for SpinLock<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SpinLock")
    }
}
