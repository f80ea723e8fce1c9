//! Mistakes on purpose, for tests of what happens then.

use crate::arch::{firmware, registers};
use crate::{clock, console};
use core::arch::asm;
use solo_bare::module::Fault;
use solo_model::Duration;

/// How long a thread computes at the end of its stack.
const LINGER: Duration = Duration::from_millis(3);

/// Makes the mistake, on a stack whose lowest address is `limit`. Returns only if the processor let it pass: a division by zero
/// is none on Arm, it gives zero.
pub fn provoke(fault: Fault, limit: u64) {
    match fault {
        Fault::Panic => panic!("provoked"),
        Fault::Hang => loop {
            registers::disable_interrupts();
            registers::pause();
        },
        // Its thread has done it: see `Threads::demand`.
        Fault::Demand(_) => {}
        Fault::StackOverflow => {
            recurse(0);
        }
        Fault::StackLeaves(bytes) => descend(limit + u64::from(bytes)),
        // SAFETY: as below.
        Fault::StackLost => unsafe {
            asm!("mov sp, {}", "str xzr, [sp, #-16]!", "brk #1", in(reg) 0u64, options(noreturn))
        },
        // SAFETY: as below.
        Fault::GeneralProtection => unsafe {
            asm!("ldr {address}, [{address}]", address = inout(reg) 1u64 << 52 => _, options(nostack));
        },
        // SAFETY: each of these ends in the exception that its name says, which is what is wanted.
        Fault::PageFault => unsafe { asm!("ldr {a}, [{a}]", a = inout(reg) 0u64 => _, options(nostack)) },
        // SAFETY: as above.
        Fault::InvalidOpcode => unsafe { asm!("udf #0", options(nomem, nostack)) },
        // SAFETY: as above.
        Fault::DivideError => unsafe {
            asm!("udiv {a}, {a}, xzr", a = inout(reg) 1u64 => _, options(nomem, nostack));
        },
        // SAFETY: a mistake that finds the stack for exceptions lost.
        Fault::DoubleFault => unsafe {
            asm!("msr spsel, #1", "mov sp, {}", "msr spsel, #0", "udf #0", in(reg) 0x1000u64, options(noreturn));
        },
        // A processor of Arm's does not reset itself, whatever happens to it: its firmware does.
        Fault::TripleFault => firmware::reset(console::conduit()),
    }
}

/// Moves the stack pointer to `bottom` and computes there for a while, using no stack.
fn descend(bottom: u64) {
    let ticks = clock::timebase().ticks(LINGER);
    // SAFETY: the stack between here and `bottom` belongs to the thread that asks, which has nothing on it; the
    // pointer is put back. Counter and limit live in registers.
    unsafe {
        asm!(
            "mov {saved}, sp",
            "mov sp, {bottom}",
            "mrs {now}, cntvct_el0",
            "add {ticks}, {ticks}, {now}",
            "2:",
            "yield",
            "mrs {now}, cntvct_el0",
            "cmp {now}, {ticks}",
            "b.lo 2b",
            "mov sp, {saved}",
            saved = out(reg) _,
            bottom = in(reg) bottom & !15,
            ticks = inout(reg) ticks => _,
            now = out(reg) _,
        );
    }
}

/// Uses up the stack.
#[inline(never)]
#[expect(unconditional_recursion, reason = "that is what it is for")]
fn recurse(depth: u64) -> u64 {
    core::hint::black_box(depth) + recurse(depth + 1)
}
