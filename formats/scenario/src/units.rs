//! Quantities as people write them: `"20ms"`, `"8100KiB"`, `"900MB/s"`, `"2.8GHz"`, `"50%"`.
//!
//! A number, an optional space, a unit. Decimal fractions are welcome where they come out as a whole number of
//! the smallest unit; nothing is ever rounded.

use solo_model::{Bandwidth, Bytes, Duration, Energy, Frequency, PerMille, Picoseconds, Power, Voltage};
use std::fmt;

/// Something that is measured: its unit names with their sizes in the smallest one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind {
    /// What it is, with its article: "a time".
    pub name: &'static str,
    /// A value to show as an example.
    pub example: &'static str,
    /// Unit names and sizes, smallest unit first; its size is 1.
    pub units: &'static [(&'static str, u64)],
}

/// Lengths of time, in nanoseconds.
pub const TIME: Kind = Kind {
    name: "a time",
    example: "20ms",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("µs", 1_000),
    ],
};
/// Short lengths of time, in picoseconds.
pub const FINE_TIME: Kind = Kind {
    name: "a time",
    example: "1.5ns",
    units: &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000)],
};
/// Sizes, in bytes.
pub const SIZE: Kind = Kind {
    name: "a size",
    example: "8MiB",
    units: &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)],
};
/// Data rates, in bytes per second.
pub const RATE: Kind = Kind {
    name: "a data rate",
    example: "900MB/s",
    units: &[
        ("B/s", 1),
        ("kB/s", 1_000),
        ("MB/s", 1_000_000),
        ("GB/s", 1_000_000_000),
        ("KiB/s", 1 << 10),
        ("MiB/s", 1 << 20),
        ("GiB/s", 1 << 30),
    ],
};
/// Clock rates, in hertz.
pub const CLOCK: Kind = Kind {
    name: "a clock rate",
    example: "2.8GHz",
    units: &[("Hz", 1), ("kHz", 1_000), ("MHz", 1_000_000), ("GHz", 1_000_000_000)],
};
/// Amounts of energy, in femtojoules.
const ENERGY: Kind = Kind {
    name: "an amount of energy",
    example: "250pJ",
    units: &[("fJ", 1), ("pJ", 1_000), ("nJ", 1_000_000), ("uJ", 1_000_000_000), ("mJ", 1_000_000_000_000)],
};
/// Powers, in milliwatts.
const POWER: Kind =
    Kind { name: "a power", example: "120mW", units: &[("mW", 1), ("W", 1_000), ("kW", 1_000_000)] };
/// Supply voltages, in millivolts.
const VOLTAGE: Kind = Kind { name: "a voltage", example: "900mV", units: &[("mV", 1), ("V", 1_000)] };
/// Shares, in thousandths.
pub const SHARE: Kind = Kind { name: "a share", example: "50%", units: &[("%", 10)] };

/// Why a text is no quantity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UnitError {
    /// No digits at the beginning.
    NoNumber,
    /// A minus sign.
    Negative,
    /// A number without a unit.
    NoUnit {
        /// The number as written.
        number: String,
    },
    /// A unit that this kind does not have.
    UnknownUnit {
        /// The unit as written.
        unit: String,
    },
    /// Not a whole number of the smallest unit.
    TooFine {
        /// The smallest unit, or step.
        step: &'static str,
    },
    /// Above the largest value.
    TooLarge,
}

impl Kind {
    /// The unit names in a row, each once.
    pub fn known(&self) -> String {
        let names: Vec<&str> =
            self.units.iter().map(|(name, _)| *name).filter(|name| name.is_ascii()).collect();
        names.join(", ")
    }

