//! Text for people on the first serial line, frames for the host on the debug console; where an emulator has given none, as on
//! a PC, they take the serial line as well.

use crate::arch::port;
use crate::sync::SpinLock;
use alloc::vec::Vec;
use core::fmt::{self, Write};
use core::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use solo_bare::frame::ImageMessage;
use solo_bare::outcome::ImageExit;
use solo_bare::serial;

const SERIAL: u16 = 0x3f8;
const LINE_STATUS: u16 = SERIAL + 5;
const TRANSMITTER_EMPTY: u8 = 0x20;
/// The port of the debug console, and what is read there where there is one.
const DEBUG_CONSOLE: u16 = 0xe9;
const DEBUG_EXIT: u16 = 0xf4;

struct Serial;

static CONSOLE: SpinLock<Serial> = SpinLock::new(Serial);
static FRAMES: SpinLock<Vec<u8>> = SpinLock::new(Vec::new());
static HAS_DEBUG_CONSOLE: AtomicBool = AtomicBool::new(false);
/// The frame to damage, counted down to it; none where it is below zero.
static DAMAGE: AtomicI64 = AtomicI64::new(-1);

impl Write for Serial {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            // SAFETY: the serial line touches no memory. An absent one reads as all ones: ready.
            unsafe {
                while port::read(LINE_STATUS) & TRANSMITTER_EMPTY == 0 {
                    crate::arch::registers::pause();
                }
                port::write(SERIAL, byte);
            }
        }
        Ok(())
    }
}

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

/// Prints a line's worth of text.
pub fn print(text: fmt::Arguments<'_>) {
    let mut console = CONSOLE.lock();
    // The serial line takes everything; a formatting error of a value is not worth a panic here.
    let _ = console.write_fmt(text);
}

/// Prints although another core may hold the console: for reports of the end.
pub fn print_at_the_end(text: fmt::Arguments<'_>) {
    let _ = Serial.write_fmt(text);
}

/// Lets the frame of this number, from 0, be damaged on its way: for tests of what the host makes of it.
pub fn damage(frame: u64) {
    DAMAGE.store(i64::try_from(frame).unwrap_or(-1), Ordering::Relaxed);
}

/// Sends a frame to the host.
pub fn send(frame: &ImageMessage) {
    let mut buffer = FRAMES.lock();
    buffer.clear();
    if let Err(error) = frame.append_to(&mut buffer) {
        print(format_args!("solo: a frame was not sent: {error}\n"));
        return;
    }
    if DAMAGE.load(Ordering::Relaxed) >= 0
        && DAMAGE.fetch_sub(1, Ordering::Relaxed) == 0
        && let Some(last) = buffer.last_mut()
    {
        *last ^= 1;
    }
    if HAS_DEBUG_CONSOLE.load(Ordering::Relaxed) {
        // SAFETY: the debug console touches no memory.
        unsafe { port::write_all(DEBUG_CONSOLE, &buffer) };
    } else {
        // The serial line takes everything.
        let _ = serial::write_line(&mut *CONSOLE.lock(), &buffer);
    }
}

/// Ends the emulator, or stops the machine where there is none.
pub fn leave(outcome: ImageExit) -> ! {
    // SAFETY: the debug-exit device touches no memory; on a PC without it nothing listens.
    unsafe { port::write(DEBUG_EXIT, outcome as u8) };
    crate::arch::registers::stop();
}

/// Prints a line on the serial console.
#[macro_export]
macro_rules! say {
    ($($argument:tt)*) => {
        $crate::console::print(format_args!("solo: {}\n", format_args!($($argument)*)))
    };
}
