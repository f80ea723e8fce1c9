//! Text for people on the serial line, frames for the host by semihosting; where no host answers that, they take the serial line
//! as well.

use crate::arch::{firmware, registers};
use crate::board::{Board, Conduit};
use core::fmt::{self, Write};
use core::ptr::with_exposed_provenance_mut;
use core::sync::atomic::{AtomicU64, Ordering};
use solo_bare::outcome::ImageExit;

const FLAGS: u64 = 0x18;
const FULL: u32 = 1 << 5;

/// The registers of the PL011; 0 until they are known.
static SERIAL: AtomicU64 = AtomicU64::new(0);
/// One above the host's output, where a host answers; else 0.
static OUTPUT: AtomicU64 = AtomicU64::new(0);
/// Firmware is called as a secure monitor.
static CONDUIT: AtomicU64 = AtomicU64::new(0);

struct Serial;

impl Write for Serial {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let base = SERIAL.load(Ordering::Relaxed);
        if base == 0 {
            return Ok(());
        }
        let register = |offset| with_exposed_provenance_mut::<u32>((base + offset) as usize);
        for byte in text.bytes() {
            // SAFETY: the device tree says that a PL011 is there, which is mapped as a device and touches no memory.
            unsafe {
                while register(FLAGS).read_volatile() & FULL != 0 {
                    registers::pause();
                }
                register(0).write_volatile(byte.into());
            }
        }
        Ok(())
    }
}

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

/// Prints text, whoever else does.
pub fn print(text: fmt::Arguments<'_>) {
    // The serial line takes everything; a formatting error of a value is not worth a panic here.
    let _ = Serial.write_fmt(text);
}

/// Sends bytes to the host. False where none answers.
pub fn send(bytes: &[u8]) -> bool {
    let output = OUTPUT.load(Ordering::Relaxed);
    if output != 0 {
        firmware::write(output - 1, bytes);
    }
    output != 0
}

/// Ends the emulator, or switches the machine off.
pub fn leave(outcome: ImageExit) -> ! {
    if OUTPUT.load(Ordering::Relaxed) != 0 {
        firmware::exit(outcome.exit_status());
    }
    firmware::switch_off(conduit());
    registers::stop()
}
