//! The heuristics: first, best, worst and next fit, in the given or in decreasing order.

use crate::effort::Effort;
use crate::exact::{Ratio, gcd, sum_cmp};
use crate::pack::items::{Items, Share, sums_cmp};
use crate::verdict::Stop;
use core::cmp::Ordering;

/// Binary places of loads in fixed point.
const PLACES: u32 = 64;

/// So many bins are looked at side by side.
const LANE: usize = 8;

/// Which bin an item goes to; bins tie to the lowest index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fit {
    /// The first bin with room.
    First,
    /// The bin that is left with the least room.
    Best,
    /// The bin that is left with the most room.
    Worst,
    /// The bin of the last item, or else the one after it; bins passed are closed.
    Next,
}

/// In which order items are packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// As given.
    Given,
    /// The largest first; equal ones as given.
    Decreasing,
}

/// Packs items into `bins` bins of equal `capacity`: the items of each bin in the order they were put there,
/// or the position of the first item that does not fit.
///
/// # Errors
/// The position of that item.
pub fn pack(
    items: &[Share],
    bins: usize,
    capacity: Share,
    fit: Fit,
    order: Order,
) -> Result<Vec<Vec<usize>>, usize> {
    match pack_items(&Items::single(items), bins, capacity, fit, order, &mut Effort::unlimited()) {
        Ok(packer) => Ok(packer.contents()),
        Err(Stuck::NoRoom(item)) => Err(item),
        // Without a limit packing stops for nothing else.
        Err(Stuck::Stopped(_)) => Err(items.len()),
    }
}

/// Why packing ended early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stuck {
    /// This item fits nowhere.
    NoRoom(usize),
    /// The effort ran out.
    Stopped(Stop),
}

impl From<Stop> for Stuck {
    fn from(stop: Stop) -> Self {
        Self::Stopped(stop)
    }
}

/// As [`pack`], for items of one or more parts that stay together.
pub(crate) fn pack_items<'a>(
    items: &'a Items<'a>,
    bins: usize,
    capacity: Share,
    fit: Fit,
    order: Order,
    effort: &mut Effort<'_>,
) -> Result<Packer<'a>, Stuck> {
    let mut packer = Packer::new(items, bins, capacity);
    effort.spend(items.sizes.len().saturating_mul(if fit == Fit::Next { 1 } else { bins }))?;
    match order {
        Order::Given => packer.place_all(0..items.sizes.len() as u32, fit, effort)?,
        Order::Decreasing => packer.place_all(items.decreasing().into_iter(), fit, effort)?,
    }
    Ok(packer)
}

/// Bins that are being filled.
pub(crate) struct Packer<'a> {
    items: &'a Items<'a>,
    capacity: Share,
    /// The capacity in doubles.
    room: f64,
    /// The load of each bin in doubles.
    loads: Vec<f64>,
    chains: Vec<Chain>,
    /// Empty until two loads must be told apart that doubles cannot.
    sums: Vec<Sums>,
    /// The item that was put into the same bin after each item.
    next: Vec<u32>,
    /// The bin of the last item, for next fit.
    open: usize,
    /// A load in doubles is off by less than this.
    error: f64,
}

/// No item.
const NONE: u32 = u32::MAX;

/// What one bin holds: a chain of items through [`Packer::next`].
#[derive(Clone, Copy)]
struct Chain {
    first: u32,
    last: u32,
    count: u32,
}

/// Sums over the beginning of a bin's chain, which are carried on only when they are asked for.
#[derive(Clone, Copy)]
struct Sums {
    fixed: Fixed,
    exact: Exact,
}

/// The load with [`PLACES`] binary places, each part rounded down, up to the item `upto`.
#[derive(Clone, Copy)]
struct Fixed {
    upto: u32,
    sum: u128,
}

/// The exact load up to the item `upto`, the `settled`-th; `None` once it does not fit.
#[derive(Clone, Copy)]
struct Exact {
    upto: u32,
    settled: u32,
    sum: Option<(u128, u128)>,
}

const EMPTY: Chain = Chain { first: NONE, last: NONE, count: 0 };
const UNSUMMED: Sums =
    Sums { fixed: Fixed { upto: NONE, sum: 0 }, exact: Exact { upto: NONE, settled: 0, sum: Some((0, 1)) } };

