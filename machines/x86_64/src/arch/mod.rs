//! The processor, and what is bolted to it.

pub mod apic;
pub mod port;
pub mod registers;
pub mod tables;
pub mod trap;

pub use crate::switch;

/// This instruction set.
#[derive(Debug)]
pub struct X86;

impl solo_bare::isa::Isa for X86 {
    #[inline(always)]
    fn interrupts_enabled() -> bool {
        registers::interrupts_enabled()
    }

    #[inline(always)]
    fn enable_interrupts() {
        registers::enable_interrupts();
    }

    #[inline(always)]
    fn disable_interrupts() {
        registers::disable_interrupts();
    }

    #[inline(always)]
    fn pause() {
        registers::pause();
    }
}
