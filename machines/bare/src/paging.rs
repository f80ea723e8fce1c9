//! What the runtime needs of page tables.

use crate::heap::Heaps;
use crate::isa::Isa;
use core::ops::Range;

/// The size of a page in bytes.
pub const PAGE: u64 = 4096;

/// Where the window of a run begins: no RAM lies at or above this address.
pub const WINDOW: u64 = 4 << 30;

/// Page tables of three levels of 512 entries each: gibibytes, pieces of 2 MiB, pages. RAM is mapped to itself, and beyond
/// it lies a window that a run maps page by page ([`crate::window`]).
pub trait Paging: Isa {
    /// Where RAM may lie, mapped to itself.
    const RAM: Range<u64>;

    /// The bits of an entry for a page of RAM, beside its address.
    const PAGE_ENTRY: u64;

    /// The bits of an entry for a table, beside its address.
    const TABLE_ENTRY: u64;

    /// The heaps of the image.
    fn heaps() -> &'static Heaps<Self>;

    /// The table whose entries are gibibytes.
    fn gibibytes() -> *mut u64;

    /// True where an entry that is present, of the upper two levels, is a large page and not a table.
    fn is_large(entry: u64) -> bool;

    /// Lets this core find what has just been entered where nothing was. Every core does so before it begins with a run
    /// ([`Self::forget_translations`]).
    fn publish_translations() {}

    /// This core forgets all translations, after a change of the page tables.
    fn forget_translations();

    /// The addresses of the image that can be moved to other frames: whole pages, without page tables.
    fn image() -> [Range<u64>; 2];

    /// The entry of the page at `address`, in the image, which is mapped to itself.
    fn entry_of(address: u64) -> *mut u64;

    /// Copies pages of the image and lets their entries lead to the copies, without a write to memory in between: what it
    /// would write might be on a page that has been copied already. All cores have forgotten the old ones when it returns.
    ///
    /// # Safety
    /// `moves` must not lie in the image, and the new frames must be nobody else's. The boot core must ask, while the others
    /// rest and write nothing.
    unsafe fn exchange(moves: &[Move]);
}

/// Lets whoever allocates in an image come to the heaps of its port: plain functions of the port's crate, so that no caller has to
/// name the heaps, nor what they have no use for (24 KB of the image; a function of a generic type takes as much again).
#[macro_export]
macro_rules! allocate_from_heaps {
    ($port:ty) => {
        struct Allocator;

        #[global_allocator]
        static ALLOCATOR: Allocator = Allocator;

        // SAFETY: the heaps hand out disjoint blocks of the memory they were given, and take back what they gave.
        unsafe impl core::alloc::GlobalAlloc for Allocator {
            #[inline(never)] // once, not for each vector
            unsafe fn alloc(&self, layout: core::alloc::Layout) -> *mut u8 {
                <$port as $crate::paging::Paging>::heaps().allocate(layout)
            }

            #[inline(never)] // once, not for each vector
            unsafe fn dealloc(&self, pointer: *mut u8, layout: core::alloc::Layout) {
                // SAFETY: the caller's.
                unsafe { <$port as $crate::paging::Paging>::heaps().release(pointer, layout) };
            }
        }
    };
}

/// A page of the image that moves.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Move {
    /// Where it is read.
    pub from: u64,
    /// Where its new frame can be written.
    pub to: u64,
    /// The entry that leads to it.
    pub entry: *mut u64,
    /// What the entry becomes.
    pub value: u64,
}
