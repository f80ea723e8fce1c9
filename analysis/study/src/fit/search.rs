//! Least squares over steps that never fall: one step after the other is moved, by ever less, as long as that helps. The same plan gives
//! the same table on every machine.

use super::observe::{Curves, Shares};
use super::{CurveAt, FitPlan};
use crate::error::StudyError;
use crate::run::Progress;
use solo_model::units::Duration;
use std::collections::BTreeMap;

/// By how much a step is moved, from coarse to fine.
const MOVES: [Duration; 5] = [
    Duration::from_micros(64),
    Duration::from_micros(16),
    Duration::from_micros(4),
    Duration::from_micros(1),
    Duration::new(250),
];
/// No kernel path takes longer.
const MOST: Duration = Duration::from_millis(10);
/// Passes over all steps with one size of moves.
const PASSES: usize = 40;
/// What distance from the table that a fit starts with counts beside what is left: of tables that explain as much, the one nearest to what is
/// published of it is taken. A millisecond at one step is as bad as three per cent of a published number.
const DISTANCE: f64 = 1e-3;

type All = BTreeMap<CurveAt, Shares>;

/// Moves the steps of one table.
pub(super) fn fit(
    plan: &FitPlan,
    table: usize,
    costs: &mut [Vec<Duration>],
    shares: &mut All,
    curves: &mut Curves<'_>,
    progress: &dyn Progress,
) -> Result<(), StudyError> {
    let mine: Vec<CurveAt> =
        shares.keys().filter(|place| plan.table_of(place) == Some(table)).cloned().collect();
    if mine.is_empty() {
        return Ok(());
    }
    let start = plan.tables[table].flat(&plan.threads);
    let mut best = left(plan, shares) + distance(&costs[table], &start);
    for by in MOVES {
        for _ in 0..PASSES {
            let mut helped = false;
            for at in 0..plan.threads.len() {
                for up in [true, false] {
                    if progress.stop() {
                        return Err(StudyError::Interrupted);
                    }
                    let Some(moved) = moved(plan, table, &costs[table], at, (by, up)) else { continue };
                    let before = std::mem::replace(&mut costs[table], moved);
                    let mut tried = shares.clone();
                    for place in &mine {
                        tried.insert(place.clone(), curves.shares(place, costs)?);
                    }
                    let now = left(plan, &tried) + distance(&costs[table], &start);
                    if now < best {
                        (best, helped) = (now, true);
                        *shares = tried;
                    } else {
                        costs[table] = before;
                    }
                }
            }
            if !helped {
                break;
            }
        }
    }
    Ok(())
}

/// The sum of the squares of what is left of all published numbers, each as a share of it.
pub(super) fn left(plan: &FitPlan, shares: &All) -> f64 {
    let one = |target: &super::Target| {
        let published = target.published.max(1) as f64;
        let off = target.measure.of(shares) / published - 1.0;
        off * off
    };
    plan.targets.iter().map(one).sum()
}

fn distance(costs: &[Duration], start: &[Duration]) -> f64 {
    let square = |(&cost, &start): (&Duration, &Duration)| {
        let off = cost.get().abs_diff(start.get()) as f64 / 1e6;
        off * off
    };
    DISTANCE * costs.iter().zip(start).map(square).sum::<f64>()
}

/// The costs with one step moved: later ones are at least as high, earlier ones at most. `None` where it can't be moved.
fn moved(
    plan: &FitPlan,
    table: usize,
    costs: &[Duration],
    at: usize,
    (by, up): (Duration, bool),
) -> Option<Vec<Duration>> {
    let table = &plan.tables[table];
    let target = if up { costs[at].saturating_add(by) } else { costs[at].saturating_sub(by) };
    let least = table.start.cost(table.grows, plan.threads[at]);
    let fixed = |index: usize| table.fixed.contains_key(&plan.threads[index]);
    if target == costs[at] || target > MOST || fixed(at) {
        return None;
    }
    // What is published as a fixed point is no floor for fewer threads.
    if !up && table.fixed.is_empty() && target < least {
        return None;
    }
    let one = |(index, &cost): (usize, &Duration)| match index.cmp(&at) {
        std::cmp::Ordering::Less => cost.min(target),
        std::cmp::Ordering::Equal => target,
        std::cmp::Ordering::Greater => cost.max(target),
    };
    let moved: Vec<Duration> = costs.iter().enumerate().map(one).collect();
    let stays = (0..costs.len()).all(|index| !fixed(index) || moved[index] == costs[index]);
    stays.then_some(moved)
}
