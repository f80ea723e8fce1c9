//! Pieces of memory, as loaders list them.

use core::ops::Range;
use core::ptr::{with_exposed_provenance, with_exposed_provenance_mut};
use core::slice;

/// Memory that may be used as RAM; other kinds belong to firmware and devices.
pub const RAM: u32 = 1;

/// A piece of physical memory, in the layout that PVH and Multiboot2 share.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[repr(C)]
pub struct Region {
    /// Where it begins.
    pub address: u64,
    /// Its length in bytes.
    pub size: u64,
    /// What it is: [`RAM`] or something else.
    pub kind: u32,
    /// Nothing yet.
    pub reserved: u32,
}

/// The largest piece of RAM within `bounds` that touches none of `taken`; empty where there is none.
///
/// ```text
///   region   |----------------------------|
///   taken          |----|       |--|
///   pieces   |-----|    |-------|  |------|
/// ```
pub fn largest_free(
    regions: impl IntoIterator<Item = Region>,
    bounds: &Range<u64>,
    taken: &[Range<u64>],
) -> Range<u64> {
    let mut best = 0..0;
    for region in regions.into_iter().filter(|region| region.kind == RAM) {
        let whole =
            region.address.max(bounds.start)..region.address.saturating_add(region.size).min(bounds.end);
        for start in taken.iter().map(|taken| taken.end.max(whole.start)).chain([whole.start]) {
            if taken.iter().any(|taken| taken.contains(&start)) {
                continue;
            }
            let behind = taken.iter().filter(|taken| !taken.is_empty() && taken.start >= start);
            let end = behind.map(|taken| taken.start).fold(whole.end, u64::min);
            if end.saturating_sub(start) > best.end - best.start {
                best = start..end;
            }
        }
    }
    best
}

/// Moves the boot module, which loaders may lay into the midst of free memory, to the beginning of `free`. Returns it, where there is
/// one and it fits, and what is left of `free`, in whole pieces of `page` bytes.
///
/// # Safety
/// `module` must be what the loader left, in memory that is mapped. Nobody else may use `free`, but for the module itself, and this
/// may be done once.
pub(crate) unsafe fn take_module(
    module: &Range<u64>,
    free: Range<u64>,
    page: u64,
) -> (Option<&'static [u8]>, Range<u64>) {
    let length = module.end.saturating_sub(module.start);
    if length == 0 || length > free.end - free.start {
        return (None, free);
    }
    let place = with_exposed_provenance_mut::<u8>(free.start as usize);
    // SAFETY: the caller vouches for both pieces, which may overlap.
    let bytes = unsafe {
        core::ptr::copy(with_exposed_provenance(module.start as usize), place, length as usize);
        slice::from_raw_parts(place, length as usize)
    };
    (Some(bytes), (free.start + length).next_multiple_of(page)..free.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const fn region(range: Range<u64>, kind: u32) -> Region {
        Region { address: range.start, size: range.end - range.start, kind, reserved: 0 }
    }

    #[test]
    fn the_largest_piece_lies_between_what_is_taken() {
        let regions = [region(0..100, RAM), region(100..900, 2), region(900..1000, RAM)];
        assert_eq!(largest_free(regions, &(0..2000), &[]), 0..100);
        assert_eq!(largest_free(regions, &(20..2000), &[]), 900..1000);
        assert_eq!(largest_free(regions, &(0..2000), &[30..40, 950..1000]), 40..100);
        assert_eq!(largest_free(regions, &(0..2000), &[0..500, 500..1000]), 0..0);
        assert_eq!(largest_free(regions, &(0..90), &[0..0, 95..96]), 0..90);
        assert_eq!(largest_free([], &(0..2000), &[]), 0..0);
        let all = Region { address: 10, size: u64::MAX, kind: RAM, reserved: 0 };
        assert_eq!(largest_free([all], &(0..50), &[]), 10..50);
    }

    #[test]
    fn a_module_moves_to_the_beginning_of_what_is_free() {
        let room: &'static mut [u8] = alloc::vec![0_u8; 4096].leak();
        room[100..105].copy_from_slice(b"hello");
        room[1000..1005].copy_from_slice(b"world");
        let start = room.as_mut_ptr().expose_provenance() as u64;
        let free = start..start + 4096;
        // SAFETY: nobody uses the room any more.
        let take = |from: u64, length: u64| unsafe {
            take_module(&(start + from..start + from + length), free.clone(), 512)
        };
        assert_eq!(take(0, 0), (None, free.clone()), "there is none");
        assert_eq!(take(0, 4097), (None, free.clone()), "it does not fit");
        let (module, left) = take(1000, 5);
        let border = (start + 5).next_multiple_of(512);
        assert_eq!((module, left), (Some(&b"world"[..]), border..free.end));
        assert_eq!(take(100, 5).0, Some(&b"hello"[..]), "and over what lay there");
        assert_eq!(take(3, 600).0.map(|bytes| &bytes[97..102]), Some(&b"hello"[..]), "a little further down");
    }

    proptest! {
        #[test]
        fn the_piece_is_free_and_no_free_one_is_larger(
            regions in prop::collection::vec((0_u64..60, 0_u64..30, 1_u32..3), 0..5),
            taken in prop::collection::vec((0_u64..80, 0_u64..20), 0..4),
            bounds in (0_u64..40, 40_u64..90),
        ) {
            let regions: Vec<_> = regions.into_iter().map(|(at, size, kind)| region(at..at + size, kind)).collect();
            let taken: Vec<_> = taken.into_iter().map(|(at, size)| at..at + size).collect();
            let bounds = bounds.0..bounds.1;
            let found = largest_free(regions.iter().copied(), &bounds, &taken);
            // Byte by byte, in each region by itself.
            let is_free = |at: u64| bounds.contains(&at) && !taken.iter().any(|taken| taken.contains(&at));
            let mut longest = 0;
            for region in regions.iter().filter(|region| region.kind == RAM) {
                let mut run = 0;
                for at in region.address..region.address + region.size {
                    run = if is_free(at) { run + 1 } else { 0 };
                    longest = longest.max(run);
                }
            }
            prop_assert_eq!(found.end - found.start, longest);
            prop_assert!(found.clone().all(is_free));
        }
    }
}
