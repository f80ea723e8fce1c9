//! From clock ticks to nanoseconds and back.

use solo_model::{Duration, Frequency, Instant};

const NANOSECONDS_PER_SECOND: u128 = 1_000_000_000;

/// A clock that counts at a constant rate, and the tick at which the machine's time begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timebase {
    rate: Frequency,
    origin: u64,
}

impl Timebase {
    /// A time line that begins at tick `origin` of a clock of `rate`; `None` for a clock that stands.
    pub const fn new(rate: Frequency, origin: u64) -> Option<Self> {
        if rate.is_zero() { None } else { Some(Self { rate, origin }) }
    }

    /// The clock's rate.
    pub const fn rate(&self) -> Frequency {
        self.rate
    }

    /// The instant at `tick`, rounded down; the beginning for earlier ticks.
    pub const fn instant(&self, tick: u64) -> Instant {
        Instant::new(self.span(tick.saturating_sub(self.origin)).get())
    }

    /// The length of `ticks`, rounded down to nanoseconds.
    pub const fn span(&self, ticks: u64) -> Duration {
        // Under the instruction clock this division would be most of a kernel path's length.
        if self.rate.get() == NANOSECONDS_PER_SECOND as u64 {
            return Duration::new(ticks);
        }
        Duration::new((ticks as u128 * NANOSECONDS_PER_SECOND / self.rate.get() as u128) as u64)
    }

    /// The first tick at which `instant` has come.
    pub const fn tick(&self, instant: Instant) -> u64 {
        self.origin.saturating_add(self.ticks(Duration::new(instant.get())))
    }

    /// The fewest ticks that last `span`.
    pub const fn ticks(&self, span: Duration) -> u64 {
        if self.rate.get() == NANOSECONDS_PER_SECOND as u64 {
            return span.get();
        }
        let scaled = (span.get() as u128 * self.rate.get() as u128).div_ceil(NANOSECONDS_PER_SECOND);
        if scaled > u64::MAX as u128 { u64::MAX } else { scaled as u64 }
    }
}

/// A reading of a slow clock between two readings of a fast one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bracket {
    /// The fast clock before.
    pub before: u64,
    /// The slow clock.
    pub slow: u64,
    /// The fast clock after.
    pub after: u64,
}

impl Bracket {
    /// How long the reading took: the uncertainty of when it was made.
    pub const fn width(&self) -> u64 {
        self.after.saturating_sub(self.before)
    }

    const fn middle(&self) -> u64 {
        self.before + self.width() / 2
    }

    /// The narrower of two brackets of the same moment.
    pub const fn narrower(self, other: Self) -> Self {
        if other.width() < self.width() { other } else { self }
    }
}

/// A measured rate and its doubt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Measured {
    /// The rate.
    pub rate: Frequency,
    /// By how many parts in a million it may be wrong.
    pub doubt_ppm: u64,
}

impl Measured {
    /// Good enough not to measure again.
    pub const FINE_PPM: u64 = 1000;
    /// With more doubt than this a measurement is worth nothing.
    const MOST_PPM: u64 = 20_000;

    /// The best of several attempts: the first fine one, else the least doubtful. `None` where all are worthless: the
    /// machine was disturbed each time.
    pub fn best(attempts: impl Iterator<Item = Option<Self>>) -> Option<Self> {
        let mut best: Option<Self> = None;
        for measured in attempts.flatten() {
            if best.is_none_or(|best| measured.doubt_ppm < best.doubt_ppm) {
                best = Some(measured);
            }
            if measured.doubt_ppm <= Self::FINE_PPM {
                break;
            }
        }
        best.filter(|best| best.doubt_ppm <= Self::MOST_PPM)
    }
}

/// How far the fast and the slow clock went between two brackets, and the doubt in parts in a million.
///
/// `None` where either has not moved.
const fn moved_between(first: Bracket, second: Bracket) -> Option<(u64, u64, u64)> {
    let slow = second.slow.saturating_sub(first.slow);
    let fast = second.middle().saturating_sub(first.middle());
    let uncertainty = (first.width() + second.width()) / 2;
    if slow == 0 || fast == 0 {
        return None;
    }
    Some((fast, slow, uncertainty.saturating_mul(1_000_000).div_ceil(fast)))
}

/// `rate` times `counted`, divided by `reference`, rounded to the nearest.
const fn proportion(rate: Frequency, counted: u64, reference: u64) -> Frequency {
    let scaled = rate.get() as u128 * counted as u128 + reference as u128 / 2;
    Frequency::new((scaled / reference as u128) as u64)
}

/// The rate of the fast clock, given the rate of the slow one, which counts up; `None` where one stood.
pub fn fast_rate(first: Bracket, second: Bracket, slow: Frequency) -> Option<Measured> {
    let (fast, moved, doubt_ppm) = moved_between(first, second)?;
    Some(Measured { rate: proportion(slow, fast, moved), doubt_ppm })
}

/// The rate of the slow clock, which counts up, given the rate of the fast one; `None` where one stood.
pub fn slow_rate(first: Bracket, second: Bracket, fast: Frequency) -> Option<Measured> {
    let (ticks, moved, doubt_ppm) = moved_between(first, second)?;
    Some(Measured { rate: proportion(fast, moved, ticks), doubt_ppm })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_clock_that_stands_is_no_timebase() {
        assert_eq!(Timebase::new(Frequency::ZERO, 0), None);
    }

    #[test]
    fn a_disturbed_measurement_is_not_believed() {
        let slow = Frequency::new(1_193_182);
        let first = Bracket { before: 1_000, slow: 0, after: 1_100 };
        let second = Bracket { before: 26_001_000, slow: 11_932, after: 26_001_100 };
        let sound = fast_rate(first, second, slow).unwrap();
        let rate = sound.rate.get();
        assert!((2_599_900_000..2_600_100_000).contains(&rate), "{rate}");
        assert_eq!(slow_rate(first, second, sound.rate).map(|measured| measured.rate), Some(slow));
        assert!(sound.doubt_ppm < 10, "{sound:?}");
        let late = |by| fast_rate(first, Bracket { after: second.after + by, ..second }, slow);
        assert!(late(200_000).is_some_and(|measured| (3_000..5_000).contains(&measured.doubt_ppm)));
        assert_eq!(fast_rate(first, first, slow), None);
        let attempts = [late(2_000_000), late(200_000), None, Some(sound), late(1)];
        assert_eq!(Measured::best(attempts.into_iter()), Some(sound), "the first fine one");
        assert_eq!(Measured::best(attempts.into_iter().take(3)), late(200_000), "else the least doubtful");
        assert_eq!(Measured::best(attempts.into_iter().take(1)), None, "or none");
    }

    proptest! {
        #[test]
        fn a_timer_armed_for_an_instant_fires_when_it_has_come(
            rate in 1_000_000u64..6_000_000_000, origin in 0u64..1 << 60, at in 0u64..1 << 40
        ) {
            let base = Timebase::new(Frequency::new(rate), origin).unwrap();
            let tick = base.tick(Instant::new(at));
            let instant = base.instant(tick);
            prop_assert!(instant >= Instant::new(at));
            prop_assert!(instant.get() <= at + 1_000_000_000 / rate + 1, "later than the next tick");
        }

        #[test]
        fn time_never_runs_backwards(rate in 1_000_000u64..6_000_000_000, a in 0u64..1 << 50, more in 0u64..1 << 50) {
            let base = Timebase::new(Frequency::new(rate), 0).unwrap();
            prop_assert!(base.instant(a) <= base.instant(a + more));
        }
    }
}
