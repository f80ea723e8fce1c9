//! The Generic Interrupt Controller, version 3 (Arm IHI 0069): interrupts between cores, and those of a core's own timer and
//! counters.

use super::{Arm64, registers};
use crate::board::Board;
use crate::{read_register, write_register};
use core::ptr::with_exposed_provenance_mut;
use solo_bare::isa::Isa;
use solo_bare::rtos::Signal;

/// The interrupts between cores: those that software makes are the first ones.
pub const RESCHEDULE: u32 = Signal::Reschedule as u32;
pub const COUNTER: u32 = Signal::Counter as u32;
pub const REST: u32 = Signal::Rest as u32;
pub const STOP: u32 = Signal::Stop as u32;
/// No interrupt was waiting.
pub const NONE: u32 = 1020;

const DISTRIBUTOR_CONTROL: u64 = 0;
/// Both groups, and routing by affinity.
const DISTRIBUTOR_ON: u32 = 0b1_0011;

/// The bytes of a redistributor: its own page and that of a core's own interrupts, 64 KiB each.
const FRAME: u64 = 0x2_0000;
const OWN_INTERRUPTS: u64 = 0x1_0000;
const TYPE: u64 = 8;
const WAKER: u64 = 0x14;
const SLEEPS: u32 = 1 << 1;
const ASLEEP: u32 = 1 << 2;
const GROUP: u64 = OWN_INTERRUPTS + 0x80;
const ENABLE: u64 = OWN_INTERRUPTS + 0x100;

fn read(address: u64) -> u32 {
    // SAFETY: the registers of the controller are mapped as a device; reading those that are read here has no effect.
    unsafe { with_exposed_provenance_mut::<u32>(address as usize).read_volatile() }
}

fn write(address: u64, value: u32) {
    // SAFETY: as above; they make the controller touch no memory.
    unsafe { with_exposed_provenance_mut::<u32>(address as usize).write_volatile(value) };
}

/// Switches the distributor on: for all cores, once.
pub fn prepare(board: &Board) {
    write(board.distributor + DISTRIBUTOR_CONTROL, DISTRIBUTOR_ON);
}

/// Switches this core's part on. False where none of the redistributors is its.
pub fn enable(board: &Board) -> bool {
    let affinity = registers::affinity();
    // In a redistributor's type the four levels lie in a row.
    let own = (affinity >> 32 << 24 | affinity & 0xff_ffff) as u32;
    let mut frames = board.redistributors.clone().step_by(FRAME as usize);
    let Some(frame) = frames.find(|frame| read(frame + TYPE + 4) == own) else { return false };
    write(frame + WAKER, read(frame + WAKER) & !SLEEPS);
    while read(frame + WAKER) & ASLEEP != 0 {
        Arm64::pause();
    }
    write(frame + GROUP, u32::MAX);
    let own = 1 << board.timer | board.counters.map_or(0, |counters| 1 << counters);
    write(frame + ENABLE, own | 1 << RESCHEDULE | 1 << COUNTER | 1 << REST | 1 << STOP);
    let by_registers = read_register!("icc_sre_el1") | 1;
    // SAFETY: the handlers are installed, and interrupts still kept out by the processor.
    unsafe {
        write_register!("icc_sre_el1", by_registers);
        registers::synchronize();
        write_register!("icc_pmr_el1", 0xff);
        write_register!("icc_bpr1_el1", 0);
        write_register!("icc_igrpen1_el1", 1);
    }
    registers::synchronize();
    true
}

/// Takes the interrupt that is waiting: its number, or [`NONE`] and above.
#[inline(always)]
pub fn take() -> u32 {
    let number = read_register!("icc_iar1_el1") as u32;
    // What was written before the interrupt was sent is seen from here on.
    registers::publish();
    number
}

/// The interrupt `number` has been served.
#[inline(always)]
pub fn end_of_interrupt(number: u32) {
    // SAFETY: it was taken.
    unsafe { write_register!("icc_eoir1_el1", u64::from(number)) };
    registers::synchronize();
}

/// Interrupts the core of this affinity.
#[inline(always)]
pub fn send(affinity: u64, signal: Signal) {
    let others = (affinity >> 8 & 0xff) << 16 | (affinity >> 16 & 0xff) << 32 | (affinity >> 32 & 0xff) << 48;
    let (range, bit) = (affinity >> 4 & 0xf, affinity & 0xf);
    command(others | range << 44 | (signal as u64) << 24 | 1 << bit);
}

/// Interrupts every core but this one.
pub fn send_to_others(signal: Signal) {
    command(1 << 40 | (signal as u64) << 24);
}

#[inline(always)]
fn command(value: u64) {
    // What was written to memory must be seen by who is interrupted.
    registers::publish();
    // SAFETY: interrupts cores, which have handlers for it.
    unsafe { write_register!("icc_sgi1r_el1", value) };
    registers::synchronize();
}
