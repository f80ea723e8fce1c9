//! Comparisons of sums of fractions, decided exactly.
//!
//! A double decides when the two sides lie further apart than its rounding error can reach. Otherwise
//! integers decide: first over a common denominator in 128 bits, then in as many bits as it takes.

use core::cmp::Ordering;
use num_bigint::BigUint;

/// A non-negative fraction with a denominator above zero, not necessarily reduced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ratio {
    pub(crate) num: u128,
    pub(crate) den: u64,
}

impl Ratio {
    pub(crate) fn new(num: u64, den: u64) -> Self {
        Self { num: u128::from(num), den }
    }
}

/// Compares `a.0 / a.1` with `b.0 / b.1` by cross-multiplication.
pub(crate) fn ratio_cmp(a: (u64, u64), b: (u64, u64)) -> Ordering {
    (u128::from(a.0) * u128::from(b.1)).cmp(&(u128::from(b.0) * u128::from(a.1)))
}

/// The largest of fractions below 2^53 in both parts, as `(num, den)`; `None` without any.
///
/// Division rounds monotonically, so a larger quotient belongs to a fraction at least as large; only equal
/// quotients need the exact comparison.
pub(crate) fn max_ratio(ratios: impl Iterator<Item = (u64, u64)>) -> Option<(u64, u64)> {
    let mut best: Option<((u64, u64), f64)> = None;
    for ratio in ratios {
        let quotient = ratio.0 as f64 / ratio.1 as f64;
        let better = best.is_none_or(|(held, held_quotient)| {
            quotient > held_quotient
                || quotient == held_quotient && ratio_cmp(ratio, held) == Ordering::Greater
        });
        if better {
            best = Some((ratio, quotient));
        }
    }
    best.map(|(ratio, _)| ratio)
}

/// Compares the sum of `terms` with the integer `bound`.
pub(crate) fn sum_cmp<I>(terms: I, bound: u128) -> Ordering
where
    I: Iterator<Item = Ratio> + Clone,
{
    approximate_cmp(terms.clone(), bound)
        .or_else(|| fixed_cmp(terms.clone(), bound))
        .unwrap_or_else(|| exact_cmp(terms, bound))
}

/// The ordering, where doubles are precise enough to tell.
///
/// Each quotient of integers carries at most three roundings (two conversions, one division), each addition
/// one more, all of relative size 2^-53 on a sum of non-negative terms: `(n + 4) * 2^-52` bounds the whole.
fn approximate_cmp(terms: impl Iterator<Item = Ratio>, bound: u128) -> Option<Ordering> {
    let (mut sum, mut count) = (0.0, 0u32);
    for term in terms {
        sum += term.num as f64 / term.den as f64;
        count = count.saturating_add(1);
    }
    let error = sum * (f64::from(count) + 4.0) * f64::EPSILON;
    let gap = sum - bound as f64;
    if gap > error + bound as f64 * f64::EPSILON {
        Some(Ordering::Greater)
    } else if -gap > error + bound as f64 * f64::EPSILON {
        Some(Ordering::Less)
    } else {
        None
    }
}

/// The ordering, where 64 binary places are enough to tell: each term is rounded down to them and so falls
/// short by less than one unit.
fn fixed_cmp(terms: impl Iterator<Item = Ratio>, bound: u128) -> Option<Ordering> {
    let (mut sum, mut count) = (0u128, 0u128);
    for Ratio { num, den } in terms {
        if num >> 64 != 0 {
            return None;
        }
        sum = sum.checked_add((num << 64) / u128::from(den))?;
        count += 1;
    }
    let bound = if bound >> 64 == 0 { bound << 64 } else { return None };
    if sum > bound {
        Some(Ordering::Greater)
    } else if sum.checked_add(count)? <= bound && count > 0 {
        Some(Ordering::Less)
    } else {
        None
    }
}

/// The ordering, in integers of any size.
fn exact_cmp(terms: impl Iterator<Item = Ratio>, bound: u128) -> Ordering {
    let (whole, parts) = collect_parts(terms);
    match common_denominator_cmp(whole, &parts, bound) {
        Some(ordering) => ordering,
        None => {
            let (num, den) = big_sum(&parts);
            (num + BigUint::from(whole) * &den).cmp(&(BigUint::from(bound) * den))
        }
    }
}

