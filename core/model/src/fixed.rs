//! Numbers of metrics in fixed point: the same on every machine, without a float.

use core::fmt;

/// A number in millionths of a millionth (10^-12), from about -1.7e26 to 1.7e26. What a quotient has beyond that is cut
/// off towards zero.
///
/// The scale holds a nanosecond in seconds exactly, and a count of 64 bits beside it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Fixed(i128);

impl Fixed {
    /// Units in one.
    pub const SCALE: i128 = 1_000_000_000_000;
    /// The digits behind the point.
    const DIGITS: usize = 12;
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// In units of [`Self::SCALE`].
    pub const fn units(self) -> i128 {
        self.0
    }

    /// So many units of [`Self::SCALE`].
    pub const fn from_units(units: i128) -> Self {
        Self(units)
    }

    /// Nanoseconds as seconds.
    pub const fn seconds(nanoseconds: u64) -> Self {
        Self(nanoseconds as i128 * (Self::SCALE / 1_000_000_000))
    }

    /// The whole part, cut off towards zero.
    pub const fn whole(self) -> i128 {
        self.0 / Self::SCALE
    }

    /// In thousandths, cut off towards zero.
    pub const fn thousandths(self) -> i128 {
        self.0 / (Self::SCALE / 1000)
    }

    /// The sum; `None` beyond the range.
    pub const fn add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }

    /// The difference; `None` beyond the range.
    pub const fn subtract(self, other: Self) -> Option<Self> {
        match self.0.checked_sub(other.0) {
            Some(difference) => Some(Self(difference)),
            None => None,
        }
    }

    /// The product; `None` beyond the range.
    pub fn multiply(self, other: Self) -> Option<Self> {
        Self::scaled(self, other, Self(Self::SCALE))
    }

    /// The quotient; `None` for a zero divisor and beyond the range.
    pub fn divide(self, other: Self) -> Option<Self> {
        Self::scaled(self, Self(Self::SCALE), other)
    }

    /// The negative; `None` beyond the range.
    pub const fn negative(self) -> Option<Self> {
        match self.0.checked_neg() {
            Some(negative) => Some(Self(negative)),
            None => None,
        }
    }

    /// `a * b / c`, cut off towards zero, however large the product.
    fn scaled(a: Self, b: Self, c: Self) -> Option<Self> {
        let negative = (a.0 < 0) ^ (b.0 < 0) ^ (c.0 < 0);
        let size = quotient(product(a.0.unsigned_abs(), b.0.unsigned_abs()), c.0.unsigned_abs())?;
        let size = i128::try_from(size).ok()?;
        Some(Self(if negative { -size } else { size }))
    }

    /// Reads `12`, `0.5`, `1e3`, `3e-9`. `None` for other text, for more digits behind the point than there is room for,
    /// and beyond the range.
    pub fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if whole.is_empty() && behind.is_empty() {
            return None;
        }
        let digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
        if !digits(whole) || !digits(behind) {
            return None;
        }
        let behind = behind.trim_end_matches('0');
        let mut units: i128 = 0;
        for digit in whole.bytes().chain(behind.bytes()) {
            units = units.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
        }
        let places = i32::try_from(behind.len()).ok()?;
        let shift = exponent.checked_sub(places)?.checked_add(Self::DIGITS as i32)?;
        if units == 0 {
            return Some(Self::ZERO);
        }
        let power = 10_i128.checked_pow(shift.unsigned_abs())?;
        if shift >= 0 {
            return units.checked_mul(power).map(Self);
        }
        (units % power == 0).then_some(Self(units / power))
    }
}

impl From<u64> for Fixed {
    fn from(number: u64) -> Self {
        Self(i128::from(number) * Self::SCALE)
    }
}

impl From<i64> for Fixed {
    fn from(number: i64) -> Self {
        Self(i128::from(number) * Self::SCALE)
    }
}

/// In decimal, with the digits that it has and no more.
impl fmt::Display for Fixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scale = Self::SCALE.unsigned_abs();
        let (whole, mut behind) = (self.0.unsigned_abs() / scale, self.0.unsigned_abs() % scale);
        if self.0 < 0 {
            f.write_str("-")?;
        }
        write!(f, "{whole}")?;
        if behind == 0 {
            return Ok(());
        }
        let mut digits = Self::DIGITS;
        while behind % 10 == 0 {
            behind /= 10;
            digits -= 1;
        }
        write!(f, ".{behind:0digits$}")
    }
}

