//! A partition of page frames by some bits of their addresses.

use crate::gf2::Basis;
use alloc::vec::Vec;
use solo_model::Bytes;
use solo_model::platform::{Cache, Dram, XorBits};

/// A partition of the page frames: the class of an address is the number that some parities of its bits form,
/// the first lowest, modulo the number of classes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Classes {
    functions: Vec<XorBits>,
    count: u16,
}

/// Functions of address bits that differ within a page: no placement of pages controls them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SplitByPage {
    /// Those functions.
    pub functions: Vec<XorBits>,
    /// The size of a page.
    pub page: Bytes,
}

impl Classes {
    /// The most functions, so that a class fits its type.
    pub const MOST_FUNCTIONS: usize = 15;

    /// The classes that `functions` make, at most the first [`Classes::MOST_FUNCTIONS`] of them.
    pub fn new(functions: &[XorBits]) -> Self {
        let functions: Vec<_> = functions.iter().copied().take(Self::MOST_FUNCTIONS).collect();
        let count = 1 << functions.len();
        Self { functions, count }
    }

    /// Page colors of a cache: the set-index bits above the page offset, within a slice (thesis 3.1.1: cache
    /// size / ways / page size). One class where the page covers all sets.
    ///
    /// Where the number of colors is no power of two, pages are told apart modulo its largest divisor that is
    /// one: coarser, and never wrong.
    pub fn of_cache(cache: &Cache, page: Bytes) -> Self {
        let width = cache.colors(page).trailing_zeros();
        let low = page.get().max(1).trailing_zeros();
        let functions: Vec<_> = (0..width).map(|bit| XorBits(1 << (low + bit))).collect();
        Self::new(&functions)
    }

    /// Page colors of a last-level cache that leave a first-level cache whole: colors that would also split
    /// the first level are merged (Bao's rule: last-level way size / first-level way size).
    pub fn of_cache_sparing(cache: &Cache, first_level: &Cache, page: Bytes) -> Self {
        let all = Self::of_cache(cache, page);
        let spared = first_level.colors(page).max(1).trailing_zeros() as usize;
        Self::new(all.functions.get(spared..).unwrap_or(&[]))
    }

    /// DRAM banks of the whole machine: bank bits lowest, then rank, then channel. What no placement of pages
    /// controls is left out and returned beside the classes.
    pub(crate) fn of_dram(dram: &Dram, page: Bytes) -> (Self, Option<SplitByPage>) {
        let all = dram.bank_bits.iter().chain(&dram.rank_bits).chain(&dram.channel_bits);
        Self::paged(&all.copied().collect::<Vec<_>>(), page)
    }

    /// The classes of pages that `functions` make, and those of the functions that differ within a page.
    pub fn paged(functions: &[XorBits], page: Bytes) -> (Self, Option<SplitByPage>) {
        let within = page.get().max(1) - 1;
        let (split, whole): (Vec<_>, Vec<_>) =
            functions.iter().copied().partition(|function| function.0 & within != 0);
        let split = (!split.is_empty()).then_some(SplitByPage { functions: split, page });
        (Self::new(&whole), split)
    }

    /// Merged into `count` classes: super color = color modulo the number asked for (thesis 4.3.2). Unchanged
    /// for zero and for as many or more than there are.
    #[must_use]
    pub fn grouped(&self, count: u16) -> Self {
        let count = if count == 0 { self.count } else { count.min(self.count) };
        Self { functions: self.functions.clone(), count }
    }

    /// How many classes there are; at least 1.
    pub fn count(&self) -> u16 {
        self.count.max(1)
    }

    /// The parities that form the class, lowest first.
    pub fn functions(&self) -> &[XorBits] {
        &self.functions
    }

    /// The class of a physical address.
    pub fn of(&self, address: u64) -> u16 {
        let bit = |(at, function): (usize, &XorBits)| function.of(address) << at;
        let number: u64 = self.functions.iter().enumerate().map(bit).sum();
        (number % u64::from(self.count())) as u16
    }

    /// True where both partitions are the same up to the numbering of classes.
    pub fn equivalent(&self, other: &Self) -> bool {
        let span = |classes: &Self| Basis::of(classes.functions.iter().map(|function| function.0));
        let (ours, theirs) = (span(self), span(other));
        self.count() == other.count()
            && ours.rank() == theirs.rank()
            && self.functions.iter().all(|function| theirs.reduce(function.0) == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(mask: u64) -> Vec<XorBits> {
        crate::gf2::bits(mask).map(XorBits).collect()
    }

    /// PALLOC's README: mask 0x00183000 is bits 12, 13, 19, 20 of a real machine, 16 bins.
    #[test]
    fn a_mask_of_four_bits_makes_sixteen_bins() {
        let bins = Classes::new(&mask(0x0018_3000));
        assert_eq!(bins.count(), 16);
        assert_eq!(bins.of(0x0000_1000), 1);
        assert_eq!(bins.of(0x0000_3fff), 3);
        assert_eq!(bins.of(0x0018_3000), 15);
        assert_eq!(bins.of(0x0004_0000), 0);
    }

    /// PALLOC's README: bits 13 and 17, 14 and 18, 15 and 19, 16 and 20 XORed.
    #[test]
    fn xor_pairs_make_sixteen_bins() {
        let pairs = [(13, 17), (14, 18), (15, 19), (16, 20)].map(|(a, b)| XorBits(1 << a | 1 << b));
        let bins = Classes::new(&pairs);
        assert_eq!(bins.count(), 16);
        assert_eq!(bins.of(1 << 13), 1);
        assert_eq!(bins.of(1 << 17), 1);
        assert_eq!(bins.of(1 << 13 | 1 << 17), 0);
        assert_eq!(bins.of(1 << 20 | 1 << 14), 0b1010);
    }

    /// PALLOC has at most 256 bins, and asking for all ten bits of a cache's sets crashed it (issue 8 there); Xen
    /// has 1024 colors.
    #[test]
    fn ten_bits_make_a_thousand_and_twenty_four_colors() {
        let colors = Classes::new(&mask(0x3ff << 12));
        assert_eq!(colors.count(), 1024);
        let mut seen: Vec<u16> = (0..1024).map(|page| colors.of(page << 12)).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!((seen.len(), seen[1023]), (1024, 1023));
    }

    #[test]
    fn super_colors_are_colors_modulo_their_number() {
        let colors = Classes::new(&mask(0x7f << 12));
        assert_eq!(colors.count(), 128);
        let twelve = colors.grouped(12);
        assert_eq!(twelve.count(), 12);
        assert_eq!(twelve.of(127 << 12), 127 % 12);
        assert_eq!(colors.grouped(0).count(), 128);
        assert_eq!(colors.grouped(500).count(), 128);
    }

    #[test]
    fn equivalence_does_not_depend_on_the_choice_of_functions() {
        let a = Classes::new(&[XorBits(0b0110 << 12), XorBits(0b1100 << 12)]);
        let b = Classes::new(&[XorBits(0b1010 << 12), XorBits(0b0110 << 12)]);
        let c = Classes::new(&[XorBits(0b1010 << 12), XorBits(0b0001 << 12)]);
        assert!(a.equivalent(&b));
        assert!(!a.equivalent(&c));
    }
}
