//! The window that a run maps page by page, and the image on other page frames while it lasts.
//!
//! An image that moves keeps its addresses: code, constants and data of a kernel that has a color of its own. The frames
//! behind them change, all at once as far as any core can tell ([`Paging::exchange`]). The page tables of RAM are walked by their
//! physical addresses and stay where the loader put them.

use crate::paging::{Move, PAGE, Paging, WINDOW};
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::ops::Range;
use core::ptr;

const ENTRIES: usize = 512;
/// The entry leads to a page or table.
const PRESENT: u64 = 1;
/// The bits of an entry that are an address.
const ADDRESS: u64 = 0x0000_ffff_ffff_f000;

/// The addresses of a window, handed out one after the other.
#[derive(Debug)]
pub(crate) struct Window<P: Paging> {
    next: u64,
    paging: PhantomData<fn() -> P>,
}

impl<P: Paging> Window<P> {
    /// An empty one.
    pub(crate) fn new() -> Self {
        Self { next: WINDOW, paging: PhantomData }
    }

    /// The next `pages` addresses in a row, behind a hole of one page.
    pub(crate) fn reserve(&mut self, pages: u64) -> u64 {
        let first = self.next + PAGE;
        self.next = first + pages * PAGE;
        first
    }
}

impl<P: Paging> Drop for Window<P> {
    fn drop(&mut self) {
        // SAFETY: the window goes with its run, after which nobody uses it; the run is cleared away while other cores rest.
        unsafe { clear::<P>(WINDOW..self.next) };
    }
}

/// The table that an entry leads to; `None` where it leads to none.
fn table_below<P: Paging>(entry: u64) -> Option<*mut u64> {
    let is_table = entry & PRESENT != 0 && !P::is_large(entry);
    is_table.then(|| ptr::with_exposed_provenance_mut((entry & ADDRESS) as usize))
}

/// The position of `address` in a table of level 3 (gibibytes), 2 or 1 (pages).
pub const fn position(address: u64, level: u32) -> usize {
    (address >> (12 + 9 * (level - 1)) & (ENTRIES as u64 - 1)) as usize
}

/// Where `address` lies in physical memory, by the tables that the processor walks.
pub fn translate<P: Paging>(address: u64) -> Option<u64> {
    if address >> 39 != 0 {
        return None;
    }
    let mut table = P::gibibytes();
    for level in [3, 2, 1] {
        // SAFETY: tables lie in RAM that is mapped to itself, and have 512 entries.
        let entry = unsafe { table.add(position(address, level)).read_volatile() };
        let size = 1 << (12 + 9 * (level - 1));
        if level == 1 || entry & PRESENT != 0 && P::is_large(entry) {
            return (entry & PRESENT != 0).then_some(entry & ADDRESS & !(size - 1) | address & (size - 1));
        }
        table = table_below::<P>(entry)?;
    }
    None
}

/// Tables that mapping all pages that a window has reserved, some more than `pages`, takes at most.
pub(crate) fn most_tables(pages: u64) -> u64 {
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
pub(crate) unsafe fn map<P: Paging, E>(
    address: u64,
    physical: u64,
    mut frame: impl FnMut() -> Result<u64, E>,
) -> Result<(), E> {
    let mut table = P::gibibytes();
    for level in [3, 2] {
        // SAFETY: the tables lie in RAM that is mapped to itself; those of the window are changed here only.
        unsafe {
            let entry = table.add(position(address, level));
            if *entry & PRESENT == 0 {
                let below = frame()?;
                ptr::with_exposed_provenance_mut::<[u64; ENTRIES]>(below as usize).write_bytes(0, 1);
                *entry = below | P::TABLE_ENTRY;
            }
            table = ptr::with_exposed_provenance_mut((*entry & ADDRESS) as usize);
        }
    }
    // SAFETY: as above. Nothing was mapped there, so that no core remembers it.
    unsafe { table.add(position(address, 1)).write_volatile(physical | P::PAGE_ENTRY) };
    P::publish_translations();
    Ok(())
}

/// Takes the page at `address`, which was mapped, away.
///
/// # Safety
/// Nobody may use it any more; other cores rest.
pub(crate) unsafe fn unmap<P: Paging>(address: u64) {
    let below = |table: *mut u64, level| {
        // SAFETY: as in `map`; the page was mapped, so the tables exist.
        let entry = unsafe { table.add(position(address, level)).read() };
        ptr::with_exposed_provenance_mut::<u64>((entry & ADDRESS) as usize)
    };
    let table = below(below(P::gibibytes(), 3), 2);
    // SAFETY: as in `map`.
    unsafe { table.add(position(address, 1)).write_volatile(0) };
}

/// Takes the pages in `window` away. Other cores forget them before they use the next window.
///
/// # Safety
/// Nobody may use them any more; other cores rest.
unsafe fn clear<P: Paging>(window: Range<u64>) {
    let gibibyte = position(window.start, 3)..position(window.end - 1, 3) + 1;
    for at in gibibyte {
        // SAFETY: nobody uses the window any more, and only its own entries are cleared.
        unsafe { P::gibibytes().add(at).write_volatile(0) };
    }
    P::forget_translations();
}

/// The addresses of the image's pages.
pub(crate) fn image_pages<P: Paging>() -> impl Iterator<Item = u64> {
    P::image().into_iter().flat_map(|piece| piece.step_by(PAGE as usize))
}

/// Moves the image to `frames`, physical addresses that are mapped to themselves, one for each page.
///
/// # Safety
/// The frames must be nobody else's. The boot core must ask, while the others rest.
pub(crate) unsafe fn move_image<P: Paging>(frames: &[u64]) {
    let moves = image_pages::<P>().zip(frames).map(|(page, &frame)| Move {
        from: page,
        to: frame,
        entry: P::entry_of(page),
        value: frame | P::PAGE_ENTRY,
    });
    // SAFETY: the caller vouches for the frames.
    unsafe { P::exchange(&moves.collect::<Vec<_>>()) };
}

/// Moves the image back to where it was loaded. `attic` is where the frames of before are mapped, page after page.
///
/// # Safety
/// As for [`move_image`], which must have been called before.
pub(crate) unsafe fn return_image<P: Paging>(attic: u64) {
    let moves = image_pages::<P>().enumerate().map(|(number, page)| Move {
        from: page,
        to: attic + number as u64 * PAGE,
        entry: P::entry_of(page),
        value: page | P::PAGE_ENTRY,
    });
    // SAFETY: the frames of before have been kept; the caller vouches for the rest.
    unsafe { P::exchange(&moves.collect::<Vec<_>>()) };
}
