//! What the loader leaves behind (Xen's PVH boot protocol).

use core::ops::Range;
use core::slice;

const MAGIC: u32 = 0x336e_c578;
const RAM: u32 = 1;
const MOST_REGIONS: usize = 32;

#[derive(Clone, Copy)]
#[repr(C)]
struct StartInfo {
    magic: u32,
    _version: u32,
    _flags: u32,
    modules: u32,
    module_list: u64,
    _command_line: u64,
    root_pointer: u64,
    memory_map: u64,
    regions: u32,
    _reserved: u32,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct ModuleEntry {
    address: u64,
    size: u64,
    _command_line: u64,
    _reserved: u64,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Region {
    address: u64,
    size: u64,
    kind: u32,
    _reserved: u32,
}

/// What the image needs of it.
#[derive(Clone, Debug)]
pub struct BootInfo {
    /// The first boot module.
    pub module: Option<&'static [u8]>,
    /// The address of ACPI's root system description pointer, 0 where there is none.
    pub root_pointer: u64,
    /// RAM that nobody uses: the largest piece.
    pub free: Range<u64>,
}

unsafe extern "C" {
    static image_end: u8;
}

/// Reads what the loader left at `address`.
///
/// # Safety
/// `address` must be the start info of a PVH loader, and nothing of what it describes may have been changed.
pub unsafe fn read(address: u64) -> Option<BootInfo> {
    // SAFETY: the loader left these structures in mapped memory; the magic number is looked at first.
    unsafe {
        let info = (address as *const StartInfo).read_unaligned();
        if info.magic != MAGIC {
            return None;
        }
        let module = (info.modules > 0)
            .then(|| (info.module_list as *const ModuleEntry).read_unaligned())
            .map(|entry| slice::from_raw_parts(entry.address as *const u8, entry.size as usize));
        let regions = slice::from_raw_parts(
            info.memory_map as *const Region,
            (info.regions as usize).min(MOST_REGIONS),
        );
        Some(BootInfo { module, root_pointer: info.root_pointer, free: largest_free(regions, module) })
    }
}

/// The largest piece of RAM above the image that doesn't contain the module, below 3 GiB.
fn largest_free(regions: &[Region], module: Option<&[u8]>) -> Range<u64> {
    let floor = (&raw const image_end) as u64;
    let ceiling = 3 << 30;
    let taken = module.map_or(ceiling..ceiling, |bytes| {
        let range = bytes.as_ptr_range();
        range.start as u64..range.end as u64
    });
    let mut best = 0..0;
    for region in regions.iter().filter(|region| region.kind == RAM) {
        let whole = region.address.max(floor)..(region.address + region.size).min(ceiling);
        for piece in [whole.start..whole.end.min(taken.start), whole.start.max(taken.end)..whole.end] {
            if piece.end.saturating_sub(piece.start) > best.end - best.start {
                best = piece;
            }
        }
    }
    best
}
