//! Starting cores, and ending the machine. Its firmware leaves the cores in a loop, from which `park.s` takes them when the image
//! begins; a watchdog resets the machine.

use core::arch::asm;
use core::sync::atomic::{AtomicU64, Ordering};
use solo_bare::board::Board;
use solo_bare::mmio::Registers;
use solo_bare::watchdog;

/// The power manager's registers; 0 until they are known.
static POWER: AtomicU64 = AtomicU64::new(0);

unsafe extern "C" {
    /// For each core one more than the number that it begins with, or 0: `park.s`.
    static mut parked: [u64; 4];
}

/// Where the power manager is.
pub fn expect(board: &Board) {
    POWER.store(board.watchdog, Ordering::Relaxed);
}

/// Lets the core of this affinity go on to `other_core_entry`, with `argument` in x0. False for one that the machine has not.
pub fn start_core(affinity: u64, _entry: u64, argument: u64) -> bool {
    if affinity >= 4 {
        return false;
    }
    // SAFETY: nobody else writes the place. The core reads it without its caches.
    unsafe {
        let place = (&raw mut parked).cast::<u64>().add(affinity as usize);
        place.write_volatile(argument + 1);
        asm!("dc civac, {}", "dsb sy", "sev", in(reg) place, options(nostack));
    }
    true
}

/// Resets the machine, whose firmware stays down then.
pub fn switch_off() {
    by_watchdog(true);
}

/// Resets the machine.
pub fn reset() {
    by_watchdog(false);
}

fn by_watchdog(stays_down: bool) {
    let base = POWER.load(Ordering::Relaxed);
    if base != 0 {
        // SAFETY: the device tree says that they are there; they are mapped as a device and end the machine, which is what is wanted.
        watchdog::reset(unsafe { Registers::at(base) }, stays_down);
    }
}
