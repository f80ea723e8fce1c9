//! The processor's registers and single instructions.

use super::Arm64;
use core::arch::asm;
use solo_bare::isa::Isa;
use solo_bare::rtos::turns;

/// A system register by its name.
#[macro_export]
macro_rules! read_register {
    ($name:literal) => {{
        let value: u64;
        // SAFETY: reading it changes nothing.
        unsafe {
            core::arch::asm!(concat!("mrs {}, ", $name), out(reg) value, options(nomem, nostack, preserves_flags));
        }
        value
    }};
}

/// Sets a system register; the caller stands in an `unsafe` block and vouches for the value.
#[macro_export]
macro_rules! write_register {
    ($name:literal, $value:expr) => {{
        let value: u64 = $value;
        core::arch::asm!(concat!("msr ", $name, ", {}"), in(reg) value, options(nostack, preserves_flags));
    }};
}

/// The affinity of the core that asks.
pub fn affinity() -> u64 {
    read_register!("mpidr_el1") & 0xff_00ff_ffff
}

/// Waits until what was written to system registers has effect.
#[inline(always)]
pub fn synchronize() {
    // SAFETY: waits, and changes nothing.
    unsafe { asm!("isb", options(nostack, preserves_flags)) };
}

/// Waits until everything that was written to memory can be seen by all cores, and table walks.
#[inline(always)]
pub fn publish() {
    // SAFETY: waits, and changes nothing.
    unsafe { asm!("dsb ish", "isb", options(nostack, preserves_flags)) };
}

/// Forgets all translations of this core, after a change of the page tables.
pub fn flush_translations() {
    // SAFETY: the root of the page tables stays what it is.
    unsafe { asm!("dsb ish", "tlbi vmalle1", "dsb nsh", "isb", options(nostack, preserves_flags)) };
}

impl Isa for Arm64 {
    /// The virtual counter. It isn't read before what comes before has been done.
    #[inline(always)]
    fn time_stamp() -> u64 {
        let value: u64;
        // SAFETY: every core has the counter; reading it changes nothing.
        unsafe { asm!("isb", "mrs {}, cntvct_el0", out(reg) value, options(nostack, preserves_flags)) };
        value
    }

    /// Lets interrupts in.
    #[inline(always)]
    fn enable_interrupts() {
        // SAFETY: callers hold no lock here; handlers are installed before the first call.
        unsafe { asm!("msr daifclr, #2", options(nostack, preserves_flags)) };
    }

    /// Keeps interrupts out.
    #[inline(always)]
    fn disable_interrupts() {
        // SAFETY: keeping interrupts out breaks nothing.
        unsafe { asm!("msr daifset, #2", options(nostack, preserves_flags)) };
    }

    /// True where interrupts are let in.
    #[inline(always)]
    fn interrupts_enabled() -> bool {
        read_register!("daif") & 1 << 7 == 0
    }

    /// Waits for an interrupt, which is let in; interrupts stay enabled.
    #[inline(always)]
    fn wait_for_interrupt() {
        Self::disable_interrupts();
        // SAFETY: one that comes after they are kept out ends the waiting, so none is lost in between.
        let wait = || unsafe { asm!("dsb sy", "wfi", options(nostack, preserves_flags)) };
        if turns::are_kept::<Self>() {
            turns::away::<Self>(wait)
        } else {
            wait()
        }
        Self::enable_interrupts();
        synchronize();
    }

    /// Stops this core for ever.
    fn stop() -> ! {
        loop {
            // SAFETY: this core has nothing more to do.
            unsafe { asm!("msr daifset, #0xf", "wfi", options(nostack)) };
        }
    }

    /// Waits a little, and tells the emulator that another core may run.
    #[inline(always)]
    fn pause() {
        // SAFETY: changes nothing.
        let yields = || unsafe { asm!("yield", options(nostack, preserves_flags)) };
        if turns::are_kept::<Self>() { turns::away::<Self>(yields) } else { yields() }
    }

    /// The smallest line of any data cache (Arm ARM, CTR_EL0).
    fn flushed_line() -> Option<u64> {
        Some(4 << (read_register!("ctr_el0") >> 16 & 0xf))
    }

    fn flush_line(address: u64) {
        // SAFETY: what the line holds stays what it is.
        unsafe { asm!("dc civac, {}", "dsb ish", in(reg) address, options(nostack, preserves_flags)) };
    }

    #[inline(never)]
    fn turn(rounds: u64) {
        // SAFETY: counts a register down.
        unsafe {
            asm!("2:", "subs {r}, {r}, #1", "b.ne 2b", r = inout(reg) rounds.max(1) => _, options(nomem, nostack))
        };
    }
}
