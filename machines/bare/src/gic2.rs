//! The Generic Interrupt Controller, version 2 (Arm IHI 0048B): interrupts between cores, and those of a core's own timer and
//! counters. The controller numbers cores by its interfaces, 0 to 7.

use crate::mmio::Registers;

/// Numbers from here on: no interrupt was waiting.
pub const NONE: u32 = 1020;

/// The first interrupt that is not a core's own.
const SHARED: u32 = 32;

/// The distributor's registers.
mod distributor {
    pub(super) const CONTROL: u64 = 0;
    pub(super) const ENABLE: u64 = 0x100;
    pub(super) const PRIORITY: u64 = 0x400;
    pub(super) const TARGETS: u64 = 0x800;
    pub(super) const SOFTWARE: u64 = 0xf00;
}

/// Those of a core's interface.
mod interface {
    pub(super) const CONTROL: u64 = 0;
    pub(super) const MASK: u64 = 4;
    pub(super) const BINARY_POINT: u64 = 8;
    pub(super) const ACKNOWLEDGE: u64 = 0xc;
    pub(super) const END: u64 = 0x10;
}

/// The priority of all interrupts: the middle.
const PRIORITY: u32 = 0x80;

/// A controller. Functions that name no core concern the one that asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gic2 {
    distributor: Registers,
    interface: Registers,
}

impl Gic2 {
    /// The controller with these registers.
    pub const fn new(distributor: Registers, interface: Registers) -> Self {
        Self { distributor, interface }
    }

    /// Switches the distributor on: for all cores, once.
    pub fn prepare(self) {
        self.distributor.write(distributor::CONTROL, 1);
    }

    /// Switches this core's interface on. It lets the interrupts in `own` through, a bit each for those below 32, and brings
    /// `shared`, one from 32 on, to this core alone.
    pub fn enable(self, own: u32, shared: Option<u32>) {
        for register in 0..8 {
            self.distributor.write(distributor::PRIORITY + register * 4, PRIORITY * 0x0101_0101);
        }
        self.distributor.write(distributor::ENABLE, own);
        if let Some(number) = shared.filter(|number| (SHARED..NONE).contains(number)) {
            // The targets of a core's own interrupts are the core itself.
            let own = self.distributor.read(distributor::TARGETS) & 0xff;
            self.set_byte(distributor::PRIORITY, number, PRIORITY);
            self.set_byte(distributor::TARGETS, number, own);
            self.distributor.write(distributor::ENABLE + u64::from(number / 32) * 4, 1 << (number % 32));
        }
        self.interface.write(interface::MASK, 0xff);
        self.interface.write(interface::BINARY_POINT, 0);
        self.interface.write(interface::CONTROL, 1);
    }

    /// Sets what registers with a byte for each interrupt say of one. Cores come one after the other.
    fn set_byte(self, registers: u64, number: u32, value: u32) {
        let (register, shift) = (registers + u64::from(number & !3), 8 * (number & 3));
        let others = self.distributor.read(register) & !(0xff << shift);
        self.distributor.write(register, others | value << shift);
    }

    /// Takes the interrupt that is waiting: what [`Self::end_of_interrupt`] wants to have back.
    #[inline(always)]
    pub fn take(self) -> u32 {
        self.interface.read(interface::ACKNOWLEDGE)
    }

    /// The number of an interrupt that was taken, or [`NONE`] and above. One that a core sent has that core's number above its own.
    #[inline(always)]
    pub const fn number(taken: u32) -> u32 {
        taken & 0x3ff
    }

    /// An interrupt that was taken has been served.
    #[inline(always)]
    pub fn end_of_interrupt(self, taken: u32) {
        self.interface.write(interface::END, taken);
    }

    /// Causes interrupt `number`, below 16, on `cores`, a bit each.
    #[inline(always)]
    pub fn send(self, cores: u8, number: u32) {
        self.distributor.write(distributor::SOFTWARE, u32::from(cores) << 16 | number);
    }

    /// Causes interrupt `number`, below 16, on every core but this one.
    pub fn send_to_others(self, number: u32) {
        self.distributor.write(distributor::SOFTWARE, 1 << 24 | number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    /// A controller whose registers are memory, which keeps what was written last.
    fn kept(words: &mut Vec<u32>) -> Gic2 {
        let base = words.as_mut_ptr().expose_provenance() as u64;
        // SAFETY: 4 KiB of memory for the distributor and 4 KiB for the interface, which outlive the controller.
        unsafe { Gic2::new(Registers::at(base), Registers::at(base + 0x1000)) }
    }

    fn at(words: &[u32], offset: usize) -> u32 {
        words[offset / 4]
    }

    #[test]
    fn a_core_lets_its_own_interrupts_and_one_shared_one_through() {
        let mut words = vec![0; 2048];
        // Core 2 asks; interrupt 50's neighbours have targets and priorities already.
        words[0x800 / 4] = 0x0404_0404;
        words[(0x800 + 48) / 4] = 0x0808_0808;
        words[(0x400 + 48) / 4] = 0x2020_2020;
        let gic = kept(&mut words);
        gic.prepare();
        gic.enable(0x0800_000f, Some(50));
        assert_eq!(at(&words, 0), 1, "the distributor is on");
        assert_eq!((at(&words, 0x100), at(&words, 0x104)), (0x0800_000f, 1 << 18));
        assert_eq!((at(&words, 0x400), at(&words, 0x41c)), (0x8080_8080, 0x8080_8080));
        assert_eq!(at(&words, 0x400 + 48), 0x2080_2020, "one byte of four");
        assert_eq!(at(&words, 0x800 + 48), 0x0804_0808, "brought to the core that asks");
        assert_eq!((at(&words, 0x1000), at(&words, 0x1004), at(&words, 0x1008)), (1, 0xff, 0));
    }

    #[test]
    fn without_a_shared_interrupt_nothing_of_others_is_touched() {
        for shared in [None, Some(31), Some(1020), Some(u32::MAX)] {
            let mut words = vec![0; 2048];
            kept(&mut words).enable(1, shared);
            let touched =
                words.iter().enumerate().filter(|(_, word)| **word != 0).map(|(index, _)| index * 4);
            let own = [0x100, 0x400, 0x404, 0x408, 0x40c, 0x410, 0x414, 0x418, 0x41c, 0x1000, 0x1004];
            assert_eq!(touched.collect::<Vec<_>>(), own);
        }
    }

    #[test]
    fn an_interrupt_from_a_core_is_ended_with_that_cores_number() {
        let mut words = vec![0; 2048];
        words[0x100c / 4] = 3 << 10 | 1;
        let gic = kept(&mut words);
        let taken = gic.take();
        assert_eq!(Gic2::number(taken), 1);
        assert_eq!(Gic2::number(1023), 1023);
        gic.end_of_interrupt(taken);
        assert_eq!(at(&words, 0x1010), 0xc01);
        gic.send(0b1010, 3);
        assert_eq!(at(&words, 0xf00), 0x000a_0003);
        gic.send_to_others(2);
        assert_eq!(at(&words, 0xf00), 0x0100_0002);
    }
}
