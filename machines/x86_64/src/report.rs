//! Last words: what happened, where, and who had called.

use crate::arch::trap::{self, TrapFrame};
use crate::arch::{apic, registers};
use crate::console::{leave, print_at_the_end};
use crate::{cores, memory};
use core::arch::asm;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};
use solo_bare::outcome::ImageExit;

const MOST_CALLERS: usize = 24;
static REPORTING: AtomicBool = AtomicBool::new(false);

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    registers::disable_interrupts();
    if REPORTING.swap(true, Ordering::AcqRel) {
        registers::stop();
    }
    apic::send_to_others(apic::STOP_VECTOR);
    print_at_the_end(format_args!("solo: panic on {}: {info}\n", cores::current()));
    let frame_pointer: u64;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, rbp", out(reg) frame_pointer, options(nomem, nostack, preserves_flags)) };
    print_callers(frame_pointer);
    leave(ImageExit::Panicked)
}

/// Reports a fault of the kernel.
pub fn fault(vector: u8, frame: &TrapFrame) {
    if REPORTING.swap(true, Ordering::AcqRel) {
        registers::stop();
    }
    apic::send_to_others(apic::STOP_VECTOR);
    print_at_the_end(format_args!(
        "solo: {} on {} at {:#x}, error {:#x}, stack {:#x}\n",
        trap::exception_name(vector),
        cores::current(),
        frame.instruction,
        frame.error,
        frame.stack,
    ));
    if vector == trap::PAGE_FAULT || vector == trap::DOUBLE_FAULT {
        print_at_the_end(format_args!("solo:   address {:#x}\n", registers::fault_address()));
    }
    if vector != trap::DOUBLE_FAULT {
        print_callers(frame.frame_pointer());
    }
}

/// Prints the return addresses along the frame pointers.
fn print_callers(mut frame_pointer: u64) {
    for _ in 0..MOST_CALLERS {
        // A frame pointer outside of mapped RAM is none; neither is one that isn't aligned.
        let in_ram =
            |address| memory::translate(address).is_some_and(|at| (0x10_0000..0xc000_0000).contains(&at));
        if !in_ram(frame_pointer)
            || !in_ram(frame_pointer.wrapping_add(8))
            || !frame_pointer.is_multiple_of(8)
        {
            return;
        }
        let words = frame_pointer as *const u64;
        // SAFETY: the two words lie in mapped RAM and are aligned; reading changes nothing. Should the tables lie, the page fault would
        // find a report under way and stop.
        let (next, caller) = unsafe { (words.read_volatile(), words.add(1).read_volatile()) };
        if caller == 0 {
            return;
        }
        print_at_the_end(format_args!("solo:   called from {caller:#x}\n"));
        if next <= frame_pointer {
            return;
        }
        frame_pointer = next;
    }
}
