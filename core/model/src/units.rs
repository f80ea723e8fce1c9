//! Quantities as types, so that a period can't be taken for a size.
//!
//! All are unsigned 64-bit integers underneath. Nanoseconds reach 584 years, picoseconds 213 days.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Rem, Sub, SubAssign};

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $unit:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(transparent))]
        pub struct $name(u64);

        impl $name {
            #[doc = concat!("Zero ", $unit, ".")]
            pub const ZERO: Self = Self(0);
            #[doc = concat!("The most ", $unit, " the type holds.")]
            pub const MAX: Self = Self(u64::MAX);
            #[doc = concat!("A quantity of `raw` ", $unit, ".")]
            pub const fn new(raw: u64) -> Self {
                Self(raw)
            }
            #[doc = concat!("The number of ", $unit, ".")]
            pub const fn get(self) -> u64 {
                self.0
            }
            /// True for zero.
            pub const fn is_zero(self) -> bool {
                self.0 == 0
            }
            /// The difference, or zero where `other` is larger.
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
            /// The sum, or the maximum where it would overflow.
            pub const fn saturating_add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }
    };
}

macro_rules! additive {
    ($name:ident) => {
        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }
        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }
        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }
        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }
        impl Mul<u64> for $name {
            type Output = Self;
            fn mul(self, factor: u64) -> Self {
                Self(self.0 * factor)
            }
        }
        impl Div<u64> for $name {
            type Output = Self;
            fn div(self, divisor: u64) -> Self {
                Self(self.0 / divisor)
            }
        }
        impl Div for $name {
            /// How many whole times the other quantity fits.
            type Output = u64;
            fn div(self, other: Self) -> u64 {
                self.0 / other.0
            }
        }
        impl Rem for $name {
            type Output = Self;
            fn rem(self, other: Self) -> Self {
                Self(self.0 % other.0)
            }
        }
        impl core::iter::Sum for $name {
            fn sum<I: Iterator<Item = Self>>(quantities: I) -> Self {
                quantities.fold(Self::ZERO, Add::add)
            }
        }
    };
}

quantity!(
    /// A length of time in nanoseconds.
    Duration, "nanoseconds"
);
quantity!(
    /// A point on a machine's time line, in nanoseconds since the machine started.
    Instant, "nanoseconds"
);
quantity!(
    /// A length of time in picoseconds: the simulated machine's own time, in which cores of different
    /// clocks meet.
    Picoseconds, "picoseconds"
);
quantity!(
    /// A number of clock cycles of some core or bus.
    Cycles, "cycles"
);
quantity!(
    /// A clock rate in hertz.
    Frequency, "hertz"
);
quantity!(
    /// A size or an offset in bytes.
    Bytes, "bytes"
);
quantity!(
    /// A number of counted hardware events; a bandwidth budget is so many in a period.
    Events, "events"
);
quantity!(
    /// A data rate in bytes per second.
    Bandwidth, "bytes per second"
);
quantity!(
    /// An amount of energy in femtojoules: up to 18 kJ.
    Energy, "femtojoules"
);
quantity!(
    /// A power in milliwatts.
    Power, "milliwatts"
);
quantity!(
    /// A supply voltage in millivolts.
    Voltage, "millivolts"
);

additive!(Duration);
additive!(Picoseconds);
additive!(Cycles);
additive!(Bytes);
additive!(Events);
additive!(Energy);

impl Duration {
    /// `n` microseconds.
    pub const fn from_micros(n: u64) -> Self {
        Self(n * 1_000)
    }
    /// `n` milliseconds.
    pub const fn from_millis(n: u64) -> Self {
        Self(n * 1_000_000)
    }
    /// `n` seconds.
    pub const fn from_secs(n: u64) -> Self {
        Self(n * 1_000_000_000)
    }
    /// The same length in picoseconds, or the longest that fits.
    pub const fn picoseconds(self) -> Picoseconds {
        Picoseconds(self.0.saturating_mul(1_000))
    }
}

