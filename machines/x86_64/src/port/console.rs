//! Text for people on the first serial line, frames for the host on the debug console; where an emulator has given none, as on
//! a PC, they take the serial line as well.

use crate::port::arch::{X86, port};
use core::sync::atomic::{AtomicBool, Ordering};
use solo_bare::isa::Isa;
use solo_bare::outcome::ImageExit;
use solo_bare::rtos::Line;

const SERIAL: u16 = 0x3f8;
const LINE_STATUS: u16 = SERIAL + 5;
const TRANSMITTER_EMPTY: u8 = 0x20;
/// The port of the debug console, and what is read there where there is one.
const DEBUG_CONSOLE: u16 = 0xe9;
const DEBUG_EXIT: u16 = 0xf4;

static HAS_DEBUG_CONSOLE: AtomicBool = AtomicBool::new(false);

/// Prepares the serial line: 115200 baud, 8 bits, no parity, one stop bit, no interrupts. Looks for the debug console.
pub fn prepare() {
    // SAFETY: reading the port has no effect, whoever answers.
    let answer = unsafe { port::read(DEBUG_CONSOLE) };
    HAS_DEBUG_CONSOLE.store(u16::from(answer) == DEBUG_CONSOLE, Ordering::Relaxed);
    for (register, value) in [(1, 0), (3, 0x80), (0, 1), (1, 0), (3, 3), (2, 0xc7), (4, 3)] {
        // SAFETY: the serial line touches no memory.
        unsafe { port::write(SERIAL + register, value) };
    }
}

impl Line for X86 {
    fn put(byte: u8) {
        // SAFETY: the serial line touches no memory. An absent one reads as all ones: ready.
        unsafe {
            while port::read(LINE_STATUS) & TRANSMITTER_EMPTY == 0 {
                Self::pause();
            }
            port::write(SERIAL, byte);
        }
    }

    /// Over the debug console.
    fn send(bytes: &[u8]) -> bool {
        let present = HAS_DEBUG_CONSOLE.load(Ordering::Relaxed);
        if present {
            // SAFETY: the debug console touches no memory.
            unsafe { port::write_all(DEBUG_CONSOLE, bytes) };
        }
        present
    }

    fn leave(outcome: ImageExit) -> ! {
        // SAFETY: the debug-exit device touches no memory; on a PC without it nothing listens.
        unsafe { port::write(DEBUG_EXIT, outcome as u8) };
        Self::stop()
    }
}
