//! Many samples in constant memory.

use crate::clock::Clock;
use hdrhistogram::Histogram;

/// The distribution of a number of ticks. Quantiles are exact to three digits; count, mean and most are exact.
#[derive(Clone, Debug)]
pub struct Distribution {
    histogram: Histogram<u64>,
    sum: u128,
    most: u64,
}

impl Default for Distribution {
    fn default() -> Self {
        Self::new()
    }
}

impl Distribution {
    /// Without any sample.
    #[allow(clippy::expect_used)]
    pub fn new() -> Self {
        let mut histogram =
            Histogram::new_with_max(1 << 20, 3).expect("three digits below 2^20 are possible");
        histogram.auto(true);
        Self { histogram, sum: 0, most: 0 }
    }

    /// Adds a sample.
    #[inline]
    pub fn add(&mut self, ticks: u64) {
        // With automatic resizing nothing is out of range.
        let _ = self.histogram.record(ticks);
        self.sum += u128::from(ticks);
        self.most = self.most.max(ticks);
    }

    /// Adds the samples of another.
    pub fn merge(&mut self, other: &Self) {
        let _ = self.histogram.add(&other.histogram);
        self.sum += other.sum;
        self.most = self.most.max(other.most);
    }

    /// How many samples.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The least value that a share `q` of the samples do not exceed; 0 without any.
    pub fn quantile(&self, q: f64) -> u64 {
        self.histogram.value_at_quantile(q).min(self.most)
    }

    /// In nanoseconds, `taken_off` ticks taken off each sample; `each` things lasted as long as a sample, together.
    /// `None` without samples.
    pub fn summary(&self, clock: &Clock, taken_off: u64, each: u64) -> Option<Summary> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let net = |ticks: f64| clock.ns((ticks - taken_off as f64).max(0.0) / each.max(1) as f64);
        let quantile = |q| net(self.quantile(q) as f64);
        Some(Summary {
            samples: count,
            mean_ns: net(self.sum as f64 / count as f64),
            p50_ns: quantile(0.5),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            max_ns: net(self.most as f64),
        })
    }
}

/// What a distribution comes to.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct Summary {
    /// How many samples.
    pub samples: u64,
    /// Their mean. Finer than the clock's resolution, for the clock's steps fall anywhere.
    pub mean_ns: f64,
    /// The median.
    pub p50_ns: f64,
    /// The 99th percentile.
    pub p99_ns: f64,
    /// The 99.9th percentile.
    pub p999_ns: f64,
    /// The most. On a machine that runs other things it tells how long those took.
    pub max_ns: f64,
}

impl Summary {
    /// What lengths come to that are nanoseconds already. `None` without any.
    pub fn of_ns(mut lengths: Vec<u64>) -> Option<Self> {
        lengths.sort_unstable();
        let last = lengths.len().checked_sub(1)?;
        let quantile = |thousandths: usize| lengths[(last * thousandths).div_ceil(1000)] as f64;
        Some(Self {
            samples: lengths.len() as u64,
            mean_ns: lengths.iter().map(|length| u128::from(*length)).sum::<u128>() as f64
                / lengths.len() as f64,
            p50_ns: quantile(500),
            p99_ns: quantile(990),
            p999_ns: quantile(999),
            max_ns: lengths[last] as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_lengths_are_summed_up_exactly() {
        assert_eq!(Summary::of_ns(Vec::new()), None);
        let found = Summary::of_ns(vec![5, 1, 3, 2, 4]).unwrap();
        assert_eq!((found.samples, found.mean_ns, found.p50_ns, found.max_ns), (5, 3.0, 3.0, 5.0));
        assert_eq!(found.p99_ns, 5.0);
    }

    #[test]
    fn quantiles_and_means_are_those_of_the_samples_less_the_price_of_looking() {
        let clock = Clock { ticks_per_us: 2000.0, resolution_ticks: 1, empty_ticks: 0 };
        let mut samples = Distribution::new();
        assert!(samples.summary(&clock, 0, 1).is_none());
        (1..=1000).for_each(|ticks| samples.add(ticks * 10));
        let mut twice = Distribution::new();
        twice.merge(&samples);
        let found = twice.summary(&clock, 10, 1).unwrap();
        assert_eq!(found.samples, 1000);
        assert!((found.mean_ns - 2497.5).abs() < 1e-9, "{found:?}");
        assert!((found.p50_ns - 2495.0).abs() < 5.0 && (found.p99_ns - 4945.0).abs() < 10.0, "{found:?}");
        assert!((found.max_ns - 4995.0).abs() < 1e-9);
        twice.add(1 << 40);
        assert_eq!(twice.quantile(1.0), 1 << 40, "however long");
        // Ten things a sample.
        assert!((samples.summary(&clock, 10, 10).unwrap().mean_ns - 249.75).abs() < 1e-9);
    }
}
