//! Whether tasks can be packed, where nobody asks onto which core.
//!
//! Loads are doubles with a bounded error. Which of two bins an item goes to whose loads are closer than that does not
//! matter here: exchanged, they make the same bins but for the error. Only a bin that an item fits into just so, or just
//! not, leaves a doubt, and then the answer is `None` and [`super::pack_items`] decides in integers.

use super::{Fit, Order};
use crate::effort::Effort;
use crate::task::Task;
use crate::verdict::Stop;

/// Whether `fit` in this order packs the tasks by utilisation onto `bins` cores of capacity 1.
pub(crate) fn packs(
    tasks: &[Task],
    bins: usize,
    fit: Fit,
    order: Order,
    effort: &mut Effort<'_>,
) -> Result<Option<bool>, Stop> {
    effort.spend(tasks.len())?;
    let sizes: Vec<f64> = tasks.iter().map(|task| task.c() as f64 / task.t() as f64).collect();
    let known = known(&sizes, bins, fit, order);
    if known.is_some() {
        return Ok(known);
    }
    effort.spend(tasks.len().saturating_mul(if fit == Fit::Next { 1 } else { bins }))?;
    Ok(match order {
        Order::Given => filled(&sizes, bins, fit),
        Order::Decreasing => filled(&decreasing(sizes), bins, fit),
    })
}

/// What sums and counts tell without packing.
///
/// Say the first item that fits nowhere is `u`, the largest of all is at most `1 / b`, and every bin is tried. Then all
/// loads exceed `1 - u`, which sums up to more than `m - (m - 1) u` with the item. Where items come in decreasing order,
/// each bin moreover holds `b` items of at least `u`, for `b` items fit into any: more than `m b / (b + 1)` in all, be `u`
/// above or below `1 / (b + 1)`. So whatever sums up to at most `(b m + 1) / (b + 1)` is packed (Lopez, Diaz & Garcia,
/// Real-Time Systems 28(1), 2004). Nothing packs more than the bins hold, or two items above one half into one.
fn known(sizes: &[f64], bins: usize, fit: Fit, order: Order) -> Option<bool> {
    let (mut sum, mut largest, mut halves) = (0.0, 0.0, 0usize);
    for &size in sizes {
        sum += size;
        largest = if size > largest { size } else { largest };
        halves += usize::from(size > HALF);
    }
    let m = bins as f64;
    let error = (sum + m + 1.0) * (sizes.len() as f64 + 16.0) * f64::EPSILON;
    if sum > m + error || halves > bins {
        return Some(false);
    }
    let whole = (1.0 / largest * (1.0 - 4.0 * f64::EPSILON)).floor();
    let enough = match (fit, order) {
        (Fit::Next, _) => return None,
        (_, Order::Given) => m - (m - 1.0) * largest,
        // Nothing to pack, or sizes so small that doubles would not tell.
        (_, Order::Decreasing) if whole > 1e9 => m / 2.0,
        (_, Order::Decreasing) => (whole * m + 1.0) / (whole + 1.0),
    };
    (sum <= enough - error).then_some(true)
}

/// Above it a quotient in doubles belongs to more than one half.
const HALF: f64 = 0.5 + f64::EPSILON;

/// The sizes from the largest down: doubles above zero are ordered like their bits, and integers sort faster.
fn decreasing(sizes: Vec<f64>) -> Vec<f64> {
    let mut keys: Vec<u64> = sizes.into_iter().map(|size| !size.to_bits()).collect();
    keys.sort_unstable();
    keys.into_iter().map(|key| f64::from_bits(!key)).collect()
}

/// Fills bins with the items in this order.
fn filled(sizes: &[f64], bins: usize, fit: Fit) -> Option<bool> {
    // No bin holds more than 1, and each addition and each size errs by at most half an epsilon.
    let error = (sizes.len() as f64 + 8.0) * 2.0 * f64::EPSILON;
    let loads = vec![0.0; bins];
    // A few loads are looked through faster than kept in order.
    let rising = bins > FEW && matches!(fit, Fit::Best | Fit::Worst);
    match fit {
        Fit::First => {
            fill(sizes, loads, error, false, |loads, room| loads.iter().position(|&load| load <= room))
        }
        Fit::Best if rising => fill(sizes, loads, error, true, |loads, room| {
            loads.partition_point(|&load| load <= room).checked_sub(1)
        }),
        Fit::Best => fill(sizes, loads, error, false, fullest),
        Fit::Worst if rising => {
            fill(sizes, loads, error, true, |loads, room| (loads[0] <= room).then_some(0))
        }
        Fit::Worst => fill(sizes, loads, error, false, emptiest),
        Fit::Next => {
            let mut open = 0;
            fill(sizes, loads, error, false, |loads, room| {
                while *loads.get(open)? > room {
                    open += 1;
                }
                Some(open)
            })
        }
    }
}

