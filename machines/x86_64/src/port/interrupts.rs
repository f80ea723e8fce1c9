//! What is done about interrupts and exceptions.

use crate::port::arch::trap::{self, TrapFrame};
use crate::port::arch::{X86, apic, registers};
use crate::port::{counters, memory};
use solo_bare::isa::Isa;
use solo_bare::rtos::{self, Interrupt, Mistake, STACK_OVERFLOW, report};

/// Serves an interrupt or exception. The stubs of all vectors lead here; interrupts are kept out until it returns.
#[unsafe(no_mangle)]
extern "sysv64" fn trap_dispatch(frame: &mut TrapFrame) {
    match frame.vector as u8 {
        vector @ 0..trap::FIRST_INTERRUPT => exception(vector, frame),
        vector @ (apic::TIMER_VECTOR | apic::RESCHEDULE_VECTOR | apic::COUNTER_VECTOR)
            if rtos::overflows::<X86>(frame.stack) =>
        {
            apic::again(vector);
            let instruction = frame.instruction;
            kill(Mistake { name: STACK_OVERFLOW, instruction, address: None }, frame);
        }
        apic::TIMER_VECTOR => serve(Interrupt::Timer),
        apic::RESCHEDULE_VECTOR => serve(Interrupt::Request),
        apic::COUNTER_VECTOR => {
            rtos::counters_interrupt::<X86>();
            serve(Interrupt::Counter);
        }
        apic::STOP_VECTOR => X86::stop(),
        apic::REST_VECTOR => {
            apic::end_of_interrupt();
            rtos::asked_to_rest::<X86>();
        }
        memory::FORGET_VECTOR => {
            memory::forget();
            apic::end_of_interrupt();
        }
        apic::SPURIOUS_VECTOR => {}
        _ => apic::end_of_interrupt(),
    }
}

/// Hands an interrupt to the kernel.
#[inline]
fn serve(interrupt: Interrupt) {
    // Before anything else: the kernel may go on in another thread, which must be interruptible.
    apic::end_of_interrupt();
    rtos::serve::<X86>(interrupt);
}

/// Ends the thread that made a mistake. False where it was no thread, or one inside of the kernel.
fn kill(mistake: Mistake, frame: &mut TrapFrame) -> bool {
    // A call has left where it comes from on the stack.
    let mistake = mistake.told_by(|| rtos::word_at::<X86>(frame.stack));
    let Some(afterlife) = rtos::kill::<X86>(&mistake) else { return false };
    frame.instruction = afterlife.instruction;
    // As after a call.
    frame.stack = afterlife.stack_end - 8;
    frame.general[6] = 0;
    true
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
    let address = matches!(vector, trap::PAGE_FAULT | trap::DOUBLE_FAULT).then(registers::fault_address);
    let mistake = Mistake { name: trap::exception_name(vector), instruction: frame.instruction, address };
    if is_mistake && kill(mistake, frame) {
        return;
    }
    let frame_pointer = (vector != trap::DOUBLE_FAULT).then_some(frame.general[6]);
    report::fault::<X86>(&mistake, &[("error", frame.error), ("stack", frame.stack)], frame_pointer)
}
