//! The kernel's heaps: two-level segregated fit, so that every request takes bounded time (thesis 4.3.2 asks the same of its
//! colored heaps).
//!
//! The general heap has all RAM. Where an experiment gives the kernel a color, what it allocates for the run comes from a second
//! one, whose pages have that color (the colored system heap of thesis 4.3.5).

use super::window::WINDOW;
use crate::sync::SpinLock;
use alloc::alloc::{GlobalAlloc, Layout};
use core::mem::MaybeUninit;
use core::ops::Range;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use rlsf::Tlsf;

type Pool = Tlsf<'static, u32, u32, 28, 16>;

struct Heaps {
    general: SpinLock<Pool>,
    system: SpinLock<Pool>,
    /// Requests go to the system heap.
    system_is_open: AtomicBool,
    /// Bytes that the system heap could not give and the general one did.
    outside: AtomicU64,
    /// Requests so far.
    requests: AtomicU64,
}

#[global_allocator]
static HEAPS: Heaps = Heaps {
    general: SpinLock::new(Pool::new()),
    system: SpinLock::new(Pool::new()),
    system_is_open: AtomicBool::new(false),
    outside: AtomicU64::new(0),
    requests: AtomicU64::new(0),
};

/// The bytes of the general heap.
static GENERAL_BYTES: AtomicU64 = AtomicU64::new(0);
/// The bytes of the system heap; 0 where there is none.
static SYSTEM_BYTES: AtomicU64 = AtomicU64::new(0);

// SAFETY: the pools hand out disjoint pieces of the memory they were given, and the locks let one core at a time in. The
// system heap lies in the window and the general one does not, so that an address tells whose it is.
unsafe impl GlobalAlloc for Heaps {
    #[inline(never)] // once, not for each vector
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.requests.fetch_add(1, Ordering::Relaxed);
        if self.system_is_open.load(Ordering::Relaxed) {
            if let Some(place) = self.system.lock().allocate(layout) {
                return place.as_ptr();
            }
            self.outside.fetch_add(layout.size() as u64, Ordering::Relaxed);
        }
        self.general.lock().allocate(layout).map_or(ptr::null_mut(), NonNull::as_ptr)
    }

    #[inline(never)] // once, not for each vector
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        let pool = if pointer as u64 >= WINDOW { &self.system } else { &self.general };
        if let Some(pointer) = NonNull::new(pointer) {
            // SAFETY: the caller got the pointer from `alloc` with this layout, and its address tells from which pool.
            unsafe { pool.lock().deallocate(pointer, layout.align()) };
        }
    }
}

/// Gives the general heap its memory.
///
/// # Safety
/// Nobody else may use `free`; it must be mapped.
pub unsafe fn give_to_heap(free: Range<u64>) {
    GENERAL_BYTES.store(free.end.saturating_sub(free.start), Ordering::Relaxed);
    // SAFETY: the caller vouches for the memory.
    unsafe { give(&HEAPS.general, free) };
}

/// # Safety
/// As for [`give_to_heap`].
unsafe fn give(pool: &SpinLock<Pool>, free: Range<u64>) {
    let length = free.end.saturating_sub(free.start) as usize;
    let start = ptr::with_exposed_provenance_mut::<MaybeUninit<u8>>(free.start as usize);
    let block =
        NonNull::slice_from_raw_parts(NonNull::new(start).unwrap_or(NonNull::dangling()), length).cast();
    // SAFETY: the caller vouches for the memory.
    unsafe {
        pool.lock().insert_free_block_ptr(NonNull::slice_from_raw_parts(block, length));
    }
}

/// The bytes that the general heap was given.
pub(super) fn general_bytes() -> u64 {
    GENERAL_BYTES.load(Ordering::Relaxed)
}

/// The bytes of the system heap, where there is one.
pub fn size_of_system_heap() -> Option<u64> {
    Some(SYSTEM_BYTES.load(Ordering::Relaxed)).filter(|&bytes| bytes > 0)
}

/// Lets requests go to a system heap in `free`, until [`close_system_heap`].
///
/// # Safety
/// As for [`give_to_heap`], in the window, until [`drop_system_heap`].
pub(super) unsafe fn open_system_heap(free: Range<u64>) {
    SYSTEM_BYTES.store(free.end - free.start, Ordering::Relaxed);
    HEAPS.outside.store(0, Ordering::Relaxed);
    // SAFETY: the caller vouches for the memory.
    unsafe { give(&HEAPS.system, free) };
    HEAPS.system_is_open.store(true, Ordering::Relaxed);
}

/// Sends requests to the general heap again. The bytes that the system heap should have given, and could not.
pub fn close_system_heap() -> u64 {
    let was_open = HEAPS.system_is_open.swap(false, Ordering::Relaxed);
    if was_open { HEAPS.outside.load(Ordering::Relaxed) } else { 0 }
}

/// Forgets the system heap. Nothing of it may be in use.
pub(super) fn drop_system_heap() {
    SYSTEM_BYTES.store(0, Ordering::Relaxed);
    *HEAPS.system.lock() = Pool::new();
}

/// How many requests there have been.
pub fn allocations() -> u64 {
    HEAPS.requests.load(Ordering::Relaxed)
}
