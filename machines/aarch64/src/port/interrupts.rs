//! What is done about interrupts and exceptions.

use crate::port::arch::trap::{self, TrapFrame};
use crate::port::arch::{Arm64, COUNTER, RESCHEDULE, REST, STOP, gic};
use crate::port::counters::Source;
use crate::read_register;
use core::ops::Range;
use core::sync::atomic::{AtomicU32, Ordering};
use solo_bare::isa::Isa;
use solo_bare::rtos::{self, Afterlife, Clock, Interrupt, Mistake, STACK_OVERFLOW, Source as _, report};

/// The interrupts of a core's own timer and counters: of these the first, and how many there are.
static TIMER: AtomicU32 = AtomicU32::new(u32::MAX);
static COUNTERS: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

/// Which interrupts are the timer's and the counters'.
pub fn expect(timer: u32, counters: &Range<u32>) {
    TIMER.store(timer, Ordering::Relaxed);
    COUNTERS[0].store(counters.start, Ordering::Relaxed);
    COUNTERS[1].store(counters.end - counters.start, Ordering::Relaxed);
}

/// True for the counters' interrupts.
#[inline(always)]
fn is_counters(number: u32) -> bool {
    let [first, count] = [0, 1].map(|index: usize| COUNTERS[index].load(Ordering::Relaxed));
    number.wrapping_sub(first) < count
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
    let taken = gic::take();
    let number = gic::number(taken);
    if number >= gic::NONE {
        return Afterlife::NONE;
    }
    if number == TIMER.load(Ordering::Relaxed) {
        // The line stays raised until the comparison is off.
        Arm64::stop_timer();
        serve(taken, Interrupt::Timer);
    } else if is_counters(number) {
        Source::silence();
        rtos::counters_interrupt::<Arm64>();
        serve(taken, Interrupt::Counter);
    } else {
        match number {
            RESCHEDULE => serve(taken, Interrupt::Request),
            COUNTER => serve(taken, Interrupt::Counter),
            STOP => Arm64::stop(),
            REST => {
                gic::end_of_interrupt(taken);
                rtos::asked_to_rest::<Arm64>();
            }
            _ => gic::end_of_interrupt(taken),
        }
    }
    Afterlife::NONE
}

/// Hands an interrupt to the kernel.
#[inline]
fn serve(taken: u32, interrupt: Interrupt) {
    // Before anything else: the kernel may go on in another thread, which must be interruptible.
    gic::end_of_interrupt(taken);
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
