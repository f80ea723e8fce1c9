//! RandFixedSum: values in `0..=1` with a given sum, uniformly (Stafford 2006; Emberson, Stafford & Davis, WATERS
//! 2010).
//!
//! The polytope of such values is cut into simplices of known volumes; a table of probabilities decides from
//! which one each value is drawn.

use super::Stream;

/// The table for one number of values and one sum.
pub struct FixedSum {
    count: usize,
    sum: f64,
    /// The whole part of the sum, at most `count - 1`.
    whole: usize,
    /// `probability[i - 1][j]`: of taking the upper kind of simplex with `i` values left after this one.
    probability: Vec<Vec<f64>>,
}

impl FixedSum {
    /// `None` where no `count` values in `0..=1` have this sum.
    pub fn new(count: usize, sum: f64) -> Option<Self> {
        if count == 0 || !(0.0..=count as f64).contains(&sum) {
            return None;
        }
        let whole = (sum as usize).min(count - 1);
        let below: Vec<f64> = (0..count).map(|i| sum - (whole as f64 - i as f64)).collect();
        let above: Vec<f64> = (0..count).map(|i| (whole + count - i) as f64 - sum).collect();
        let mut volumes = vec![0.0; count + 1];
        volumes[1] = f64::MAX;
        let mut probability = Vec::with_capacity(count);
        for i in 2..=count {
            let (mut row, mut next) = (vec![0.0; i], vec![0.0; count + 1]);
            for j in 0..i {
                let first = volumes[j + 1] * below[j] / i as f64;
                let second = volumes[j] * above[count - i + j] / i as f64;
                let total = first + second;
                next[j + 1] = total;
                let smaller = f64::from_bits(1);
                row[j] = if above[count - i + j] > below[j] {
                    second / (total + smaller)
                } else {
                    1.0 - first / (total + smaller)
                };
            }
            volumes = next;
            probability.push(row);
        }
        Some(Self { count, sum, whole, probability })
    }

    /// Draws values.
    pub fn draw(&self, stream: &mut Stream) -> Vec<f64> {
        let (mut sum, mut column) = (self.sum, self.whole);
        let (mut offset, mut product) = (0.0, 1.0);
        let mut values = Vec::with_capacity(self.count);
        for left in (1..self.count).rev() {
            let upper = stream.unit() <= self.probability[left - 1][column];
            let step = libm::pow(stream.unit(), 1.0 / left as f64);
            offset += (1.0 - step) * product * sum / (left + 1) as f64;
            product *= step;
            values.push(offset + if upper { product } else { 0.0 });
            if upper {
                sum -= 1.0;
                column = column.saturating_sub(1);
            }
        }
        values.push(offset + product * sum);
        // The order of drawing is not uniform.
        for last in (1..values.len()).rev() {
            let other = (stream.unit() * (last + 1) as f64) as usize;
            values.swap(last, other);
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_within_bounds_have_the_sum_and_are_alike() {
        for (count, sum) in [(1, 0.5), (3, 0.4), (5, 3.7), (10, 5.0), (40, 33.3)] {
            let table = FixedSum::new(count, sum).unwrap();
            let mut stream = Stream::of(3, "fixed", 0, count as u64);
            let mut totals = vec![0.0; count];
            const ROUNDS: usize = 4000;
            for _ in 0..ROUNDS {
                let values = table.draw(&mut stream);
                let drawn: f64 = values.iter().sum();
                assert!((drawn - sum).abs() < 1e-9, "{drawn}");
                assert!(values.iter().all(|value| (-1e-12..=1.0 + 1e-12).contains(value)), "{values:?}");
                totals.iter_mut().zip(&values).for_each(|(total, value)| *total += value);
            }
            // Each position has the same mean, up to five standard errors.
            for total in totals {
                let mean = total / ROUNDS as f64;
                assert!((mean - sum / count as f64).abs() < 0.025, "{mean}");
            }
        }
        assert!(FixedSum::new(3, 3.5).is_none() && FixedSum::new(0, 0.0).is_none());
    }

    /// For two values of sum 1 each is uniform in 0..1; for three of sum 1 the first exceeds one half with
    /// probability 1/4.
    #[test]
    fn small_cases_have_known_shares() {
        let mut stream = Stream::of(4, "fixed", 0, 0);
        let mut share = |count, at: f64| {
            let table = FixedSum::new(count, 1.0).unwrap();
            (0..8000).filter(|_| table.draw(&mut stream)[0] > at).count() as f64 / 8000.0
        };
        assert!((share(2, 0.3) - 0.7).abs() < 0.03);
        assert!((share(3, 0.5) - 0.25).abs() < 0.03);
    }
}
