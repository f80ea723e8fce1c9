//! Programming and reading a counter when everything is known: what is left of the mediator in its caller.
//!
//! hpc-invalidations, section 3, gives 32 bytes and 11 instructions for the method that programs a counter, 100
//! bytes and 40 instructions for the one that reads it. A test takes the object code of these apart.
#![cfg(target_arch = "aarch64")]

use core::arch::asm;

/// Lets counter `COUNTER` count `event` from now on. The value that it has stays.
///
/// # Safety
/// The caller must be at exception level 1, on a processor that has the counter.
#[inline(always)]
pub unsafe fn program<const COUNTER: u8>(event: u16) {
    // SAFETY: the caller vouches for the register: PMEVTYPER, whose number is in its name.
    unsafe {
        asm!("msr S3_3_C14_C{group}_{number}, {event}", "msr pmcntenset_el0, {mask}", "isb",
            group = const 12 + (COUNTER >> 3), number = const COUNTER & 7, event = in(reg) u64::from(event),
            mask = in(reg) 1u64 << COUNTER, options(nomem, nostack, preserves_flags));
    }
}

/// The value of counter `COUNTER`.
///
/// # Safety
/// As for [`program`].
#[inline(always)]
pub unsafe fn read<const COUNTER: u8>() -> u64 {
    let value: u64;
    // SAFETY: the caller vouches for the register: PMEVCNTR.
    unsafe {
        asm!("mrs {value}, S3_3_C14_C{group}_{number}", group = const 8 + (COUNTER >> 3), number = const COUNTER & 7,
            value = out(reg) value, options(nomem, nostack, preserves_flags));
    }
    value
}
