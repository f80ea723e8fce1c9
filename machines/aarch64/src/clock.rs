//! The generic timer: a counter that all cores share, and a comparison on each of them.

use crate::arch::registers;
use crate::counters::turn;
use crate::{read_register, write_register};
use alloc::string::String;
use core::sync::atomic::{AtomicU64, Ordering};
use solo_bare::time::Timebase;
use solo_model::{Duration, Frequency};

/// The rate that the host promises with its instruction clock.
const INSTRUCTION_CLOCK: Frequency = Frequency::new(1_000_000_000);
/// The rounds of a loop of two instructions by which the promise is checked.
const ROUNDS: u64 = 100_000;

static RATE: AtomicU64 = AtomicU64::new(0);
static ORIGIN: AtomicU64 = AtomicU64::new(0);

/// Takes the rate of the counter from its register and begins the machine's time. A promised instruction clock is checked.
///
/// # Errors
/// If the register was never set, or the promise does not hold.
pub fn measure(instruction_clock: bool) -> Result<(), String> {
    let rate = Frequency::new(read_register!("cntfrq_el0"));
    if rate.is_zero() {
        return Err(String::from("firmware has not said how fast the generic timer runs"));
    }
    if instruction_clock {
        let begin = registers::time_stamp();
        turn(ROUNDS);
        let passed = registers::time_stamp() - begin;
        if rate != INSTRUCTION_CLOCK || passed.abs_diff(2 * ROUNDS) > ROUNDS / 100 {
            return Err(alloc::format!(
                "the host promised one tick for each instruction, and {} of them take {passed} ticks at {rate}",
                2 * ROUNDS
            ));
        }
    }
    RATE.store(rate.get(), Ordering::Release);
    ORIGIN.store(registers::time_stamp(), Ordering::Release);
    Ok(())
}

/// The machine's time line.
#[inline(always)]
pub fn timebase() -> Timebase {
    let rate = Frequency::new(RATE.load(Ordering::Relaxed));
    match Timebase::new(rate, ORIGIN.load(Ordering::Relaxed)) {
        Some(base) => base,
        None => panic!("the time was asked for before the clock was looked at"),
    }
}

/// Lets this core's timer interrupt once when the counter has come to `tick`.
#[inline(always)]
pub fn interrupt_at(tick: u64) {
    // SAFETY: the timer makes interrupts, which are served.
    unsafe {
        write_register!("cntv_cval_el0", tick);
        write_register!("cntv_ctl_el0", 1);
    }
    registers::synchronize();
}

/// Lets this core's timer interrupt once after `span`.
pub fn interrupt_after(span: Duration) {
    interrupt_at(registers::time_stamp().saturating_add(timebase().ticks(span)));
}

/// Sleeps for `span`, with interrupts let in; the timer of this core must be free. Who only looked at the counter would keep an
/// emulator from its other cores.
pub fn wait(span: Duration) {
    let end = registers::time_stamp().saturating_add(timebase().ticks(span));
    while registers::time_stamp() < end {
        interrupt_at(end);
        registers::wait_for_interrupt();
        registers::disable_interrupts();
    }
    stop_timer();
}

/// Silences the timer.
#[inline(always)]
pub fn stop_timer() {
    // SAFETY: no interrupt comes any more.
    unsafe { write_register!("cntv_ctl_el0", 0) };
    registers::synchronize();
}
