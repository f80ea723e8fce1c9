//! Mistakes on purpose, for tests of what happens then.

use crate::port::arch::{Arm64, firmware};
use core::arch::asm;
use solo_bare::module::Fault;
use solo_bare::rtos::Mistakes;

impl Mistakes for Arm64 {
    /// A division by zero is none on Arm, it gives zero.
    fn provoke(fault: Fault) {
        match fault {
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
            Fault::TripleFault => firmware::reset(),
            // Of no instruction.
            _ => {}
        }
    }

    unsafe fn descend(bottom: u64, ticks: u64) {
        // SAFETY: the caller vouches for the stack; the pointer is put back. Counter and limit live in registers.
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
                bottom = in(reg) bottom,
                ticks = inout(reg) ticks => _,
                now = out(reg) _,
            );
        }
    }
}
