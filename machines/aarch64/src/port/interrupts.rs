//! What is done about interrupts and exceptions.

use crate::port::arch::trap::{self, TrapFrame};
use crate::port::arch::{Arm64, gic};
use crate::port::counters::Source;
use crate::read_register;
use core::sync::atomic::{AtomicU32, Ordering};
use solo_bare::isa::Isa;
use solo_bare::rtos::{self, Afterlife, Clock, Interrupt, Mistake, STACK_OVERFLOW, Source as _, report};

/// The interrupts of a core's own timer and counters.
static TIMER: AtomicU32 = AtomicU32::new(u32::MAX);
static COUNTERS: AtomicU32 = AtomicU32::new(u32::MAX);

/// Which interrupts are the timer's and the counters'.
pub fn expect(timer: u32, counters: Option<u32>) {
    TIMER.store(timer, Ordering::Relaxed);
    COUNTERS.store(counters.unwrap_or(u32::MAX), Ordering::Relaxed);
}

/// Serves the interrupt that is waiting, on the stack of the thread that it found. Interrupts are kept out until it returns.
#[unsafe(no_mangle)]
extern "C" fn interrupt_dispatch(frame: &mut TrapFrame) -> Afterlife {
    let overflow = Mistake { name: STACK_OVERFLOW, instruction: frame.instruction, address: None };
    if rtos::overflows::<Arm64>(frame.stack)
        && let Some(gone) = rtos::kill::<Arm64>(&overflow)
    {
        // The interrupt was not taken: it comes again.
        return gone;
    }
    let number = gic::take();
    if number >= gic::NONE {
        return Afterlife::NONE;
    }
    if number == TIMER.load(Ordering::Relaxed) {
        // The line stays raised until the comparison is off.
        Arm64::stop_timer();
        serve(number, Interrupt::Timer);
    } else if number == COUNTERS.load(Ordering::Relaxed) {
        Source::silence();
        rtos::counters_interrupt::<Arm64>();
        serve(number, Interrupt::Counter);
    } else {
        match number {
            gic::RESCHEDULE => serve(number, Interrupt::Request),
            gic::COUNTER => serve(number, Interrupt::Counter),
            gic::STOP => Arm64::stop(),
            gic::REST => {
                gic::end_of_interrupt(number);
                rtos::asked_to_rest::<Arm64>();
            }
            _ => gic::end_of_interrupt(number),
        }
    }
    Afterlife::NONE
}

/// Hands an interrupt to the kernel.
#[inline]
fn serve(number: u32, interrupt: Interrupt) {
    // Before anything else: the kernel may go on in another thread, which must be interruptible.
    gic::end_of_interrupt(number);
    rtos::serve::<Arm64>(interrupt);
}

/// What the processor says of the last exception.
fn syndrome() -> u64 {
    read_register!("esr_el1")
}

/// A mistake of a thread ends the thread; one of the kernel ends the machine. It stands on the stack for exceptions.
#[unsafe(no_mangle)]
extern "C" fn exception_dispatch(frame: &mut TrapFrame) -> Afterlife {
    let class = trap::class(syndrome());
    let address = trap::has_address(class).then(|| read_register!("far_el1"));
    let mistake = Mistake { name: trap::name(class), instruction: frame.instruction, address };
    // A call has left where it comes from in a register.
    rtos::kill::<Arm64>(&mistake.told_by(|| Some(frame.general[30]))).unwrap_or_else(|| {
        let says = [("syndrome", syndrome()), ("stack", frame.stack)];
        report::fault::<Arm64>(&mistake, &says, Some(frame.general[29]))
    })
}

/// Nothing is left to rely on.
fn last_words(name: &'static str) -> ! {
    let mistake = Mistake { name, instruction: read_register!("elr_el1"), address: None };
    let says = [("syndrome", syndrome()), ("address", read_register!("far_el1"))];
    report::fault::<Arm64>(&mistake, &says, None)
}

/// An exception on the stack for exceptions.
#[unsafe(no_mangle)]
extern "C" fn double_fault() -> ! {
    last_words("double fault")
}

/// An exception that has no handler.
#[unsafe(no_mangle)]
extern "C" fn unexpected_exception() -> ! {
    last_words("unexpected exception")
}
