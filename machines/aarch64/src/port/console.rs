//! Text for people on the serial line, frames for the host by semihosting; where no host answers that, they take the serial line
//! as well.

use crate::board::{Board, Conduit};
use crate::port::arch::{Arm64, firmware};
use core::ptr::with_exposed_provenance_mut;
use core::sync::atomic::{AtomicU64, Ordering};
use solo_bare::isa::Isa;
use solo_bare::outcome::ImageExit;
use solo_bare::rtos::Line;

const FLAGS: u64 = 0x18;
const FULL: u32 = 1 << 5;

/// The registers of the PL011; 0 until they are known.
static SERIAL: AtomicU64 = AtomicU64::new(0);
/// One above the host's output, where a host answers; else 0.
static OUTPUT: AtomicU64 = AtomicU64::new(0);
/// Firmware is called as a secure monitor.
static CONDUIT: AtomicU64 = AtomicU64::new(0);

/// Text goes to the board's serial line from here on, frames to the host where one answers.
pub fn prepare(board: &Board) {
    SERIAL.store(board.serial, Ordering::Relaxed);
    CONDUIT.store(u64::from(board.firmware == Conduit::Smc), Ordering::Relaxed);
    if board.semihosting {
        OUTPUT.store(firmware::open_output().wrapping_add(1), Ordering::Relaxed);
    }
}

/// How firmware is called.
pub fn conduit() -> Conduit {
    if CONDUIT.load(Ordering::Relaxed) == 0 { Conduit::Hvc } else { Conduit::Smc }
}

impl Line for Arm64 {
    fn put(byte: u8) {
        let base = SERIAL.load(Ordering::Relaxed);
        if base == 0 {
            return;
        }
        let register = |offset| with_exposed_provenance_mut::<u32>((base + offset) as usize);
        // SAFETY: the device tree says that a PL011 is there, which is mapped as a device and touches no memory.
        unsafe {
            while register(FLAGS).read_volatile() & FULL != 0 {
                Self::pause();
            }
            register(0).write_volatile(byte.into());
        }
    }

    /// By semihosting, where the host answers.
    fn send(bytes: &[u8]) -> bool {
        let output = OUTPUT.load(Ordering::Relaxed);
        if output != 0 {
            firmware::write(output - 1, bytes);
        }
        output != 0
    }

    /// Switches the machine off where no host answers.
    fn leave(outcome: ImageExit) -> ! {
        if OUTPUT.load(Ordering::Relaxed) != 0 {
            firmware::exit(outcome.exit_status());
        }
        firmware::switch_off(conduit());
        Self::stop()
    }
}
