//! Its interrupt controller, a GIC-400.

use super::{COUNTER, RESCHEDULE, REST, STOP, registers};
use core::sync::atomic::{AtomicU64, Ordering};
use solo_bare::board::Board;
use solo_bare::gic2::Gic2;
pub use solo_bare::gic2::NONE;
use solo_bare::mmio::Registers;
use solo_bare::rtos::Signal;

/// The distributor and the interface; 0 until they are known.
static DISTRIBUTOR: AtomicU64 = AtomicU64::new(0);
static INTERFACE: AtomicU64 = AtomicU64::new(0);

#[inline(always)]
fn controller() -> Gic2 {
    let [distributor, interface] = [&DISTRIBUTOR, &INTERFACE].map(|base| base.load(Ordering::Relaxed));
    // SAFETY: the device tree says that they are there, and the first interrupt comes after `prepare`. They are mapped as a device,
    // and make the controller touch no memory.
    unsafe { Gic2::new(Registers::at(distributor), Registers::at(interface)) }
}

/// Switches the distributor on: for all cores, once.
pub fn prepare(board: &Board) {
    DISTRIBUTOR.store(board.distributor, Ordering::Relaxed);
    INTERFACE.store(board.interfaces.start, Ordering::Relaxed);
    controller().prepare();
}

/// Switches this core's part on. The board's counters have interrupts that are not a core's own by themselves, one for each core; QEMU's
/// model of it has one of each core's own.
pub fn enable(board: &Board) -> bool {
    let counters = board.counters.clone().nth(registers::affinity() as usize);
    let of_counters =
        board.counters.clone().filter(|number| *number < 32).fold(0, |own, number| own | 1 << number);
    let own = of_counters | 1 << board.timer | 1 << RESCHEDULE | 1 << COUNTER | 1 << REST | 1 << STOP;
    controller().enable(own, counters);
    true
}

/// Takes the interrupt that is waiting: its number, or [`NONE`] and above, and above its ten bits who sent it.
#[inline(always)]
pub fn take() -> u32 {
    let taken = controller().take();
    // What was written before the interrupt was sent is seen from here on.
    registers::publish();
    taken
}

/// The number of an interrupt that was taken.
#[inline(always)]
pub const fn number(taken: u32) -> u32 {
    Gic2::number(taken)
}

/// The interrupt that was taken has been served.
#[inline(always)]
pub fn end_of_interrupt(taken: u32) {
    controller().end_of_interrupt(taken);
    registers::publish();
}

/// Interrupts the core of this affinity, which is the number of its interface.
#[inline(always)]
pub fn send(affinity: u64, signal: Signal) {
    // What was written to memory must be seen by who is interrupted.
    registers::publish();
    controller().send(1 << (affinity & 7), signal as u32);
}

/// Interrupts every core but this one.
pub fn send_to_others(signal: Signal) {
    registers::publish();
    controller().send_to_others(signal as u32);
}
