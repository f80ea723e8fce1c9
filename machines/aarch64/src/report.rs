//! Last words: what happened, where, and who had called.

use crate::arch::trap::{self, TrapFrame};
use crate::arch::{Arm64, gic, registers, switch};
use crate::console::{leave, print};
use crate::{cores, read_register};
use core::arch::asm;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};
use solo_bare::outcome::ImageExit;
use solo_bare::rtos::{self, callers};

static REPORTING: AtomicBool = AtomicBool::new(false);

/// What the processor says of the last exception.
pub fn syndrome() -> u64 {
    read_register!("esr_el1")
}

/// The address that could not be reached.
pub fn fault_address() -> u64 {
    read_register!("far_el1")
}

/// Stops the others; a second report stops this core.
fn begin() {
    registers::disable_interrupts();
    if REPORTING.swap(true, Ordering::AcqRel) {
        registers::stop();
    }
    gic::send_to_others(gic::STOP);
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    registers::disable_interrupts();
    if let Some(afterlife) = rtos::panicked::<Arm64>(info) {
        // SAFETY: the thread ends: nothing on its stack is needed any more.
        unsafe { switch::restart(afterlife.stack_end, rtos::in_death::<Arm64>) };
    }
    begin();
    print(format_args!("solo: panic on {}: {info}\n", cores::current()));
    let frame_pointer: u64;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, x29", out(reg) frame_pointer, options(nomem, nostack, preserves_flags)) };
    print_callers(frame_pointer);
    leave(ImageExit::Panicked)
}

/// Reports a fault of the kernel.
pub fn fault(name: &str, frame: &TrapFrame) {
    begin();
    let (core, syndrome) = (cores::current(), syndrome());
    print(format_args!(
        "solo: {name} on {core} at {:#x}, syndrome {syndrome:#x}, stack {:#x}\n",
        frame.instruction, frame.stack,
    ));
    if trap::has_address(trap::class(syndrome)) {
        print(format_args!("solo:   address {:#x}\n", fault_address()));
    }
    print_callers(frame.general[29]);
}

/// Reports where there is nothing to rely on.
pub fn last_words(what: &str) {
    begin();
    let (at, syndrome) = (read_register!("elr_el1"), syndrome());
    print(format_args!(
        "solo: {what} on {} at {at:#x}, syndrome {syndrome:#x}, address {:#x}\n",
        cores::current(),
        fault_address()
    ));
}

fn print_callers(frame_pointer: u64) {
    callers::<Arm64>(frame_pointer, |caller| print(format_args!("solo:   called from {caller:#x}\n")));
}
