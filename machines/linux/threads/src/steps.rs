//! The steps of a job on this machine's processor and memory.

use crate::compute::Pace;
use crate::memory::Memory;
use solo_model::work::Flush;
use solo_model::{Duration, LockId};
use solo_workload::{Op, Program};
use std::sync::atomic::{AtomicBool, Ordering};

/// What a job asks of whoever schedules it. Each says whether the job goes on: false where the run is over.
pub(crate) trait Calls {
    /// It takes a lock, or waits for it.
    fn acquire(&mut self, lock: LockId) -> bool;
    /// It gives a lock back.
    fn release(&mut self, lock: LockId) -> bool;
    /// It leaves its CPU for a while.
    fn sleep(&mut self, length: Duration) -> bool;
}

/// What steps are performed with.
#[derive(Clone, Copy)]
pub(crate) struct Means<'r> {
    pub(crate) pace: Pace,
    pub(crate) memory: &'r Memory,
    /// The run is over.
    pub(crate) over: &'r AtomicBool,
}

impl Means<'_> {
    /// The steps of a job. False where the run ended before they did.
    pub(crate) fn perform(self, program: &mut Program, calls: &mut impl Calls) -> bool {
        let Self { pace, memory, over } = self;
        while let Some(operation) = program.next() {
            let goes_on = match operation {
                // Linux has cores of one kind here: what its programs execute takes as long as on the reference kind.
                Op::Compute(span) | Op::Execute { on_reference: span, .. } => pace.compute(span.get(), over),
                Op::Access(access) => {
                    memory.touch(&access, || {
                        pace.compute(access.think.get(), over);
                    });
                    !over.load(Ordering::Relaxed)
                }
                Op::Acquire(lock) => calls.acquire(lock),
                Op::Release(lock) => calls.release(lock),
                Op::Flush(Flush::Buffer(buffer)) => memory.flush(buffer, || !over.load(Ordering::Relaxed)),
                // Refused before the start: there are no colors, and what empties whole caches is the kernel's.
                Op::Allocate { .. } | Op::Free(_) | Op::Flush(Flush::All) => true,
                Op::Sleep(length) => calls.sleep(length),
            };
            if !goes_on {
                return false;
            }
        }
        true
    }
}
