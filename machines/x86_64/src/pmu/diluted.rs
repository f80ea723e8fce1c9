//! Programming and reading a counter when everything is known: what is left of the mediator in its caller.
//!
//! hpc-invalidations, section 3, gives 32 bytes and 11 instructions for the method that programs a counter, 100
//! bytes and 40 instructions for the one that reads it. A test takes the object code of these apart.

use super::registers::{
    AMD_COUNTER, AMD_SELECT, AMD_SELECT_EXTENDED, INTEL_COUNTER, INTEL_COUNTER_FULL, INTEL_SELECT, Registers,
};
use super::select::Select;

/// Where selections and counters lie.
pub trait Layout {
    /// The selection register of a general counter.
    fn select(counter: u8) -> u32;
    /// The register that sets its value.
    fn value(counter: u8) -> u32;
}

/// Intel's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Intel;

/// Intel's, with writes of full width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IntelFull;

/// AMD's first four.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Amd;

/// AMD's six and more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AmdExtended;

impl Layout for Intel {
    #[inline(always)]
    fn select(counter: u8) -> u32 {
        INTEL_SELECT + u32::from(counter)
    }
    #[inline(always)]
    fn value(counter: u8) -> u32 {
        INTEL_COUNTER + u32::from(counter)
    }
}

impl Layout for IntelFull {
    #[inline(always)]
    fn select(counter: u8) -> u32 {
        Intel::select(counter)
    }
    #[inline(always)]
    fn value(counter: u8) -> u32 {
        INTEL_COUNTER_FULL + u32::from(counter)
    }
}

impl Layout for Amd {
    #[inline(always)]
    fn select(counter: u8) -> u32 {
        AMD_SELECT + u32::from(counter)
    }
    #[inline(always)]
    fn value(counter: u8) -> u32 {
        AMD_COUNTER + u32::from(counter)
    }
}

impl Layout for AmdExtended {
    #[inline(always)]
    fn select(counter: u8) -> u32 {
        AMD_SELECT_EXTENDED + 2 * u32::from(counter)
    }
    #[inline(always)]
    fn value(counter: u8) -> u32 {
        AMD_SELECT_EXTENDED + 2 * u32::from(counter) + 1
    }
}

/// Lets `counter` count what `select` says from now on.
#[inline(always)]
pub fn program<L: Layout>(registers: &mut impl Registers, counter: u8, select: Select) {
    registers.write(L::select(counter), select.enabled().bits());
}

/// The value of `counter`.
#[inline(always)]
pub fn read(registers: &impl Registers, counter: u8) -> u64 {
    registers.counter(u32::from(counter))
}

/// Sets the value of `counter`.
#[inline(always)]
pub fn write<L: Layout>(registers: &mut impl Registers, counter: u8, value: u64) {
    registers.write(L::value(counter), value);
}
