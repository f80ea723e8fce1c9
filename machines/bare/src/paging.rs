//! What the runtime needs of page tables.

use crate::heap::Heaps;
use crate::isa::Isa;
use core::marker::PhantomData;
use core::ops::Range;

/// The size of a page in bytes.
pub const PAGE: u64 = 4096;

/// Page tables: RAM is mapped to itself, and beyond it lies a window that a run maps page by page.
pub trait Paging: Isa {
    /// Where the window begins. No RAM lies at or above this address.
    const WINDOW: u64;

    /// The heaps of the image.
    fn heaps() -> &'static Heaps<Self>;

    /// Tables that mapping all pages that a [`Window`] has reserved, some more than `pages`, takes at most.
    fn most_tables(pages: u64) -> u64;

    /// Maps the page at `address`, of the window, to the frame at `physical`. New tables come from `frame`.
    ///
    /// # Errors
    /// If there is no frame for a table.
    ///
    /// # Safety
    /// Nobody else may use the frames, which must be RAM that is mapped to itself; other cores rest.
    unsafe fn map<E>(address: u64, physical: u64, frame: impl FnMut() -> Result<u64, E>) -> Result<(), E>;

    /// Takes the page at `address`, which was mapped, away.
    ///
    /// # Safety
    /// Nobody may use it any more; other cores rest.
    unsafe fn unmap(address: u64);

    /// Takes all pages in `window` away. Other cores forget it before they use the next one.
    ///
    /// # Safety
    /// Nobody may use it any more; other cores rest.
    unsafe fn clear(window: Range<u64>);

    /// Where `address` lies in physical memory, by the tables that the processor walks.
    fn translate(address: u64) -> Option<u64>;

    /// The addresses of the image that can be moved to other frames: whole pages, without page tables.
    fn image() -> [Range<u64>; 2];

    /// Moves the image to `frames`, physical addresses that are mapped to themselves, one for each page.
    ///
    /// # Safety
    /// The frames must be nobody else's. The boot core must ask, while the others rest.
    unsafe fn move_image(frames: &[u64]);

    /// Moves the image back to where it was loaded. `attic` is where the frames of before are mapped, page after page.
    ///
    /// # Safety
    /// As for [`Paging::move_image`], which must have been called before.
    unsafe fn return_image(attic: u64);
}

/// The addresses of a window, handed out one after the other.
#[derive(Debug)]
pub(crate) struct Window<P: Paging> {
    next: u64,
    paging: PhantomData<fn() -> P>,
}

impl<P: Paging> Window<P> {
    /// An empty one.
    pub(crate) fn new() -> Self {
        Self { next: P::WINDOW, paging: PhantomData }
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
        unsafe { P::clear(P::WINDOW..self.next) };
    }
}