impl Power {
    /// What is drawn in `time`, or the most that fits: a milliwatt for a picosecond is a femtojoule.
    pub const fn over(self, time: Picoseconds) -> Energy {
        Energy(self.0.saturating_mul(time.0))
    }
}

impl Energy {
    /// From an earlier state of a register to this one, which begins anew when it is full.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.wrapping_sub(earlier.0))
    }
}

impl Picoseconds {
    /// Whole nanoseconds, rounded down.
    pub const fn nanoseconds(self) -> Duration {
        Duration(self.0 / 1_000)
    }
}

impl Instant {
    /// The time that passed since `earlier`; zero where `earlier` lies later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0 + span.0)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, span: Duration) {
        self.0 += span.0;
    }
}

impl Cycles {
    /// The time that these cycles take at `clock`, rounded to the nearest picosecond.
    ///
    /// A zero clock yields the longest time.
    pub const fn at(self, clock: Frequency) -> Picoseconds {
        if clock.0 == 0 {
            return Picoseconds::MAX;
        }
        let scaled = self.0 as u128 * 1_000_000_000_000 + (clock.0 / 2) as u128;
        Picoseconds((scaled / clock.0 as u128) as u64)
    }
}

impl Bytes {
    /// `n` KiB.
    pub const fn from_kib(n: u64) -> Self {
        Self(n << 10)
    }
    /// `n` MiB.
    pub const fn from_mib(n: u64) -> Self {
        Self(n << 20)
    }
    /// How many pieces of `size` it takes to hold this many bytes.
    ///
    /// # Panics
    /// If `size` is zero.
    pub const fn in_pieces_of(self, size: Self) -> u64 {
        self.0.div_ceil(size.0)
    }
}

impl Bandwidth {
    /// The average rate of `bytes` moved in `span`, rounded down; zero for an empty span.
    pub const fn average(bytes: Bytes, span: Duration) -> Self {
        if span.0 == 0 {
            return Self(0);
        }
        Self((bytes.0 as u128 * 1_000_000_000 / span.0 as u128) as u64)
    }
}

/// A share in thousandths, 0 to 1000.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "u16", into = "u16"))]
pub struct PerMille(u16);

impl From<PerMille> for u16 {
    fn from(share: PerMille) -> Self {
        share.0
    }
}

impl TryFrom<u16> for PerMille {
    type Error = &'static str;

    fn try_from(thousandths: u16) -> Result<Self, Self::Error> {
        Self::new(thousandths).ok_or("a share above 1000 thousandths")
    }
}

impl PerMille {
    /// The whole.
    pub const ONE: Self = Self(1000);

    /// The share, or `None` above 1000.
    pub const fn new(thousandths: u16) -> Option<Self> {
        if thousandths <= 1000 { Some(Self(thousandths)) } else { None }
    }
    /// The share in thousandths, 0 to 1000.
    pub const fn get(self) -> u16 {
        self.0
    }
}

/// Writes `value` in the largest unit that keeps it at or above one, with up to three decimals.
fn write_scaled(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    let &(name, size) = units.iter().rev().find(|(_, size)| value >= *size).unwrap_or(&units[0]);
    let whole = value / size;
    let thousandths = (value % size) as u128 * 1000 / size as u128;
    if thousandths == 0 {
        return write!(f, "{whole}{name}");
    }
    let text = [
        b'0' + (thousandths / 100) as u8,
        b'0' + (thousandths / 10 % 10) as u8,
        b'0' + (thousandths % 10) as u8,
    ];
    let text = core::str::from_utf8(&text).map_err(|_| fmt::Error)?;
    write!(f, "{whole}.{}{name}", text.trim_end_matches('0'))
}

const TIME_UNITS: [(&str, u64); 4] = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0, &TIME_UNITS)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0, &TIME_UNITS)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0, &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)])
    }
}

