//! A way drawn by the cache's own generator, so that caches don't disturb each other's draws.

use crate::{Allowed, Policy};

/// Marsaglia's xorshift64 with shifts 13, 7, 17.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: u64,
    ways: u64,
}

pub(crate) fn new(_sets: usize, ways: usize, seed: u64) -> Random {
    // The generator's state must not be zero; the odd constant spreads neighboring seeds.
    let state = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    Random { state, ways: ways as u64 }
}

impl Random {
    fn draw(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

}

impl Policy for Random {
    fn beginning(&self) -> u64 {
        0
    }

    #[inline]
    fn touch(&mut self, _: &mut u64, _: usize, _: usize) {}

    #[inline]
    fn fill(&mut self, _: &mut u64, _: usize, _: usize) {}

    #[inline]
    fn replace_quickly(&self, _: &mut u64) -> Option<usize> {
        None
    }

    fn victim(&mut self, _: u64, _: usize, allowed: Allowed) -> usize {
        let draw = self.draw() >> 32;
        match allowed {
            Allowed::All => ((draw * self.ways) >> 32) as usize,
            Allowed::Only(mask) => {
                let nth = (draw * u64::from(mask.count_ones())) >> 32;
                let rest = (0..nth).fold(mask, |rest, _| rest & rest.wrapping_sub(1));
                rest.trailing_zeros() as usize
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_is_drawn_about_equally_often() {
        let mut random = new(1, 24, 7);
        let mut drawn = [0_u32; 24];
        for _ in 0..24_000 {
            drawn[random.victim(0, 0, Allowed::All)] += 1;
        }
        assert!(drawn.iter().all(|count| (800..1200).contains(count)), "{drawn:?}");
    }

    #[test]
    fn a_mask_is_kept() {
        let mut random = new(1, 8, 7);
        assert!((0..1000).all(|_| [1, 4, 7].contains(&random.victim(0, 0, Allowed::Only(0b1001_0010)))));
    }
}
