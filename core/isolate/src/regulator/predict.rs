//! Predicting how many events a core will cause in the next period.
//!
//! A predictor is told what was used and answers with what it expects next. To add one: a variant of
//! [`Prediction`](solo_model::isolation::Prediction) and an arm here.

use alloc::vec::Vec;
use solo_model::Events;
use solo_model::isolation::Prediction;

/// Taps of the least-mean-squares filter.
const TAPS: usize = 4;
/// One in the filter's fixed-point numbers.
const ONE: i128 = 1 << 16;

/// A predictor of one core's use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Predictor {
    /// `u <- u + (used - u) / 2^shift`, in integers as MemGuard computes it.
    Ewma {
        /// 1 for one half, 2 for one quarter.
        shift: u8,
        /// The average.
        average: u64,
    },
    /// A normalised least-mean-squares filter (LMS-AR, 2026): a weighted sum of the last periods, whose weights
    /// follow the error.
    Lms {
        /// The last uses, newest first.
        past: [u64; TAPS],
        /// Weights in 1/65536.
        weights: [i64; TAPS],
    },
    /// Knows what comes.
    Oracle {
        /// The use of each period, the first period first.
        future: Vec<Events>,
        /// The next period.
        next: usize,
    },
}

impl Predictor {
    /// The predictor for core number `core`.
    pub fn new(kind: &Prediction, core: usize) -> Self {
        match kind {
            Prediction::EwmaHalf => Self::Ewma { shift: 1, average: 0 },
            Prediction::EwmaQuarter => Self::Ewma { shift: 2, average: 0 },
            Prediction::Lms => Self::Lms { past: [0; TAPS], weights: [(ONE / TAPS as i128) as i64; TAPS] },
            Prediction::Oracle(all) => {
                // The first period begins without a prediction having been asked for.
                Self::Oracle { future: all.get(core).cloned().unwrap_or_default(), next: 1 }
            }
        }
    }

    /// `used` events were caused in the period that is over; how many in the next one?
    pub fn next(&mut self, used: Events) -> Events {
        let used = used.get();
        match self {
            Self::Ewma { shift, average } => {
                let keep = (1_u128 << *shift) - 1;
                *average = ((u128::from(*average) * keep + u128::from(used)) >> *shift) as u64;
                Events::new(*average)
            }
            Self::Lms { past, weights } => {
                let before = weighted_sum(past, weights);
                let error = i128::from(used) - before;
                let power: i128 = past.iter().map(|&x| i128::from(x) * i128::from(x)).sum();
                for (weight, &x) in weights.iter_mut().zip(past.iter()) {
                    // Half a step towards the weights that would have been right.
                    let step = error.saturating_mul(i128::from(x)).saturating_mul(ONE / 2) / (power + 1);
                    *weight = (i128::from(*weight) + step).clamp(-4 * ONE, 4 * ONE) as i64;
                }
                past.rotate_right(1);
                past[0] = used.min(1 << 40);
                Events::new(weighted_sum(past, weights).clamp(0, 1 << 42) as u64)
            }
            Self::Oracle { future, next } => {
                let known = future.get(*next).copied().unwrap_or_default();
                *next += 1;
                known
            }
        }
    }
}

fn weighted_sum(past: &[u64; TAPS], weights: &[i64; TAPS]) -> i128 {
    let sum: i128 = past.iter().zip(weights).map(|(&x, &weight)| i128::from(x) * i128::from(weight)).sum();
    sum / ONE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(kind: &Prediction, uses: &[u64]) -> Vec<u64> {
        let mut predictor = Predictor::new(kind, 0);
        uses.iter().map(|&used| predictor.next(Events::new(used)).get()).collect()
    }

    #[test]
    fn averages_move_by_a_half_and_by_a_quarter() {
        assert_eq!(run(&Prediction::EwmaHalf, &[1000, 1000, 0]), [500, 750, 375]);
        assert_eq!(run(&Prediction::EwmaQuarter, &[1000, 1000, 0]), [250, 437, 327]);
    }

    #[test]
    fn a_filter_learns_what_an_average_never_does() {
        let alternating: Vec<u64> = (0..60).map(|k| if k % 2 == 0 { 1000 } else { 3000 }).collect();
        let error = |kind: &Prediction| -> u64 {
            let predicted = run(kind, &alternating);
            (40..59).map(|at| predicted[at].abs_diff(alternating[at + 1])).sum()
        };
        assert!(error(&Prediction::Lms) * 5 < error(&Prediction::EwmaHalf));
    }

    #[test]
    fn an_oracle_is_right_and_then_expects_nothing() {
        let future =
            Prediction::Oracle(alloc::vec![alloc::vec![Events::new(7), Events::new(8), Events::new(9)]]);
        assert_eq!(run(&future, &[7, 8, 9]), [8, 9, 0]);
    }

    #[test]
    fn extreme_uses_do_not_overflow() {
        for kind in [Prediction::EwmaHalf, Prediction::EwmaQuarter, Prediction::Lms] {
            run(&kind, &[u64::MAX, 0, u64::MAX, u64::MAX, 1, u64::MAX]);
        }
    }
}