impl fmt::Debug for Fixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A product of 256 bits: its upper and its lower half.
const fn product(a: u128, b: u128) -> (u128, u128) {
    const HALF: u128 = u64::MAX as u128;
    let (a1, a0, b1, b0) = (a >> 64, a & HALF, b >> 64, b & HALF);
    let (low, left, right, high) = (a0 * b0, a1 * b0, a0 * b1, a1 * b1);
    let middle = (low >> 64) + (left & HALF) + (right & HALF);
    (high + (left >> 64) + (right >> 64) + (middle >> 64), middle << 64 | low & HALF)
}

/// `(high, low) / divisor`; `None` for a zero divisor and where the quotient has more than 128 bits.
fn quotient((high, low): (u128, u128), divisor: u128) -> Option<u128> {
    if high == 0 {
        return low.checked_div(divisor);
    }
    if high >= divisor {
        return None;
    }
    // Long division, a bit at a time: the rest stays below the divisor.
    let (mut rest, mut quotient) = (high, 0_u128);
    for bit in (0..128).rev() {
        let carry = rest >> 127 != 0;
        rest = rest << 1 | low >> bit & 1;
        quotient <<= 1;
        if carry || rest >= divisor {
            rest = rest.wrapping_sub(divisor);
            quotient |= 1;
        }
    }
    Some(quotient)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::string::ToString;

    fn fixed(text: &str) -> Fixed {
        Fixed::parse(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn what_is_written_is_read() {
        for text in ["0", "1", "0.5", "12.000000000001", "18446744073709551615", "0.000000003"] {
            assert_eq!(fixed(text).to_string(), text);
        }
        assert_eq!(
            (fixed("1e3"), fixed("2.50E1"), fixed("3e-9")),
            (fixed("1000"), fixed("25"), fixed("0.000000003"))
        );
        assert_eq!((fixed(".5"), fixed("7."), fixed("0e-99")), (fixed("0.5"), fixed("7"), Fixed::ZERO));
        for none in [
            "",
            ".",
            "e3",
            "1e",
            "1.2.3",
            "-1",
            "+1",
            "1e99",
            "1e-13",
            "0.0000000000001",
            "1e99999999999",
            "٣",
        ] {
            assert_eq!(Fixed::parse(none), None, "{none}");
        }
    }

    #[test]
    fn quotients_are_cut_off_and_the_range_has_ends() {
        assert_eq!(fixed("1").divide(fixed("3")).unwrap().to_string(), "0.333333333333");
        let negative = fixed("2").negative().unwrap().divide(fixed("3")).unwrap();
        assert_eq!(negative.to_string(), "-0.666666666666");
        assert_eq!(fixed("1").divide(Fixed::ZERO), None);
        let most = Fixed(i128::MAX);
        assert_eq!((most.add(fixed("1")), most.multiply(fixed("2"))), (None, None));
        assert_eq!(most.multiply(fixed("1")), Some(most));
        assert_eq!(most.divide(most), Some(fixed("1")));
        assert_eq!(Fixed(i128::MIN).negative(), None);
        // The largest counts, whose product alone has 168 bits.
        let count = Fixed::from(u64::MAX);
        assert_eq!(count.divide(count), Some(fixed("1")));
        assert_eq!(Fixed::from(u64::MAX).multiply(fixed("1000")).unwrap().divide(count), Some(fixed("1000")));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..Default::default() })]

        /// Against the schoolbook's definition: the rest of a division is below the divisor.
        #[test]
        fn wide_division_is_exact(a in any::<u128>(), b in any::<u128>(), c in 1..=u128::MAX) {
            let wide = product(a, b);
            match quotient(wide, c) {
                None => prop_assert!(wide.0 >= c),
                Some(found) => {
                    let (back_high, back_low) = product(found, c);
                    let (rest, borrow) = wide.1.overflowing_sub(back_low);
                    prop_assert_eq!(wide.0 - back_high, u128::from(borrow));
                    prop_assert!(rest < c);
                }
            }
        }

        #[test]
        fn small_products_are_those_of_whole_numbers(a in any::<u32>(), b in any::<u32>()) {
            let product = Fixed::from(u64::from(a)).multiply(Fixed::from(u64::from(b)));
            prop_assert_eq!(product, Some(Fixed::from(u64::from(a) * u64::from(b))));
        }

        #[test]
        fn every_number_reads_as_it_is_written(units in 0..i128::MAX) {
            let number = Fixed(units);
            prop_assert_eq!(Fixed::parse(&number.to_string()), Some(number));
        }
    }
}
