//! Memory: heaps, and the entries of page tables. `entry.s` has the tables of the first 4 GiB.
//!
//! ```text
//!   0      2 MiB: not mapped
//!          devices                               (on the Raspberry Pi 4 they come last)
//!   1 GiB  RAM: image, and ┐ each address to itself. The general heap has all RAM; while a run lasts, it
//!          heap            ┘ lends the run a piece, whose frames are shared out by color
//!   4 GiB  window: the run's stacks, buffers and heaps, page by page on those frames, holes between them
//! ```

use crate::port::MODEL;
use crate::port::arch::{Arm64, registers};
use core::arch::asm;
use core::ops::Range;
use solo_bare::heap::Heaps;
use solo_bare::paging::{Move, PAGE, Paging, WINDOW};

/// Not set where an entry of the upper levels is a block.
const IS_TABLE: u64 = 2;

unsafe extern "C" {
    static image_start: u8;
    static image_end: u8;
    static fixed_start: u8;
    static fixed_end: u8;
    static mut gibibytes: [u64; 512];
    static mut image_pages: [u64; 1024];
}

static HEAPS: Heaps<Arm64> = Heaps::new(WINDOW);

solo_bare::allocate_from_heaps!(Arm64);

impl Paging for Arm64 {
    const RAM: Range<u64> = MODEL.ram();
    /// Accessed, shared, write-back: see `entry.s`.
    const PAGE_ENTRY: u64 = 0x707;
    const TABLE_ENTRY: u64 = 3;

    fn heaps() -> &'static Heaps<Self> {
        &HEAPS
    }

    fn gibibytes() -> *mut u64 {
        (&raw mut gibibytes).cast()
    }

    fn is_large(entry: u64) -> bool {
        entry & IS_TABLE == 0
    }

    fn publish_translations() {
        registers::publish();
    }

    fn forget_translations() {
        registers::flush_translations();
    }

    fn image() -> [Range<u64>; 2] {
        let at = |symbol: *const u8| symbol as u64;
        [
            at(&raw const image_start)..at(&raw const fixed_start),
            at(&raw const fixed_end)..at(&raw const image_end),
        ]
    }

    fn entry_of(address: u64) -> *mut u64 {
        let number = (address - &raw const image_start as u64) / PAGE;
        // SAFETY: the caller asks for pages of the image, which has fewer than the table.
        unsafe { (&raw mut image_pages).cast::<u64>().add(number as usize) }
    }

    /// The architecture wants an entry to be taken away, forgotten and made anew (D8.16.1), for a core that writes meanwhile might
    /// see both pages. Nobody writes here, both hold the same, and other cores may be executing what would be away.
    unsafe fn exchange(moves: &[Move]) {
        if moves.is_empty() {
            return;
        }
        // SAFETY: nothing is written but the new frames and the entries; everything else stays in registers. The new frame of
        // the page that is executed, and of the stack, hold what the old ones held. The last invalidations reach all cores.
        unsafe {
            asm!(
                "mrs x9, daif",
                "msr daifset, #0xf",
                "2:",
                "ldp x4, x5, [{copy}], #32",
                "add x6, x4, #4096",
                "3:",
                "ldp x7, x8, [x4], #16",
                "stp x7, x8, [x5]",
                "dc cvau, x5",
                "add x5, x5, #16",
                "cmp x4, x6",
                "b.lo 3b",
                "cmp {copy}, {end}",
                "b.lo 2b",
                "dsb ish",
                "4:",
                "ldp x4, x5, [{enter}, #16]",
                "str x5, [x4]",
                "add {enter}, {enter}, #32",
                "cmp {enter}, {end}",
                "b.lo 4b",
                "dsb ish",
                "tlbi vmalle1is",
                "ic ialluis",
                "dsb ish",
                "isb",
                "msr daif, x9",
                copy = inout(reg) moves.as_ptr() => _,
                enter = inout(reg) moves.as_ptr() => _,
                end = in(reg) moves.as_ptr_range().end,
                out("x4") _, out("x5") _, out("x6") _, out("x7") _, out("x8") _, out("x9") _,
                options(nostack),
            );
        }
    }
}
