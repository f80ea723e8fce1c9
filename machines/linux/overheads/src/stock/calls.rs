//! System calls without a wrapper.

use crate::clock::stamp;
use crate::distribution::Distribution;
use std::sync::atomic::{AtomicU32, Ordering};

/// The least system call there is: who is the parent?
pub(crate) fn null_call(rounds: u64) -> Distribution {
    let mut found = Distribution::new();
    for _ in 0..rounds {
        let begin = stamp();
        // SAFETY: reads a number.
        unsafe { libc::syscall(libc::SYS_getppid) };
        found.add(stamp().saturating_sub(begin));
    }
    found
}

/// Waits until `word` is no longer `value`, asleep in the kernel.
pub(super) fn futex_wait(word: &AtomicU32, value: u32) {
    while word.load(Ordering::Acquire) == value {
        futex_wait_once(word, value);
    }
}

/// Sleeps in the kernel if `word` is `value`; may return for nothing.
#[inline(always)]
pub(super) fn futex_wait_once(word: &AtomicU32, value: u32) {
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word outlives the call; without a timeout the pointer is null.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, std::ptr::null::<libc::timespec>())
    };
}

/// Wakes who sleeps on `word`, one of them.
#[inline(always)]
pub(super) fn futex_wake(word: &AtomicU32) {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the address is only compared.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, 1) };
}
