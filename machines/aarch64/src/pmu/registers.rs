//! The registers, and the one way to them.

use core::fmt;

/// The registers of the processor that executes this, or of a model of one. Masks have a bit for each counter.
pub trait Registers: Send + fmt::Debug {
    /// What a counter holds (PMEVCNTR): its lower 32 bits, at whose end it overflows. From PMUv3p5 on there are 32 more above them.
    fn value(&self, counter: u8) -> u64;
    /// Sets it.
    fn set_value(&mut self, counter: u8, value: u64);
    /// What a counter counts, in all modes (PMEVTYPER).
    fn set_event(&mut self, counter: u8, event: u16);
    /// Lets counters run (PMCNTENSET).
    fn run(&mut self, mask: u32);
    /// Stops counters (PMCNTENCLR).
    fn stop(&mut self, mask: u32);
    /// Lets counters interrupt when they overflow (PMINTENSET).
    fn interrupt(&mut self, mask: u32);
    /// Keeps their interrupts out (PMINTENCLR).
    fn silence(&mut self, mask: u32);
    /// Those that have overflowed (PMOVSSET).
    fn overflows(&self) -> u32;
    /// Forgets overflows (PMOVSCLR).
    fn forget(&mut self, mask: u32);
    /// Adds one to those that count software increments (PMSWINC).
    fn increment(&mut self, mask: u32);
    /// Switches all on, and the cycle counter off (PMCR).
    fn begin(&mut self);
}

/// The processor that executes this. Exception level 1 only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Processor(());

impl Processor {
    /// The processor's own registers.
    ///
    /// # Safety
    /// The caller must be at level 1, and use only counters that there are.
    pub const unsafe fn own() -> Self {
        Self(())
    }
}

#[cfg(target_arch = "aarch64")]
mod own {
    use super::{Processor, Registers};
    use core::arch::asm;

    macro_rules! set {
        ($name:literal, $value:expr) => {{
            let value = u64::from($value);
            // SAFETY: whoever made `Processor` vouches for level 1 and the register, which changes no memory. What is written has
            // effect before anything that follows.
            unsafe {
                asm!(concat!("msr ", $name, ", {}"), "isb", in(reg) value, options(nomem, nostack, preserves_flags));
            }
        }};
    }

    /// Selects a counter for the registers that follow.
    #[inline(always)]
    fn select(counter: u8) {
        set!("pmselr_el0", counter);
    }

    impl Registers for Processor {
        #[inline(always)]
        fn value(&self, counter: u8) -> u64 {
            select(counter);
            let value: u64;
            // SAFETY: as for writing.
            unsafe {
                asm!("mrs {}, pmxevcntr_el0", out(reg) value, options(nomem, nostack, preserves_flags))
            };
            value & u64::from(u32::MAX)
        }
        #[inline(always)]
        fn set_value(&mut self, counter: u8, value: u64) {
            select(counter);
            set!("pmxevcntr_el0", value);
        }
        #[inline(always)]
        fn set_event(&mut self, counter: u8, event: u16) {
            select(counter);
            set!("pmxevtyper_el0", event);
        }
        #[inline(always)]
        fn run(&mut self, mask: u32) {
            set!("pmcntenset_el0", mask);
        }
        #[inline(always)]
        fn stop(&mut self, mask: u32) {
            set!("pmcntenclr_el0", mask);
        }
        #[inline(always)]
        fn interrupt(&mut self, mask: u32) {
            set!("pmintenset_el1", mask);
        }
        #[inline(always)]
        fn silence(&mut self, mask: u32) {
            set!("pmintenclr_el1", mask);
        }
        #[inline(always)]
        fn overflows(&self) -> u32 {
            let value: u64;
            // SAFETY: as above.
            unsafe { asm!("mrs {}, pmovsset_el0", out(reg) value, options(nomem, nostack, preserves_flags)) };
            value as u32
        }
        #[inline(always)]
        fn forget(&mut self, mask: u32) {
            set!("pmovsclr_el0", mask);
        }
        #[inline(always)]
        fn increment(&mut self, mask: u32) {
            set!("pmswinc_el0", mask);
        }
        fn begin(&mut self) {
            set!("pmcr_el0", 1u64);
        }
    }
}
