//! The one generator behind everything random in a run: frames, addresses, lengths of computation, shuffles.

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014): 64 bits of
/// state, period 2^64, equidistributed, three multiplications a number at most.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SplitMix64 {
    state: u64,
}

/// The odd constant nearest to 2^64 divided by the golden ratio.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

impl SplitMix64 {
    /// The generator that starts from `seed`.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// A generator for the purpose that `parts` name: each list of parts leads to a stream of its own.
    pub fn derived(seed: u64, parts: &[u64]) -> Self {
        let state = parts.iter().fold(mix(seed.wrapping_add(GAMMA)), |state, part| {
            mix(state.wrapping_add(GAMMA) ^ mix(part.wrapping_add(GAMMA)))
        });
        Self { state }
    }

    /// The next number, uniform over all 64-bit values.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        mix(self.state)
    }

    /// A number in `0..bound`; zero for a bound of zero.
    ///
    /// The high half of a product (Lemire, 2019) without its rejection step: values differ in probability by
    /// less than `bound / 2^64`, which for a buffer of a terabyte is one in sixteen million.
    #[inline]
    pub const fn below(&mut self, bound: u64) -> u64 {
        ((self.next_u64() as u128 * bound as u128) >> 64) as u64
    }

    /// Puts `items` into another order, each as probable as the others (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

/// Scrambles the bits of `z`; a bijection.
#[inline]
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_published_generator() {
        // First outputs for seed 1234567, as the generator's reference implementation prints them.
        let mut random = SplitMix64::new(1_234_567);
        assert_eq!(random.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(random.next_u64(), 3_203_168_211_198_807_973);
        assert_eq!(random.next_u64(), 9_817_491_932_198_370_423);
    }

    #[test]
    fn positions_spread_evenly() {
        let mut random = SplitMix64::derived(1, &[2, 3]);
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[random.below(10) as usize] += 1;
        }
        // Six standard deviations of a binomial(100000, 0.1) are 569.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 569), "{counts:?}");
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn a_shuffle_loses_nothing_and_follows_from_the_seed() {
        let shuffled = |seed| {
            let mut items: [u32; 50] = core::array::from_fn(|at| at as u32);
            SplitMix64::new(seed).shuffle(&mut items);
            items
        };
        assert_eq!(shuffled(3), shuffled(3));
        assert_ne!(shuffled(3), shuffled(4));
        let mut sorted = shuffled(3);
        sorted.sort_unstable();
        assert!(sorted.iter().enumerate().all(|(at, &item)| item as usize == at));
    }

    #[test]
    fn each_purpose_has_its_own_stream() {
        let first = |parts: &[u64]| SplitMix64::derived(7, parts).next_u64();
        assert_ne!(first(&[1, 2]), first(&[2, 1]));
        assert_ne!(first(&[1]), first(&[1, 0]));
        assert_ne!(SplitMix64::derived(8, &[1]).next_u64(), first(&[1]));
    }
}
