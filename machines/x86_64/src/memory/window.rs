//! Page tables: the identity of the first 4 GiB, and the window that a run maps page by page.

use super::PAGE;
use crate::arch::registers;
use alloc::boxed::Box;
use core::ops::Range;
use core::ptr;

/// Where the window begins.
pub const WINDOW: u64 = 4 << 30;
const ENTRIES: usize = 512;
/// The entry leads to a page or table, which may be written.
pub const PRESENT_WRITABLE: u64 = 3;
const PRESENT: u64 = 1;
/// The entry is a large page.
const LARGE: u64 = 0x80;
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

/// The table that an entry leads to; `None` where it leads to none.
fn table_below(entry: u64) -> Option<*mut u64> {
    let is_table = entry & PRESENT != 0 && entry & LARGE == 0;
    is_table.then(|| ptr::with_exposed_provenance_mut((entry & ADDRESS) as usize))
}

/// The table whose entries are gibibytes.
fn gibibytes() -> *mut u64 {
    // SAFETY: the first entry of the root was written before the first instruction of Rust, and never since.
    let entry = unsafe { page_map[0] };
    ptr::with_exposed_provenance_mut((entry & ADDRESS) as usize)
}

/// The position of `address` in a table of level 3 (gibibytes), 2 or 1 (pages).
const fn position(address: u64, level: u32) -> usize {
    (address >> (12 + 9 * (level - 1)) & (ENTRIES as u64 - 1)) as usize
}

/// Where `address` lies in physical memory, by the tables that the processor walks.
pub fn translate(address: u64) -> Option<u64> {
    if address >> 39 != 0 {
        return None;
    }
    let mut table = gibibytes();
    for level in [3, 2, 1] {
        // SAFETY: tables lie in RAM that is mapped to itself, and have 512 entries.
        let entry = unsafe { table.add(position(address, level)).read_volatile() };
        let size = 1 << (12 + 9 * (level - 1));
        if level == 1 || entry & LARGE != 0 {
            return (entry & PRESENT != 0).then_some(entry & ADDRESS & !(size - 1) | address & (size - 1));
        }
        table = table_below(entry)?;
    }
    None
}

/// See [`solo_bare::paging::Paging::most_tables`].
pub fn most_tables(pages: u64) -> u64 {
    // A table a 512 pages, one a 512 tables, and what is begun of both.
    pages.div_ceil(ENTRIES as u64) + pages.div_ceil((ENTRIES * ENTRIES) as u64) + 2
}

/// Maps the page at `address`, of this window, to the frame at `physical`. New tables come from `frame`.
///
/// # Errors
/// If there is no frame for a table.
///
/// # Safety
/// Nobody else may use the frames, which must be RAM that is mapped to itself; other cores rest.
pub unsafe fn map<E>(
    address: u64,
    physical: u64,
    mut frame: impl FnMut() -> Result<u64, E>,
) -> Result<(), E> {
    let mut table = gibibytes();
    for level in [3, 2] {
        // SAFETY: the tables lie in RAM that is mapped to itself; those of the window are changed here only.
        unsafe {
            let entry = table.add(position(address, level));
            if *entry & PRESENT == 0 {
                let below = frame()?;
                ptr::with_exposed_provenance_mut::<PageTable>(below as usize).write_bytes(0, 1);
                *entry = below | PRESENT_WRITABLE;
            }
            table = ptr::with_exposed_provenance_mut((*entry & ADDRESS) as usize);
        }
    }
    // SAFETY: as above. Nothing was mapped there, so that no core remembers it.
    unsafe { table.add(position(address, 1)).write_volatile(physical | PRESENT_WRITABLE) };
    Ok(())
}

/// Takes the page at `address`, which was mapped, away.
///
/// # Safety
/// Nobody may use it any more; other cores rest.
pub unsafe fn unmap(address: u64) {
    let below = |table: *mut u64, level| {
        // SAFETY: as in `map`; the page was mapped, so the tables exist.
        let entry = unsafe { table.add(position(address, level)).read() };
        ptr::with_exposed_provenance_mut::<u64>((entry & ADDRESS) as usize)
    };
    let table = below(below(gibibytes(), 3), 2);
    // SAFETY: as in `map`.
    unsafe { table.add(position(address, 1)).write_volatile(0) };
}

/// Takes the pages in `window` away. Other cores forget them before they use the next window.
///
/// # Safety
/// Nobody may use them any more; other cores rest.
pub unsafe fn clear(window: Range<u64>) {
    let gibibyte = position(window.start, 3)..position(window.end - 1, 3) + 1;
    for at in gibibyte {
        // SAFETY: nobody uses the window any more, and only its own entries are cleared.
        unsafe { gibibytes().add(at).write_volatile(0) };
    }
    registers::flush_translations();
}
