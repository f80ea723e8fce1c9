//! Memory: the heap, the page that must not be touched, and stacks with guard pages.

use crate::arch::registers;
use crate::sync::SpinLock;
use alloc::alloc::{GlobalAlloc, Layout, alloc, dealloc, handle_alloc_error};
use alloc::boxed::Box;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::ptr::{self, NonNull};
use rlsf::Tlsf;
use solo_x86_64::module::STACK_RESERVE;

/// The size of a page.
pub const PAGE: u64 = 4096;
const LARGE_PAGE: u64 = 2 << 20;
const ENTRIES: usize = 512;
const PRESENT_WRITABLE: u64 = 3;
/// The entry is a page of 2 MiB.
const LARGE: u64 = 0x80;

type Pool = Tlsf<'static, u32, u32, 28, 16>;

/// The heap: two-level segregated fit, so that every request takes bounded time (thesis 4.3.2 asks the same of
/// its coloured heaps).
struct Heap(SpinLock<Pool>);

#[global_allocator]
static HEAP: Heap = Heap(SpinLock::new(Pool::new()));

// SAFETY: the pool hands out disjoint pieces of the memory it was given, and the lock lets one core at a time in.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.0.lock().allocate(layout).map_or(ptr::null_mut(), NonNull::as_ptr)
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if let Some(pointer) = NonNull::new(pointer) {
            // SAFETY: the caller got the pointer from `alloc` with this layout.
            unsafe { self.0.lock().deallocate(pointer, layout.align()) };
        }
    }
}

/// Gives the heap its memory.
///
/// # Safety
/// Nobody else may use `free`; it must be mapped.
pub unsafe fn give_to_heap(free: Range<u64>) {
    let length = free.end.saturating_sub(free.start) as usize;
    let start = ptr::with_exposed_provenance_mut::<MaybeUninit<u8>>(free.start as usize);
    let block =
        NonNull::slice_from_raw_parts(NonNull::new(start).unwrap_or(NonNull::dangling()), length).cast();
    // SAFETY: the caller vouches for the memory.
    unsafe {
        HEAP.0.lock().insert_free_block_ptr(NonNull::slice_from_raw_parts(block, length));
    }
}

unsafe extern "C" {
    static mut page_directories: [u64; 4 * ENTRIES];
}

/// Maps the large page at `address`, a multiple of 2 MiB below 3 GiB, in small pages, without those that `hole`
/// names.
fn map_in_small_pages(address: u64, hole: impl Fn(u64) -> bool) {
    let table: &'static mut [u64; ENTRIES] = &mut Box::leak(Box::new(PageTable([0; ENTRIES]))).0;
    for (number, entry) in table.iter_mut().enumerate() {
        let page = address + number as u64 * PAGE;
        *entry = if hole(page) { 0 } else { page | PRESENT_WRITABLE };
    }
    // SAFETY: the new table maps the same addresses as the large page did, but for the holes, which nobody uses;
    // tables are changed by the boot core while the others wait.
    unsafe {
        page_directories[(address / LARGE_PAGE) as usize] = table.as_ptr() as u64 | PRESENT_WRITABLE;
    }
    registers::flush_translations();
}

#[repr(align(4096))]
struct PageTable([u64; ENTRIES]);

/// Takes page 0 away, so that null pointers fault.
pub fn guard_null() {
    map_in_small_pages(0, |page| page == 0);
}

/// Maps the large page at `address`, a multiple of 2 MiB below 3 GiB, in one piece again.
///
/// # Safety
/// It must have been mapped in small pages by [`map_in_small_pages`].
unsafe fn map_in_one_piece(address: u64) {
    // SAFETY: the entry holds the address of a table that was leaked for it; nobody walks it after the flush, which
    // other cores do before they use what lies there.
    unsafe {
        let entry = &raw mut page_directories[(address / LARGE_PAGE) as usize];
        let table = (*entry & !(PAGE - 1)) as *mut PageTable;
        *entry = address | PRESENT_WRITABLE | LARGE;
        registers::flush_translations();
        drop(Box::from_raw(table));
    }
}

/// Stacks of one size, each above a page that isn't there.
#[derive(Debug)]
pub struct Stacks {
    base: u64,
    each: u64,
    count: u64,
}

impl Stacks {
    /// `count` stacks of `bytes`, rounded up to whole pages. When they go, nobody may be on one.
    pub fn new(count: usize, bytes: u64) -> Self {
        let each = bytes.next_multiple_of(PAGE) + PAGE;
        let count = count as u64;
        let mut stacks = Self { base: 0, each, count };
        let (Some(layout), total) = (stacks.layout(), stacks.total()) else { return stacks };
        // SAFETY: the layout is not empty: it is at least one large page for any count above zero.
        let base = unsafe { alloc(layout) } as u64;
        if base == 0 {
            handle_alloc_error(layout);
        }
        stacks.base = base;
        for large in (base..base + total).step_by(LARGE_PAGE as usize) {
            map_in_small_pages(large, |page| stacks.guards(page).is_some());
        }
        stacks
    }

    /// The bytes of all of them, in whole large pages.
    fn total(&self) -> u64 {
        (self.each * self.count).next_multiple_of(LARGE_PAGE)
    }

    /// Their place; `None` where there are none.
    fn layout(&self) -> Option<Layout> {
        let total = usize::try_from(self.total()).ok().filter(|&total| total > 0)?;
        Layout::from_size_align(total, LARGE_PAGE as usize).ok()
    }

    /// The end of a stack: where it begins to grow down from. A multiple of 16.
    pub fn end(&self, index: usize) -> u64 {
        self.base + (index as u64 + 1) * self.each
    }

    /// The lowest address of a stack, right above its guard page.
    pub fn limit(&self, index: usize) -> u64 {
        self.end(index) - self.each + PAGE
    }

    /// What a stack pointer may be where the kernel is to be entered on the stack.
    pub fn own(&self, index: usize) -> core::ops::RangeInclusive<u64> {
        self.limit(index) + STACK_RESERVE..=self.end(index)
    }

    /// The stack whose guard page `address` lies in.
    pub fn guards(&self, address: u64) -> Option<usize> {
        let offset = address.checked_sub(self.base)?;
        let index = offset / self.each;
        (index < self.count && offset % self.each < PAGE).then_some(index as usize)
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        let Some(layout) = self.layout() else { return };
        // SAFETY: the pages were mapped in small ones and allocated with this layout by `new`; nobody is on a stack.
        unsafe {
            (self.base..self.base + self.total())
                .step_by(LARGE_PAGE as usize)
                .for_each(|at| map_in_one_piece(at));
            dealloc(self.base as *mut u8, layout);
        }
    }
}
