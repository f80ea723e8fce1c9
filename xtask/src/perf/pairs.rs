//! What paired measurements say, without knowing how they are distributed.

use std::fmt;

/// Ratios of pairs, sorted.
pub(super) struct Ratios(Vec<f64>);

impl Ratios {
    pub(super) fn new(mut ratios: Vec<f64>) -> Self {
        ratios.sort_by(f64::total_cmp);
        Self(ratios)
    }

    fn median(&self) -> f64 {
        let (low, high) = (self.0[(self.0.len() - 1) / 2], self.0[self.0.len() / 2]);
        f64::midpoint(low, high)
    }

    /// The lower end of the interval that holds the median ratio with at least 95 %.
    pub(super) fn least(&self) -> f64 {
        self.0[outside(self.0.len())]
    }

    fn most(&self) -> f64 {
        self.0[self.0.len() - 1 - outside(self.0.len())]
    }
}

impl fmt::Display for Ratios {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs = self.0.len();
        write!(f, "{:.3} ({:.3} to {:.3} with 95 %, {pairs} pairs)", self.median(), self.least(), self.most())
    }
}

/// How many of the smallest, and of the largest, lie outside the interval: each ratio is above the true median with probability one
/// half, so that the number above is binomial. Six pairs are the least for which 95 % can be said at all.
fn outside(pairs: usize) -> usize {
    let whole = 2f64.powi(i32::try_from(pairs).unwrap_or(i32::MAX));
    let (mut ways, mut sum, mut count) = (1.0, 0.0, 0);
    for k in 0..pairs / 2 {
        sum += ways;
        if 2.0 * sum / whole > 0.05 {
            break;
        }
        count = k;
        ways *= (pairs - k) as f64 / (k + 1) as f64;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables of the sign test: of 6 pairs all, of 12 the third to the tenth, of 20 the sixth to the fifteenth.
    #[test]
    fn the_interval_is_that_of_the_sign_test() {
        for (pairs, outside_) in [(6, 0), (8, 0), (9, 1), (12, 2), (20, 5), (25, 7), (50, 17)] {
            assert_eq!(outside(pairs), outside_, "{pairs} pairs");
        }
    }

    #[test]
    fn a_slower_program_is_told_from_a_disturbed_one() {
        let slower = Ratios::new((0..12).map(|n| 1.05 + 0.001 * f64::from(n)).collect());
        assert!(slower.least() > 1.03, "{slower}");
        let disturbed = Ratios::new(vec![0.9, 1.9, 0.99, 1.0, 1.01, 1.0, 0.98, 1.3, 1.0, 0.7, 1.01, 1.0]);
        assert!(disturbed.least() < 1.0 && disturbed.most() > 1.0, "{disturbed}");
        assert!((disturbed.median() - 1.0).abs() < 1e-9);
    }
}
