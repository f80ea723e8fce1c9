//! Mistakes on purpose, for tests of what happens then.

use crate::arch::{registers, tables};
use crate::clock;
use core::arch::asm;
use solo_bare::module::Fault;
use solo_model::Duration;

/// How long a thread computes at the end of its stack.
const LINGER: Duration = Duration::from_millis(3);

/// Makes the mistake, on a stack whose lowest address is `limit`. Returns only if the processor let it pass.
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
        Fault::StackLost => unsafe { asm!("xor esp, esp", "push rax", options(noreturn)) },
        // SAFETY: as below.
        Fault::GeneralProtection => unsafe {
            asm!("mov {address}, [{address}]", address = inout(reg) 1u64 << 47 => _, options(nostack));
        },
        // SAFETY: each of these ends in the exception that its name says, which is what is wanted.
        Fault::PageFault => unsafe { asm!("mov rax, [0]", out("rax") _, options(nostack)) },
        // SAFETY: as above.
        Fault::InvalidOpcode => unsafe { asm!("ud2", options(nomem, nostack)) },
        // SAFETY: as above.
        Fault::DivideError => unsafe {
            asm!("xor edx, edx", "xor ecx, ecx", "div ecx", out("eax") _, out("edx") _, out("ecx") _,
                options(nomem, nostack));
        },
        Fault::DoubleFault => {
            tables::shorten_interrupt_table(9);
            provoke(Fault::PageFault, limit);
        }
        Fault::TripleFault => {
            tables::shorten_interrupt_table(0);
            provoke(Fault::InvalidOpcode, limit);
        }
    }
}

/// Moves the stack pointer to `bottom` and computes there for a while, using no stack.
fn descend(bottom: u64) {
    let ticks = clock::timebase().ticks(LINGER);
    // SAFETY: the stack between here and `bottom` belongs to the thread that asks, which has nothing on it; the
    // pointer is put back. Counter and limit live in registers.
    unsafe {
        asm!(
            "mov {saved}, rsp",
            "mov rsp, {bottom}",
            "rdtsc", "shl rdx, 32", "or rax, rdx",
            "add {ticks}, rax",
            "2:",
            "pause",
            "rdtsc", "shl rdx, 32", "or rax, rdx",
            "cmp rax, {ticks}",
            "jb 2b",
            "mov rsp, {saved}",
            saved = out(reg) _,
            bottom = in(reg) bottom & !15,
            ticks = inout(reg) ticks => _,
            out("rax") _, out("rdx") _,
        );
    }
}

/// Uses up the stack.
#[inline(never)]
#[expect(unconditional_recursion, reason = "that is what it is for")]
fn recurse(depth: u64) -> u64 {
    core::hint::black_box(depth) + recurse(depth + 1)
}