/// Splits the terms into whole numbers and reduced remainders, one for each denominator.
pub(crate) fn collect_parts(terms: impl Iterator<Item = Ratio>) -> (u128, Vec<(u128, u64)>) {
    let mut whole = 0u128;
    let mut parts: Vec<(u128, u64)> = Vec::new();
    for Ratio { num, den } in terms {
        whole += num / u128::from(den);
        let rest = (num % u128::from(den)) as u64;
        if rest > 0 {
            let divisor = gcd(rest, den);
            parts.push((u128::from(rest / divisor), den / divisor));
        }
    }
    parts.sort_unstable_by_key(|&(_, den)| den);
    parts.dedup_by(|later, first| {
        let same = later.1 == first.1;
        if same {
            first.0 += later.0;
        }
        same
    });
    (whole, parts)
}

fn common_denominator_cmp(whole: u128, parts: &[(u128, u64)], bound: u128) -> Option<Ordering> {
    let mut common = 1u128;
    for &(_, den) in parts {
        common = common.checked_mul(u128::from(den / gcd((common % u128::from(den)) as u64, den)))?;
    }
    let mut num = whole.checked_mul(common)?;
    for &(part, den) in parts {
        num = num.checked_add(part.checked_mul(common / u128::from(den))?)?;
    }
    Some(num.cmp(&bound.checked_mul(common)?))
}

/// The sum of the parts over the product of their denominators, added in pairs so that operands stay alike
/// in size.
pub(crate) fn big_sum(parts: &[(u128, u64)]) -> (BigUint, BigUint) {
    match parts {
        [] => (BigUint::ZERO, BigUint::from(1u8)),
        [(num, den)] => (BigUint::from(*num), BigUint::from(*den)),
        _ => {
            let (left, right) = parts.split_at(parts.len() / 2);
            let ((left_num, left_den), (right_num, right_den)) = (big_sum(left), big_sum(right));
            (left_num * &right_den + right_num * &left_den, left_den * right_den)
        }
    }
}

/// The sum of the terms, rounded up.
pub(crate) fn ceiling(terms: impl Iterator<Item = Ratio>) -> u64 {
    scaled_up(terms, 1)
}

/// The sum of the terms in millionths, rounded up.
pub(crate) fn millionths(terms: impl Iterator<Item = Ratio>) -> u64 {
    scaled_up(terms, 1_000_000)
}

fn scaled_up(terms: impl Iterator<Item = Ratio>, by: u32) -> u64 {
    let (whole, parts) = collect_parts(terms);
    let (num, den) = big_sum(&parts);
    let sum = (num + BigUint::from(whole) * &den) * by;
    u64::try_from((sum + &den - 1u32) / den).unwrap_or(u64::MAX)
}

pub(crate) fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn thirty_tenths_are_three() {
        let tenths = core::iter::repeat_n(Ratio::new(1, 10), 30);
        assert_eq!(sum_cmp(tenths.clone(), 3), Ordering::Equal);
        let more = tenths.chain([Ratio::new(1, (1 << 48) - 1)]);
        assert_eq!(sum_cmp(more, 3), Ordering::Greater);
    }

    #[test]
    fn a_hundred_denominators_that_share_no_factor_still_compare() {
        let terms: Vec<Ratio> = (0..100).map(|i| Ratio::new(1, 1_000_003 + 2 * i)).collect();
        let complement: Vec<Ratio> =
            (0..100).map(|i| Ratio::new(1_000_002 + 2 * i, 1_000_003 + 2 * i)).collect();
        let all = terms.iter().chain(&complement).copied();
        assert_eq!(sum_cmp(all.clone(), 100), Ordering::Equal);
        assert_eq!(sum_cmp(all.skip(1), 100), Ordering::Less);
    }

    proptest! {
        /// The filter never contradicts the integers.
        #[test]
        fn the_filter_agrees_with_integers(
            pairs in prop::collection::vec((1u64..1000, 1u64..1000), 0..12), bound in 0u128..12,
        ) {
            let terms = || pairs.iter().map(|&(num, den)| Ratio::new(num, den));
            let exact = exact_cmp(terms(), bound);
            for fast in [approximate_cmp(terms(), bound), fixed_cmp(terms(), bound)].into_iter().flatten() {
                prop_assert_eq!(fast, exact);
            }
            let (whole, parts) = collect_parts(terms());
            let (num, den) = big_sum(&parts);
            let big = (num + BigUint::from(whole) * &den).cmp(&(BigUint::from(bound) * den));
            prop_assert_eq!(big, exact);
        }

        #[test]
        fn the_largest_ratio_is_the_largest(pairs in prop::collection::vec((1u64..50, 1u64..50), 1..12)) {
            let largest = max_ratio(pairs.iter().copied()).unwrap();
            prop_assert!(pairs.iter().all(|&pair| ratio_cmp(pair, largest) != Ordering::Greater));
        }
    }
}