impl Bandwidth {
    /// The unit of a rate that somebody wrote in MiB/s or GiB/s, in bytes a second, and its name: the rate is a whole number
    /// of it and no whole number of MB/s. Such a rate is shown as it was written.
    pub const fn binary_unit(self) -> Option<(u64, &'static str)> {
        let units = [(1 << 30, "GiB/s"), (1 << 20, "MiB/s")];
        let mut at = 0;
        while at < units.len() {
            let (size, name) = units[at];
            if self.0 >= size && self.0.is_multiple_of(size) && !self.0.is_multiple_of(1_000_000) {
                return Some((size, name));
            }
            at += 1;
        }
        None
    }

    /// This rate as text in the unit in which somebody wrote `asked`: MiB/s beside MiB/s, so that the two can be compared.
    pub const fn beside(self, asked: Self) -> BandwidthBeside {
        BandwidthBeside { rate: self, asked }
    }
}

/// A rate that is shown in the unit of another: see [`Bandwidth::beside`].
#[derive(Clone, Copy, Debug)]
pub struct BandwidthBeside {
    rate: Bandwidth,
    asked: Bandwidth,
}

impl fmt::Display for BandwidthBeside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.asked.binary_unit() {
            Some((size, unit)) => write_scaled(f, self.rate.get(), &[(unit, size)]),
            None => self.rate.fmt(f),
        }
    }
}

impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.binary_unit() {
            Some((size, unit)) => write!(f, "{}{unit}", self.0 / size),
            None => write_scaled(
                f,
                self.0,
                &[("B/s", 1), ("kB/s", 1_000), ("MB/s", 1_000_000), ("GB/s", 1_000_000_000)],
            ),
        }
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0, &[("Hz", 1), ("kHz", 1_000), ("MHz", 1_000_000), ("GHz", 1_000_000_000)])
    }
}

impl fmt::Display for Cycles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for Picoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(
            f,
            self.0,
            &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)],
        )
    }
}

impl fmt::Display for Energy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(
            f,
            self.0,
            &[
                ("fJ", 1),
                ("pJ", 1_000),
                ("nJ", 1_000_000),
                ("uJ", 1_000_000_000),
                ("mJ", 1_000_000_000_000),
                ("J", 1_000_000_000_000_000),
            ],
        )
    }
}

impl fmt::Display for Power {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0, &[("mW", 1), ("W", 1_000), ("kW", 1_000_000)])
    }
}

impl fmt::Display for Voltage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0, &[("mV", 1), ("V", 1_000)])
    }
}

impl fmt::Display for PerMille {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 % 10 {
            0 => write!(f, "{}%", self.0 / 10),
            tenth => write!(f, "{}.{tenth}%", self.0 / 10),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn quantities_print_in_their_largest_whole_unit() {
        assert_eq!(Duration::from_millis(20).to_string(), "20ms");
        assert_eq!(Duration::new(1_500_000).to_string(), "1.5ms");
        assert_eq!(Duration::ZERO.to_string(), "0ns");
        assert_eq!(Bytes::from_kib(8100).to_string(), "7.91MiB");
        assert_eq!(Frequency::new(2_800_000_000).to_string(), "2.8GHz");
        assert_eq!(PerMille::new(333).unwrap().to_string(), "33.3%");
    }

    #[test]
    fn cycles_become_time_at_a_clock() {
        assert_eq!(Cycles::new(28).at(Frequency::new(2_800_000_000)), Picoseconds::new(10_000));
        assert_eq!(Cycles::new(1).at(Frequency::new(2_800_000_000)), Picoseconds::new(357));
        assert_eq!(Cycles::new(1).at(Frequency::ZERO), Picoseconds::MAX);
    }

    #[test]
    fn an_average_rate_needs_a_span() {
        let rate = Bandwidth::average(Bytes::new(1 << 20), Duration::from_millis(1));
        assert_eq!(rate.get(), 1_048_576_000);
        assert_eq!(Bandwidth::average(Bytes::new(1), Duration::ZERO), Bandwidth::ZERO);
    }
}
