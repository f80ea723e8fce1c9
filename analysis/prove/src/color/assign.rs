//! Color assignment: how many colors each task gets, which the thesis leaves open (7.1).

use crate::color::Memory;
use crate::task::Ticks;
use solo_model::units::Bytes;

/// A task that may run with any number of private colors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Curve {
    /// The period, at least 1.
    pub period: Ticks,
    /// The memory it allocates.
    pub memory: Bytes,
    /// The worst-case execution time with 1, 2, 3, ... colors; more colors than listed change nothing.
    pub wcet: Vec<Ticks>,
}

/// Chooses a number of private colors for each task so that the sum of utilisations is least, within the
/// colors there are and the partition-size equation `M_i / |NC_i| <= S_p` (equation 4 of chapter 7 for private
/// colors). Among equal sums fewer colors go to earlier tasks. `None` where even the fewest colors that hold
/// each task's memory are too many, or a curve is empty.
///
/// A knapsack over colors, `O(tasks * colors^2)`. Utilisations are compared in units of 2^-64, rounded up, so
/// the sum found is within `tasks * 2^-64` of the least one.
pub fn assign(tasks: &[Curve], memory: &Memory) -> Option<Vec<u16>> {
    let colors = usize::from(memory.colors);
    // best[used]: the least utilisation of the tasks so far with `used` colors at most.
    let mut best: Vec<Option<u128>> = vec![Some(0); colors + 1];
    let mut choices: Vec<Vec<u16>> = Vec::with_capacity(tasks.len());
    for task in tasks {
        let least = least_colors(task, memory)?;
        let mut next = vec![None; colors + 1];
        let mut chosen = vec![0u16; colors + 1];
        for used in least..=colors {
            for count in least..=used {
                let Some(before) = best[used - count] else {
                    continue;
                };
                let sum = before.checked_add(utilization(task, count)?)?;
                if next[used].is_none_or(|held| sum < held) {
                    next[used] = Some(sum);
                    chosen[used] = count as u16;
                }
            }
        }
        best = next;
        choices.push(chosen);
    }
    trace_back(&best, &choices)
}

fn trace_back(best: &[Option<u128>], choices: &[Vec<u16>]) -> Option<Vec<u16>> {
    let least = best.iter().flatten().min()?;
    let mut used = best.iter().position(|sum| *sum == Some(*least))?;
    let mut counts: Vec<u16> = Vec::with_capacity(choices.len());
    for chosen in choices.iter().rev() {
        counts.push(chosen[used]);
        used -= usize::from(chosen[used]);
    }
    counts.reverse();
    Some(counts)
}

/// The fewest colors whose partitions hold the task's memory: `ceil(M_i N_c / M_total)`, at least 1.
fn least_colors(task: &Curve, memory: &Memory) -> Option<usize> {
    let needed = u128::from(task.memory.get()) * u128::from(memory.colors);
    let total = u128::from(memory.total.get());
    let least = if total == 0 { if needed == 0 { 0 } else { return None } } else { needed.div_ceil(total) };
    usize::try_from(least.max(1)).ok().filter(|&least| least <= usize::from(memory.colors))
}

/// `C / T` in units of 2^-64, rounded up.
fn utilization(task: &Curve, count: usize) -> Option<u128> {
    let c = task.wcet.get(count - 1).or(task.wcet.last())?;
    let period = u128::from(task.period.get());
    if period == 0 { None } else { Some((u128::from(c.get()) << 64).div_ceil(period)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn curve(period: u64, kib: u64, wcet: &[u64]) -> Curve {
        Curve {
            period: Ticks(period),
            memory: Bytes::from_kib(kib),
            wcet: wcet.iter().map(|&c| Ticks(c)).collect(),
        }
    }

    #[test]
    fn colors_go_where_they_save_most() {
        let memory = Memory { total: Bytes::from_kib(400), colors: 4 };
        let tasks = [curve(100, 50, &[60, 30, 20]), curve(100, 50, &[40, 35, 30])];
        assert_eq!(assign(&tasks, &memory), Some(vec![3, 1]));
        // The second task's memory needs two partitions.
        let tasks = [curve(100, 50, &[60, 30, 20]), curve(100, 150, &[40, 35, 30])];
        assert_eq!(assign(&tasks, &memory), Some(vec![2, 2]));
        let tasks = [curve(100, 250, &[60]), curve(100, 150, &[40])];
        assert_eq!(assign(&tasks, &memory), None);
    }

    #[test]
    fn colors_that_save_nothing_stay_free() {
        let memory = Memory { total: Bytes::from_kib(400), colors: 16 };
        assert_eq!(assign(&[curve(10, 1, &[5, 4, 4]), curve(10, 1, &[2])], &memory), Some(vec![2, 1]));
        assert_eq!(assign(&[], &memory), Some(vec![]));
    }

    proptest! {
        /// As good as trying every combination.
        #[test]
        fn no_other_assignment_is_better(
            curves in prop::collection::vec(prop::collection::vec(1u64..30, 1..5), 1..4), colors in 1u16..7,
        ) {
            let tasks: Vec<Curve> = curves.iter().map(|wcet| curve(30, 1, wcet)).collect();
            let memory = Memory { total: Bytes::from_mib(1), colors };
            let sum = |counts: &[u16]| -> u64 {
                let with = |(task, &count): (&Curve, &u16)| task.wcet[usize::from(count).min(task.wcet.len()) - 1].get();
                tasks.iter().zip(counts).map(with).sum()
            };
            let mut best = None;
            let mut counts = vec![1u16; tasks.len()];
            'all: loop {
                if counts.iter().sum::<u16>() <= colors {
                    best = Some(best.map_or(sum(&counts), |held: u64| held.min(sum(&counts))));
                }
                for count in &mut counts {
                    *count += 1;
                    if *count <= colors { continue 'all; }
                    *count = 1;
                }
                break;
            }
            prop_assert_eq!(assign(&tasks, &memory).map(|counts| sum(&counts)), best);
        }
    }
}
