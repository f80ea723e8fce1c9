//! Mistakes on purpose, for tests of what happens then.

use super::clock::timebase;
use crate::isa::Isa;
use crate::module::Fault;
use solo_model::Duration;

/// How long a thread computes at the end of its stack.
const LINGER: Duration = Duration::from_millis(3);

/// Mistakes of single instructions.
pub trait Mistakes: Isa {
    /// Makes one that ends in an exception. Returns if the processor let it pass, or if it is none of an instruction.
    fn provoke(fault: Fault);

    /// Moves the stack pointer down to `bottom`, a multiple of 16, and computes there for so many ticks, using no stack.
    ///
    /// # Safety
    /// The stack between here and `bottom` must belong to the caller, with nothing on it.
    unsafe fn descend(bottom: u64, ticks: u64);
}

/// Makes the mistake, on a stack whose lowest address is `limit`. Returns if the processor let it pass.
pub(super) fn provoke<P: Mistakes>(fault: Fault, limit: u64) {
    match fault {
        Fault::Panic => panic!("provoked"),
        Fault::Hang => loop {
            P::disable_interrupts();
            P::pause();
        },
        // Its thread has done it: see `Threads::demand`.
        Fault::Demand(_) => {}
        Fault::StackOverflow => {
            recurse(0);
        }
        Fault::StackLeaves(bytes) => {
            let ticks = timebase().ticks(LINGER);
            // SAFETY: the stack between here and there belongs to the thread that asks, which has nothing on it.
            unsafe { P::descend((limit + u64::from(bytes)) & !15, ticks) };
        }
        Fault::StackLost
        | Fault::GeneralProtection
        | Fault::PageFault
        | Fault::InvalidOpcode
        | Fault::DivideError
        | Fault::DoubleFault
        | Fault::TripleFault => P::provoke(fault),
    }
}

/// Uses up the stack.
#[inline(never)]
#[expect(unconditional_recursion, reason = "that is what it is for")]
fn recurse(depth: u64) -> u64 {
    core::hint::black_box(depth) + recurse(depth + 1)
}
