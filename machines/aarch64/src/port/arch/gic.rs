//! The Generic Interrupt Controller, version 3 (Arm IHI 0069): interrupts between cores, and those of a core's own timer and
//! counters.

use super::{Arm64, COUNTER, RESCHEDULE, REST, STOP, registers};
use crate::{read_register, write_register};
use solo_bare::board::Board;
use solo_bare::isa::Isa;
use solo_bare::mmio::Registers;
use solo_bare::rtos::Signal;

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

fn at(base: u64) -> Registers {
    // SAFETY: the registers of the controller are mapped as a device, and make it touch no memory.
    unsafe { Registers::at(base) }
}

/// Switches the distributor on: for all cores, once.
pub fn prepare(board: &Board) {
    at(board.distributor).write(DISTRIBUTOR_CONTROL, DISTRIBUTOR_ON);
}

/// Switches this core's part on. False where none of the redistributors is its.
pub fn enable(board: &Board) -> bool {
    let affinity = registers::affinity();
    // In a redistributor's type the four levels lie in a row.
    let own = (affinity >> 32 << 24 | affinity & 0xff_ffff) as u32;
    let mut frames = board.interfaces.clone().step_by(FRAME as usize).map(at);
    let Some(frame) = frames.find(|frame| frame.read(TYPE + 4) == own) else { return false };
    frame.write(WAKER, frame.read(WAKER) & !SLEEPS);
    while frame.read(WAKER) & ASLEEP != 0 {
        Arm64::pause();
    }
    frame.write(GROUP, u32::MAX);
    let own = board.counters.clone().fold(1 << board.timer, |own, counters| own | 1 << counters);
    frame.write(ENABLE, own | 1 << RESCHEDULE | 1 << COUNTER | 1 << REST | 1 << STOP);
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

/// The number of an interrupt that was taken.
#[inline(always)]
pub const fn number(taken: u32) -> u32 {
    taken
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
