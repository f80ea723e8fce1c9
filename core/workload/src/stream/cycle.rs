//! One pseudo-random cycle through all elements, without a table.

use solo_model::SplitMix64;

/// The order of a pointer chase: a single cycle through `0..elements`.
///
/// A linear congruential generator modulo the next power of two visits every state once a lap (full period by
/// Hull and Dobell: odd increment, multiplier 1 modulo 4). Its weak low bits go through a bijection of xors and
/// odd multiplications, and values beyond the last element are stepped over, which on a single cycle leaves a
/// single cycle of the rest. So a chase through a gigabyte takes as little state as one through a page, and a
/// step costs two draws at most on average.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cycle {
    elements: u64,
    mask: u64,
    shift: u32,
    multiplier: u64,
    increment: u64,
    scramble: [u64; 2],
    state: u64,
}

impl Cycle {
    /// The most elements: 2^63.
    pub(crate) const ELEMENTS_MAX: u64 = 1 << 63;

    /// The cycle through `0..elements` that `seed` picks; an empty one counts as one element.
    ///
    /// Above [`Cycle::ELEMENTS_MAX`] elements the cycle goes through the first that many.
    pub fn new(elements: u64, seed: u64) -> Self {
        let elements = elements.clamp(1, Self::ELEMENTS_MAX);
        let modulus = elements.next_power_of_two();
        let mut random = SplitMix64::new(seed);
        Self {
            elements,
            mask: modulus - 1,
            shift: (modulus.trailing_zeros() / 2).max(1),
            multiplier: random.next_u64() & !3 | 1,
            increment: random.next_u64() | 1,
            scramble: [random.next_u64() | 1, random.next_u64() | 1],
            state: 0,
        }
    }

    /// Goes back to the element where the chase starts.
    pub const fn restart(&mut self) {
        self.state = 0;
    }

    /// The next element of the cycle, in `0..elements`.
    #[inline]
    pub const fn advance(&mut self) -> u64 {
        loop {
            self.state = self.state.wrapping_mul(self.multiplier).wrapping_add(self.increment) & self.mask;
            let mut element = self.state;
            element = (element ^ (element >> self.shift)).wrapping_mul(self.scramble[0]) & self.mask;
            element = (element ^ (element >> self.shift)).wrapping_mul(self.scramble[1]) & self.mask;
            element ^= element >> self.shift;
            if element < self.elements {
                return element;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::vec;
    use std::vec::Vec;

    proptest! {
        #[test]
        fn a_lap_visits_each_element_once_and_laps_repeat(elements in 1u64..3000, seed: u64) {
            let mut cycle = Cycle::new(elements, seed);
            let first: Vec<u64> = (0..elements).map(|_| cycle.advance()).collect();
            let mut seen = vec![false; elements as usize];
            for &element in &first {
                prop_assert!(!core::mem::replace(&mut seen[element as usize], true));
            }
            let second: Vec<u64> = (0..elements).map(|_| cycle.advance()).collect();
            prop_assert_eq!(&first, &second);
            cycle.restart();
            prop_assert_eq!(cycle.advance(), first[0]);
        }
    }

    #[test]
    fn neighbours_on_the_cycle_are_far_apart_in_memory() {
        // A uniformly random jump among 4096 elements lands on a neighbour once in 2048 times.
        let mut cycle = Cycle::new(4096, 1);
        let mut last = cycle.advance();
        let mut near = 0;
        for _ in 0..4096 {
            let next = cycle.advance();
            near += u32::from(next.abs_diff(last) <= 1);
            last = next;
        }
        assert!(near < 16, "{near} steps to a neighbour");
    }

    #[test]
    fn seeds_pick_different_cycles() {
        let lap = |seed| {
            let mut cycle = Cycle::new(256, seed);
            (0..256).map(|_| cycle.advance()).collect::<Vec<_>>()
        };
        assert_eq!(lap(1), lap(1));
        assert_ne!(lap(1), lap(2));
    }
}
