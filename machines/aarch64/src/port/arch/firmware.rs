//! Calls of firmware that starts cores and ends the machine (PSCI, Arm DEN0022).

use core::arch::asm;
use core::sync::atomic::{AtomicBool, Ordering};
use solo_bare::board::{Board, Conduit};

const CORE_ON: u64 = 0xc400_0003;
const SYSTEM_OFF: u64 = 0x8400_0008;
const SYSTEM_RESET: u64 = 0x8400_0009;

/// It is called as a secure monitor.
static IS_MONITOR: AtomicBool = AtomicBool::new(false);

/// Firmware is called as `board` says from here on.
pub fn expect(board: &Board) {
    IS_MONITOR.store(board.firmware == Some(Conduit::Smc), Ordering::Relaxed);
}

fn call(function: u64, arguments: [u64; 3]) -> i64 {
    let [first, second, third] = arguments;
    let mut result = function;
    // SAFETY: the device tree names the conduit; the calls that are made here start a core where its code is, or end the machine.
    unsafe {
        match IS_MONITOR.load(Ordering::Relaxed) {
            false => {
                asm!("hvc #0", inout("x0") result, inout("x1") first => _, inout("x2") second => _,
                inout("x3") third => _, clobber_abi("C"), options(nostack))
            }
            true => {
                asm!("smc #0", inout("x0") result, inout("x1") first => _, inout("x2") second => _,
                inout("x3") third => _, clobber_abi("C"), options(nostack))
            }
        }
    }
    result as i64
}

/// Starts the core of this affinity at physical address `entry`, with `argument` in x0. False where firmware refuses.
pub fn start_core(affinity: u64, entry: u64, argument: u64) -> bool {
    call(CORE_ON, [affinity, entry, argument]) == 0
}

/// Switches the machine off.
pub fn switch_off() {
    call(SYSTEM_OFF, [0; 3]);
}

/// Resets the machine.
pub fn reset() {
    call(SYSTEM_RESET, [0; 3]);
}
