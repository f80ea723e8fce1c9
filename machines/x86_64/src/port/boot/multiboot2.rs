//! What the loader of a PC leaves behind (Multiboot2).

use super::info::{self, BootInfo};
use crate::multiboot2::Information;
use core::ops::Range;
use core::slice;

/// Reads what the loader left at `address`.
///
/// # Safety
/// `address` must be that of a Multiboot2 loader's information.
pub unsafe fn read(address: u64) -> Option<BootInfo> {
    // SAFETY: the loader's structures lie below 4 GiB, which is mapped; the length stands first, and the module is
    // where the loader says.
    unsafe {
        let length = Information::length((address as *const [u8; 4]).read());
        let information = Information::new(slice::from_raw_parts(address as *const u8, length))?;
        let module = information.module();
        let bytes =
            |at: Range<u64>| slice::from_raw_parts(at.start as *const u8, (at.end - at.start) as usize);
        let taken = [address..address + length as u64, module.clone().unwrap_or_default()];
        Some(BootInfo {
            module: module.map(bytes),
            root_pointer: information.root_pointer().map_or(0, |copy| copy.as_ptr() as u64),
            free: info::free(information.regions(), &taken),
        })
    }
}
