//! Mutexes and semaphores whose waiters are granted in the order of their priorities, which those of the standard library do
//! not promise.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::io;

/// How long a thread waits before it looks whether the run is over.
const LOOK_NS: i64 = 50_000_000;

/// What came of waiting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// It is the caller's.
    Granted,
    /// Not yet: look whether to go on waiting.
    NotYet,
}

/// A mutex of the C library, with or without priority inheritance.
pub(crate) struct Mutex(Box<UnsafeCell<libc::pthread_mutex_t>>);

// SAFETY: a pthread mutex is made to be used by many threads at a time; it lies at a fixed address.
unsafe impl Send for Mutex {}
// SAFETY: as above.
unsafe impl Sync for Mutex {}

impl Mutex {
    /// A free mutex.
    ///
    /// # Errors
    /// What the library says, for example that the kernel has no inheritance.
    pub(crate) fn new(inherits: bool) -> io::Result<Self> {
        let mutex = Box::new(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
        // SAFETY: attributes are initialised before they are used and destroyed after; the mutex is not in use yet and does
        // not move any more.
        unsafe {
            let mut attributes: libc::pthread_mutexattr_t = std::mem::zeroed();
            checked(libc::pthread_mutexattr_init(&raw mut attributes))?;
            let protocol = if inherits { libc::PTHREAD_PRIO_INHERIT } else { libc::PTHREAD_PRIO_NONE };
            let made = checked(libc::pthread_mutexattr_setprotocol(&raw mut attributes, protocol))
                .and_then(|()| checked(libc::pthread_mutex_init(mutex.get(), &raw const attributes)));
            libc::pthread_mutexattr_destroy(&raw mut attributes);
            made?;
        }
        Ok(Self(mutex))
    }

    /// True where it was free and is the caller's now.
    pub(crate) fn try_take(&self) -> bool {
        // SAFETY: the mutex was initialised.
        unsafe { libc::pthread_mutex_trylock(self.0.get()) == 0 }
    }

    /// Waits for it, for a while.
    pub(crate) fn wait(&self) -> Wait {
        let until = soon();
        // SAFETY: the mutex was initialised; the library only reads the time.
        granted(unsafe { libc::pthread_mutex_timedlock(self.0.get(), &raw const until) })
    }

    /// Gives it back. The caller has it.
    pub(crate) fn give(&self) {
        // SAFETY: the mutex was initialised. Whoever does not have it gets an error, or, without protocol, opens it for others.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
    }
}

impl Drop for Mutex {
    fn drop(&mut self) {
        // SAFETY: nobody else refers to it any more.
        unsafe { libc::pthread_mutex_destroy(self.0.get()) };
    }
}

/// A semaphore of the C library.
pub(crate) struct Semaphore(Box<UnsafeCell<libc::sem_t>>);

// SAFETY: a semaphore is made to be used by many threads at a time; it lies at a fixed address.
unsafe impl Send for Semaphore {}
// SAFETY: as above.
unsafe impl Sync for Semaphore {}

impl Semaphore {
    /// A semaphore with so many units.
    ///
    /// # Errors
    /// Where there are more than the library counts.
    pub(crate) fn new(units: u32) -> io::Result<Self> {
        // SAFETY: all zeros is storage for a semaphore, which is initialised before anybody uses it and does not move.
        let semaphore = unsafe { Box::new(UnsafeCell::new(std::mem::zeroed::<libc::sem_t>())) };
        // SAFETY: as above.
        if unsafe { libc::sem_init(semaphore.get(), 0, units) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self(semaphore))
    }

    /// True where there was a unit, which is taken.
    pub(crate) fn try_take(&self) -> bool {
        // SAFETY: the semaphore was initialised.
        unsafe { libc::sem_trywait(self.0.get()) == 0 }
    }

    /// Waits for a unit, for a while.
    pub(crate) fn wait(&self) -> Wait {
        let until = soon();
        // SAFETY: the semaphore was initialised; the library only reads the time.
        granted(unsafe { libc::sem_timedwait(self.0.get(), &raw const until) })
    }

    /// Adds a unit.
    pub(crate) fn give(&self) {
        // SAFETY: the semaphore was initialised.
        unsafe { libc::sem_post(self.0.get()) };
    }
}

impl Drop for Semaphore {
    fn drop(&mut self) {
        // SAFETY: nobody else refers to it any more.
        unsafe { libc::sem_destroy(self.0.get()) };
    }
}

/// A moment from now, on the clock by which the C library waits.
fn soon() -> libc::timespec {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid for the call; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut time) };
    let ns = time.tv_nsec + LOOK_NS;
    time.tv_sec += ns / 1_000_000_000;
    time.tv_nsec = ns % 1_000_000_000;
    time
}

fn granted(result: i32) -> Wait {
    if result == 0 { Wait::Granted } else { Wait::NotYet }
}

fn checked(error: i32) -> io::Result<()> {
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}
