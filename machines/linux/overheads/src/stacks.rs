//! The stack switch: threads of the kernel's own making, one after the other on one thread of the process.
//!
//! As in thesis 5.3, each reads the clock, changes to the next, and that one reads the clock again.

use crate::clock::stamp;
use crate::distribution::Distribution;
use solo_model::Bytes;
use solo_x86_64::switch::{Context, begin, switch};
use std::cell::Cell;
use std::hint::black_box;
use std::ptr;

/// Bytes of a stack, and of the guard page below it: as on bare metal, so that tops of stacks meet in the same
/// cache sets as there.
const STACK: usize = 16 << 10;
const GUARD: usize = 4 << 10;

/// Who has the processor, and what was found.
struct Ring {
    /// Where each thread left off; the last is the one that wants to know.
    contexts: Vec<Context>,
    at: usize,
    stamp: u64,
    left: u64,
    single: Distribution,
    /// What is read before each timed switch.
    sweep: Vec<u8>,
}

thread_local! {
    /// The ring that runs on this thread of the process.
    static RING: Cell<*mut Ring> = const { Cell::new(ptr::null_mut()) };
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Switches {
    /// A switch between two readings of the clock.
    pub single: Distribution,
    /// [`ROW`] switches in a row, without a look at the clock between them.
    pub hundreds: Distribution,
}

/// Switches of a row whose length is taken as a whole: a hundred, and those there and back.
pub const ROW: u64 = 102;

/// Times `singles` switches one by one and `rows` hundreds, around a ring of `threads` threads, at least 2. Before
/// each of the first kind so much memory is read as `sweep` says.
pub fn run(threads: usize, singles: u64, rows: u64, sweep: Bytes) -> Switches {
    let threads = threads.max(2);
    let signals = Signals::keep_out();
    let mut memory = vec![0_u128; threads * (STACK + GUARD) / size_of::<u128>()];
    let mut found = Switches::default();
    with_ring(&mut memory, threads, timed, |ring| {
        // SAFETY: the ring is alive until the last thread has switched back here.
        unsafe {
            (*ring).left = singles;
            (*ring).sweep = vec![1; sweep.get() as usize];
            go(ring, 0, threads);
            found.single.merge(&(*ring).single);
        }
    });
    with_ring(&mut memory, threads, untimed, |ring| {
        for _ in 0..rows {
            // SAFETY: as above. The threads go on where the last row left them.
            unsafe {
                (*ring).left = ROW - 2;
                let begin = stamp();
                go(ring, (*ring).at, threads);
                found.hundreds.add(stamp().saturating_sub(begin));
            }
        }
    });
    drop(signals);
    found
}

/// Does `what` with a ring of threads that begin at `body` on stacks in `memory`.
fn with_ring(memory: &mut [u128], threads: usize, body: extern "C" fn() -> !, what: impl FnOnce(*mut Ring)) {
    let base = memory.as_mut_ptr() as usize;
    let stack_end = |index: usize| (base + (index + 1) * (STACK + GUARD)) as u64;
    // SAFETY: each stack lies within `memory`, which nobody else uses while the ring is there; its end is a
    // multiple of 16 because `u128` is aligned so and so is the distance.
    let at = |index| unsafe { begin(body, stack_end(index)) };
    let mut ring = Ring {
        contexts: (0..threads).map(at).chain([Context::EMPTY]).collect(),
        at: 0,
        stamp: 0,
        left: 0,
        single: Distribution::new(),
        sweep: Vec::new(),
    };
    let pointer = &raw mut ring;
    RING.set(pointer);
    what(pointer);
    RING.set(ptr::null_mut());
}

/// Switches from the one who wants to know to thread `to`; returns when a thread switches back.
///
/// # Safety
/// `ring` must be valid, and `to` and `home` positions of its contexts.
unsafe fn go(ring: *mut Ring, to: usize, home: usize) {
    // SAFETY: the caller vouches for the ring; every context in it was made by `begin` or left by `switch`.
    unsafe {
        (*ring).at = to;
        let contexts = (*ring).contexts.as_mut_ptr();
        switch(contexts.add(home), *contexts.add(to));
    }
}

/// A thread that reads the clock before it gives the processor away, and after it was given it.
extern "C" fn timed() -> ! {
    let ring = RING.get();
    loop {
        // SAFETY: `run` has set the ring, which outlives every thread in it; only one thread runs at a time.
        unsafe {
            let now = stamp();
            if (*ring).stamp != 0 {
                (*ring).single.add(now.saturating_sub((*ring).stamp));
            }
            let (from, to) = advance(ring);
            let contexts = (*ring).contexts.as_mut_ptr();
            let (save, load) = (contexts.add(from), *contexts.add(to));
            let swept: &Vec<u8> = &(*ring).sweep;
            black_box(swept.iter().step_by(64).fold(0_u8, |sum, byte| sum.wrapping_add(*byte)));
            (*ring).stamp = stamp();
            switch(save, load);
        }
    }
}

/// A thread that only gives the processor away.
extern "C" fn untimed() -> ! {
    let ring = RING.get();
    loop {
        // SAFETY: as in `timed`.
        unsafe {
            let (from, to) = advance(ring);
            let contexts = (*ring).contexts.as_mut_ptr();
            switch(contexts.add(from), *contexts.add(to));
        }
    }
}

/// The thread that has the processor, and who has it next: at the end the one who wants to know.
///
/// # Safety
/// `ring` must be valid.
#[inline(always)]
unsafe fn advance(ring: *mut Ring) -> (usize, usize) {
    // SAFETY: the caller vouches for the ring.
    let ring = unsafe { &mut *ring };
    let (from, home) = (ring.at, ring.contexts.len() - 1);
    let next = if from + 1 == home { 0 } else { from + 1 };
    ring.at = next;
    if ring.left == 0 {
        return (from, home);
    }
    ring.left -= 1;
    (from, next)
}

/// Keeps signals away from the small stacks.
struct Signals(libc::sigset_t);

impl Signals {
    fn keep_out() -> Self {
        // SAFETY: the sets are filled in before they are read, and both are this function's own.
        unsafe {
            let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut before);
            Self(before)
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // SAFETY: the set was filled in by the kernel.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_switch_is_counted_whatever_the_number_of_threads() {
        for threads in [1, 2, 5, 125] {
            let found = run(threads, 1000, 7, Bytes::new(256));
            // The first thread was not switched to by another.
            assert_eq!(found.single.count(), 1000, "{threads}");
            assert_eq!(found.hundreds.count(), 7, "{threads}");
        }
        assert_eq!(run(3, 0, 0, Bytes::ZERO).single.count(), 0);
    }
}