    /// The unit that was probably meant by one that does not exist: `MB` for `MiB`, `msec` for `ms`.
    pub fn meant(&self, unit: &str) -> Option<&'static str> {
        let lower = unit.to_lowercase();
        let names = || self.units.iter().map(|(name, _)| *name);
        let plain = |name: &&str| name.replace('i', "").to_lowercase() == lower;
        let begins = |name: &&str| lower.starts_with(&name.to_lowercase());
        names().find(plain).or_else(|| names().filter(begins).max_by_key(|name| name.len()))
    }

    /// The smallest unit's name: the first.
    pub(crate) fn smallest(&self) -> &'static str {
        self.units.first().map_or("", |&(name, _)| name)
    }

    /// The quantity in the smallest unit.
    ///
    /// # Errors
    /// If the text is not a number and a unit of this kind, or the value is not whole or too large.
    pub fn parse(&self, text: &str) -> Result<u64, UnitError> {
        let text = text.trim();
        if text.starts_with('-') {
            return Err(UnitError::Negative);
        }
        let digits_end =
            text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits_end);
        let unit = unit.trim_start();
        let (numerator, denominator) = decimal(number)?;
        if unit.is_empty() {
            return Err(UnitError::NoUnit { number: number.to_owned() });
        }
        let size = self.units.iter().find(|(name, _)| *name == unit).map(|&(_, size)| size);
        let Some(size) = size else {
            return Err(UnitError::UnknownUnit { unit: unit.to_owned() });
        };
        let scaled = numerator.checked_mul(u128::from(size)).ok_or(UnitError::TooLarge)?;
        if !scaled.is_multiple_of(denominator) {
            let step = if self.units == SHARE.units { "0.1%" } else { self.smallest() };
            return Err(UnitError::TooFine { step });
        }
        u64::try_from(scaled.checked_div(denominator).unwrap_or(u128::MAX)).map_err(|_| UnitError::TooLarge)
    }

    /// The value in the largest unit that leaves a whole number; [`Kind::parse`] reads it back unchanged.
    pub fn print(&self, value: u64) -> String {
        let fits = |&&(_, size): &&(&str, u64)| value >= size && value.is_multiple_of(size);
        match self.units.iter().filter(fits).max_by_key(|(_, size)| size) {
            Some(&(name, size)) => format!("{}{name}", value.checked_div(size).unwrap_or(value)),
            None if self.units == SHARE.units => format!("{}.{}%", value / 10, value % 10),
            None => format!("{value}{}", self.smallest()),
        }
    }
}

/// A decimal number as a fraction: numerator and a power of ten.
fn decimal(number: &str) -> Result<(u128, u128), UnitError> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let badly_formed = whole.is_empty()
        || fraction.contains('.')
        || number.ends_with('.')
        || whole.starts_with('_')
        || number.ends_with('_');
    if badly_formed {
        return Err(UnitError::NoNumber);
    }
    let (mut numerator, mut denominator) = (0_u128, 1_u128);
    for (digits, after_point) in [(whole, false), (fraction.trim_end_matches('0'), true)] {
        for digit in digits.bytes().filter(u8::is_ascii_digit) {
            numerator = numerator
                .checked_mul(10)
                .and_then(|n| n.checked_add(u128::from(digit.saturating_sub(b'0'))))
                .ok_or(UnitError::TooLarge)?;
            if after_point {
                denominator = denominator.checked_mul(10).ok_or(UnitError::TooLarge)?;
            }
        }
    }
    Ok((numerator, denominator))
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNumber => write!(f, "does not begin with a number"),
            Self::Negative => write!(f, "is negative"),
            Self::NoUnit { number } => write!(f, "has no unit after {number}"),
            Self::UnknownUnit { unit } => write!(f, "has the unknown unit `{unit}`"),
            Self::TooFine { step } => write!(f, "is finer than {step}"),
            Self::TooLarge => write!(f, "is too large"),
        }
    }
}

impl std::error::Error for UnitError {}

/// A type that is written with a unit.
pub trait Quantity: Sized {
    /// Its units.
    const KIND: Kind;
    /// From the smallest unit; `None` where the type can't hold it.
    fn from_raw(raw: u64) -> Option<Self>;
}

macro_rules! quantity {
    ($($type:ident = $kind:ident),*) => {
        $(impl Quantity for $type {
            const KIND: Kind = $kind;
            fn from_raw(raw: u64) -> Option<Self> {
                Some(Self::new(raw))
            }
        })*
    };
}

