//! Last words: what happened, where, and who had called.

use super::console::print_at_once;
use super::cores::Signal;
use super::port::Port;
use super::thread::{Mistake, in_death, panicked};
use super::walk::callers;
use crate::outcome::ImageExit;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};

static REPORTING: AtomicBool = AtomicBool::new(false);

/// Stops the others; a second report stops this core.
fn begin<P: Port>() {
    P::disable_interrupts();
    if REPORTING.swap(true, Ordering::AcqRel) {
        P::stop();
    }
    P::signal_others(Signal::Stop);
}

/// What a panic does: it ends the thread of a program, else the machine. For the panic handler, which it is to be a part of: the
/// callers are told from its caller on.
#[inline(always)]
pub fn panic<P: Port>(info: &PanicInfo<'_>) -> ! {
    P::disable_interrupts();
    if let Some(afterlife) = panicked::<P>(info) {
        // SAFETY: the thread ends: nothing on its stack is needed any more.
        unsafe { P::restart(afterlife.stack_end, in_death::<P>) };
    }
    begin::<P>();
    print_at_once::<P>(format_args!("solo: panic on {}: {info}\n", P::current()));
    print_callers::<P>(P::frame_pointer());
    P::leave(ImageExit::Panicked)
}

/// Reports a mistake of the kernel, and ends the machine. The processor may say more, by its names. Callers are told from
/// `frame_pointer` on, where that is to be relied on.
pub fn fault<P: Port>(mistake: &Mistake, says: &[(&str, u64)], frame_pointer: Option<u64>) -> ! {
    begin::<P>();
    let Mistake { name, instruction, address } = *mistake;
    print_at_once::<P>(format_args!("solo: {name} on {} at {instruction:#x}", P::current()));
    for (what, value) in says {
        print_at_once::<P>(format_args!(", {what} {value:#x}"));
    }
    print_at_once::<P>(format_args!("\n"));
    if let Some(address) = address {
        print_at_once::<P>(format_args!("solo:   address {address:#x}\n"));
    }
    if let Some(frame_pointer) = frame_pointer {
        print_callers::<P>(frame_pointer);
    }
    P::leave(ImageExit::Faulted)
}

/// Prints the return addresses along the frame pointers.
fn print_callers<P: Port>(frame_pointer: u64) {
    callers::<P>(frame_pointer, |caller| {
        print_at_once::<P>(format_args!("solo:   called from {caller:#x}\n"));
    });
}
