//! How fast the clocks run.

use crate::port::arch::{X86, apic, port};
use alloc::string::{String, ToString};
use core::sync::atomic::{AtomicU64, Ordering};
use solo_bare::isa::Isa;
use solo_bare::rtos::clock::{self, Clock, INSTRUCTION_CLOCK, timebase};
use solo_bare::time::{Bracket, Measured, fast_rate, slow_rate};
use solo_model::{Duration, Frequency};

/// The rate of the programmable interval timer, fixed since the first PC.
const INTERVAL_TIMER: Frequency = Frequency::new(1_193_182);
const INTERVAL_CHANNEL_2: u16 = 0x42;
const INTERVAL_COMMAND: u16 = 0x43;
const SPEAKER: u16 = 0x61;
/// Latches status and count of channel 2.
const INTERVAL_LATCH: u8 = 0xc8;
/// In the status: the channel has counted down.
const INTERVAL_OVER: u8 = 1 << 7;

/// How often the clocks are measured until a measurement is fine; then the best counts.
const ATTEMPTS: usize = 24;

/// The rate of the local APIC timer; that of the time stamp counter where the timer compares it.
static TIMER_RATE: AtomicU64 = AtomicU64::new(0);

/// Why the clocks can't be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ClockError {
    /// Every measurement was disturbed.
    Disturbed,
    /// The host promised an instruction clock, and this is not one.
    NoInstructionClock(Frequency),
}

impl core::fmt::Display for ClockError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Disturbed => write!(f, "the clocks cannot be measured: every attempt was disturbed"),
            Self::NoInstructionClock(found) => {
                write!(
                    f,
                    "the host promised one tick per nanosecond, and the time stamp counter runs at {found}"
                )
            }
        }
    }
}

/// Measures the clocks of this core and begins the machine's time. The time stamp counters of all cores are taken to agree, as
/// they do on every processor with an invariant counter.
fn measure(instruction_clock: bool) -> Result<(), ClockError> {
    // A promise is only checked; everything else is measured as finely as the interval timer allows.
    let window = Duration::from_millis(if instruction_clock { 2 } else { 40 });
    let best = |measure: &dyn Fn() -> Option<Measured>| {
        Measured::best((0..ATTEMPTS).map(|_| measure())).ok_or(ClockError::Disturbed)
    };
    let measured = best(&|| measure_tsc(window))?;
    let tsc = if instruction_clock { promised(measured.rate)? } else { measured.rate };
    let (timer, timer_doubt_ppm) = if apic::has_deadline() {
        (tsc, 0)
    } else {
        let measured = best(&|| measure_timer(tsc, window))?;
        (if instruction_clock { promised(measured.rate)? } else { measured.rate }, measured.doubt_ppm)
    };
    let doubt_ppm = measured.doubt_ppm.max(timer_doubt_ppm);
    if doubt_ppm > Measured::FINE_PPM {
        solo_bare::say!(
            X86,
            "the clocks may be wrong by {doubt_ppm} parts in a million: the machine was disturbed"
        );
    }
    TIMER_RATE.store(timer.get(), Ordering::Release);
    clock::begin::<X86>(tsc);
    Ok(())
}

fn promised(measured: Frequency) -> Result<Frequency, ClockError> {
    let off = measured.get().abs_diff(INSTRUCTION_CLOCK.get());
    if off > INSTRUCTION_CLOCK.get() / 1000 {
        return Err(ClockError::NoInstructionClock(measured));
    }
    Ok(INSTRUCTION_CLOCK)
}

impl Clock for X86 {
    fn measure_clocks(instructions: bool) -> Result<(), String> {
        measure(instructions).map_err(|error| error.to_string())
    }

    /// Earlier where the span is longer than the timer holds.
    #[inline(always)]
    fn interrupt_at(tick: u64) {
        if apic::has_deadline() {
            apic::set_deadline(tick);
        } else {
            apic::start_timer(timer_ticks(tick.saturating_sub(Self::time_stamp())));
        }
    }

