//! Memory: heaps, the page that must not be touched, and what a run maps for itself.
//!
//! ```text
//!   0      page 0: not mapped
//!   1 MiB  image ┐
//!          RAM   │ each address to itself, in large pages. The general heap has all RAM; while a run lasts, it
//!   3 GiB        ┘ lends the run a piece, whose frames are shared out by color
//!   3 GiB  devices
//!   4 GiB  window: the run's stacks, buffers and heaps, page by page on those frames, holes between them
//! ```

mod image;
mod tables;

pub use image::{FORGET_VECTOR, forget};
pub use tables::guard_null;

use crate::port::arch::{X86, registers};
use core::ops::Range;
use solo_bare::heap::Heaps;
use solo_bare::paging::{Move, Paging, WINDOW};

static HEAPS: Heaps<X86> = Heaps::new(WINDOW);

solo_bare::allocate_from_heaps!(X86);

impl Paging for X86 {
    const RAM: Range<u64> = 1 << 20..3 << 30;
    const PAGE_ENTRY: u64 = tables::PRESENT_WRITABLE;
    const TABLE_ENTRY: u64 = tables::PRESENT_WRITABLE;

    fn heaps() -> &'static Heaps<Self> {
        &HEAPS
    }

    fn gibibytes() -> *mut u64 {
        tables::gibibytes()
    }

    fn is_large(entry: u64) -> bool {
        entry & tables::LARGE != 0
    }

    fn forget_translations() {
        registers::flush_translations();
    }

    fn image() -> [Range<u64>; 2] {
        image::pieces()
    }

    fn entry_of(address: u64) -> *mut u64 {
        tables::entry_of(address)
    }

    unsafe fn exchange(moves: &[Move]) {
        // SAFETY: the caller vouches for the frames.
        unsafe { image::exchange(moves) };
    }
}
