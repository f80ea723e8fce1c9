//! A curve that never rises, from samples of it: misses by the size of the cache that was held (PMCTrack 4.3.1).
//!
//! ```text
//!   sample ─▶ bin of its size ─▶ bins with enough samples ─▶ monotone regression ─▶ values at equal distances, from none to all
//! ```
//! The regression is that of pool-adjacent violators (Ayer and others, 1955), weighted by instructions, in integers: two
//! neighboring bins of which the larger size has the higher rate are taken for one. Between the sizes of two bins the
//! curve is a line; below the smallest size and above the largest that were seen it is level.

use alloc::vec::Vec;
use solo_model::occupancy::CurveBin;
use solo_model::{Bytes, Fixed, MissRateCurve};

/// A bin with fewer samples says nothing.
const LEAST_SAMPLES: u64 = 3;
/// A bin with so many samples forgets half of them: what a task did long ago counts ever less.
const MOST_SAMPLES: u64 = 1 << 12;
/// The ranges of sizes.
const BINS: usize = MissRateCurve::BINS;

/// Samples of a curve and the curve through them. Takes no memory after its construction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Curve {
    capacity: Bytes,
    bins: Vec<CurveBin>,
    points: Vec<Fixed>,
    known: bool,
}

/// Neighboring bins with one rate.
#[derive(Clone, Copy, Default)]
struct Block {
    misses: u128,
    instructions: u128,
    bins: usize,
}

impl Block {
    /// True where this block, of larger sizes, has a higher rate than the one before it.
    fn rises_above(&self, before: &Self) -> bool {
        self.misses * before.instructions > before.misses * self.instructions
    }

    /// Misses in 1,000 instructions.
    fn rate(&self) -> Fixed {
        let count = |number: u128| Fixed::from(u64::try_from(number).unwrap_or(u64::MAX));
        count(self.misses * 1000).divide(count(self.instructions)).unwrap_or(Fixed::ZERO)
    }
}

impl Curve {
    /// Nothing known of a cache of this size.
    pub fn new(capacity: Bytes) -> Self {
        let bins = alloc::vec![CurveBin::default(); BINS];
        Self { capacity, bins, points: alloc::vec![Fixed::ZERO; BINS + 1], known: false }
    }

    /// Takes in that a task held `size` of the cache while it retired so many instructions and missed so often. Samples of
    /// fewer than 1,000 instructions are left out.
    pub fn take(&mut self, size: Bytes, instructions: u64, misses: u64) {
        let whole = u128::from(self.capacity.get().max(1));
        let place = u128::from(size.get()) * BINS as u128 / whole;
        let bin = &mut self.bins[(place as usize).min(BINS - 1)];
        if instructions < 1000 {
            return;
        }
        if bin.samples >= MOST_SAMPLES {
            let half = |number: u64| number / 2;
            *bin = CurveBin {
                samples: half(bin.samples),
                instructions: half(bin.instructions),
                misses: half(bin.misses),
                weighed: bin.weighed / 2,
            };
        }
        bin.samples += 1;
        bin.instructions = bin.instructions.saturating_add(instructions);
        bin.misses = bin.misses.saturating_add(misses);
        bin.weighed += u128::from(size.get()) * u128::from(instructions / 1000);
        self.fit();
    }

    /// The size of the cache.
    pub const fn capacity(&self) -> Bytes {
        self.capacity
    }

    /// What was sampled.
    pub fn bins(&self) -> &[CurveBin] {
        &self.bins
    }

    /// Misses in 1,000 instructions at the ends of the ranges, from size zero to the whole cache; `None` before any range has
    /// enough samples.
    pub fn points(&self) -> Option<&[Fixed]> {
        self.known.then_some(&self.points)
    }

    /// Fits the curve to the bins.
    fn fit(&mut self) {
        let mut blocks = [Block::default(); BINS];
        let (mut count, mut sizes, mut used) = (0, [0_u128; BINS], 0);
        for bin in self.bins.iter().filter(|bin| bin.samples >= LEAST_SAMPLES) {
            let thousands = u128::from(bin.instructions / 1000).max(1);
            sizes[used] = bin.weighed / thousands;
            used += 1;
            let (misses, instructions) = (u128::from(bin.misses), u128::from(bin.instructions));
            blocks[count] = Block { misses, instructions, bins: 1 };
            while count > 0 && blocks[count].rises_above(&blocks[count - 1]) {
                let last = blocks[count];
                count -= 1;
                let block = &mut blocks[count];
                block.misses += last.misses;
                block.instructions += last.instructions;
                block.bins += last.bins;
            }
            count += 1;
        }
        self.known = used > 0;
        let mut rates = [Fixed::ZERO; BINS];
        let fitted = blocks[..count].iter().flat_map(|block| core::iter::repeat_n(block.rate(), block.bins));
        rates.iter_mut().zip(fitted).for_each(|(rate, fitted)| *rate = fitted);
        let whole = u128::from(self.capacity.get());
        for (at, point) in self.points.iter_mut().enumerate() {
            *point = between(&sizes[..used], &rates[..used], whole * at as u128 / BINS as u128);
        }
    }
}