    fn interrupt_after(span: Duration) {
        let ticks = timebase().ticks(span);
        if apic::has_deadline() {
            apic::set_deadline(Self::time_stamp().saturating_add(ticks));
        } else {
            apic::start_timer(timer_ticks(ticks));
        }
    }

    #[inline(always)]
    fn stop_timer() {
        apic::stop_timer();
    }

    fn timer_rate() -> Frequency {
        Frequency::new(TIMER_RATE.load(Ordering::Relaxed))
    }
}

/// Ticks of the local APIC timer that last so many of the time stamp counter; at least 1, and at most what the timer
/// holds.
#[inline(always)]
fn timer_ticks(ticks: u64) -> u32 {
    let (timer, tsc) = (TIMER_RATE.load(Ordering::Relaxed), timebase().rate().get());
    let ticks = if timer == tsc {
        ticks
    } else {
        (u128::from(ticks) * u128::from(timer)).div_ceil(u128::from(tsc).max(1)).min(u128::from(u64::MAX))
            as u64
    };
    ticks.clamp(1, u64::from(u32::MAX)) as u32
}

/// Lets some time pass between two looks at a clock: looking is slow under an emulator.
fn look_away() {
    for count in 0..1000 {
        core::hint::black_box(count);
    }
}

/// The narrowest of several brackets; `None` where one can't be had.
fn narrowest(read: impl Fn() -> Option<Bracket>) -> Option<Bracket> {
    (0..11).try_fold(read()?, |best, _| Some(best.narrower(read()?)))
}

/// The time stamp counter's rate by the interval timer's channel 2, over `window`, at most 50 ms.
fn measure_tsc(window: Duration) -> Option<Measured> {
    // SAFETY: the interval timer and the speaker's gate touch no memory. Gate on, speaker off; channel 2 counts
    // down once from its maximum.
    unsafe {
        port::write(SPEAKER, port::read(SPEAKER) & !2 | 1);
        port::write(INTERVAL_COMMAND, 0xb0);
        port::write(INTERVAL_CHANNEL_2, 0xff);
        port::write(INTERVAL_CHANNEL_2, 0xff);
    }
    let first = narrowest(read_interval)?;
    let window = INTERVAL_TIMER.get() * window.get() / 1_000_000_000;
    while read_interval()?.slow.saturating_sub(first.slow) < window {
        look_away();
    }
    fast_rate(first, narrowest(read_interval)?, INTERVAL_TIMER)
}

/// What channel 2 has counted since it was started. The bracket holds the moment at which the count is latched;
/// reading what was latched may take as long as a hypervisor likes.
///
/// `None` once the channel has counted down: its count has begun anew, and how often nobody knows. So it is where a host
/// has stopped the emulator for a while.
fn read_interval() -> Option<Bracket> {
    let before = X86::time_stamp();
    // SAFETY: latches status and count; touches no memory.
    unsafe { port::write(INTERVAL_COMMAND, INTERVAL_LATCH) };
    let after = X86::time_stamp();
    // SAFETY: reads what was latched: the status, then the count, low byte first.
    let [status, low, high] = core::array::from_fn(|_| unsafe { port::read(INTERVAL_CHANNEL_2) });
    let left = u16::from_le_bytes([low, high]);
    let over = status & INTERVAL_OVER != 0;
    (!over).then_some(Bracket { before, slow: u64::from(u16::MAX - left), after })
}

/// The local APIC timer's rate by the time stamp counter, over `window`.
fn measure_timer(tsc: Frequency, window: Duration) -> Option<Measured> {
    let read = || {
        let before = X86::time_stamp();
        let slow = u64::from(u32::MAX - apic::timer_count());
        Some(Bracket { before, slow, after: X86::time_stamp() })
    };
    apic::start_silent_timer();
    let first = narrowest(read)?;
    let end = first.after + tsc.get() / 1_000_000 * window.get() / 1000;
    while X86::time_stamp() < end {
        look_away();
    }
    let rate = slow_rate(first, narrowest(read)?, tsc);
    apic::start_timer(0);
    rate
}
