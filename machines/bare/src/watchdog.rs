//! The watchdog in the power manager of Broadcom's BCM2835 and its successors, as Linux' driver has it: what resets such a machine.

use crate::mmio::Registers;

const CONTROL: u64 = 0x1c;
const STATUS: u64 = 0x20;
const WATCHDOG: u64 = 0x24;
/// Nothing is written without it.
const PASSWORD: u32 = 0x5a00_0000;
const VALUE: u32 = 0x00ff_ffff;
/// A reset of everything, among the bits that say what the watchdog does.
const FULL_RESET: u32 = 0x20;
const DOES: u32 = 0x30;
/// Partition 63, its bits spread: firmware that finds it after a reset stays down.
const STAY_DOWN: u32 = 0x555;
/// Until the watchdog acts, 16 us each.
const TICKS: u32 = 10;

/// Has the machine reset itself; with `stays_down` its firmware starts nothing then.
pub fn reset(power: Registers, stays_down: bool) {
    if stays_down {
        power.write(STATUS, PASSWORD | power.read(STATUS) & VALUE | STAY_DOWN);
    }
    power.write(WATCHDOG, PASSWORD | TICKS);
    power.write(CONTROL, PASSWORD | power.read(CONTROL) & VALUE & !DOES | FULL_RESET);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_write_has_the_password_and_keeps_what_others_have_set() {
        for (stays_down, status) in [(false, 0x0000_1002), (true, 0x5a00_1557)] {
            let mut words = [0_u32; 16];
            let base = words.as_mut_ptr().expose_provenance();
            // SAFETY: memory for all registers that are used, which outlives them.
            let power = unsafe { Registers::at(base as u64) };
            power.write(STATUS, 0x1002);
            power.write(CONTROL, 0x112);
            reset(power, stays_down);
            assert_eq!([0x1c, 0x20, 0x24].map(|at| power.read(at)), [0x5a00_0122, status, 0x5a00_000a]);
        }
    }
}
