//! What is done about interrupts and exceptions.

use crate::arch::trap::{self, TrapFrame};
use crate::arch::{apic, registers};
use crate::report;
use crate::rtos::{self, Interrupt};
use crate::{console, cores, counters, memory};
use core::sync::atomic::{AtomicU64, Ordering};
use solo_bare::outcome::ImageExit;

/// Interrupts that the machine test waits for, by kind.
pub static TIMER_INTERRUPTS: AtomicU64 = AtomicU64::new(0);
/// Reschedule requests that arrived.
pub static RESCHEDULE_INTERRUPTS: AtomicU64 = AtomicU64::new(0);

/// Interrupts of counters.
pub static COUNTER_INTERRUPTS: AtomicU64 = AtomicU64::new(0);

/// Serves an interrupt or exception. The stubs of all vectors lead here; interrupts are kept out until it returns.
#[unsafe(no_mangle)]
extern "sysv64" fn trap_dispatch(frame: &mut TrapFrame) {
    match frame.vector as u8 {
        vector @ 0..trap::FIRST_INTERRUPT => exception(vector, frame),
        vector @ (apic::TIMER_VECTOR | apic::RESCHEDULE_VECTOR | apic::COUNTER_VECTOR)
            if rtos::overflows(frame.stack) =>
        {
            apic::again(vector);
            rtos::kill(trap::STACK_OVERFLOW, frame);
        }
        apic::TIMER_VECTOR => serve(Interrupt::Timer, &TIMER_INTERRUPTS),
        apic::RESCHEDULE_VECTOR => serve(Interrupt::Request, &RESCHEDULE_INTERRUPTS),
        apic::COUNTER_VECTOR => {
            if rtos::entries().is_none() {
                counters::note_how_late();
            }
            serve(Interrupt::Counter, &COUNTER_INTERRUPTS);
        }
        apic::STOP_VECTOR => registers::stop(),
        apic::REST_VECTOR => {
            apic::end_of_interrupt();
            // One that comes late finds the next run under way, or the core at rest.
            if rtos::must_leave() {
                cores::rest();
            }
        }
        memory::FORGET_VECTOR => {
            memory::forget();
            apic::end_of_interrupt();
        }
        apic::SPURIOUS_VECTOR => {}
        _ => apic::end_of_interrupt(),
    }
}

/// Hands an interrupt to the kernel, or counts it while there is none.
#[inline]
fn serve(interrupt: Interrupt, count: &AtomicU64) {
    // Before anything else: the kernel may go on in another thread, which must be interruptible.
    apic::end_of_interrupt();
    // One that was pending when the core came to rest finds it there: the kernel of that run may be about to go.
    match rtos::entries().filter(|_| !rtos::is_at_rest(cores::current())) {
        Some(entries) => entries.interrupt(interrupt),
        None => {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A mistake of a thread ends the thread; one of the kernel ends the machine.
fn exception(vector: u8, frame: &mut TrapFrame) {
    if matches!(vector, trap::GENERAL_PROTECTION | trap::INVALID_OPCODE) && counters::pass_over() {
        frame.instruction += counters::ACCESS_BYTES;
        return;
    }
    if vector == trap::PAGE_FAULT
        && let Some(interrupt) = apic::in_service()
    {
        // An interrupt found no room on the stack of the thread. It must not be lost.
        apic::again(interrupt);
    }
    let is_mistake = !matches!(vector, trap::NON_MASKABLE | trap::DOUBLE_FAULT | trap::MACHINE_CHECK);
    if is_mistake && rtos::kill(vector, frame) {
        return;
    }
    report::fault(vector, frame);
    console::leave(ImageExit::Faulted)
}
