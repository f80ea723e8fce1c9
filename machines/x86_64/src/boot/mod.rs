//! How the image comes to life, and what it finds.

pub mod acpi;
pub mod info;
mod pvh;

core::arch::global_asm!(include_str!("entry.s"), options(att_syntax));
