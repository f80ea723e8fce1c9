//! A quantity over time in constant memory: equal bins that double in width whenever the run outgrows them.

use serde::{Deserialize, Serialize};
use solo_model::{Duration, Instant};

/// What happened within one bin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Bin {
    /// The smallest value.
    pub min: u64,
    /// The largest value.
    pub max: u64,
    /// The weighted sum of the values.
    pub sum: u128,
    /// The sum of the weights; zero for an empty bin.
    pub weight: u64,
}

impl Bin {
    const EMPTY: Self = Self { min: u64::MAX, max: 0, sum: 0, weight: 0 };

    /// The weighted mean; `None` for an empty bin.
    pub fn mean(&self) -> Option<u64> {
        (self.weight > 0).then(|| (self.sum / u128::from(self.weight)) as u64)
    }

    fn merge(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            sum: self.sum.saturating_add(other.sum),
            weight: self.weight.saturating_add(other.weight),
        }
    }
}

/// A quantity over time.
///
/// The result depends on the values and their times alone, not on the order in which they were added.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Series {
    /// The length of a bin; bin `i` begins at `i` times this.
    #[serde(rename = "width_ns")]
    pub width: Duration,
    /// The bins, as far as anything happened.
    pub bins: Vec<Bin>,
    capacity: usize,
}

impl Series {
    /// An empty series of at most `capacity` bins, each of `width` or a power of two times that.
    pub fn new(width: Duration, capacity: usize) -> Self {
        Self { width: width.max(Duration::new(1)), bins: Vec::new(), capacity: capacity.max(2) }
    }

    /// Adds `value`, which counts `weight` times in the mean.
    pub fn add(&mut self, at: Instant, value: u64, weight: u64) {
        while at.get() / self.width.get() >= self.capacity as u64 {
            self.halve();
        }
        let index = (at.get() / self.width.get()) as usize;
        if self.bins.len() <= index {
            self.bins.resize(index + 1, Bin::EMPTY);
        }
        let sum = u128::from(value) * u128::from(weight);
        self.bins[index] = self.bins[index].merge(Bin { min: value, max: value, sum, weight });
    }

    fn halve(&mut self) {
        self.bins = self
            .bins
            .chunks(2)
            .map(|pair| pair.iter().fold(Bin::EMPTY, |bins, bin| bins.merge(*bin)))
            .collect();
        self.width = self.width.saturating_add(self.width);
    }

    /// The largest value ever added.
    pub fn max(&self) -> Option<u64> {
        self.bins.iter().filter(|bin| bin.weight > 0).map(|bin| bin.max).max()
    }

    /// The weighted mean of all values.
    pub fn mean(&self) -> Option<u64> {
        self.bins.iter().fold(Bin::EMPTY, |bins, bin| bins.merge(*bin)).mean()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bins_never_outgrow_their_capacity_and_lose_nothing(
            mut points in prop::collection::vec((0_u64..1_000_000, 0_u64..1000, 1_u64..10), 1..200),
        ) {
            let fill = |points: &[(u64, u64, u64)]| {
                let mut series = Series::new(Duration::new(10), 16);
                points.iter().for_each(|&(at, value, weight)| series.add(Instant::new(at), value, weight));
                series
            };
            let series = fill(&points);
            prop_assert!(series.bins.len() <= 16);
            prop_assert_eq!(series.max(), points.iter().map(|p| p.1).max());
            let weight: u64 = points.iter().map(|p| p.2).sum();
            prop_assert_eq!(series.bins.iter().map(|bin| bin.weight).sum::<u64>(), weight);
            points.reverse();
            prop_assert_eq!(fill(&points), series);
        }
    }
}