/// The value at `size` of the line through `rates` at `sizes`, which rise.
fn between(sizes: &[u128], rates: &[Fixed], size: u128) -> Fixed {
    let above = sizes.partition_point(|known| *known < size);
    let (Some(&high), Some(&after)) = (sizes.get(above), rates.get(above)) else {
        return rates.last().copied().unwrap_or(Fixed::ZERO);
    };
    let Some(below) = above.checked_sub(1) else { return after };
    let (low, before) = (sizes[below], rates[below]);
    let number = |size: u128| Fixed::from(u64::try_from(size).unwrap_or(u64::MAX));
    let share = number(size - low).divide(number(high - low)).unwrap_or(Fixed::ZERO);
    let fall = before.subtract(after).and_then(|fall| fall.multiply(share)).unwrap_or(Fixed::ZERO);
    before.subtract(fall).unwrap_or(after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::SplitMix64;

    const WHOLE: u64 = 32 * 1024;

    fn fitted(samples: &[(u64, u64, u64)]) -> Vec<Fixed> {
        let mut curve = Curve::new(Bytes::new(WHOLE));
        for &(size, instructions, misses) in samples {
            for _ in 0..LEAST_SAMPLES {
                curve.take(Bytes::new(size), instructions, misses);
            }
        }
        curve.points().map(<[Fixed]>::to_vec).unwrap_or_default()
    }

    #[test]
    fn a_line_through_two_sizes_is_level_outside_them() {
        let points = fitted(&[(8 * 1024, 1000, 40), (24 * 1024, 1000, 8)]);
        let at = |range: usize| points[range].whole();
        assert_eq!((at(0), at(8), at(16), at(24), at(32)), (40, 40, 24, 8, 8));
    }

    #[test]
    fn too_few_samples_or_instructions_say_nothing() {
        let mut curve = Curve::new(Bytes::new(WHOLE));
        (1..LEAST_SAMPLES).for_each(|_| curve.take(Bytes::new(100), 1000, 9));
        curve.take(Bytes::new(100), 999, 9);
        assert_eq!((curve.points(), curve.bins()[0].samples), (None, LEAST_SAMPLES - 1));
        curve.take(Bytes::new(WHOLE * 2), 1000, 9);
        assert_eq!(curve.bins()[BINS - 1].samples, 1, "more than all is all");
    }

    /// The definition of the weighted isotonic regression, in minimax form: at each place the least, over where a stretch may
    /// begin, of the greatest mean, over where it may end (Barlow and others, 1972), here for values that do not rise.
    fn isotonic(bins: &[(u128, u128)]) -> Vec<Fixed> {
        let mean = |from: usize, to: usize| {
            let sum = bins[from..=to].iter().fold((0, 0), |sum, bin| (sum.0 + bin.0, sum.1 + bin.1));
            Block { misses: sum.0, instructions: sum.1, bins: 0 }.rate()
        };
        let at = |place: usize| {
            let greatest = |from: usize| (place..bins.len()).map(move |to| mean(from, to)).max();
            (0..=place).filter_map(greatest).min().unwrap_or_default()
        };
        (0..bins.len()).map(at).collect()
    }

    #[test]
    fn the_fit_is_the_isotonic_regression_and_never_rises() {
        let mut random = SplitMix64::new(11);
        let mut merged = 0;
        for _ in 0..2000 {
            let mut samples = Vec::new();
            let mut expected = Vec::new();
            for bin in 0..BINS as u64 {
                if random.below(3) == 0 {
                    continue;
                }
                let instructions = 1000 * (1 + random.below(50));
                let misses = random.below(instructions);
                samples.push((bin * 1024, instructions, misses));
                let times = u128::from(LEAST_SAMPLES);
                expected.push((u128::from(misses) * times, u128::from(instructions) * times));
            }
            let points = fitted(&samples);
            let expected = isotonic(&expected);
            for ((size, ..), rate) in samples.iter().zip(&expected) {
                let got = points[(size / 1024) as usize];
                assert_eq!(got, *rate, "{samples:?}");
            }
            merged += expected.windows(2).filter(|pair| pair[0] == pair[1]).count();
            assert!(points.windows(2).all(|pair| pair[0] >= pair[1]), "{points:?}");
        }
        assert!(merged > 10_000, "{merged}");
    }
}