/// Folds loads several at a time, for one by one each would wait for the one before.
#[inline(always)]
fn fold_by_lanes(loads: &[f64], start: f64, choose: impl Fn(f64, f64) -> f64) -> f64 {
    if loads.len() < 4 * LANE {
        return loads.iter().fold(start, |held, &load| choose(held, load));
    }
    let mut lanes = [start; LANE];
    let chunks = loads.chunks_exact(LANE);
    let rest = chunks.remainder().iter().fold(start, |held, &load| choose(held, load));
    for chunk in chunks {
        for (held, &load) in lanes.iter_mut().zip(chunk) {
            *held = choose(*held, load);
        }
    }
    lanes.iter().fold(rest, |held, &load| choose(held, load))
}

impl<'a> Packer<'a> {
    pub(crate) fn new(items: &'a Items<'a>, bins: usize, capacity: Share) -> Self {
        let room = capacity.approximate();
        // No bin holds more than its capacity, and each of its additions errs by at most half an epsilon.
        let error = (room + 1.0) * (items.part_count() as f64 + 8.0) * f64::EPSILON;
        Self {
            items,
            capacity,
            room,
            loads: vec![0.0; bins],
            chains: vec![EMPTY; bins],
            sums: Vec::new(),
            next: vec![NONE; items.sizes.len()],
            open: 0,
            error,
        }
    }

    /// The items of each bin in the order they were put there.
    pub(crate) fn contents(&self) -> Vec<Vec<usize>> {
        (0..self.chains.len()).map(|bin| self.held(bin).collect()).collect()
    }

