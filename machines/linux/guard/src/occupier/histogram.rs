//! Many numbers in little memory.

/// Steps within a power of two, as a power of two: a number is known to 1 in 16.
const FINE: u32 = 4;
const BUCKETS: usize = (64 << FINE) as usize;

/// How often which numbers came. It takes its memory when it is made, and none later.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    least: u64,
    most: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: vec![0; BUCKETS], count: 0, least: u64::MAX, most: 0 }
    }
}

impl Histogram {
    /// One more.
    pub(crate) fn add(&mut self, number: u64) {
        if let Some(bucket) = self.buckets.get_mut(bucket(number)) {
            *bucket += 1;
        }
        self.count += 1;
        self.least = self.least.min(number);
        self.most = self.most.max(number);
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The largest; `None` without any.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.most)
    }

    /// What so many thousandths of them do not exceed, at most a sixteenth too large; `None` without any.
    pub fn quantile(&self, per_mille: u64) -> Option<u64> {
        let rank = (self.count * per_mille.min(1000)).div_ceil(1000).max(1);
        let mut seen = 0;
        let reached = self.buckets.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        let highest = reached.filter(|_| self.count > 0).map(upper)?;
        Some(highest.clamp(self.least, self.most))
    }
}

/// Numbers below 16 have a bucket each; above, each power of two has 16.
fn bucket(number: u64) -> usize {
    let power = 63 - (number | 1).leading_zeros();
    let coarse = power.saturating_sub(FINE);
    ((u64::from(coarse) << FINE) + (number >> coarse)) as usize
}

/// The largest number of a bucket.
fn upper(bucket: usize) -> u64 {
    let coarse = (bucket as u64 >> FINE).saturating_sub(1);
    let fine = bucket as u64 - (coarse << FINE);
    ((fine + 1) << coarse).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_in_order_and_a_sixteenth_wide() {
        let mut last = 0;
        for number in 0..5000 {
            assert!(bucket(number) == last || bucket(number) == last + 1, "{number}");
            last = bucket(number);
        }
        let powers = (0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit]);
        for number in (0..5000).chain(powers).chain([u64::MAX]) {
            let bucket = bucket(number);
            assert!(bucket < BUCKETS, "{number}");
            assert!(upper(bucket) >= number && upper(bucket) - number <= number / 16, "{number}");
        }
    }

    #[test]
    fn quantiles_are_those_of_a_sorted_list() {
        let mut histogram = Histogram::default();
        assert_eq!((histogram.quantile(500), histogram.max()), (None, None));
        let mut numbers: Vec<u64> = (0..1000u64).map(|i| i * i * 37 % 70_001).collect();
        numbers.iter().for_each(|&number| histogram.add(number));
        numbers.sort_unstable();
        for per_mille in [0, 1, 500, 900, 990, 999, 1000] {
            let exact = numbers[((1000 * per_mille as usize).div_ceil(1000)).max(1) - 1];
            let found = histogram.quantile(per_mille).unwrap();
            assert!(found >= exact && found - exact <= exact / 16, "{per_mille}: {found} for {exact}");
        }
        assert_eq!(histogram.max(), numbers.last().copied());
        assert_eq!(histogram.count(), 1000);
    }
}
