//! Pieces of memory, as loaders list them.

use core::ops::Range;

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