    fn held(&self, bin: usize) -> impl Iterator<Item = usize> + Clone + '_ {
        self.chain(self.chains[bin].first)
    }

    /// The items from `first` on.
    fn chain(&self, first: u32) -> impl Iterator<Item = usize> + Clone + '_ {
        let mut at = first;
        core::iter::from_fn(move || {
            let item = (at != NONE).then_some(at as usize)?;
            at = self.next[item];
            Some(item)
        })
    }

    /// Puts items into the bins that `fit` chooses.
    fn place_all(
        &mut self,
        mut items: impl Iterator<Item = u32>,
        fit: Fit,
        effort: &mut Effort<'_>,
    ) -> Result<(), Stuck> {
        // One loop for each rule, so that none asks for the rule again at each item.
        match fit {
            Fit::First => items.try_for_each(|item| {
                let chosen = self.first(item as usize);
                self.put_into(chosen, item as usize)
            }),
            Fit::Best => items.try_for_each(|item| {
                let chosen = self.best(item as usize, effort)?;
                self.put_into(chosen, item as usize)
            }),
            Fit::Worst => items.try_for_each(|item| {
                let chosen = self.emptiest(effort)?.filter(|&bin| self.fits(bin, item as usize));
                self.put_into(chosen, item as usize)
            }),
            Fit::Next => items.try_for_each(|item| {
                let chosen = self.next_open(item as usize);
                self.put_into(chosen, item as usize)
            }),
        }
    }

    /// Puts an item into the bin that `fit` chooses.
    pub(crate) fn place(&mut self, item: usize, fit: Fit, effort: &mut Effort<'_>) -> Result<(), Stuck> {
        self.place_all(core::iter::once(item as u32), fit, effort)
    }

    fn put_into(&mut self, bin: Option<usize>, item: usize) -> Result<(), Stuck> {
        let bin = bin.ok_or(Stuck::NoRoom(item))?;
        self.put(bin, item);
        Ok(())
    }

    /// Puts an item into a bin that it fits into.
    pub(crate) fn put(&mut self, bin: usize, item: usize) {
        self.loads[bin] += self.items.sizes[item];
        let chain = &mut self.chains[bin];
        match chain.last {
            NONE => chain.first = item as u32,
            last => self.next[last as usize] = item as u32,
        }
        chain.last = item as u32;
        chain.count += 1;
    }

    fn first(&self, item: usize) -> Option<usize> {
        let room = self.room - self.items.sizes[item];
        let (surely, perhaps) = (room - self.error, room + self.error);
        let has_room = |bin: usize| {
            let load = self.loads[bin];
            load <= surely || load <= perhaps && self.fits_exactly(bin, item)
        };
        // Full bins are passed several at a time.
        let mut passed = 0;
        for lane in self.loads.chunks(LANE) {
            let any = lane.iter().fold(false, |any, &load| any | (load <= perhaps));
            if any && let Some(found) = (passed..passed + lane.len()).find(|&bin| has_room(bin)) {
                return Some(found);
            }
            passed += lane.len();
        }
        None
    }

    /// The fullest bin that has room for the item: by doubles where they leave no doubt.
    fn best(&mut self, item: usize, effort: &mut Effort<'_>) -> Result<Option<usize>, Stop> {
        let room = self.room - self.items.sizes[item];
        let (surely, perhaps) = (room - self.error, room + self.error);
        // Two passes without branches: the fullest that surely has room, then how many are as full.
        let doubt = self.loads.iter().fold(false, |doubt, &load| doubt | (load > surely && load <= perhaps));
        let fullest = |best: f64, load: f64| if load <= surely && load > best { load } else { best };
        let best = fold_by_lanes(&self.loads, -1.0, fullest);
        if doubt {
            return self.best_of(0..self.loads.len(), item, effort);
        }
        if best < 0.0 {
            return Ok(None);
        }
        let near = best - self.error;
        let alike = |load: f64| load >= near && load <= surely;
        let count = self.loads.iter().fold(0u32, |count, &load| count + u32::from(alike(load)));
        // Bins at exactly zero hold nothing, or nothing of any size: the first of them it is.
        if count > 1 && best > 0.0 {
            return self.best_of(0..self.loads.len(), item, effort);
        }
        Ok(self.loads.iter().position(|&load| load == best))
    }

    /// The fullest of `bins` that has room for the item.
    pub(crate) fn best_of(
        &mut self,
        bins: impl Iterator<Item = usize>,
        item: usize,
        effort: &mut Effort<'_>,
    ) -> Result<Option<usize>, Stop> {
        let mut best = None;
        for bin in bins {
            // Whether it is fuller is cheaper to tell than whether the item fits.
            let fuller = match best {
                None => true,
                Some(best) => self.load_cmp(bin, best, effort)? == Ordering::Greater,
            };
            if fuller && self.fits(bin, item) {
                best = Some(bin);
            }
        }
        Ok(best)
    }

    fn emptiest(&mut self, effort: &mut Effort<'_>) -> Result<Option<usize>, Stop> {
        let least =
            fold_by_lanes(&self.loads, f64::INFINITY, |least, load| if load < least { load } else { least });
        let near = least + self.error;
        let count = self.loads.iter().fold(0u32, |count, &load| count + u32::from(load <= near));
        // Nothing is emptier than zero, and of equal ones the first is meant.
        if count > 1 && least > 0.0 {
            return self.closely_emptiest(least, effort);
        }
        Ok(self.loads.iter().position(|&load| load == least))
    }

    #[cold]
    fn closely_emptiest(&mut self, least: f64, effort: &mut Effort<'_>) -> Result<Option<usize>, Stop> {
        let mut emptiest: Option<usize> = None;
        for bin in 0..self.loads.len() {
            if self.loads[bin] > least + self.error {
                continue;
            }
            let emptier = match emptiest {
                None => true,
                Some(held) => self.load_cmp(bin, held, effort)? == Ordering::Less,
            };
            if emptier {
                emptiest = Some(bin);
            }
        }
        Ok(emptiest)
    }

    fn next_open(&mut self, item: usize) -> Option<usize> {
        while self.open < self.loads.len() && !self.fits(self.open, item) {
            self.open += 1;
        }
        (self.open < self.loads.len()).then_some(self.open)
    }

    /// Whether the item fits into what is left of the bin, exactly.
    pub(crate) fn fits(&self, bin: usize, item: usize) -> bool {
        let gap = self.room - (self.loads[bin] + self.items.sizes[item]);
        if gap.abs() > self.error { gap > 0.0 } else { self.fits_exactly(bin, item) }
    }

    #[cold]
    fn fits_exactly(&self, bin: usize, item: usize) -> bool {
        let held = self.held(bin).chain(core::iter::once(item));
        let scaled = self.items.ratios(held).map(|Ratio { num, den }| {
            let num = num * u128::from(self.capacity.den);
            Ratio { num, den }
        });
        sum_cmp(scaled, u128::from(self.capacity.num)) != Ordering::Greater
    }

    fn load_cmp(&mut self, a: usize, b: usize, effort: &mut Effort<'_>) -> Result<Ordering, Stop> {
        let gap = self.loads[a] - self.loads[b];
        if gap.abs() > self.error {
            return Ok(if gap > 0.0 { Ordering::Greater } else { Ordering::Less });
        }
        if self.chains[a].count == 0 && self.chains[b].count == 0 {
            return Ok(Ordering::Equal);
        }
        self.load_cmp_closely(a, b, effort)
    }

    #[cold]
    fn load_cmp_closely(&mut self, a: usize, b: usize, effort: &mut Effort<'_>) -> Result<Ordering, Stop> {
        self.sums.resize(self.loads.len(), UNSUMMED);
        let (left, right) = (self.fixed_load(a), self.fixed_load(b));
        // In fixed point each part falls short by less than one unit.
        if left.abs_diff(right) >= self.items.part_count() as u128 {
            return Ok(left.cmp(&right));
        }
        let unsettled = |bin: usize| (self.chains[bin].count - self.sums[bin].exact.settled) as usize;
        effort.spend(1 + unsettled(a) + unsettled(b))?;
        if let (Some((left, left_den)), Some((right, right_den))) = (self.exact_load(a), self.exact_load(b))
            && let (Some(left), Some(right)) = (left.checked_mul(right_den), right.checked_mul(left_den))
        {
            return Ok(left.cmp(&right));
        }
        // Sums with thousands of digits: each item costs about as much as a thousand plain terms.
        effort.spend(((self.chains[a].count + self.chains[b].count) as usize) << 10)?;
        Ok(sums_cmp(self.items.ratios(self.held(a)), self.items.ratios(self.held(b))))
    }

    /// The items of a bin that a sum up to the item `upto` lacks.
    fn lacking(&self, bin: usize, upto: u32) -> impl Iterator<Item = usize> + Clone + '_ {
        self.chain(if upto == NONE { self.chains[bin].first } else { self.next[upto as usize] })
    }

    fn fixed_load(&mut self, bin: usize) -> u128 {
        let Fixed { upto, mut sum } = self.sums[bin].fixed;
        for Ratio { num, den } in self.items.ratios(self.lacking(bin, upto)) {
            // A load stays below 2^20 items of 2^16 cores, and so far below 2^64.
            sum += (num << PLACES) / u128::from(den);
        }
        self.sums[bin].fixed = Fixed { upto: self.chains[bin].last, sum };
        sum
    }

    fn exact_load(&mut self, bin: usize) -> Option<(u128, u128)> {
        let exact = self.sums[bin].exact;
        let mut sum = exact.sum;
        for part in self.items.ratios(self.lacking(bin, exact.upto)) {
            sum = sum.and_then(|sum| add(sum, part));
        }
        let (upto, settled) = (self.chains[bin].last, self.chains[bin].count);
        self.sums[bin].exact = Exact { upto, settled, sum };
        sum
    }
}

