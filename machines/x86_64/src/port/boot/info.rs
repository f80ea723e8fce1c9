//! What the image needs of what a loader leaves, whichever it was.

use core::ops::Range;
use solo_bare::regions::{Region, largest_free};

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

/// The largest piece of RAM above the image that touches nothing of `taken`.
pub fn free(regions: impl IntoIterator<Item = Region>, taken: &[Range<u64>]) -> Range<u64> {
    let floor = (&raw const image_end) as u64;
    largest_free(regions, &(floor..CEILING), taken)
}
