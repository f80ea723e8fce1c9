//! How the image comes to life, and what it finds.

pub mod acpi;
mod info;
mod multiboot2;
mod pvh;

use info::BootInfo;

core::arch::global_asm!(include_str!("entry.s"), options(att_syntax));

/// Reads what the loader left at `address`: a Multiboot2 loader if `magic` says so, else one of PVH. `None` where it was
/// neither.
///
/// # Safety
/// Both must be what the entry code got, and nothing of what lies there may have been changed.
pub unsafe fn read(address: u64, magic: u32) -> Option<BootInfo> {
    // SAFETY: the caller vouches for the address.
    unsafe { if magic == crate::multiboot2::MAGIC { multiboot2::read(address) } else { pvh::read(address) } }
}
