//! The local APIC: each core's timer and its interrupts to others (Intel SDM volume 3, chapter 10).
//!
//! Registers are reached by memory, the mode that every emulator has.

use crate::arch::port;
use crate::arch::registers::{self, msr};
use solo_model::Duration;

/// The timer's interrupt.
pub const TIMER_VECTOR: u8 = 0xf0;
/// Another core asks this one to schedule anew.
pub const RESCHEDULE_VECTOR: u8 = 0xf1;
/// Every core is to stop.
pub const STOP_VECTOR: u8 = 0xf2;
/// The run is over: every core leaves what it is at.
pub const REST_VECTOR: u8 = 0xf3;
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
const INITIAL_COUNT: u64 = 0x380;
const CURRENT_COUNT: u64 = 0x390;
const DIVIDE: u64 = 0x3e0;

const DELIVERY_PENDING: u32 = 1 << 12;
const DIVIDE_BY_ONE: u32 = 0b1011;
const MASKED: u32 = 1 << 16;

#[inline(always)]
fn read(register: u64) -> u32 {
    // SAFETY: the page of the local APIC is mapped uncached on every core, and reading has no side effects.
    unsafe { ((BASE + register) as *const u32).read_volatile() }
}

#[inline(always)]
fn write(register: u64, value: u32) {
    // SAFETY: as for `read`; the registers written here make the APIC touch no memory.
    unsafe { ((BASE + register) as *mut u32).write_volatile(value) };
}

/// The identity of the core that asks.
pub fn identity() -> u32 {
    read(IDENTITY) >> 24
}

/// Switches this core's APIC on, with its timer silent.
pub fn enable() {
    // SAFETY: every x86-64 processor has the register; bit 11 switches the APIC on, the rest stays.
    unsafe {
        let base = registers::read_msr(msr::APIC_BASE);
        registers::write_msr(msr::APIC_BASE, base | 1 << 11);
    }
    write(SPURIOUS, 0x100 | u32::from(SPURIOUS_VECTOR));
    write(DIVIDE, DIVIDE_BY_ONE);
    write(TIMER, MASKED | u32::from(TIMER_VECTOR));
    write(INITIAL_COUNT, 0);
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
    [TIMER_VECTOR, RESCHEDULE_VECTOR, STOP_VECTOR, REST_VECTOR]
        .into_iter()
        .find(|vector| served >> (vector & 31) & 1 != 0)
}

/// Lets the timer interrupt once after `ticks` of its clock; 0 silences it.
#[inline(always)]
pub fn start_timer(ticks: u32) {
    write(TIMER, u32::from(TIMER_VECTOR));
    write(INITIAL_COUNT, ticks);
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
    command(to << 24, 0x4000 | u32::from(vector));
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

#[inline(always)]
fn command(high: u32, low: u32) {
    while read(COMMAND_LOW) & DELIVERY_PENDING != 0 {
        registers::pause();
    }
    write(COMMAND_HIGH, high);
    write(COMMAND_LOW, low);
}
