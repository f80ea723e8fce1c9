//! Dirichlet-Rescale: utilisations with a given sum and bounds of their own (Griffin, Bate & Davis, RTSS 2020).
//!
//! A point is drawn uniformly from the simplex. Where some values exceed their bounds it lies in the smaller
//! simplex of all points that exceed those; that one is stretched onto the whole simplex, the point with it, and
//! the question asked anew. Where the simplex of points below all bounds is the smaller one, its complement is
//! drawn instead.

use super::Stream;

/// Rescales before a point is thrown away: it has come too near to an edge for doubles.
const RESCALES: usize = 1000;
/// Points thrown away before bounds are called unreachable.
const RETRIES: usize = 1000;
/// How far the sum may drift.
const DRIFT: f64 = 1e-4;

/// Values between `least` and `most` with the given sum; `None` where the bounds don't allow it.
pub(crate) fn dirichlet_rescale(
    sum: f64,
    least: &[f64],
    most: &[f64],
    stream: &mut Stream,
) -> Option<Vec<f64>> {
    let room = sum - least.iter().sum::<f64>();
    let limits: Vec<f64> = least.iter().zip(most).map(|(least, most)| most - least).collect();
    if least.len() != most.len() || limits.iter().any(|&limit| limit < 0.0) || room < 0.0 {
        return None;
    }
    if room == 0.0 {
        return Some(least.to_vec());
    }
    let limits: Vec<f64> = limits.iter().map(|limit| (limit / room).min(1.0)).collect();
    let spare = limits.iter().sum::<f64>() - 1.0;
    if spare < 0.0 {
        return None;
    }
    if spare < 1e-12 {
        return Some(most.to_vec());
    }
    let shares = (0..RETRIES).find_map(|_| {
        if spare < 1.0 {
            let complement: Vec<f64> = limits.iter().map(|limit| limit / spare).collect();
            let drawn = within(&complement, stream)?;
            Some(limits.iter().zip(drawn).map(|(limit, value)| limit - value * spare).collect::<Vec<f64>>())
        } else {
            within(&limits, stream)
        }
    })?;
    Some(least.iter().zip(shares).map(|(least, share)| least + share * room).collect())
}

/// A point of the standard simplex below `limits`; `None` where rounding spoilt it.
fn within(limits: &[f64], stream: &mut Stream) -> Option<Vec<f64>> {
    let mut point: Vec<f64> = limits.iter().map(|_| stream.exponential()).collect();
    let total: f64 = point.iter().sum();
    point.iter_mut().for_each(|value| *value /= total);
    for _ in 0..RESCALES {
        let over: Vec<usize> = (0..limits.len()).filter(|&i| point[i] > limits[i]).collect();
        if over.is_empty() {
            return Some(point);
        }
        let left = 1.0 - over.iter().map(|&i| limits[i]).sum::<f64>();
        // As often as the same values exceed their bounds.
        while left > 0.0 && over.iter().all(|&i| point[i] > limits[i]) {
            over.iter().for_each(|&i| point[i] -= limits[i]);
            point.iter_mut().for_each(|value| *value /= left);
        }
        let drift = (1.0 - point.iter().sum::<f64>()).abs();
        if left <= 0.0 || drift.is_nan() || drift > DRIFT {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_bounds_and_the_sum() {
        let mut stream = Stream::of(5, "drs", 0, 0);
        for (sum, most) in [
            (1.0, vec![0.5, 0.6, 0.7]),
            (2.5, vec![1.0, 0.9, 0.8, 0.3]),
            (4.0, vec![0.9; 12]),
            (0.5, vec![0.1, 1.0]),
        ] {
            let least = vec![0.01; most.len()];
            for _ in 0..500 {
                let drawn = dirichlet_rescale(sum, &least, &most, &mut stream).unwrap();
                assert!((drawn.iter().sum::<f64>() - sum).abs() < 1e-3, "{drawn:?}");
                for (value, most) in drawn.iter().zip(&most) {
                    assert!((0.01 - 1e-9..=most + 1e-9).contains(value), "{drawn:?}");
                }
            }
        }
        assert_eq!(dirichlet_rescale(3.0, &[0.0; 2], &[1.0; 2], &mut stream), None);
    }

    /// Three values of sum 1 of which the first is at most 1/2: what remains of the triangle is three quarters,
    /// and of it the part where the first is at most 1/4 is 7/16 of the triangle: 7/12.
    #[test]
    fn the_rest_of_the_triangle_is_filled_evenly() {
        let mut stream = Stream::of(6, "drs", 0, 0);
        let below = (0..8000)
            .filter(|_| dirichlet_rescale(1.0, &[0.0; 3], &[0.5, 1.0, 1.0], &mut stream).unwrap()[0] <= 0.25)
            .count();
        assert!((below as f64 / 8000.0 - 7.0 / 12.0).abs() < 0.03, "{below}");
    }
}
