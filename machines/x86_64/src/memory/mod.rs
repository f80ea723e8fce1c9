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
mod window;

pub use image::{FORGET_VECTOR, forget};
pub use solo_bare::memory::Need;
pub use solo_bare::paging::PAGE;
pub use solo_bare::stacks::Stacks;
pub use window::{guard_null, translate};

use crate::arch::X86;
use crate::sync::SpinLock;
use alloc::alloc::{GlobalAlloc, Layout};
use core::ops::Range;
use solo_bare::heap::Heaps;
use solo_bare::paging::Paging;

/// See [`solo_bare::memory::RunMemory`].
pub type RunMemory = solo_bare::memory::RunMemory<X86>;

static HEAPS: Heaps<X86> = Heaps::new(window::WINDOW);

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

/// The memory of the run that is under way.
static RUN: SpinLock<Option<RunMemory>> = SpinLock::new(None);

impl Paging for X86 {
    const WINDOW: u64 = window::WINDOW;

    fn heaps() -> &'static Heaps<Self> {
        &HEAPS
    }

    fn most_tables(pages: u64) -> u64 {
        window::most_tables(pages)
    }

    unsafe fn map<E>(address: u64, physical: u64, frame: impl FnMut() -> Result<u64, E>) -> Result<(), E> {
        // SAFETY: the caller vouches for the frames.
        unsafe { window::map(address, physical, frame) }
    }

    unsafe fn unmap(address: u64) {
        // SAFETY: the caller vouches that nobody uses it.
        unsafe { window::unmap(address) };
    }

    unsafe fn clear(window: Range<u64>) {
        // SAFETY: the caller vouches that nobody uses it.
        unsafe { window::clear(window) };
    }

    fn translate(address: u64) -> Option<u64> {
        translate(address)
    }

    fn image() -> [Range<u64>; 2] {
        image::pieces()
    }

    unsafe fn move_image(frames: &[u64]) {
        // SAFETY: the caller vouches for the frames.
        unsafe { image::leave(frames) };
    }

    unsafe fn return_image(attic: u64) {
        // SAFETY: the caller vouches for what is there.
        unsafe { image::come_back(attic) };
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

/// See [`Heaps::system_bytes`].
pub fn size_of_system_heap() -> Option<u64> {
    HEAPS.system_bytes()
}

/// See [`Heaps::close_system`].
pub fn close_system_heap() -> u64 {
    HEAPS.close_system()
}

/// See [`Heaps::requests`].
pub fn allocations() -> u64 {
    HEAPS.requests()
}

/// Keeps the memory of a run until [`finish_run`].
pub fn keep(memory: RunMemory) {
    *RUN.lock() = Some(memory);
}

/// Looks at the memory of the run that is under way, if it has any.
pub fn with_run<T>(look: impl FnOnce(&mut RunMemory) -> T) -> Option<T> {
    RUN.lock().as_mut().map(look)
}

/// Takes the memory of the run that is over away. Nothing of it may be in use.
pub fn finish_run() {
    HEAPS.drop_system();
    drop(RUN.lock().take());
}
