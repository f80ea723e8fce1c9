//! The kernel's heaps: two-level segregated fit, so that every request takes bounded time (thesis 4.3.2 asks the same of its
//! colored heaps).
//!
//! The general heap has all RAM. Where an experiment gives the kernel a color, what it allocates for the run comes from a second
//! one, whose pages have that color (the colored system heap of thesis 4.3.5).

use crate::isa::Isa;
use crate::lock::SpinLock;
use core::alloc::Layout;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use rlsf::Tlsf;

type Pool = Tlsf<'static, u32, u32, 28, 16>;

/// The heaps of an image, for its global allocator.
#[derive(Debug)]
pub struct Heaps<I: Isa> {
    /// Where the addresses of the system heap begin.
    border: u64,
    general: SpinLock<I, Pool>,
    system: SpinLock<I, Pool>,
    /// Requests go to the system heap.
    system_is_open: AtomicBool,
    /// Bytes that the system heap could not give and the general one did.
    outside: AtomicU64,
    /// Requests so far.
    requests: AtomicU64,
    /// The bytes of the general heap.
    general_bytes: AtomicU64,
    /// The bytes of the system heap; 0 where there is none.
    system_bytes: AtomicU64,
}

impl<I: Isa> Heaps<I> {
    /// Heaps without memory. The general one will have addresses below `border`, the system heap those from there on.
    pub const fn new(border: u64) -> Self {
        Self {
            border,
            general: SpinLock::new(Pool::new()),
            system: SpinLock::new(Pool::new()),
            system_is_open: AtomicBool::new(false),
            outside: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            general_bytes: AtomicU64::new(0),
            system_bytes: AtomicU64::new(0),
        }
    }

    /// A block for `layout`, for a global allocator: of the system heap while that is open, else of the general one; null where
    /// there is none.
    #[inline(always)]
    pub fn allocate(&self, layout: Layout) -> *mut u8 {
        self.requests.fetch_add(1, Ordering::Relaxed);
        if self.system_is_open.load(Ordering::Relaxed) {
            if let Some(place) = self.system.lock().allocate(layout) {
                return place.as_ptr();
            }
            self.outside.fetch_add(layout.size() as u64, Ordering::Relaxed);
        }
        self.general.lock().allocate(layout).map_or(ptr::null_mut(), NonNull::as_ptr)
    }

    /// Takes a block back.
    ///
    /// # Safety
    /// [`Self::allocate`] gave it for this layout, and nobody uses it any more.
    #[inline(always)]
    pub unsafe fn release(&self, pointer: *mut u8, layout: Layout) {
        // The system heap lies above the border and the general one below, so that an address tells whose it is.
        let pool = if pointer as u64 >= self.border { &self.system } else { &self.general };
        if let Some(pointer) = NonNull::new(pointer) {
            // SAFETY: the caller got the pointer from `allocate` with this layout, and its address tells from which pool.
            unsafe { pool.lock().deallocate(pointer, layout.align()) };
        }
    }

    /// Gives the general heap its memory.
    ///
    /// # Safety
    /// Nobody else may use `free`; it must be mapped, below the border.
    pub unsafe fn give(&self, free: Range<u64>) {
        self.general_bytes.store(free.end.saturating_sub(free.start), Ordering::Relaxed);
        // SAFETY: the caller vouches for the memory.
        unsafe { give(&self.general, free) };
    }

    /// The bytes that the general heap was given.
    pub fn general_bytes(&self) -> u64 {
        self.general_bytes.load(Ordering::Relaxed)
    }

    /// The bytes of the system heap, where there is one.
    pub fn system_bytes(&self) -> Option<u64> {
        Some(self.system_bytes.load(Ordering::Relaxed)).filter(|&bytes| bytes > 0)
    }

    /// Lets requests go to a system heap in `free`, until [`Self::close_system`].
    ///
    /// # Safety
    /// As for [`Self::give`], but above the border, until [`Self::drop_system`].
    pub unsafe fn open_system(&self, free: Range<u64>) {
        self.system_bytes.store(free.end - free.start, Ordering::Relaxed);
        self.outside.store(0, Ordering::Relaxed);
        // SAFETY: the caller vouches for the memory.
        unsafe { give(&self.system, free) };
        self.system_is_open.store(true, Ordering::Relaxed);
    }

    /// Sends requests to the general heap again. The bytes that the system heap should have given, and could not.
    pub fn close_system(&self) -> u64 {
        let was_open = self.system_is_open.swap(false, Ordering::Relaxed);
        if was_open { self.outside.load(Ordering::Relaxed) } else { 0 }
    }

    /// Forgets the system heap. Nothing of it may be in use.
    pub fn drop_system(&self) {
        self.system_bytes.store(0, Ordering::Relaxed);
        *self.system.lock() = Pool::new();
    }

    /// How many requests there have been.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }
}

/// # Safety
/// As for [`Heaps::give`].
unsafe fn give<I: Isa>(pool: &SpinLock<I, Pool>, free: Range<u64>) {
    let length = free.end.saturating_sub(free.start) as usize;
    let start = ptr::with_exposed_provenance_mut::<MaybeUninit<u8>>(free.start as usize);
    let block =
        NonNull::slice_from_raw_parts(NonNull::new(start).unwrap_or(NonNull::dangling()), length).cast();
    // SAFETY: the caller vouches for the memory.
    unsafe {
        pool.lock().insert_free_block_ptr(NonNull::slice_from_raw_parts(block, length));
    }
}
