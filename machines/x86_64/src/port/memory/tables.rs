//! Page tables of the first 4 GiB, each address to itself.

use crate::port::arch::registers;
use alloc::boxed::Box;
use core::ops::Range;
use core::ptr;
use solo_bare::paging::PAGE;
use solo_bare::window::position;

const ENTRIES: usize = 512;
/// The entry leads to a page or table, which may be written.
pub const PRESENT_WRITABLE: u64 = 3;
/// The entry is a large page.
pub const LARGE: u64 = 0x80;
/// The bits of an entry that are an address.
const ADDRESS: u64 = 0x000f_ffff_ffff_f000;

#[repr(align(4096))]
struct PageTable([u64; ENTRIES]);

unsafe extern "C" {
    static mut page_map: [u64; ENTRIES];
    static mut page_directories: [u64; 4 * ENTRIES];
}

/// Takes page 0 away, so that null pointers fault.
pub fn guard_null() {
    let table: &'static mut [u64; ENTRIES] = &mut Box::leak(Box::new(PageTable([0; ENTRIES]))).0;
    for (number, entry) in table.iter_mut().enumerate().skip(1) {
        *entry = (number as u64 * PAGE) | PRESENT_WRITABLE;
    }
    // SAFETY: the new table maps the same addresses as the large page did, but for page 0, which nobody uses; the other cores
    // have not been started.
    unsafe { page_directories[0] = table.as_ptr() as u64 | PRESENT_WRITABLE };
    registers::flush_translations();
}

/// Where the tables of the identity lie, but for those of small pages.
pub fn identity_tables() -> Range<u64> {
    let first = (&raw const page_map) as u64;
    let last = (&raw const page_directories) as u64 + size_of::<[u64; 4 * ENTRIES]>() as u64;
    first..last
}

/// The entry of the page at `address`, below 3 GiB, in the tables of the identity. A large page becomes small ones.
pub fn entry_of(address: u64) -> *mut u64 {
    // SAFETY: the entry belongs to RAM, and is replaced by a table that maps the same pages.
    unsafe {
        let directory = (&raw mut page_directories).cast::<u64>().add((address >> 21) as usize);
        if *directory & LARGE != 0 {
            let begin = address >> 21 << 21;
            let entry = |number| (begin + number as u64 * PAGE) | PRESENT_WRITABLE;
            let table = Box::leak(Box::new(PageTable(core::array::from_fn(entry))));
            *directory = table.0.as_ptr() as u64 | PRESENT_WRITABLE;
        }
        let table = ptr::with_exposed_provenance_mut::<u64>((*directory & ADDRESS) as usize);
        table.add(position(address, 1))
    }
}

/// The table whose entries are gibibytes.
pub fn gibibytes() -> *mut u64 {
    // SAFETY: the first entry of the root was written before the first instruction of Rust, and never since.
    let entry = unsafe { page_map[0] };
    ptr::with_exposed_provenance_mut((entry & ADDRESS) as usize)
}
