//! The local APIC: each core's timer and its interrupts to others (Intel SDM volume 3, chapter 10; AMD APM volume 2,
//! chapter 16).
//!
//! ```text
//!                    registers            identity   a command to another core
//!   xAPIC            by memory            8 bits     two writes, once the one before is on its way
//!   x2APIC           model-specific ones  32 bits    one write
//!
//!                    interrupts
//!   one-shot         when a count of the APIC's own clock is over
//!   TSC deadline     when the time stamp counter has come to a value
//! ```
//!
//! The boot core takes the better of what CPUID offers, and all cores use the same.

use crate::port::arch::registers::{self, msr};
use crate::port::arch::{X86, port};
use core::sync::atomic::{AtomicBool, Ordering};
use solo_bare::isa::Isa;
use solo_model::Duration;

/// The timer's interrupt.
pub const TIMER_VECTOR: u8 = 0xf0;
/// Another core asks this one to schedule anew.
pub const RESCHEDULE_VECTOR: u8 = 0xf1;
/// Every core is to stop.
pub const STOP_VECTOR: u8 = 0xf2;
/// The run is over: every core leaves what it is at.
pub const REST_VECTOR: u8 = 0xf3;
/// A counter of the core has overflowed.
pub const COUNTER_VECTOR: u8 = 0xf4;
/// An interrupt that was withdrawn on its way; it is not acknowledged.
pub const SPURIOUS_VECTOR: u8 = 0xff;

const BASE: u64 = 0xfee0_0000;
const IDENTITY: u64 = 0x20;
const END_OF_INTERRUPT: u64 = 0xb0;
const SPURIOUS: u64 = 0xf0;
/// What is being served of vectors 0xe0 to 0xff, a bit each.
const IN_SERVICE_TOP: u64 = 0x170;
const COMMAND_LOW: u64 = 0x300;
const COMMAND_HIGH: u64 = 0x310;
const TIMER: u64 = 0x320;
const COUNTERS: u64 = 0x340;
const INITIAL_COUNT: u64 = 0x380;
const CURRENT_COUNT: u64 = 0x390;
const DIVIDE: u64 = 0x3e0;

const DELIVERY_PENDING: u32 = 1 << 12;
const DIVIDE_BY_ONE: u32 = 0b1011;
const MASKED: u32 = 1 << 16;
const TSC_DEADLINE: u32 = 0b10 << 17;

/// In the register of the base: the APIC is on.
const ON: u64 = 1 << 11;
/// In the register of the base: it is an x2APIC.
const EXTENDED: u64 = 1 << 10;
/// The x2APIC's first register; the others follow as they do in memory, a sixteenth as far apart.
const EXTENDED_REGISTERS: u32 = 0x800;
/// The largest identity that an xAPIC can be told; the one above stands for all.
const MOST_IDENTITY: u32 = 0xfe;

static IS_EXTENDED: AtomicBool = AtomicBool::new(false);
static HAS_DEADLINE: AtomicBool = AtomicBool::new(false);

/// True where registers are model-specific ones, since [`choose`].
#[inline(always)]
pub fn is_extended() -> bool {
    IS_EXTENDED.load(Ordering::Relaxed)
}

/// True where the timer compares the time stamp counter, since [`choose`].
#[inline(always)]
pub fn has_deadline() -> bool {
    HAS_DEADLINE.load(Ordering::Relaxed)
}

/// Chooses what all cores will use. The boot core asks, before any core enables its APIC.
pub fn choose() {
    let offered = registers::cpuid(1)[2];
    // SAFETY: every x86-64 processor has the register.
    let base = unsafe { registers::read_msr(msr::APIC_BASE) };
    // Firmware that had more cores to start than an xAPIC can name has left x2APICs behind; there is no way back.
    IS_EXTENDED.store(offered & 1 << 21 != 0 || base & EXTENDED != 0, Ordering::Release);
    HAS_DEADLINE.store(offered & 1 << 24 != 0, Ordering::Release);
}

#[inline(always)]
const fn extended(register: u64) -> u32 {
    EXTENDED_REGISTERS + (register >> 4) as u32
}

#[inline(always)]
fn read(register: u64) -> u32 {
    // SAFETY: the mode is the core's own since `enable`. As memory, the page of the local APIC is mapped uncached on
    // every core. Reading has no side effects.
    unsafe {
        if is_extended() {
            registers::read_msr(extended(register)) as u32
        } else {
            ((BASE + register) as *const u32).read_volatile()
        }
    }
}

#[inline(always)]
fn write(register: u64, value: u32) {
    // SAFETY: as for `read`; the registers written here make the APIC touch no memory.
    unsafe {
        if is_extended() {
            registers::write_msr(extended(register), value.into());
        } else {
            ((BASE + register) as *mut u32).write_volatile(value);
        }
    }
}

/// The identity of the core that asks.
pub fn identity() -> u32 {
    if is_extended() { read(IDENTITY) } else { read(IDENTITY) >> 24 }
}

/// True for an identity to which interrupts can be sent.
pub fn reaches(identity: u32) -> bool {
    identity != u32::MAX && (is_extended() || identity <= MOST_IDENTITY)
}

