//! Colors and banks together.

use super::classes::{Classes, SplitByPage};
use alloc::vec::Vec;
use core::fmt;
use solo_model::{Bank, Bytes, Color, Platform};

/// A set of page frames of one color and one bank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MemoryClass(pub u32);

/// Why no map could be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MapError {
    /// The page size is not a power of two.
    Page {
        /// It.
        page: Bytes,
    },
    /// Colors and banks together make more classes than a map is meant for.
    TooManyClasses {
        /// How many.
        classes: u64,
        /// The most.
        most: u64,
    },
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Page { page } => write!(f, "pages of {page} are no power of two"),
            Self::TooManyClasses { classes, most } => {
                write!(f, "{classes} pairs of color and bank; a map has at most {most}")
            }
        }
    }
}

impl core::error::Error for MapError {}

/// Where page frames lie: their color in the last-level cache and their DRAM bank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryMap {
    page: Bytes,
    colors: Classes,
    banks: Classes,
    split: Option<SplitByPage>,
}

impl MemoryMap {
    /// The most pairs of color and bank.
    const MOST_CLASSES: u64 = 1 << 20;

    /// The map of a platform: colors of its last data cache, banks of its DRAM. A slice hash takes part in
    /// neither: pages of a color lie in all slices.
    ///
    /// # Errors
    /// If the platform's page size is no power of two or there are too many classes.
    pub fn of(platform: &Platform) -> Result<Self, MapError> {
        let (banks, split) = Classes::of_dram(&platform.dram, platform.page);
        let colors =
            platform.last_level().map_or(Classes::new(&[]), |cache| Classes::of_cache(cache, platform.page));
        Self::new(platform.page, colors, banks, split)
    }

    /// A map of these colors and banks.
    ///
    /// # Errors
    /// If the page size is no power of two or there are too many classes.
    pub fn new(
        page: Bytes,
        colors: Classes,
        banks: Classes,
        split: Option<SplitByPage>,
    ) -> Result<Self, MapError> {
        if !page.get().is_power_of_two() {
            return Err(MapError::Page { page });
        }
        let classes = u64::from(colors.count()) * u64::from(banks.count());
        if classes > Self::MOST_CLASSES {
            return Err(MapError::TooManyClasses { classes, most: Self::MOST_CLASSES });
        }
        Ok(Self { page, colors, banks, split })
    }

    /// With the colors merged into `groups` super colors; see [`Classes::grouped`].
    #[must_use]
    pub fn grouped(&self, groups: u16) -> Self {
        Self { colors: self.colors.grouped(groups), ..self.clone() }
    }

    /// The size of a page.
    pub fn page(&self) -> Bytes {
        self.page
    }
    /// The page colors.
    pub fn colors(&self) -> &Classes {
        &self.colors
    }
    /// The DRAM banks that placement of pages controls.
    pub fn banks(&self) -> &Classes {
        &self.banks
    }
    /// The bank functions that it does not.
    pub fn split(&self) -> Option<&SplitByPage> {
        self.split.as_ref()
    }
    /// Pairs of color and bank, whether or not any frame has them.
    pub fn classes(&self) -> u32 {
        u32::from(self.colors.count()) * u32::from(self.banks.count())
    }
    /// The color of the frame of this number.
    pub fn color(&self, frame: u64) -> Color {
        Color(self.colors.of(self.address(frame)))
    }
    /// The bank of the frame of this number.
    pub fn bank(&self, frame: u64) -> Bank {
        Bank(self.banks.of(self.address(frame)))
    }
    /// Color and bank of the frame of this number.
    pub fn class(&self, frame: u64) -> MemoryClass {
        self.pair(self.color(frame), self.bank(frame))
    }
    /// The class of a color and a bank.
    pub fn pair(&self, color: Color, bank: Bank) -> MemoryClass {
        MemoryClass(u32::from(bank.0) * u32::from(self.colors.count()) + u32::from(color.0))
    }
    /// Color and bank of a class.
    pub(crate) fn unpair(&self, class: MemoryClass) -> (Color, Bank) {
        let colors = u32::from(self.colors.count());
        (Color((class.0 % colors) as u16), Bank((class.0 / colors) as u16))
    }
    /// True where frames of this color lie in this bank: the two may share address bits.
    pub fn exists(&self, color: Color, bank: Bank) -> bool {
        self.banks_of(color).contains(&bank)
    }
    /// The banks that frames of `color` lie in, ascending.
    pub fn banks_of(&self, color: Color) -> Vec<Bank> {
        let mut banks: Vec<Bank> =
            self.representatives().filter(|&(c, _)| c == color).map(|(_, bank)| bank).collect();
        banks.sort_unstable();
        banks.dedup();
        banks
    }

