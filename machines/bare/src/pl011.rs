//! Arm's serial line PL011 (DDI 0183G), as far as text leaves by it.

use crate::mmio::Registers;

const DATA: u64 = 0;
const FLAGS: u64 = 0x18;
const BUSY: u32 = 1 << 3;
const FULL: u32 = 1 << 5;
const DIVISOR: u64 = 0x24;
const FRACTION: u64 = 0x28;
const FORMAT: u64 = 0x2c;
/// Eight bits, with the queues.
const EIGHT_BITS: u32 = 0b111 << 4;
const CONTROL: u64 = 0x30;
/// It is on, and sends and receives.
const ON: u32 = 0b11 << 8 | 1;

/// Sends `byte` once there is room; `pause` is called while there is none.
pub fn put(line: Registers, byte: u8, pause: impl Fn()) {
    while line.read(FLAGS) & FULL != 0 {
        pause();
    }
    line.write(DATA, byte.into());
}

/// Waits until all has left; `pause` is called meanwhile.
pub fn drain(line: Registers, pause: impl Fn()) {
    while line.read(FLAGS) & BUSY != 0 {
        pause();
    }
}

/// Prepares a line that firmware has left as it is: eight bits without parity, `baud` of them in a second, by a clock of `clock_hz`.
pub fn prepare(line: Registers, clock_hz: u32, baud: u32) {
    // Of a 16th of the clock, in 64ths (3.3.6).
    let divisor = (clock_hz * 4 + baud / 2) / baud;
    line.write(CONTROL, 0);
    line.write(DIVISOR, divisor / 64);
    line.write(FRACTION, divisor % 64);
    line.write(FORMAT, EIGHT_BITS);
    line.write(CONTROL, ON);
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    #[test]
    fn a_line_divides_its_clock_and_waits_for_room() {
        let mut words = [0_u32; 16];
        let base = words.as_mut_ptr().expose_provenance();
        // SAFETY: memory for all registers that are used, which outlives the line.
        let line = unsafe { Registers::at(base as u64) };
        // The manual's own example (3.3.6): 4 MHz and 230,400 baud make 1 and 5 64ths.
        prepare(line, 4_000_000, 230_400);
        let read = |offset| line.read(offset);
        assert_eq!([0x24, 0x28, 0x2c, 0x30].map(read), [1, 5, 0x70, 0x301]);
        prepare(line, 48_000_000, 115_200);
        assert_eq!([0x24, 0x28].map(read), [26, 3]);
        line.write(FLAGS, FULL);
        let pauses = Cell::new(0);
        put(line, b'x', || {
            assert_eq!(line.read(DATA), 0, "nothing is sent while the queue is full");
            pauses.set(pauses.get() + 1);
            line.write(FLAGS, if pauses.get() < 3 { FULL } else { 0 });
        });
        assert_eq!((pauses.get(), line.read(DATA)), (3, u32::from(b'x')));
    }
}
