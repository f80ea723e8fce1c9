//! What the loader leaves behind (Xen's PVH boot protocol).

use super::info::{self, BootInfo};
use core::slice;
use solo_bare::regions::Region;

const MAGIC: u32 = 0x336e_c578;

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
        let regions = slice::from_raw_parts(info.memory_map as *const Region, info.regions as usize);
        let taken = module.map_or(0..0, |bytes| {
            let range = bytes.as_ptr_range();
            range.start as u64..range.end as u64
        });
        let free = info::free(regions.iter().copied(), &[taken]);
        Some(BootInfo { module, root_pointer: info.root_pointer, free })
    }
}