/// So many bins are few.
const FEW: usize = 24;

/// The fullest bin of at most this load.
fn fullest(loads: &[f64], room: f64) -> Option<usize> {
    let best = loads.iter().fold(-1.0, |best, &load| if load <= room && load > best { load } else { best });
    loads.iter().position(|&load| load == best)
}

/// The emptiest bin, where it is of at most this load.
fn emptiest(loads: &[f64], room: f64) -> Option<usize> {
    let least = loads.iter().fold(f64::INFINITY, |least, &load| if load < least { load } else { least });
    if least <= room { loads.iter().position(|&load| load == least) } else { None }
}

/// One item after the other goes where `choose` says, given the loads, in `rising` order or bin
/// by bin, and the highest load that may have room.
#[inline(always)]
fn fill(
    sizes: &[f64],
    mut loads: Vec<f64>,
    error: f64,
    rising: bool,
    mut choose: impl FnMut(&[f64], f64) -> Option<usize>,
) -> Option<bool> {
    for &size in sizes {
        let room = 1.0 - size;
        let Some(bin) = choose(&loads, room + error) else {
            return Some(false);
        };
        if loads[bin] > room - error {
            return None;
        }
        let load = loads[bin] + size;
        let mut place = bin;
        if rising {
            let passed = loads[bin + 1..].partition_point(|&other| other < load);
            loads.copy_within(bin + 1..=bin + passed, bin);
            place += passed;
        }
        loads[place] = load;
    }
    Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::{Share, pack};
    use proptest::prelude::*;

    fn quick(tasks: &[Task], bins: usize, fit: Fit, order: Order) -> Option<bool> {
        packs(tasks, bins, fit, order, &mut Effort::unlimited()).expect("no limit")
    }

    #[test]
    fn a_bin_filled_to_the_brim_is_left_to_integers() {
        let tenths = vec![Task::implicit(1, 10); 30];
        assert_eq!(quick(&tenths, 3, Fit::First, Order::Given), None);
        assert_eq!(quick(&tenths, 4, Fit::First, Order::Given), Some(true));
        assert_eq!(quick(&[Task::implicit(51, 100); 5], 4, Fit::Best, Order::Decreasing), Some(false));
        assert_eq!(quick(&[], 1, Fit::Worst, Order::Decreasing), Some(true));
    }

    /// Four bins and eight items of a hair above one third each leave no bin room for a ninth: U is just above the bound.
    #[test]
    fn the_bound_is_reached() {
        let third = Task::implicit(334, 1000);
        assert_eq!(quick(&[third; 8], 4, Fit::First, Order::Decreasing), Some(true));
        assert_eq!(quick(&[third; 9], 4, Fit::First, Order::Decreasing), Some(false));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// What is answered at all is what exact packing does.
        #[test]
        fn it_never_contradicts_exact_packing(
            tasks in prop::collection::vec((1u64..=60, 1u64..=60, prop::bool::ANY), 0..60), bins in prop::sample::select(vec![1usize, 2, 3, 5, 8, FEW + 1, FEW + 4]),
            fit in prop::sample::select(vec![Fit::First, Fit::Best, Fit::Worst, Fit::Next]),
            order in prop::sample::select(vec![Order::Given, Order::Decreasing]), light: bool,
        ) {
            let scale = if light { 4 } else { 1 };
            let tasks: Vec<Task> = tasks
                .iter()
                .map(|&(a, b, tenth)| if tenth { (1 + a % 5, 10) } else { (a.min(b), a.max(b) * scale) })
                .map(|(c, t)| Task::implicit(c, t))
                .collect();
            let shares: Vec<Share> = tasks.iter().map(Share::of).collect();
            let exact = pack(&shares, bins, Share::cores(1), fit, order).is_ok();
            if let Some(quick) = quick(&tasks, bins, fit, order) {
                prop_assert_eq!(quick, exact);
            }
        }
    }
}