    /// Every pair of color and bank that exists, some several times: from all values of the bits that matter,
    /// which the functions' independent combinations stand for.
    pub(crate) fn representatives(&self) -> impl Iterator<Item = (Color, Bank)> + '_ {
        let independent = self.independent(u64::MAX);
        combinations(independent)
            .map(|address| (Color(self.colors.of(address)), Bank(self.banks.of(address))))
    }

    /// How many of the first `frames` page frames are of each class, in the order of [`MemoryMap::classes`].
    pub(crate) fn frames_by_class(&self, frames: u64) -> Vec<u64> {
        let mut counts = alloc::vec![0; self.classes() as usize];
        // Frames from a multiple of a power of two on, as many as that: each value of the independent bits is taken equally often.
        let mut first = 0;
        for bit in (0..u64::BITS).rev().filter(|bit| frames >> bit & 1 == 1) {
            let base = self.address(first);
            let independent = self.independent(self.address(1 << bit).wrapping_sub(1));
            let each = (1 << bit) >> independent.len();
            for address in combinations(independent) {
                let class =
                    self.pair(Color(self.colors.of(base ^ address)), Bank(self.banks.of(base ^ address)));
                if let Some(count) = counts.get_mut(class.0 as usize) {
                    *count += each;
                }
            }
            first |= 1 << bit;
        }
        counts
    }

    /// Bits among `mask` whose combinations run through all values that the functions' parities have on it, each once: bits that no
    /// function tells apart are left out by elimination. None lies within a page.
    fn independent(&self, mask: u64) -> Vec<u64> {
        let functions = || self.colors.functions().iter().chain(self.banks.functions());
        let used = functions().fold(0, |all, function| all | function.0);
        let signature = |bit: u64| {
            functions().enumerate().fold(0_u64, |word, (at, function)| word | function.of(bit) << at)
        };
        let mut independent: Vec<u64> = Vec::new();
        let mut span = crate::gf2::Basis::default();
        for bit in crate::gf2::bits(used & mask) {
            if span.add(signature(bit)) {
                independent.push(bit);
            }
        }
        independent
    }

    fn address(&self, frame: u64) -> u64 {
        frame << self.page.get().trailing_zeros()
    }
}

/// Every sum of some of these bits.
fn combinations(bits: Vec<u64>) -> impl Iterator<Item = u64> {
    (0..1_u64 << bits.len()).map(move |chosen| {
        let pick = |(at, bit): (usize, &u64)| if chosen >> at & 1 == 1 { *bit } else { 0 };
        bits.iter().enumerate().map(pick).sum()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::platform::XorBits;

    /// xeon-w3530: 128 colors in bits 12 to 18; bank bits 12, 13, 19, 20 of which two are color bits too.
    #[test]
    fn shared_bits_leave_a_quarter_of_the_pairs() {
        let bits = |list: &[u32]| list.iter().map(|bit| XorBits(1 << bit)).collect::<Vec<_>>();
        let colors = Classes::new(&bits(&[12, 13, 14, 15, 16, 17, 18]));
        let banks = Classes::new(&bits(&[12, 13, 19, 20]));
        let map = MemoryMap::new(Bytes::from_kib(4), colors, banks, None).unwrap();
        assert_eq!(map.classes(), 2048);
        assert_eq!(map.banks_of(Color(0)), [Bank(0), Bank(4), Bank(8), Bank(12)]);
        assert!(map.exists(Color(1), Bank(5)));
        assert!(!map.exists(Color(1), Bank(4)));
        assert_eq!(map.unpair(map.pair(Color(77), Bank(13))), (Color(77), Bank(13)));
        let frame = 0x183;
        assert_eq!(map.class(frame), map.pair(map.color(frame), map.bank(frame)));
    }

    #[test]
    fn frames_are_counted_as_by_looking_at_each() {
        let bits = |list: &[u64]| list.iter().map(|&bits| XorBits(bits << 12)).collect::<Vec<_>>();
        for (colors, banks) in [
            (bits(&[1, 2, 4, 8]), bits(&[1, 2, 16, 32])),
            (bits(&[3, 6, 12]), bits(&[24, 48, 5, 64 | 1])),
            (bits(&[1, 2, 4, 8, 16]), bits(&[])),
            (bits(&[]), bits(&[3, 3, 6])),
        ] {
            let map = MemoryMap::new(Bytes::from_kib(4), Classes::new(&colors), Classes::new(&banks), None);
            for map in [map.clone().unwrap(), map.clone().unwrap().grouped(3), map.unwrap().grouped(5)] {
                for frames in [0, 1, 7, 64, 100, 128, 1000, 1023] {
                    let mut counts = alloc::vec![0; map.classes() as usize];
                    (0..frames).for_each(|frame| counts[map.class(frame).0 as usize] += 1);
                    assert_eq!(map.frames_by_class(frames), counts, "{map:?} {frames}");
                }
            }
        }
    }

    #[test]
    fn a_page_that_is_no_power_of_two_makes_no_map() {
        let none = Classes::new(&[]);
        assert_eq!(
            MemoryMap::new(Bytes::new(3000), none.clone(), none, None),
            Err(MapError::Page { page: Bytes::new(3000) })
        );
    }
}
