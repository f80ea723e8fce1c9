//! Mistakes on purpose, for tests of what happens then.

use crate::port::arch::{X86, tables};
use core::arch::asm;
use solo_bare::module::Fault;
use solo_bare::rtos::Mistakes;

impl Mistakes for X86 {
    fn provoke(fault: Fault) {
        match fault {
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
                Self::provoke(Fault::PageFault);
            }
            Fault::TripleFault => {
                tables::shorten_interrupt_table(0);
                Self::provoke(Fault::InvalidOpcode);
            }
            // Of no instruction.
            _ => {}
        }
    }

    /// Moves the stack pointer to `bottom` and computes there for so many ticks, using no stack.
    ///
    /// # Safety
    /// The caller vouches for the stack.
    unsafe fn descend(bottom: u64, ticks: u64) {
        // SAFETY: the caller vouches for the stack; the pointer is put back. Counter and limit live in registers.
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
                bottom = in(reg) bottom,
                ticks = inout(reg) ticks => _,
                out("rax") _, out("rdx") _,
            );
        }
    }
}
