//! How cores leave a run that is over, before the next one begins.
//!
//! ```text
//!   who ends the run       every other core             the boot core
//!   end ──▶ interrupts ──▶ must_leave? ──▶ rest ──────▶ all_rest? ──▶ begin
//! ```
//!
//! A core may have come to rest by itself before the interrupt reaches it, which asks it again: perhaps while the next run
//! begins. Whoever rests once more then is taken for resting in the next run, whose interrupts it does not serve. The
//! tests explore all orders and all values that the memory model of Rust allows.

#[cfg(not(test))]
use core::sync::atomic::{AtomicBool, Ordering};
#[cfg(test)]
use loom::sync::atomic::{AtomicBool, Ordering};
use solo_model::CoreId;

/// Whether a run is over, and who has left it.
#[derive(Debug)]
pub struct Rest<const CORES: usize> {
    over: AtomicBool,
    resting: [AtomicBool; CORES],
}

impl<const CORES: usize> Rest<CORES> {
    /// No run has ended, and nobody rests.
    #[cfg(not(test))]
    pub const fn new() -> Self {
        Self { over: AtomicBool::new(false), resting: [const { AtomicBool::new(false) }; CORES] }
    }

    /// No run has ended, and nobody rests.
    #[cfg(test)]
    pub fn new() -> Self {
        Self { over: AtomicBool::new(false), resting: core::array::from_fn(|_| AtomicBool::new(false)) }
    }

    /// Ends the run. True for the first who does: the others are to leave.
    pub fn end(&self) -> bool {
        !self.over.swap(true, Ordering::AcqRel)
    }

    /// True from the end of a run until the next begins.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// True where the run is over and `core`, which asks, has not left it yet.
    pub(crate) fn must_leave(&self, core: CoreId) -> bool {
        // In this order: a core that finds that it no longer rests finds the run begun for which it was called.
        !self.resting[core.index()].load(Ordering::Acquire) && self.is_over()
    }

    /// `core`, which says so, has left everything.
    pub fn rest(&self, core: CoreId) {
        self.resting[core.index()].store(true, Ordering::Release);
    }

    /// True from when `core`, which asks, has come to rest until the next run.
    #[inline]
    pub(crate) fn is_at_rest(&self, core: CoreId) -> bool {
        self.resting[core.index()].load(Ordering::Relaxed)
    }

    /// True where the run is over and the first `count` cores rest.
    pub(crate) fn all_rest(&self, count: usize) -> bool {
        self.is_over() && self.resting[..count].iter().all(|resting| resting.load(Ordering::Acquire))
    }

    /// The next run begins. Only the boot core may say so, when all rest.
    pub fn begin(&self) {
        self.over.store(false, Ordering::Release);
        self.resting.iter().for_each(|resting| resting.store(false, Ordering::Release));
    }
}

impl<const CORES: usize> Default for Rest<CORES> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::Rest;
    use loom::sync::Arc;
    use loom::thread;
    use solo_model::CoreId;

    const BOOT: CoreId = CoreId(0);
    const OTHER: CoreId = CoreId(1);

    /// Core 1 noticed the end of the run by itself, in the kernel's lock; the interrupt comes when it likes, here before
    /// or after the boot core has begun the next run. Whether core 1 is taken for resting in that.
    fn rests_in_the_next_run(must_leave: fn(&Rest<2>) -> bool) -> bool {
        let shared = Arc::new(Rest::<2>::new());
        assert!(shared.end());
        let rest = shared.clone();
        let other = thread::spawn(move || {
            rest.rest(OTHER);
            if must_leave(&rest) {
                rest.rest(OTHER);
            }
        });
        shared.rest(BOOT);
        while !shared.all_rest(2) {
            thread::yield_now();
        }
        shared.begin();
        other.join().unwrap();
        shared.is_at_rest(OTHER)
    }

    #[test]
    fn nobody_rests_in_the_next_run_for_the_last_one() {
        loom::model(|| assert!(!rests_in_the_next_run(|rest| rest.must_leave(OTHER))));
    }

    /// The model can fail: it is not enough that the run is over, nor to look at both the other way round.
    #[test]
    #[should_panic(expected = "nobody serves its interrupts")]
    fn who_only_looks_whether_the_run_is_over_rests_in_the_next_one() {
        loom::model(|| assert!(!rests_in_the_next_run(Rest::is_over), "nobody serves its interrupts"));
    }

    #[test]
    #[should_panic(expected = "nobody serves its interrupts")]
    fn who_looks_the_other_way_round_rests_in_the_next_one() {
        let backwards = |rest: &Rest<2>| rest.is_over() && !rest.is_at_rest(OTHER);
        loom::model(move || assert!(!rests_in_the_next_run(backwards), "nobody serves its interrupts"));
    }

    /// The other side: who is still at it when the run ends leaves it, and the boot core waits for that.
    #[test]
    fn who_is_still_at_it_leaves() {
        loom::model(|| {
            let shared = Arc::new(Rest::<2>::new());
            let rest = shared.clone();
            let other = thread::spawn(move || {
                while !rest.must_leave(OTHER) {
                    thread::yield_now();
                }
                assert!(!rest.all_rest(2), "the boot core has not waited");
                rest.rest(OTHER);
                assert!(!rest.end(), "it has ended already");
            });
            assert!(shared.end());
            shared.rest(BOOT);
            other.join().unwrap();
            assert!(shared.all_rest(2));
        });
    }
}