/// Switches this core's APIC on, with its timer silent.
pub fn enable() {
    // SAFETY: every x86-64 processor has the register; its bits for the mode are set one after the other, as they must
    // be (Intel SDM volume 3, 10.12.5), the rest stays.
    unsafe {
        let base = registers::read_msr(msr::APIC_BASE) | ON;
        registers::write_msr(msr::APIC_BASE, base);
        if is_extended() {
            registers::write_msr(msr::APIC_BASE, base | EXTENDED);
        }
    }
    write(SPURIOUS, 0x100 | u32::from(SPURIOUS_VECTOR));
    write(DIVIDE, DIVIDE_BY_ONE);
    if has_deadline() {
        write(TIMER, TSC_DEADLINE | u32::from(TIMER_VECTOR));
        registers::fence();
    } else {
        write(TIMER, MASKED | u32::from(TIMER_VECTOR));
    }
    stop_timer();
}

/// Silences the interrupt controllers of the first PC, which would use the vectors of exceptions.
pub fn silence_legacy_controllers() {
    // SAFETY: masks every line of both controllers; they touch no memory.
    unsafe {
        port::write(0x21, 0xff);
        port::write(0xa1, 0xff);
    }
}

/// Acknowledges the interrupt that is being served.
#[inline(always)]
pub fn end_of_interrupt() {
    write(END_OF_INTERRUPT, 0);
}

/// Puts an interrupt off whose service could not begin: it comes again when interrupts are let in.
pub fn again(vector: u8) {
    end_of_interrupt();
    command(0, 0x4_4000 | u32::from(vector));
}

/// The interrupt of this image that the processor took and whose service has not been acknowledged.
pub fn in_service() -> Option<u8> {
    let served = read(IN_SERVICE_TOP);
    [TIMER_VECTOR, RESCHEDULE_VECTOR, STOP_VECTOR, REST_VECTOR, COUNTER_VECTOR]
        .into_iter()
        .find(|vector| served >> (vector & 31) & 1 != 0)
}

/// Lets the timer interrupt once after `ticks` of its clock, where it compares no time stamps; 0 silences it.
#[inline(always)]
pub fn start_timer(ticks: u32) {
    write(TIMER, u32::from(TIMER_VECTOR));
    write(INITIAL_COUNT, ticks);
}

/// Lets the timer interrupt once when the time stamp counter has come to `tick`, where it compares them.
#[inline(always)]
pub fn set_deadline(tick: u64) {
    // SAFETY: CPUID offered the register. Zero would silence the timer.
    unsafe { registers::write_msr(msr::TSC_DEADLINE, tick.max(1)) };
}

/// Lets this core's counters interrupt.
pub fn let_counters_interrupt() {
    write(COUNTERS, COUNTER_VECTOR.into());
}

/// Keeps the interrupts of this core's counters out.
pub fn silence_counters() {
    write(COUNTERS, MASKED | u32::from(COUNTER_VECTOR));
}

/// Silences the timer.
#[inline(always)]
pub fn stop_timer() {
    if has_deadline() {
        // SAFETY: CPUID offered the register.
        unsafe { registers::write_msr(msr::TSC_DEADLINE, 0) };
    } else {
        start_timer(0);
    }
}

/// Lets the timer count down from its maximum without interrupt, to be read by [`timer_count`].
pub fn start_silent_timer() {
    write(TIMER, MASKED | u32::from(TIMER_VECTOR));
    write(INITIAL_COUNT, u32::MAX);
}

/// What the timer has left to count.
pub fn timer_count() -> u32 {
    read(CURRENT_COUNT)
}

/// Sends `vector` to the core with APIC identity `to`.
#[inline(always)]
pub fn send(to: u32, vector: u8) {
    command(to, 0x4000 | u32::from(vector));
}

/// Sends `vector` to every core but this one.
pub fn send_to_others(vector: u8) {
    command(0, 0xc_4000 | u32::from(vector));
}

/// Resets every other core and lets it start at physical page `page` (INIT, then start-up; Intel SDM volume 3,
/// 8.4.4). `wait` spends time; `all_came` tells whether a second start-up is needless.
pub fn start_others(page: u8, wait: impl Fn(Duration), all_came: impl Fn() -> bool) {
    command(0, 0xc_4500);
    wait(Duration::from_millis(10));
    command(0, 0xc_4600 | u32::from(page));
    for _ in 0..10 {
        if all_came() {
            return;
        }
        wait(Duration::from_micros(100));
    }
    command(0, 0xc_4600 | u32::from(page));
}

/// Sends `low`, the lower half of the command register, to the core `to` or to those that a shorthand in it names.
#[inline(always)]
fn command(to: u32, low: u32) {
    if is_extended() {
        // What was written to memory must be seen by who is interrupted; this write waits for no other (Intel SDM
        // volume 3, 10.12.3).
        registers::fence();
        // SAFETY: the mode is the core's own; the command makes the APIC touch no memory.
        unsafe { registers::write_msr(extended(COMMAND_LOW), u64::from(to) << 32 | u64::from(low)) };
        return;
    }
    while read(COMMAND_LOW) & DELIVERY_PENDING != 0 {
        X86::pause();
    }
    write(COMMAND_HIGH, to << 24);
    write(COMMAND_LOW, low);
}
