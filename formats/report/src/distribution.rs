//! The distribution of a duration over many jobs, in constant memory.

use hdrhistogram::Histogram;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use solo_model::Duration;

/// A histogram of durations with exact minimum, maximum and mean.
///
/// Quantiles are those of `hdrhistogram` with two or three significant decimal digits: never below the exact
/// nearest-rank quantile, and above it by less than 1 % or 0.1 %. Durations above an hour count as an hour
/// in the quantiles; minimum, maximum and mean keep their exact values.
#[derive(Clone, PartialEq, Debug)]
pub struct Distribution {
    histogram: Histogram<u32>,
    min: Duration,
    max: Duration,
    sum: u128,
    count: u64,
}

/// The longest duration that quantiles tell apart.
const CEILING_NS: u64 = 3_600_000_000_000;

impl Distribution {
    /// An empty distribution of `digits` significant decimal digits, 1 to 5.
    pub fn new(digits: u8) -> Self {
        let mut histogram = Histogram::new_with_max(2, digits.clamp(1, 5)).unwrap_or_else(|_| unreachable());
        histogram.auto(true);
        Self { histogram, min: Duration::MAX, max: Duration::ZERO, sum: 0, count: 0 }
    }

    /// Adds a duration.
    pub fn add(&mut self, duration: Duration) {
        self.add_times(duration, 1);
    }

    fn add_times(&mut self, duration: Duration, times: u32) {
        // Only a histogram that cannot grow further refuses, and it does not grow beyond the ceiling.
        let value = duration.get().min(CEILING_NS);
        if self.histogram.record_n(value, times).is_err() {
            self.histogram.saturating_record_n(value, times);
        }
        self.min = self.min.min(duration);
        self.max = self.max.max(duration);
        self.sum += u128::from(duration.get()) * u128::from(times);
        self.count += u64::from(times);
    }

    /// How many durations were added.
    pub const fn count(&self) -> u64 {
        self.count
    }
    /// The shortest, exact; `None` without any.
    pub fn min(&self) -> Option<Duration> {
        (self.count > 0).then_some(self.min)
    }
    /// The longest, exact; `None` without any.
    pub fn max(&self) -> Option<Duration> {
        (self.count > 0).then_some(self.max)
    }
    /// The mean, rounded down; `None` without any.
    pub fn mean(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::new((self.sum / u128::from(self.count)) as u64))
    }

    /// The shortest duration that at least `thousandths` of 1000 durations don't exceed; `None` without any.
    pub fn quantile(&self, thousandths: u16) -> Option<Duration> {
        if self.count == 0 {
            return None;
        }
        let value = self.histogram.value_at_quantile(f64::from(thousandths.min(1000)) / 1000.0);
        Some(Duration::new(value).max(self.min).min(self.max))
    }
    /// The median.
    pub fn p50(&self) -> Option<Duration> {
        self.quantile(500)
    }
    /// The 90th percentile; `None` of fewer than ten durations, where it is the longest.
    pub fn p90(&self) -> Option<Duration> {
        self.quantile(900).filter(|_| self.count >= 10)
    }
    /// The 99.9th percentile; `None` of fewer than a thousand durations, where it is the longest.
    pub(crate) fn p999(&self) -> Option<Duration> {
        self.quantile(999).filter(|_| self.count >= 1000)
    }
    /// The 99th percentile.
    pub fn p99(&self) -> Option<Duration> {
        self.quantile(990)
    }

    /// The occupied buckets from the shortest: `(longest duration of the bucket, how many)`.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        self.histogram.iter_recorded().map(|step| {
            (Duration::new(step.value_iterated_to()).min(self.max), step.count_since_last_iteration())
        })
    }
}

/// `Histogram::new_with_max` fails only for a maximum below 2 or more than 5 digits.
fn unreachable() -> Histogram<u32> {
    unreachable!("the bounds of a histogram are constants within hdrhistogram's limits")
}

/// The form in files: sparse, and complete enough to continue.
#[derive(Serialize, Deserialize)]
struct Stored {
    digits: u8,
    count: u64,
    min_ns: u64,
    p50_ns: u64,
    /// None where too few durations decide it; see [`Distribution::p90`].
    p90_ns: Option<u64>,
    p99_ns: u64,
    p999_ns: Option<u64>,
    max_ns: u64,
    mean_ns: u64,
    sum_ns: u128,
    buckets: Vec<Bucket>,
}

/// One bucket in files.
#[derive(Serialize, Deserialize)]
struct Bucket {
    /// The longest duration of the bucket.
    up_to_ns: u64,
    /// How many durations lie in it.
    count: u64,
}

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw = |duration: Option<Duration>| duration.map_or(0, Duration::get);
        Stored {
            digits: self.histogram.sigfig(),
            count: self.count,
            min_ns: raw(self.min()),
            p50_ns: raw(self.p50()),
            p90_ns: self.p90().map(Duration::get),
            p99_ns: raw(self.p99()),
            p999_ns: self.p999().map(Duration::get),
            max_ns: raw(self.max()),
            mean_ns: raw(self.mean()),
            sum_ns: self.sum,
            buckets: self.buckets().map(|(value, count)| Bucket { up_to_ns: value.get(), count }).collect(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = Stored::deserialize(deserializer)?;
        let mut distribution = Self::new(stored.digits);
        for bucket in &stored.buckets {
            let times = u32::try_from(bucket.count).unwrap_or(u32::MAX);
            distribution.add_times(Duration::new(bucket.up_to_ns), times);
        }
        distribution.sum = stored.sum_ns;
        if stored.count > 0 {
            distribution.min = Duration::new(stored.min_ns);
            distribution.max = Duration::new(stored.max_ns);
        }
        distribution.count = stored.count;
        Ok(distribution)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn exact(sorted: &[u64], thousandths: u64) -> u64 {
        let rank = (sorted.len() as u64 * thousandths).div_ceil(1000).max(1);
        sorted[rank as usize - 1]
    }

    proptest! {
        #[test]
        fn quantiles_stay_within_a_thousandth_of_the_exact_ones(
            mut values in prop::collection::vec(0_u64..200_000_000, 1..300),
        ) {
            let mut distribution = Distribution::new(3);
            values.iter().for_each(|&value| distribution.add(Duration::new(value)));
            values.sort_unstable();
            for thousandths in [0, 10, 250, 500, 900, 990, 999, 1000] {
                let exact = exact(&values, u64::from(thousandths));
                let found = distribution.quantile(thousandths).unwrap().get();
                prop_assert!(found >= exact && found <= exact + exact / 1000, "{found} for {exact}");
            }
            prop_assert_eq!(distribution.min().unwrap().get(), values[0]);
            prop_assert_eq!(distribution.max().unwrap().get(), *values.last().unwrap());
            prop_assert_eq!(distribution.mean().unwrap().get(), values.iter().sum::<u64>() / values.len() as u64);
        }

        #[test]
        fn a_stored_distribution_is_the_same(values in prop::collection::vec(any::<u64>(), 0..50)) {
            let mut distribution = Distribution::new(3);
            values.iter().for_each(|&value| distribution.add(Duration::new(value)));
            let text = serde_json::to_string(&distribution).unwrap();
            let read: Distribution = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(serde_json::to_string(&read).unwrap(), text);
        }
    }

    #[test]
    fn without_durations_there_are_no_quantiles() {
        let empty = Distribution::new(3);
        assert_eq!((empty.min(), empty.p50(), empty.max(), empty.mean()), (None, None, None, None));
    }
}
