//! What occupies a resource once a period.

/// A strictly periodic piece: `[offset + k * period, offset + k * period + length)` for every whole `k`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Where one of its instances begins, in units of time; any whole number.
    pub offset: i64,
    /// At most the period; above zero, but for a moment that others must not lie across.
    pub length: i64,
    /// Above zero.
    pub period: i64,
}

impl Piece {
    /// True where some instance of one overlaps some instance of the other.
    ///
    /// Begins of the two lie `other.offset - self.offset + k * g` apart, for every whole `k`, where `g` is the greatest
    /// common divisor of the periods: so it is enough to look at the distance modulo `g`.
    pub const fn meets(&self, other: &Self) -> bool {
        let g = self.common_period(other);
        let distance = (other.offset - self.offset).rem_euclid(g);
        distance < self.length || distance > g - other.length
    }

    /// The greatest common divisor of the two periods: what the distance of two begins is counted modulo.
    pub(crate) const fn common_period(&self, other: &Self) -> i64 {
        // Most pieces that are compared have the same period.
        if self.period == other.period {
            return self.period;
        }
        gcd(self.period.unsigned_abs(), other.period.unsigned_abs()).cast_signed()
    }

    /// How far this piece has to be moved later, at least, so as not to meet `other`; zero where it does not.
    /// `None` where it meets `other` wherever it lies.
    pub(crate) const fn later(&self, other: &Self) -> Option<i64> {
        let g = self.common_period(other);
        if self.length + other.length > g {
            return None;
        }
        // From the begin of the other to the begin of this one.
        let behind = (self.offset - other.offset).rem_euclid(g);
        if behind < other.length {
            Some(other.length - behind)
        } else if behind > g - self.length {
            Some(g - behind + other.length)
        } else {
            Some(0)
        }
    }
}

/// The greatest common divisor; that of zero and another number is the other one.
pub const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By looking at every unit of a common period.
    fn meets_by_counting(a: &Piece, b: &Piece) -> bool {
        let common = a.period / a.common_period(b) * b.period;
        let held = |piece: &Piece, at: i64| (at - piece.offset).rem_euclid(piece.period) < piece.length;
        (0..common).any(|at| held(a, at) && held(b, at))
    }

    fn piece() -> impl Strategy<Value = Piece> {
        (1..25_i64, -50..50_i64).prop_flat_map(|(period, offset)| {
            (1..=period).prop_map(move |length| Piece { offset, length, period })
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..Default::default() })]
        #[test]
        fn residues_say_what_counting_says(a in piece(), b in piece()) {
            prop_assert_eq!(a.meets(&b), meets_by_counting(&a, &b));
            prop_assert_eq!(a.meets(&b), b.meets(&a));
            let first = (0..a.period).find(|by| !Piece { offset: a.offset + by, ..a }.meets(&b));
            prop_assert_eq!(a.later(&b), first);
        }
    }
}
