//! A way drawn by the cache's own generator, so that caches don't disturb each other's draws.

use super::Allowed;

/// Marsaglia's xorshift64 with shifts 13, 7, 17.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: u64,
    ways: u64,
}

impl Random {
    pub(crate) fn new(ways: usize, seed: u64) -> Self {
        // The generator's state must not be zero; the odd constant spreads neighbouring seeds.
        let state = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        Self { state, ways: ways as u64 }
    }

    fn draw(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    pub(crate) fn victim(&mut self, allowed: Allowed) -> usize {
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
        let mut random = Random::new(24, 7);
        let mut drawn = [0_u32; 24];
        for _ in 0..24_000 {
            drawn[random.victim(Allowed::All)] += 1;
        }
        assert!(drawn.iter().all(|count| (800..1200).contains(count)), "{drawn:?}");
    }

    #[test]
    fn a_mask_is_kept() {
        let mut random = Random::new(8, 7);
        assert!((0..1000).all(|_| [1, 4, 7].contains(&random.victim(Allowed::Only(0b1001_0010)))));
    }
}
