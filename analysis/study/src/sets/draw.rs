//! Drawing task sets: each from a seed of its own, the same on every machine and in any order.
//!
//! Only additions, multiplications, divisions and `libm` touch the drawn numbers, so that no compiler or system
//! library changes a set.

mod drs;
mod fixed_sum;

use drs::dirichlet_rescale;
pub use fixed_sum::FixedSum;

use crate::plan::{Distribution, Utilizations};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use solo_prove::Task;

/// A stream of random numbers.
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream of one task set, from everything that names it.
    pub fn of(seed: u64, distribution: &str, cap_per_mille: u64, index: u64) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&seed.to_le_bytes());
        hasher.update(&cap_per_mille.to_le_bytes());
        hasher.update(&index.to_le_bytes());
        hasher.update(distribution.as_bytes());
        Self(Xoshiro256PlusPlus::from_seed(*hasher.finalize().as_bytes()))
    }

    /// Uniform in `0..1`, 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in `low..high`.
    pub fn between(&mut self, (low, high): (f64, f64)) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Exponential with mean 1.
    fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }
}

/// One drawn set.
#[derive(Clone, PartialEq, Debug)]
pub struct Drawn {
    /// The tasks, in nanoseconds, deadlines equal to periods.
    pub tasks: Vec<Task>,
    /// The sum of the drawn utilisations, in millionths of a core.
    pub utilization_ppm: u64,
}

/// So many attempts are thrown away before a cap is called unreachable.
const ATTEMPTS: u32 = 1_000_000;

/// Draws a set whose utilisation lies within `cap - slack ..= cap`; `None` where that does not come about.
pub fn draw(distribution: &Distribution, cap: f64, stream: &mut Stream) -> Option<Drawn> {
    let utilizations = utilizations(distribution, cap, stream)?;
    let sum: f64 = utilizations.iter().sum();
    let tasks = utilizations
        .into_iter()
        .map(|utilization| {
            let (low, high) = distribution.period_ms;
            let period = (stream.between((low, high)) * 1e6) as u64;
            let period = period.max(1);
            let wcet = (period as f64 * utilization) as u64;
            Task::implicit(wcet.clamp(1, period), period)
        })
        .collect();
    Some(Drawn { tasks, utilization_ppm: (sum * 1e6) as u64 })
}

fn utilizations(distribution: &Distribution, cap: f64, stream: &mut Stream) -> Option<Vec<f64>> {
    match &distribution.utilization {
        Utilizations::Uniform(range) => {
            until_cap(cap, distribution.slack, stream, |stream| stream.between(*range))
        }
        Utilizations::Bimodal { light, heavy, heavy_share } => {
            until_cap(cap, distribution.slack, stream, |stream| {
                let range = if stream.unit() < *heavy_share { *heavy } else { *light };
                stream.between(range)
            })
        }
        Utilizations::UUniFast { tasks } => uunifast_discard(*tasks, cap, stream),
        Utilizations::RandFixedSum { tasks, range } => {
            let sum = (cap - *tasks as f64 * range.0) / (range.1 - range.0);
            let values = FixedSum::new(*tasks, sum)?.draw(stream);
            Some(values.into_iter().map(|value| range.0 + value * (range.1 - range.0)).collect())
        }
        Utilizations::Drs { least, most } => dirichlet_rescale(cap, least, most, stream),
    }
}

/// Adds tasks until their sum enters `cap - slack ..= cap`; a set that jumps over it is thrown away (thesis 5.1).
fn until_cap(
    cap: f64,
    slack: f64,
    stream: &mut Stream,
    mut one: impl FnMut(&mut Stream) -> f64,
) -> Option<Vec<f64>> {
    let mut found = Vec::new();
    for _ in 0..ATTEMPTS {
        found.clear();
        let mut sum = 0.0;
        while sum < cap - slack {
            let utilization = one(stream);
            sum += utilization;
            found.push(utilization);
        }
        if sum <= cap {
            return Some(found);
        }
    }
    None
}

/// UUniFast-discard: `n` utilisations that sum up to `cap`, uniform over the simplex, none above 1 (Bini &
/// Buttazzo, Real-Time Systems 30, 2005; Davis & Burns, RTSS 2009).
fn uunifast_discard(tasks: usize, cap: f64, stream: &mut Stream) -> Option<Vec<f64>> {
    let mut found = Vec::with_capacity(tasks);
    for _ in 0..ATTEMPTS {
        found.clear();
        let mut sum = cap;
        for left in (1..tasks).rev() {
            let next = sum * libm::pow(stream.unit(), 1.0 / left as f64);
            found.push(sum - next);
            sum = next;
        }
        found.push(sum);
        if found.iter().all(|&utilization| utilization > 0.0 && utilization <= 1.0) {
            return Some(found);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distribution(utilization: Utilizations) -> Distribution {
        Distribution { name: "test".into(), utilization, period_ms: (10.0, 100.0), slack: 0.07 }
    }

    #[test]
    fn sums_lie_within_the_slack_and_depend_on_the_seed_alone() {
        for utilization in [
            Utilizations::Uniform((0.001, 0.1)),
            Utilizations::Uniform((0.5, 0.9)),
            Utilizations::Bimodal { light: (0.001, 0.1), heavy: (0.5, 0.9), heavy_share: 1.0 / 3.0 },
        ] {
            let distribution = distribution(utilization);
            for index in 0..50 {
                let set = draw(&distribution, 4.0, &mut Stream::of(1, "d", 4000, index)).unwrap();
                assert!((3_930_000..=4_000_000).contains(&set.utilization_ppm), "{}", set.utilization_ppm);
                assert_eq!(set, draw(&distribution, 4.0, &mut Stream::of(1, "d", 4000, index)).unwrap());
                assert_ne!(set, draw(&distribution, 4.0, &mut Stream::of(2, "d", 4000, index)).unwrap());
            }
        }
    }

    #[test]
    fn other_generators_reach_the_cap_exactly() {
        for utilization in [
            Utilizations::UUniFast { tasks: 9 },
            Utilizations::RandFixedSum { tasks: 9, range: (0.1, 0.9) },
            Utilizations::Drs {
                least: vec![0.1; 9],
                most: (1..10).map(|i| 0.1 + 0.1 * f64::from(i)).collect(),
            },
        ] {
            let set = draw(&distribution(utilization), 4.0, &mut Stream::of(1, "d", 4000, 0)).unwrap();
            assert!((3_999_990..=4_000_010).contains(&set.utilization_ppm), "{}", set.utilization_ppm);
            assert_eq!(set.tasks.len(), 9);
        }
    }

    /// A cap that no set reaches is told: two tasks of at most 0.9 never come near 1.95.
    #[test]
    fn an_unreachable_cap_is_none() {
        let tasks = distribution(Utilizations::UUniFast { tasks: 1 });
        assert_eq!(draw(&tasks, 1.5, &mut Stream::of(1, "d", 1500, 0)), None);
    }

    /// The first set of the thesis's first distribution, pinned: studies of other versions must draw it again.
    #[test]
    fn the_stream_never_changes() {
        let mut stream = Stream::of(1, "d", 2000, 0);
        let drawn: Vec<u64> = (0..3).map(|_| (stream.unit() * 1e9) as u64).collect();
        assert_eq!(drawn, PINNED);
    }

    const PINNED: [u64; 3] = [284_955_552, 142_988_420, 577_612_520];
}
