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

use crate::arch::{X86, registers};
use alloc::alloc::{GlobalAlloc, Layout};
use core::ops::Range;
use solo_bare::heap::Heaps;
use solo_bare::paging::{Move, Paging, WINDOW};

static HEAPS: Heaps<X86> = Heaps::new(WINDOW);

/// Whoever allocates comes here: plain functions, so that no caller has to name the heaps (24 KB of the image).
struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

// SAFETY: the heaps hand out disjoint blocks of the memory they were given, and take back what they gave.
unsafe impl GlobalAlloc for Allocator {
    #[inline(never)] // once, not for each vector
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HEAPS.allocate(layout)
    }

    #[inline(never)] // once, not for each vector
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's.
        unsafe { HEAPS.release(pointer, layout) };
    }
}

impl Paging for X86 {
    const RAM: Range<u64> = 1 << 20..3 << 30;

    fn heaps() -> &'static Heaps<Self> {
        &HEAPS
    }

    fn gibibytes() -> *mut u64 {
        tables::gibibytes()
    }

    fn page(physical: u64) -> u64 {
        physical | tables::PRESENT_WRITABLE
    }

    fn table(physical: u64) -> u64 {
        physical | tables::PRESENT_WRITABLE
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

/// Gives the general heap its memory.
///
/// # Safety
/// Nobody else may use `free`; it must be mapped.
pub unsafe fn give_to_heap(free: Range<u64>) {
    // SAFETY: the caller vouches for the memory.
    unsafe { HEAPS.give(free) };
}
