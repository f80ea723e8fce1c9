//! What is done about interrupts and exceptions.

use crate::arch::trap::{self, TrapFrame};
use crate::arch::{Arm64, gic, registers};
use crate::{clock, console, cores, counters, report};
use core::sync::atomic::{AtomicU32, Ordering};
use solo_bare::outcome::ImageExit;
use solo_bare::rtos::{self, Interrupt, Mistake};

/// The interrupts of a core's own timer and counters.
static TIMER: AtomicU32 = AtomicU32::new(u32::MAX);
static COUNTERS: AtomicU32 = AtomicU32::new(u32::MAX);

/// Which interrupts are the timer's and the counters'.
pub fn expect(timer: u32, counters: Option<u32>) {
    TIMER.store(timer, Ordering::Relaxed);
    COUNTERS.store(counters.unwrap_or(u32::MAX), Ordering::Relaxed);
}

/// Where an interrupted thread goes on: its instruction, and the end of its stack, which it has lost. Zero for where it was.
#[repr(C)]
struct GoOn {
    instruction: u64,
    stack: u64,
}

impl GoOn {
    const THERE: Self = Self { instruction: 0, stack: 0 };
}

/// Serves the interrupt that is waiting, on the stack of the thread that it found. Interrupts are kept out until it returns.
#[unsafe(no_mangle)]
extern "C" fn interrupt_dispatch(frame: &mut TrapFrame) -> GoOn {
    if rtos::overflows::<Arm64>(frame.stack)
        && let Some(gone) = kill("stack overflow", None, frame)
    {
        // The interrupt was not taken: it comes again.
        return gone;
    }
    let number = gic::take();
    if number >= gic::NONE {
        return GoOn::THERE;
    }
    if number == TIMER.load(Ordering::Relaxed) {
        // The line stays raised until the comparison is off.
        clock::stop_timer();
        serve(number, Interrupt::Timer);
    } else if number == COUNTERS.load(Ordering::Relaxed) {
        counters::silence();
        if !rtos::has_kernel::<Arm64>() {
            counters::note_how_late();
        }
        serve(number, Interrupt::Counter);
    } else {
        match number {
            gic::RESCHEDULE => serve(number, Interrupt::Request),
            gic::COUNTER => serve(number, Interrupt::Counter),
            gic::STOP => registers::stop(),
            gic::REST => {
                gic::end_of_interrupt(number);
                // One that comes late finds the next run under way, or the core at rest.
                if rtos::must_leave::<Arm64>() {
                    cores::rest();
                }
            }
            _ => gic::end_of_interrupt(number),
        }
    }
    GoOn::THERE
}

/// Hands an interrupt to the kernel.
#[inline]
fn serve(number: u32, interrupt: Interrupt) {
    // Before anything else: the kernel may go on in another thread, which must be interruptible.
    gic::end_of_interrupt(number);
    rtos::serve::<Arm64>(interrupt);
}

/// Ends the thread that made a mistake; `None` where it was no thread, or one inside of the kernel.
fn kill(name: &'static str, address: Option<u64>, frame: &TrapFrame) -> Option<GoOn> {
    // A call has left where it comes from in a register.
    let mistake =
        Mistake { name, instruction: frame.instruction, address }.told_by(|| Some(frame.general[30]));
    let gone = rtos::kill::<Arm64>(&mistake)?;
    Some(GoOn { instruction: gone.instruction, stack: gone.stack_end })
}

/// A mistake of a thread ends the thread; one of the kernel ends the machine. It stands on the stack for exceptions.
#[unsafe(no_mangle)]
extern "C" fn exception_dispatch(frame: &mut TrapFrame) -> GoOn {
    let class = trap::class(report::syndrome());
    let address = trap::has_address(class).then(report::fault_address);
    match kill(trap::name(class), address, frame) {
        Some(gone) => gone,
        None => {
            report::fault(trap::name(class), frame);
            console::leave(ImageExit::Faulted)
        }
    }
}

/// An exception on the stack for exceptions: nothing is left to rely on.
#[unsafe(no_mangle)]
extern "C" fn double_fault() -> ! {
    report::last_words("double fault");
    console::leave(ImageExit::Faulted)
}

/// An exception that has no handler.
#[unsafe(no_mangle)]
extern "C" fn unexpected_exception() -> ! {
    report::last_words("unexpected exception");
    console::leave(ImageExit::Faulted)
}
