//! The processor, and what is bolted to it.

pub mod apic;
pub mod port;
pub mod registers;
pub mod tables;
pub mod trap;

pub use solo_x86_64::switch;
