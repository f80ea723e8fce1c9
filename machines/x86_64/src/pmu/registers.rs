//! The registers, and the one way to them.

/// Model-specific registers and counters of the processor that executes this, or of a model of one.
pub trait Registers {
    /// A model-specific register (`rdmsr`).
    fn read(&self, register: u32) -> u64;
    /// Sets a model-specific register (`wrmsr`).
    fn write(&mut self, register: u32, value: u64);
    /// A counter by its number (`rdpmc`); bit 30 set for Intel's fixed ones.
    fn counter(&self, number: u32) -> u64;
}

/// Selection of Intel's general counter 0; the others follow.
pub const INTEL_SELECT: u32 = 0x186;
/// Intel's general counter 0: a write takes 32 bits and extends their sign.
pub const INTEL_COUNTER: u32 = 0xc1;
/// The same counter for writes of full width.
pub const INTEL_COUNTER_FULL: u32 = 0x4c1;
/// What the unit is able to do; bit 13: writes of full width.
pub const INTEL_CAPABILITIES: u32 = 0x345;
/// Writes of full width, in [`INTEL_CAPABILITIES`].
pub const FULL_WIDTH_WRITES: u64 = 1 << 13;
/// Intel's fixed counter 0; the others follow.
pub const INTEL_FIXED: u32 = 0x309;
/// Four bits for each fixed counter: ring 0, other rings, any thread, interrupt.
pub const INTEL_FIXED_CONTROL: u32 = 0x38d;
/// A bit for each counter that has overflowed; fixed ones from bit 32. From version 2 on.
pub const INTEL_STATUS: u32 = 0x38e;
/// A bit for each counter that may run.
pub const INTEL_CONTROL: u32 = 0x38f;
/// Clears bits of the status: `GLOBAL_OVF_CTRL`, from version 4 on `GLOBAL_STATUS_RESET`.
pub const INTEL_STATUS_CLEAR: u32 = 0x390;
/// Sets bits of the status, from version 4 on.
pub const INTEL_STATUS_SET: u32 = 0x391;

/// Selection of AMD's counter 0 of four.
pub const AMD_SELECT: u32 = 0xc001_0000;
/// AMD's counter 0 of four.
pub const AMD_COUNTER: u32 = 0xc001_0004;
/// Selection of AMD's counter 0 of six or more; its counter is the next register, then the next selection.
pub const AMD_SELECT_EXTENDED: u32 = 0xc001_0200;
/// A bit for each counter that has overflowed, in AMD's version 2.
pub const AMD_STATUS: u32 = 0xc000_0300;
/// A bit for each counter that may run.
pub const AMD_CONTROL: u32 = 0xc000_0301;
/// Clears bits of the status.
pub const AMD_STATUS_CLEAR: u32 = 0xc000_0302;

/// The number of a fixed counter for `rdpmc`.
pub const FIXED: u32 = 1 << 30;

/// The processor that executes this. Ring 0 only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Processor(());

impl Processor {
    /// The processor's own registers.
    ///
    /// # Safety
    /// The caller must be in ring 0, and use only registers that CPUID has announced.
    pub const unsafe fn own() -> Self {
        Self(())
    }
}

impl Registers for Processor {
    #[inline(always)]
    fn read(&self, register: u32) -> u64 {
        let (low, high): (u32, u32);
        // SAFETY: whoever made this value vouches for ring 0 and the register. Reading changes no memory.
        unsafe {
            core::arch::asm!("rdmsr", in("ecx") register, out("eax") low, out("edx") high,
                options(nomem, nostack, preserves_flags));
        }
        u64::from(high) << 32 | u64::from(low)
    }

    #[inline(always)]
    fn write(&mut self, register: u32, value: u64) {
        // SAFETY: as above. The registers of the unit change no memory.
        unsafe {
            core::arch::asm!("wrmsr", in("ecx") register, in("eax") value as u32,
                in("edx") (value >> 32) as u32, options(nomem, nostack, preserves_flags));
        }
    }

    #[inline(always)]
    fn counter(&self, number: u32) -> u64 {
        let (low, high): (u32, u32);
        // SAFETY: as above.
        unsafe {
            core::arch::asm!("rdpmc", in("ecx") number, out("eax") low, out("edx") high,
                options(nomem, nostack, preserves_flags));
        }
        u64::from(high) << 32 | u64::from(low)
    }
}
