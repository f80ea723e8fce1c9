//! What the image needs of what a loader leaves, whichever it was.

use crate::boot::pvh;
use core::ops::Range;
use core::slice;
use solo_bare::regions::{Region, largest_free};
use solo_x86_64::multiboot2::{self, Information};

/// Where the memory ends that the image uses: devices lie above.
const CEILING: u64 = 3 << 30;

/// What the image needs.
#[derive(Clone, Debug)]
pub struct BootInfo {
    /// The first boot module.
    pub module: Option<&'static [u8]>,
    /// The address of ACPI's root system description pointer, or of a copy; 0 where there is none.
    pub root_pointer: u64,
    /// RAM that nobody uses: the largest piece.
    pub free: Range<u64>,
}

unsafe extern "C" {
    static image_end: u8;
}

/// Reads what the loader left at `address`: a Multiboot2 loader if `magic` says so, else one of PVH. `None` where it was
/// neither.
///
/// # Safety
/// Both must be what the entry code got, and nothing of what lies there may have been changed.
pub unsafe fn read(address: u64, magic: u32) -> Option<BootInfo> {
    // SAFETY: the caller vouches for the address.
    unsafe { if magic == multiboot2::MAGIC { read_multiboot2(address) } else { pvh::read(address) } }
}

/// # Safety
/// `address` must be that of a Multiboot2 loader's information.
unsafe fn read_multiboot2(address: u64) -> Option<BootInfo> {
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
            free: free(information.regions(), &taken),
        })
    }
}

/// The largest piece of RAM above the image that touches nothing of `taken`.
pub fn free(regions: impl IntoIterator<Item = Region>, taken: &[Range<u64>]) -> Range<u64> {
    let floor = (&raw const image_end) as u64;
    largest_free(regions, &(floor..CEILING), taken)
}
