//! From data rates to events in a period and back.

use solo_model::{Bandwidth, Bytes, Duration, Events};

/// MemGuard's megabyte.
pub const MEGABYTE: u64 = 1 << 20;

/// The rate that MemGuard's files and papers call `n` MB/s: a megabyte is 2^20 bytes there.
pub const fn megabytes(n: u64) -> Bandwidth {
    Bandwidth::new(n.saturating_mul(MEGABYTE))
}

/// Whole events that a rate allows in a period, rounded down, with what is left over in billionths of an event.
///
/// 1000 MB/s at 1 ms with lines of 64 bytes are 16384 events, 900 MB/s are 14745.
pub(crate) fn events_in(rate: Bandwidth, period: Duration, line: Bytes) -> (Events, u64) {
    let scaled = u128::from(rate.get()) * u128::from(period.get()) / u128::from(line.get().max(1));
    let (whole, rest) = (scaled / 1_000_000_000, scaled % 1_000_000_000);
    (Events::new(u64::try_from(whole).unwrap_or(u64::MAX)), rest as u64)
}

/// The rate of so many events in a period, rounded up, as MemGuard prints it.
pub(crate) fn rate_of(events: Events, period: Duration, line: Bytes) -> Bandwidth {
    let bytes = u128::from(events.get()) * u128::from(line.get()) * 1_000_000_000;
    let rate = bytes.div_ceil(u128::from(period.get().max(1)));
    Bandwidth::new(u64::try_from(rate).unwrap_or(u64::MAX))
}

/// `per_mille` thousandths of a rate. (A version of 2013 divided where it had to multiply.)
pub(crate) fn share_of(rate: Bandwidth, per_mille: u32) -> Bandwidth {
    let share = u128::from(rate.get()) * u128::from(per_mille) / 1000;
    Bandwidth::new(u64::try_from(share).unwrap_or(u64::MAX))
}

/// What `weight` of all active weights together is of a rate, rounded down.
pub fn weighted(rate: Bandwidth, weight: u32, sum: u64) -> Bandwidth {
    let share = u128::from(rate.get()) * u128::from(weight) / u128::from(sum.max(1));
    Bandwidth::new(u64::try_from(share).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const LINE: Bytes = Bytes::new(64);

    /// The published conversions (MemGuard's README; SCE 2.2: 1 GB/s is 16384 misses a millisecond).
    #[test]
    fn published_conversions() {
        let events = |mb| events_in(megabytes(mb), MS, LINE).0.get();
        assert_eq!([events(1000), events(500), events(900), events(61)], [16384, 8192, 14745, 999]);
        // Back and rounded up: never less than what was asked for.
        for mb in [1, 300, 500, 600, 900, 1000] {
            let there = events_in(megabytes(mb), MS, LINE).0;
            assert_eq!(rate_of(there, MS, LINE).get().div_ceil(MEGABYTE), mb, "{mb} MB/s");
        }
    }

    #[test]
    fn a_fraction_of_an_event_is_kept() {
        let (whole, rest) = events_in(megabytes(900), MS, LINE);
        assert_eq!((whole.get(), rest), (14745, 600_000_000));
    }

    /// Fault of 2013: `maxbw * 100 / percent` instead of `maxbw * percent / 100`.
    #[test]
    fn a_share_multiplies() {
        assert_eq!(share_of(Bandwidth::new(1200), 250), Bandwidth::new(300));
        assert_eq!(weighted(Bandwidth::new(1200), 1, 4), Bandwidth::new(300));
    }
}
