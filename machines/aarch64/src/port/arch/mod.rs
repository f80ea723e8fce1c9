//! The processor, and what is bolted to it.

pub mod firmware;
pub mod gic;
pub mod registers;
pub mod trap;

/// This instruction set.
#[derive(Debug)]
pub struct Arm64;
