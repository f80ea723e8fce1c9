//! What is packed: shares of cores, alone or in groups that stay together.

use crate::exact::{Ratio, big_sum, collect_parts, ratio_cmp};
use crate::task::Task;
use core::cmp::Ordering;
use num_bigint::BigUint;

/// The size of an item or the capacity of a bin, as a fraction of a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    pub(crate) num: u64,
    pub(crate) den: u64,
}

impl Share {
    /// Nothing.
    pub const ZERO: Self = Self { num: 0, den: 1 };

    /// `num / den` of a core; `None` for a zero `den`.
    pub const fn new(num: u64, den: u64) -> Option<Self> {
        if den == 0 { None } else { Some(Self { num, den }) }
    }
    /// So many whole cores.
    pub const fn cores(count: u32) -> Self {
        Self { num: count as u64, den: 1 }
    }
    /// The utilisation of a task (thesis 2.3).
    pub fn of(task: &Task) -> Self {
        Self { num: task.c(), den: task.t() }
    }
    /// The most that rate-monotonic scheduling is sure of for any `tasks` tasks, `n (2^(1/n) - 1)` rounded down to 10^-9
    /// (Liu & Layland 1973, Theorem 5); of more than a hundred tasks `ln 2`, which holds for any number.
    pub fn liu_layland(tasks: usize) -> Self {
        const DEN: u64 = 1_000_000_000;
        let n = match u32::try_from(tasks) {
            Ok(n @ 0..=100) => n.max(1),
            _ => return Self { num: 693_147_180, den: DEN },
        };
        // (1 + num / (n den))^n <= 2, in integers.
        let one = BigUint::from(DEN) * n;
        let most = BigUint::from(2u8) * one.pow(n);
        let holds = |num: u64| (&one + num).pow(n) <= most;
        let (mut low, mut high) = (0, DEN + 1);
        while high - low > 1 {
            let middle = low.midpoint(high);
            if holds(middle) { low = middle } else { high = middle }
        }
        Self { num: low, den: DEN }
    }
    /// In millionths, rounded up.
    pub(crate) fn millionths_up(self) -> u64 {
        crate::exact::millionths(core::iter::once(self.ratio()))
    }
    /// In millionths, rounded down.
    pub fn millionths(self) -> u64 {
        u64::try_from(u128::from(self.num) * 1_000_000 / u128::from(self.den)).unwrap_or(u64::MAX)
    }
    pub(crate) fn approximate(self) -> f64 {
        self.num as f64 / self.den as f64
    }
    pub(crate) fn ratio(self) -> Ratio {
        Ratio::new(self.num, self.den)
    }
}

/// Items of one or more parts.
pub(crate) struct Items<'a> {
    parts: &'a [Share],
    /// Where each item's parts end; `None` where every part is an item.
    ends: Option<Vec<usize>>,
    /// The size of each item in doubles.
    pub(crate) sizes: Vec<f64>,
}

impl<'a> Items<'a> {
    pub(crate) fn single(parts: &'a [Share]) -> Self {
        Self { parts, ends: None, sizes: parts.iter().map(|part| part.approximate()).collect() }
    }

    /// Items whose parts follow each other in `parts`; item `i` has `counts[i]` of them.
    pub(crate) fn grouped(parts: &'a [Share], counts: &[usize]) -> Self {
        let mut end = 0;
        let ends: Vec<usize> = counts
            .iter()
            .map(|count| {
                end += count;
                end
            })
            .collect();
        let mut items = Self { parts, ends: Some(ends), sizes: Vec::new() };
        items.sizes = (0..counts.len())
            .map(|item| items.parts(item).iter().map(|part| part.approximate()).sum())
            .collect();
        items
    }

    pub(crate) fn parts(&self, item: usize) -> &'a [Share] {
        match &self.ends {
            None => &self.parts[item..=item],
            Some(ends) => &self.parts[if item == 0 { 0 } else { ends[item - 1] }..ends[item]],
        }
    }

    pub(crate) fn ratios<'b>(
        &'b self,
        items: impl Iterator<Item = usize> + Clone + 'b,
    ) -> impl Iterator<Item = Ratio> + Clone + 'b {
        items.flat_map(|item| self.parts(item).iter().map(|part| part.ratio()))
    }

    /// How many parts all items have.
    pub(crate) fn part_count(&self) -> usize {
        self.parts.len()
    }

    /// The positions of the items from the largest to the smallest, equal ones as given.
    pub(crate) fn decreasing(&self) -> Vec<u32> {
        match self.ends {
            None => self.singles_decreasing(),
            Some(_) => self.groups_decreasing(),
        }
    }

    /// Sorts words of the leading bits of a size and the position, which is faster than calling back for each
    /// comparison, and then puts those of equal leading bits into their exact order. Division rounds
    /// monotonically, so leading bits never contradict the exact order.
    fn singles_decreasing(&self) -> Vec<u32> {
        let position = (self.sizes.len() as u64).next_power_of_two() - 1;
        let mut keys: Vec<u64> =
            self.sizes.iter().zip(0u64..).map(|(size, at)| !size.to_bits() & !position | at).collect();
        keys.sort_unstable();
        for run in keys.chunk_by_mut(|a, b| a & !position == b & !position).filter(|run| run.len() > 1) {
            let item = |key: u64| (key & position) as usize;
            run.sort_unstable_by(|&a, &b| self.size_cmp(item(b), item(a)).then(item(a).cmp(&item(b))));
        }
        keys.into_iter().map(|key| (key & position) as u32).collect()
    }

    fn groups_decreasing(&self) -> Vec<u32> {
        // A size in doubles errs by less than this; items closer than that are compared exactly.
        let near = (self.parts.len() as f64 + 8.0) * f64::EPSILON;
        let mut order: Vec<u32> = (0..self.sizes.len() as u32).collect();
        order.sort_by(|&first, &second| {
            let (first, second) = (first as usize, second as usize);
            let (a, b) = (self.sizes[first], self.sizes[second]);
            if (a - b).abs() > near * (a + b) { b.total_cmp(&a) } else { self.size_cmp(second, first) }
        });
        order
    }

    /// Compares two items exactly.
    #[cold]
    pub(crate) fn size_cmp(&self, first: usize, second: usize) -> Ordering {
        match (self.parts(first), self.parts(second)) {
            ([a], [b]) => ratio_cmp((a.num, a.den), (b.num, b.den)),
            _ => sums_cmp(self.ratios(core::iter::once(first)), self.ratios(core::iter::once(second))),
        }
    }
}

/// Compares two sums of fractions exactly, however many digits that takes.
pub(crate) fn sums_cmp(left: impl Iterator<Item = Ratio>, right: impl Iterator<Item = Ratio>) -> Ordering {
    let big = |terms: &mut dyn Iterator<Item = Ratio>| {
        let (whole, parts) = collect_parts(terms);
        let (num, den) = big_sum(&parts);
        (num + &den * whole, den)
    };
    let (mut left, mut right) = (left, right);
    let ((a, a_den), (b, b_den)) = (big(&mut left), big(&mut right));
    (a * b_den).cmp(&(b * a_den))
}
