//! Last words: what happened, where, and who had called.

use crate::arch::trap::{self, TrapFrame};
use crate::arch::{X86, apic, registers, switch};
use crate::console::{leave, print};
use crate::cores;
use core::arch::asm;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};
use solo_bare::outcome::ImageExit;
use solo_bare::rtos::{self, callers};

static REPORTING: AtomicBool = AtomicBool::new(false);

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    registers::disable_interrupts();
    if let Some(afterlife) = rtos::panicked::<X86>(info) {
        // SAFETY: the thread ends: nothing on its stack is needed any more.
        unsafe { switch::restart(afterlife.stack_end, rtos::in_death::<X86>) };
    }
    if REPORTING.swap(true, Ordering::AcqRel) {
        registers::stop();
    }
    apic::send_to_others(apic::STOP_VECTOR);
    print(format_args!("solo: panic on {}: {info}\n", cores::current()));
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
    print(format_args!(
        "solo: {} on {} at {:#x}, error {:#x}, stack {:#x}\n",
        trap::exception_name(vector),
        cores::current(),
        frame.instruction,
        frame.error,
        frame.stack,
    ));
    if vector == trap::PAGE_FAULT || vector == trap::DOUBLE_FAULT {
        print(format_args!("solo:   address {:#x}\n", registers::fault_address()));
    }
    if vector != trap::DOUBLE_FAULT {
        print_callers(frame.frame_pointer());
    }
}

/// Prints the return addresses along the frame pointers.
fn print_callers(frame_pointer: u64) {
    callers::<X86>(frame_pointer, |caller| print(format_args!("solo:   called from {caller:#x}\n")));
}
