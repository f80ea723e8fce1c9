//! The processor, and what is bolted to it.

pub mod apic;
pub mod port;
pub mod registers;
pub mod tables;
pub mod trap;

/// This instruction set.
#[derive(Debug)]
pub struct X86;
