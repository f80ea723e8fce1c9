//! What threads call: waiting, locks, notes.

use crate::pointers::{literal, value};
use core::ffi::c_char;
use core::mem::forget;
use solo_app::{Duration, Mutex, Semaphore, Trigger};

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_wait_next() {
    solo_app::wait_next();
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_sleep(length_ns: u64) {
    solo_app::sleep(Duration::new(length_ns));
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_compute(length_ns: u64) {
    solo_app::compute(Duration::new(length_ns));
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_simulated_cost(cost_ns: u64) {
    solo_app::simulated_cost(Duration::new(cost_ns));
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_now() -> u64 {
    solo_app::now().get()
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_pause() {
    solo_app::pause();
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_record(name: *const c_char, value: u64) {
    solo_app::record(literal(name), value);
}

/// The lock behind a pointer of `solo_new_semaphore` or `solo_new_mutex`; without one the thread ends.
fn lock<L: Copy>(pointer: *const L, what: &str) -> L {
    match value(pointer) {
        Some(lock) => lock,
        None => panic!("the {what} that it uses is NULL"),
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_acquire(semaphore: *const Semaphore) {
    lock(semaphore, "semaphore").acquire();
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_release(semaphore: *const Semaphore) {
    lock(semaphore, "semaphore").release();
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_lock(mutex: *const Mutex) {
    // C gives it back by itself; the kernel does, where its thread ends before.
    forget(lock(mutex, "mutex").lock());
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_unlock(mutex: *const Mutex) {
    lock(mutex, "mutex").unlock();
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_fire(trigger: *const Trigger) {
    solo_fire_after(trigger, 0);
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_fire_after(trigger: *const Trigger, time_ns: u64) {
    match value(trigger) {
        Some(trigger) => trigger.fire_after(Duration::new(time_ns)),
        None => panic!("the trigger that it fires is NULL"),
    }
}
