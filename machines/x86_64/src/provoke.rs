//! Mistakes on purpose, for tests of what happens then.

use crate::arch::{registers, tables};
use core::arch::asm;
use solo_x86_64::module::Fault;

/// Makes the mistake. Returns only if the processor let it pass.
pub fn provoke(fault: Fault) {
    match fault {
        Fault::Panic => panic!("provoked"),
        Fault::Hang => loop {
            registers::disable_interrupts();
            registers::pause();
        },
        Fault::StackOverflow => {
            recurse(0);
        }
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
            provoke(Fault::PageFault);
        }
        Fault::TripleFault => {
            tables::shorten_interrupt_table(0);
            provoke(Fault::InvalidOpcode);
        }
    }
}

/// Uses up the stack.
#[inline(never)]
#[expect(unconditional_recursion, reason = "that is what it is for")]
fn recurse(depth: u64) -> u64 {
    core::hint::black_box(depth) + recurse(depth + 1)
}
