//! The machine's time line, and how a core waits on it.

use crate::isa::Isa;
use crate::time::Timebase;
use alloc::string::String;
use core::sync::atomic::{AtomicU64, Ordering};
use solo_model::{Duration, Frequency};

/// The rate that the host promises with its instruction clock: one tick for each instruction and nanosecond.
pub const INSTRUCTION_CLOCK: Frequency = Frequency::new(1_000_000_000);

/// The rounds of a loop of two instructions by which the promise is tried.
const ROUNDS: u64 = 100_000;

static RATE: AtomicU64 = AtomicU64::new(0);
static ORIGIN: AtomicU64 = AtomicU64::new(0);

/// The clock of a machine, and the timer of each core.
pub trait Clock: Isa {
    /// Finds out how fast the clocks run, and [begins](begin) the machine's time; `instructions`: the host promises
    /// [`INSTRUCTION_CLOCK`].
    ///
    /// # Errors
    /// A sentence, where they can't be used.
    fn measure_clocks(instructions: bool) -> Result<(), String>;

    /// Lets the timer interrupt once when the clock has come to `tick`, or earlier.
    fn interrupt_at(tick: u64);

    /// Lets the timer interrupt once after `span`, or earlier.
    fn interrupt_after(span: Duration) {
        Self::interrupt_at(Self::time_stamp().saturating_add(timebase().ticks(span)));
    }

    /// Silences the timer.
    fn stop_timer();

    /// The rate of the timer, where it has one of its own.
    fn timer_rate() -> Frequency {
        timebase().rate()
    }
}

/// Tries the host's promise of [`INSTRUCTION_CLOCK`] by a loop, on a clock that says to have `rate`.
///
/// # Errors
/// A sentence, where the promise does not hold.
pub fn try_promise<I: Isa>(rate: Frequency) -> Result<(), String> {
    let begin = I::time_stamp();
    I::turn(ROUNDS);
    let (passed, instructions) = (I::time_stamp() - begin, 2 * ROUNDS);
    if rate == INSTRUCTION_CLOCK && passed.abs_diff(instructions) <= ROUNDS / 100 {
        return Ok(());
    }
    Err(alloc::format!(
        "the host promised one tick for each instruction, and {instructions} of them take {passed} ticks at {rate}"
    ))
}

/// Begins the machine's time, on a clock of this rate.
pub fn begin<I: Isa>(rate: Frequency) {
    RATE.store(rate.get(), Ordering::Release);
    ORIGIN.store(I::time_stamp(), Ordering::Release);
}

/// What the ticks of the clock mean.
#[inline(always)]
pub fn timebase() -> Timebase {
    let rate = Frequency::new(RATE.load(Ordering::Relaxed));
    match Timebase::new(rate, ORIGIN.load(Ordering::Relaxed)) {
        Some(base) => base,
        None => panic!("the time was asked for before the clocks were measured"),
    }
}

/// Sleeps for `span`, with interrupts let in; the timer of this core must be free. Who only looked at the clock would keep an
/// emulator from its other cores.
pub fn wait<C: Clock>(span: Duration) {
    let end = C::time_stamp().saturating_add(timebase().ticks(span));
    while C::time_stamp() < end {
        C::interrupt_at(end);
        C::wait_for_interrupt();
        C::disable_interrupts();
    }
    C::stop_timer();
}
