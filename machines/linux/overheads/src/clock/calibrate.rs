//! What the counter counts: looked at for a moment.

use super::{Clock, stamp};
use crate::distribution::Distribution;
use std::time::{Duration, Instant};

impl Clock {
    /// Looks at the counter for some 60 ms.
    pub fn calibrate() -> Self {
        let ticks_per_us = rate();
        let mut empty = Distribution::new();
        let mut resolution = 0;
        for _ in 0..20_000 {
            let begin = stamp();
            let span = stamp().saturating_sub(begin);
            empty.add(span);
            resolution = common_divisor(resolution, span);
        }
        // The counter advances in steps: only the mean over many tells a length below a step. What an interrupt
        // made long does not count.
        let usual = empty.quantile(0.5).saturating_mul(4);
        let (mut sum, mut count) = (0, 0_u64);
        for _ in 0..20_000 {
            let begin = stamp();
            let span = stamp().saturating_sub(begin);
            if span <= usual {
                sum += span;
                count += 1;
            }
        }
        Self { ticks_per_us, resolution_ticks: resolution, empty_ticks: sum / count.max(1) }
    }
}

/// The largest number that divides both; the other one where one is zero.
const fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Ticks in a microsecond, from two narrow brackets 50 ms apart.
fn rate() -> f64 {
    let (first, begin) = bracketed();
    std::thread::sleep(Duration::from_millis(50));
    let (last, end) = bracketed();
    let us = end.duration_since(begin).as_secs_f64() * 1e6;
    last.saturating_sub(first) as f64 / us
}

/// A reading of both clocks at the same time: of many, the one whose counter moved least meanwhile.
fn bracketed() -> (u64, Instant) {
    let look = |_| {
        let before = stamp();
        let now = Instant::now();
        let after = stamp();
        (after.saturating_sub(before), before + after.saturating_sub(before) / 2, now)
    };
    let (_, ticks, now) =
        (0..200).map(look).min_by_key(|look| look.0).unwrap_or((0, stamp(), Instant::now()));
    (ticks, now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_what_divides_all_differences() {
        assert_eq!([0, 52, 78, 130].into_iter().fold(0, common_divisor), 26);
    }

    #[test]
    fn the_counter_never_runs_backwards_and_has_a_rate() {
        let readings: Vec<u64> = (0..1000).map(|_| stamp()).collect();
        assert!(readings.is_sorted());
        let clock = Clock::calibrate();
        assert!(clock.ticks_per_us > 1.0 && clock.resolution_ticks > 0, "{clock:?}");
        assert!((clock.ns(clock.ticks_per_us) - 1000.0).abs() < 1e-6);
    }
}