/// The sum of two fractions, where it fits into 128 bits.
fn add((num, den): (u128, u128), part: Ratio) -> Option<(u128, u128)> {
    let common = gcd((den % u128::from(part.den)) as u64, part.den);
    let factor = u128::from(part.den / common);
    let wider = den.checked_mul(factor)?;
    let added = (wider / u128::from(part.den)).checked_mul(part.num)?;
    Some((num.checked_mul(factor)?.checked_add(added)?, wider))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tenths(sizes: &[u64]) -> Vec<Share> {
        sizes.iter().map(|&size| Share::new(size, 10).unwrap()).collect()
    }

    /// Bins from packed positions, with tasks counted from 1 as in the figures.
    fn figure(fit: Fit, order: Order) -> Vec<Vec<usize>> {
        // The figures' utilisations are not in the text. On a grid of tenths these are the only ones for which
        // all four figures come out as the text tells them.
        let sizes = tenths(&[8, 5, 7, 6, 2, 4, 1]);
        let mut bins = pack(&sizes, 4, Share::cores(1), fit, order).unwrap();
        for bin in &mut bins {
            bin.sort_unstable();
            bin.iter_mut().for_each(|task| *task += 1);
        }
        bins
    }

    #[test]
    fn figures_22_to_25() {
        assert_eq!(figure(Fit::First, Order::Given), [vec![1, 5], vec![2, 6, 7], vec![3], vec![4]]);
        assert_eq!(figure(Fit::Best, Order::Given), [vec![1, 5], vec![2], vec![3, 7], vec![4, 6]]);
        assert_eq!(figure(Fit::Worst, Order::Given), [vec![1], vec![2, 5, 7], vec![3], vec![4, 6]]);
        assert_eq!(figure(Fit::Worst, Order::Decreasing), [vec![1], vec![3, 7], vec![4, 5], vec![2, 6]]);
    }

    #[test]
    fn next_fit_never_goes_back() {
        let bins = pack(&tenths(&[6, 5, 4, 1]), 3, Share::cores(1), Fit::Next, Order::Given);
        assert_eq!(bins, Ok(vec![vec![0], vec![1, 2, 3], vec![]]));
        assert_eq!(pack(&tenths(&[6, 5, 9]), 2, Share::cores(1), Fit::Next, Order::Given), Err(2));
    }

    /// Thesis 2.4.2.1: five tasks of 0.51 do not fit onto four cores.
    #[test]
    fn five_halves_and_a_bit_do_not_fit_onto_four_cores() {
        let items = vec![Share::new(51, 100).unwrap(); 5];
        for fit in [Fit::First, Fit::Best, Fit::Worst, Fit::Next] {
            assert_eq!(pack(&items, 4, Share::cores(1), fit, Order::Decreasing), Err(4));
        }
    }

    #[test]
    fn tenths_fill_a_core_to_the_brim() {
        let items = tenths(&[1; 30]);
        let bins = pack(&items, 3, Share::cores(1), Fit::First, Order::Given).unwrap();
        assert!(bins.iter().all(|bin| bin.len() == 10));
    }

    /// The same heuristics in plain integers: all sizes are multiples of 1 / 360.
    fn in_integers(sizes: &[u64], bins: usize, fit: Fit, order: Order) -> Result<Vec<Vec<usize>>, usize> {
        let mut items: Vec<usize> = (0..sizes.len()).collect();
        if order == Order::Decreasing {
            items.sort_by_key(|&item| core::cmp::Reverse(sizes[item]));
        }
        let (mut loads, mut packed, mut open) = (vec![0; bins], vec![Vec::new(); bins], 0);
        for item in items {
            let room: Vec<usize> = (0..bins).filter(|&bin| loads[bin] + sizes[item] <= 360).collect();
            let chosen = match fit {
                Fit::First => room.first(),
                Fit::Best => room.iter().max_by_key(|&&bin| (loads[bin], core::cmp::Reverse(bin))),
                Fit::Worst => room.iter().min_by_key(|&&bin| (loads[bin], bin)),
                Fit::Next => room.iter().find(|&&bin| bin >= open),
            };
            let bin = *chosen.ok_or(item)?;
            open = bin;
            loads[bin] += sizes[item];
            packed[bin].push(item);
        }
        Ok(packed)
    }

    proptest! {
        #[test]
        fn packing_agrees_with_integers(
            sizes in prop::collection::vec((1usize..9, 0u64..6), 0..24), bins in 1usize..6,
            fit in prop::sample::select(vec![Fit::First, Fit::Best, Fit::Worst, Fit::Next]),
            order in prop::sample::select(vec![Order::Given, Order::Decreasing]),
        ) {
            let dens = [2u64, 3, 4, 5, 6, 8, 9, 10, 12];
            let shares: Vec<Share> =
                sizes.iter().map(|&(den, num)| Share { num: num.min(dens[den]), den: dens[den] }).collect();
            let whole: Vec<u64> = shares.iter().map(|share| share.num * 360 / share.den).collect();
            prop_assert_eq!(pack(&shares, bins, Share::cores(1), fit, order), in_integers(&whole, bins, fit, order));
        }
    }
}
