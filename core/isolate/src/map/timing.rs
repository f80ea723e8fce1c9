//! From times to conflicts: which pairs of addresses were slow.

use super::infer::{InferenceError, Inferred, Measured, Pair, infer, threshold};
use alloc::vec::Vec;
use solo_model::{Bytes, Cycles};

/// Pairs that took alike.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Group {
    /// How many.
    pub pairs: u64,
    /// The average of their times, rounded down.
    pub mean: Cycles,
}

impl Group {
    fn of(times: impl Iterator<Item = Cycles> + Clone) -> Self {
        let pairs = times.clone().count() as u64;
        let sum: u128 = times.map(|time| u128::from(time.get())).sum();
        Self { pairs, mean: Cycles::new((sum / u128::from(pairs.max(1))) as u64) }
    }
}

/// Pairs parted by their times.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timed {
    /// Each pair once, in the order of its addresses.
    pub pairs: Vec<Pair>,
    /// What took longer is a conflict.
    pub threshold: Cycles,
    /// Pairs at or below the threshold.
    pub fast: Group,
    /// Pairs above it.
    pub slow: Group,
}

/// What was found, and which pairs it was found from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Solved {
    /// The pairs.
    pub timed: Timed,
    /// Their functions.
    pub found: Inferred,
}

/// Groups of slow pairs that are tried: beside conflicts there may be pairs that something else made slower still.
const MOST_GROUPS: usize = 4;

/// Finds the functions of address bits from `granule` to the highest address that explain `times`; `seed` decides the
/// order of trials.
///
/// The median of the times of each pair counts, so that a refresh or an interrupt spoils one measurement and not the pair.
/// Pairs above `limit` are conflicts. Without it those above the [`threshold`] of all medians; where these fit no functions
/// they were not conflicts but disturbed, and those above the threshold of the rest are tried, and so on.
///
/// # Errors
/// If all pairs took the same time, or the pairs do not determine functions; then of the first threshold.
pub fn solve(
    times: &[Measured],
    limit: Option<Cycles>,
    granule: Bytes,
    seed: u64,
) -> Result<Solved, InferenceError> {
    let medians = medians(times);
    let memory = medians.iter().map(|pair| pair.b).max().unwrap_or(0);
    let memory = Bytes::new(memory.saturating_add(1));
    let mut left: Vec<Cycles> = medians.iter().map(|pair| pair.time).collect();
    let mut first = None;
    for _ in 0..MOST_GROUPS {
        let Some(threshold) = limit.or_else(|| threshold(&left)) else { break };
        let timed = part(&medians, threshold);
        match infer(&timed.pairs, granule, memory, seed) {
            Ok(found) => return Ok(Solved { timed, found }),
            Err(error) => {
                first.get_or_insert(error);
            }
        }
        left.retain(|time| *time <= threshold);
        if limit.is_some() {
            break;
        }
    }
    Err(first.unwrap_or(InferenceError::Alike { pairs: medians.len() as u64 }))
}

/// Each pair once with the median of its times, the lower address first.
fn medians(times: &[Measured]) -> Vec<Measured> {
    let mut sorted: Vec<(u64, u64, Cycles)> =
        times.iter().map(|one| (one.a.min(one.b), one.a.max(one.b), one.time)).collect();
    sorted.sort_unstable();
    let median = |same: &[(u64, u64, Cycles)]| {
        let (a, b, time) = same[(same.len() - 1) / 2];
        Measured { a, b, time }
    };
    sorted.chunk_by(|x, y| (x.0, x.1) == (y.0, y.1)).map(median).collect()
}

fn part(medians: &[Measured], threshold: Cycles) -> Timed {
    let of = |slow: bool| medians.iter().map(|one| one.time).filter(move |time| (*time > threshold) == slow);
    let pair = |one: &Measured| Pair { a: one.a, b: one.b, conflict: one.time > threshold };
    Timed {
        pairs: medians.iter().map(pair).collect(),
        threshold,
        fast: Group::of(of(false)),
        slow: Group::of(of(true)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(a: u64, b: u64, time: u64) -> Measured {
        Measured { a, b, time: Cycles::new(time) }
    }

    #[test]
    fn one_disturbed_measurement_does_not_make_a_conflict() {
        let times = [
            measured(1, 2, 200),
            measured(2, 1, 9000),
            measured(1, 2, 210),
            measured(3, 4, 330),
            measured(3, 4, 320),
            measured(3, 4, 100),
        ];
        let medians = medians(&times);
        assert_eq!(medians, [measured(1, 2, 210), measured(3, 4, 320)]);
        let timed = part(&medians, Cycles::new(300));
        assert_eq!(timed.pairs.iter().map(|pair| pair.conflict).collect::<Vec<_>>(), [false, true]);
        assert_eq!(timed.fast, Group { pairs: 1, mean: Cycles::new(210) });
        assert_eq!(timed.slow, Group { pairs: 1, mean: Cycles::new(320) });
        assert_eq!(part(&medians, Cycles::new(320)).slow, Group::default());
    }

    #[test]
    fn times_that_are_all_alike_say_nothing() {
        let times = [measured(1, 2, 7), measured(3, 4, 7)];
        let solve = |times: &[Measured]| solve(times, None, Bytes::new(64), 1);
        assert_eq!(solve(&times), Err(InferenceError::Alike { pairs: 2 }));
        assert_eq!(solve(&[]), Err(InferenceError::Alike { pairs: 0 }));
    }

    /// Banks of bits 12 and 13 in 64 KiB: conflicts take 300, others 200, every hundredth pair is disturbed.
    #[test]
    fn disturbed_pairs_are_not_taken_for_conflicts() {
        let times: Vec<Measured> = (0..900_u64)
            .map(|at| {
                let (a, b) = (at * 40_503 % 1024 * 64, at * 26_171 % 1021 * 64);
                let time = if (a ^ b) & 0x3000 == 0 { 300 } else { 200 };
                measured(a, b, if at % 100 == 7 { 5000 } else { time + at % 5 })
            })
            .collect();
        let solved = solve(&times, None, Bytes::new(64), 1).unwrap();
        assert_eq!(solved.found.functions.iter().map(|one| one.0).collect::<Vec<_>>(), [1 << 12, 1 << 13]);
        assert!((205..300).contains(&solved.timed.threshold.get()), "{:?}", solved.timed.threshold);
        assert!(solved.found.false_conflicts > 0);
        // Who sets the threshold among the disturbed ones is told that they determine nothing.
        let high = solve(&times, Some(Cycles::new(1000)), Bytes::new(64), 1);
        assert!(matches!(high, Err(InferenceError::Undetermined { conflicts: 9, .. })), "{high:?}");
    }
}
