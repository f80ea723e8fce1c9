//! The caches that an x86-64 processor tells of, from what its CPUID answers.
//!
//! Intel and AMD describe a cache in the same fields, under different leaves of CPUID (Intel SDM volume 2A, CPUID, leaf 4; AMD
//! APM volume 3, appendix E, leaf 8000_001DH). Neither tells how the last level is divided into slices: colors are those of a
//! cache of one slice, so that a color of a sliced cache may be several of these.

use crate::geometry::Geometry;
use alloc::vec::Vec;

use solo_model::Bytes;
use solo_model::platform::Contents;

/// What CPUID answers: EAX, EBX, ECX, EDX.
pub type Leaf = [u32; 4];

/// The leaf of Intel.
const DETERMINISTIC: u32 = 4;
/// The leaf of AMD, and the bit of leaf 8000_0001H that announces it.
const PROPERTIES: u32 = 0x8000_001d;
const TOPOLOGY_EXTENSIONS: u32 = 1 << 22;
/// More caches than any processor has.
const MOST_CACHES: u32 = 16;

/// The caches of this core, in the processor's order; empty where it doesn't tell. `cpuid` answers for a leaf and subleaf.
pub fn caches(cpuid: impl Fn(u32, u32) -> Leaf) -> Vec<Geometry> {
    let describe = |leaf| (0..MOST_CACHES).map_while(|index| cache_of(cpuid(leaf, index))).collect();
    let intel: Vec<_> = if cpuid(0, 0)[0] >= DETERMINISTIC { describe(DETERMINISTIC) } else { Vec::new() };
    let amd = || {
        let most = cpuid(0x8000_0000, 0)[0];
        most >= PROPERTIES && cpuid(0x8000_0001, 0)[2] & TOPOLOGY_EXTENSIONS != 0
    };
    if intel.is_empty() && amd() { describe(PROPERTIES) } else { intel }
}

/// The bytes of a line that CLFLUSH takes out of caches, from what leaf 1 answers (Intel SDM volume 2A, CPUID: EBX 15:8 in units of 8
/// bytes, where EDX 19 announces the instruction); `None` without it.
pub fn flushed_line([_, ebx, _, edx]: Leaf) -> Option<u64> {
    (edx >> 19 & 1 == 1).then_some(u64::from(ebx >> 8 & 0xff) * 8).filter(|line| line.is_power_of_two())
}

/// The cache of a leaf; `None` where there are no more.
fn cache_of([eax, ebx, ecx, _]: Leaf) -> Option<Geometry> {
    let contents = match eax & 0x1f {
        1 => Contents::Data,
        2 => Contents::Instructions,
        3 => Contents::Unified,
        _ => return None,
    };
    let line = u64::from(ebx & 0xfff) + 1;
    let partitions = u64::from(ebx >> 12 & 0x3ff) + 1;
    let ways = (ebx >> 22) + 1;
    let size = Bytes::new(line * partitions * u64::from(ways) * (u64::from(ecx) + 1));
    let level = (eax >> 5 & 7) as u8;
    Some(Geometry { level, contents, size, ways: ways as u16, line: Bytes::new(line) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::last_level;

    const PAGE: Bytes = Bytes::from_kib(4);

    /// EAX to ECX of a cache, as the manuals lay them out.
    fn leaf(kind: u32, level: u32, ways: u32, sets: u32) -> Leaf {
        [kind | level << 5, 63 | (ways - 1) << 22, sets - 1, 0]
    }

    /// The thesis's i7-2600: 8 MiB in 16 ways, 128 colors (3.1.1).
    fn i7_2600(asked: u32, index: u32) -> Leaf {
        match (asked, index) {
            (0, _) => [0xd, 0, 0, 0],
            (4, 0) => leaf(1, 1, 8, 64),
            (4, 1) => leaf(2, 1, 8, 64),
            (4, 2) => leaf(3, 2, 8, 512),
            (4, 3) => leaf(3, 3, 16, 8192),
            _ => [0; 4],
        }
    }

    #[test]
    fn the_thesis_processor_has_128_colors() {
        let all = caches(i7_2600);
        assert_eq!(all.len(), 4);
        let last = last_level(&all).unwrap();
        assert_eq!((last.level, last.size, last.ways), (3, Bytes::from_mib(8), 16));
        assert_eq!(last.colors(PAGE), 128);
        let map = last.map(PAGE).unwrap();
        assert_eq!((map.color(0x12_3456).0, map.banks().count()), (0x56, 1));
    }

    #[test]
    fn amd_describes_the_same_fields_elsewhere_and_twelve_mebibytes_have_a_power_of_two_of_colors() {
        let cpuid = |asked, index| match (asked, index) {
            (0, _) => [0xd, 0, 0, 0],
            (0x8000_0000, _) => [0x8000_0028, 0, 0, 0],
            (0x8000_0001, _) => [0, 0, 1 << 22, 0],
            (0x8000_001d, 0) => leaf(1, 1, 8, 64),
            (0x8000_001d, 1) => leaf(3, 3, 16, 12288),
            _ => [0; 4],
        };
        let last = last_level(&caches(cpuid)).unwrap();
        assert_eq!(last.size, Bytes::from_mib(12));
        assert_eq!(last.colors(PAGE), 64, "192 colors are no power of two");
    }

    #[test]
    fn lines_are_flushed_where_the_processor_says_so() {
        assert_eq!(flushed_line([0, 8 << 8 | 3 << 24 | 0xff, 0, 1 << 19]), Some(64));
        assert_eq!(flushed_line([0, 16 << 8, 0, !0]), Some(128));
        assert_eq!(flushed_line([0, 8 << 8, 0, !(1 << 19)]), None);
        for units in [0, 3] {
            assert_eq!(flushed_line([0, units << 8, 0, 1 << 19]), None);
        }
    }

    #[test]
    fn a_processor_that_does_not_tell_has_no_caches() {
        assert_eq!(caches(|_, _| [0; 4]), []);
        assert_eq!(last_level(&[]), None);
        let endless = caches(|asked, _| if asked == 0 { [4, 0, 0, 0] } else { leaf(1, 1, 8, 64) });
        assert_eq!(endless.len(), MOST_CACHES as usize);
    }
}
