//! Text for people on the serial line, frames for the host by semihosting; where no host answers that, they take the serial line
//! as well.

use crate::port::MODEL;
use crate::port::arch::{Arm64, firmware, semihosting};
use core::sync::atomic::{AtomicU64, Ordering};
use solo_bare::board::{Board, BoardModel};
use solo_bare::isa::Isa;
use solo_bare::mmio::Registers;
use solo_bare::outcome::ImageExit;
use solo_bare::pl011;
use solo_bare::rtos::Line;

/// The registers of the PL011; 0 until they are known.
static SERIAL: AtomicU64 = AtomicU64::new(0);
/// One above the host's output, where a host answers; else 0.
static OUTPUT: AtomicU64 = AtomicU64::new(0);

/// What the line's clock runs at where firmware's settings (`init_uart_clock`) say nothing else, and how fast it sends then.
const PI_CLOCK_HZ: u32 = 48_000_000;
const BAUD: u32 = 115_200;

/// Text goes to the board's serial line from here on, frames to the host where one answers.
pub fn prepare(board: &Board) {
    SERIAL.store(board.serial, Ordering::Relaxed);
    if let (BoardModel::RaspberryPi4, Some(line)) = (MODEL, serial()) {
        pl011::prepare(line, PI_CLOCK_HZ, BAUD);
    }
    if board.semihosting {
        OUTPUT.store(semihosting::open_output().wrapping_add(1), Ordering::Relaxed);
    }
}

/// The serial line, once it is known.
fn serial() -> Option<Registers> {
    let base = SERIAL.load(Ordering::Relaxed);
    // SAFETY: the device tree says that a PL011 is there, which is mapped as a device and touches no memory.
    (base != 0).then(|| unsafe { Registers::at(base) })
}

impl Line for Arm64 {
    fn put(byte: u8) {
        if let Some(line) = serial() {
            pl011::put(line, byte, Self::pause);
        }
    }

    /// By semihosting, where the host answers.
    fn send(bytes: &[u8]) -> bool {
        let output = OUTPUT.load(Ordering::Relaxed);
        if output != 0 {
            semihosting::write(output - 1, bytes);
        }
        output != 0
    }

    /// Switches the machine off where no host answers.
    fn leave(outcome: ImageExit) -> ! {
        if OUTPUT.load(Ordering::Relaxed) != 0 {
            semihosting::exit(outcome.exit_status());
        }
        serial().into_iter().for_each(|line| pl011::drain(line, Self::pause));
        firmware::switch_off();
        Self::stop()
    }
}