quantity!(
    Duration = TIME,
    Picoseconds = FINE_TIME,
    Bytes = SIZE,
    Bandwidth = RATE,
    Frequency = CLOCK,
    Energy = ENERGY,
    Power = POWER,
    Voltage = VOLTAGE
);

impl Quantity for PerMille {
    const KIND: Kind = SHARE;
    fn from_raw(raw: u64) -> Option<Self> {
        u16::try_from(raw).ok().and_then(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantities_read_as_people_write_them() {
        assert_eq!(TIME.parse("20ms"), Ok(20_000_000));
        assert_eq!(TIME.parse("1.5 ms"), Ok(1_500_000));
        assert_eq!(TIME.parse("1_000us"), Ok(1_000_000));
        assert_eq!(SIZE.parse("8100KiB"), Ok(8_294_400));
        assert_eq!(RATE.parse("900MB/s"), Ok(900_000_000));
        assert_eq!(CLOCK.parse("2.8GHz"), Ok(2_800_000_000));
        assert_eq!(SHARE.parse("33.3%"), Ok(333));
        assert_eq!(FINE_TIME.parse("1.875ns"), Ok(1_875));
    }

    #[test]
    fn what_is_no_quantity_says_why() {
        let no_unit = UnitError::NoUnit { number: "20".into() };
        assert_eq!(TIME.parse("20"), Err(no_unit));
        assert_eq!(TIME.parse("-20ms"), Err(UnitError::Negative));
        assert_eq!(TIME.parse(""), Err(UnitError::NoNumber));
        assert_eq!(TIME.parse("1.2.3ms"), Err(UnitError::NoNumber));
        assert_eq!(TIME.parse("1.ms"), Err(UnitError::NoNumber));
        assert_eq!(TIME.parse("_1ms"), Err(UnitError::NoNumber));
        assert_eq!(TIME.parse("1.5ns"), Err(UnitError::TooFine { step: "ns" }));
        assert_eq!(SHARE.parse("0.25%"), Err(UnitError::TooFine { step: "0.1%" }));
        assert_eq!(SIZE.parse("8MB"), Err(UnitError::UnknownUnit { unit: "MB".into() }));
        assert_eq!(TIME.parse("99999999999999s"), Err(UnitError::TooLarge));
        assert_eq!(TIME.parse(&format!("{}s", "9".repeat(100))), Err(UnitError::TooLarge));
    }

    #[test]
    fn a_foreign_unit_finds_ours() {
        assert_eq!(SIZE.meant("MB"), Some("MiB"));
        assert_eq!(SIZE.meant("kib"), Some("KiB"));
        assert_eq!(TIME.meant("msec"), Some("ms"));
        assert_eq!(TIME.meant("minutes"), Some("min"));
        assert_eq!(CLOCK.meant("ghz"), Some("GHz"));
        assert_eq!(TIME.meant("parsec"), None);
    }

    proptest! {
        #[test]
        fn a_printed_quantity_reads_back_unchanged(value: u64, zeros in 0_u32..16) {
            let round = (value >> 1) / 10_u64.pow(zeros) * 10_u64.pow(zeros);
            for kind in [TIME, FINE_TIME, SIZE, RATE, CLOCK, ENERGY, POWER, SHARE] {
                for value in [value, round] {
                    prop_assert_eq!(kind.parse(&kind.print(value)), Ok(value));
                }
            }
        }

        #[test]
        fn no_text_panics(text in ".{0,40}") {
            for kind in [TIME, SIZE, RATE, CLOCK, SHARE] {
                let _ = kind.parse(&text);
            }
        }

        #[test]
        fn a_decimal_fraction_is_exact(whole in 0_u64..1_000_000, fraction in 0_u64..1_000_000) {
            let text = format!("{whole}.{fraction:06}ms");
            prop_assert_eq!(TIME.parse(&text), Ok(whole * 1_000_000 + fraction));
        }
    }
}
