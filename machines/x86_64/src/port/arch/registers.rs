//! The processor's registers and single instructions.

use super::X86;
use core::arch::asm;
use core::arch::x86_64::_rdtsc;
use solo_bare::isa::Isa;

/// Model-specific registers that the image uses.
pub mod msr {
    /// The base of the GS segment: here, the core's own data.
    pub const GS_BASE: u32 = 0xc000_0101;
    /// The local APIC's base address and mode.
    pub const APIC_BASE: u32 = 0x1b;
    /// The time stamp at which the local APIC's timer interrupts.
    pub const TSC_DEADLINE: u32 = 0x6e0;
}

/// What the processor says of itself: eax, ebx, ecx, edx of subleaf 0 of a leaf. Zeros for leaves that it has not.
pub fn cpuid(leaf: u32) -> [u32; 4] {
    let ask = |leaf| {
        let found = core::arch::x86_64::__cpuid_count(leaf, 0);
        [found.eax, found.ebx, found.ecx, found.edx]
    };
    // Intel's processors answer unknown leaves like the last one they know.
    let most = ask(leaf & 0x8000_0000)[0];
    if leaf <= most { ask(leaf) } else { [0; 4] }
}

/// Lets everything that was read and written before take effect first.
#[inline(always)]
pub fn fence() {
    // SAFETY: waits, and changes nothing.
    unsafe { asm!("mfence", "lfence", options(nostack, preserves_flags)) };
}

/// Sets a model-specific register.
///
/// # Safety
/// The register must exist and the value must keep the processor in a state that Rust code can live in.
pub unsafe fn write_msr(register: u32, value: u64) {
    // SAFETY: the caller vouches for register and value.
    unsafe {
        asm!("wrmsr", in("ecx") register, in("eax") value as u32, in("edx") (value >> 32) as u32,
            options(nostack, preserves_flags));
    }
}

/// A model-specific register.
///
/// # Safety
/// The register must exist.
pub unsafe fn read_msr(register: u32) -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: the caller vouches for the register.
    unsafe {
        asm!("rdmsr", in("ecx") register, out("eax") low, out("edx") high,
            options(nomem, nostack, preserves_flags));
    }
    u64::from(high) << 32 | u64::from(low)
}

/// The address that the last page fault could not reach.
pub fn fault_address() -> u64 {
    let address: u64;
    // SAFETY: reading CR2 changes nothing.
    unsafe { asm!("mov {}, cr2", out(reg) address, options(nomem, nostack, preserves_flags)) };
    address
}

/// Forgets all translations, after a change of the page tables.
pub fn flush_translations() {
    // SAFETY: the root of the page tables stays what it is.
    unsafe { asm!("mov {t}, cr3", "mov cr3, {t}", t = out(reg) _, options(nostack, preserves_flags)) };
}

impl Isa for X86 {
    /// The time stamp counter.
    #[inline(always)]
    fn time_stamp() -> u64 {
        // SAFETY: every x86-64 processor has the counter, and ring 0 may read it.
        unsafe { _rdtsc() }
    }

    /// Lets interrupts in.
    #[inline(always)]
    fn enable_interrupts() {
        // SAFETY: callers hold no lock here; handlers are installed before the first call.
        unsafe { asm!("sti", options(nostack)) };
    }

    /// Keeps interrupts out.
    #[inline(always)]
    fn disable_interrupts() {
        // SAFETY: keeping interrupts out breaks nothing.
        unsafe { asm!("cli", options(nostack)) };
    }

    /// True where interrupts are let in.
    #[inline(always)]
    fn interrupts_enabled() -> bool {
        let flags: u64;
        // SAFETY: reads the flags through the stack, which the asm block may use.
        unsafe { asm!("pushfq", "pop {}", out(reg) flags, options(preserves_flags)) };
        flags & 1 << 9 != 0
    }

    /// Waits for an interrupt, which is let in; interrupts stay enabled.
    #[inline(always)]
    fn wait_for_interrupt() {
        // SAFETY: `sti` takes effect after the next instruction, so no interrupt is lost in between.
        unsafe { asm!("sti", "hlt", options(nostack)) };
    }

    /// Stops this core for ever.
    fn stop() -> ! {
        loop {
            // SAFETY: this core has nothing more to do.
            unsafe { asm!("cli", "hlt", options(nostack)) };
        }
    }

    /// Waits a little, and tells the emulator that another core may run.
    #[inline(always)]
    fn pause() {
        core::hint::spin_loop();
    }

    const FLUSHES_ALL: bool = true;

    fn flushed_line() -> Option<u64> {
        solo_bare::cpuid::flushed_line(cpuid(1))
    }

    fn flush_line(address: u64) {
        // SAFETY: what the line holds stays what it is.
        unsafe { asm!("clflush [{}]", "mfence", in(reg) address, options(nostack, preserves_flags)) };
    }

    fn flush_all() {
        // SAFETY: everything is written to memory before caches forget it.
        unsafe { asm!("wbinvd", options(nostack, preserves_flags)) };
    }

    #[inline(never)]
    fn turn(rounds: u64) {
        // SAFETY: counts a register down.
        unsafe {
            asm!("2:", "dec {r}", "jnz 2b", r = inout(reg) rounds.max(1) => _, options(nomem, nostack))
        };
    }
}
