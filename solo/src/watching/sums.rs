//! Rows summed up: one for each subject and set (PMCTrack's aggregate mode).

use solo_model::Instant;
use solo_observe::{Metric, Subject};
use solo_watch::{Columns, Row, real};
use std::collections::BTreeMap;

/// Sums in the making.
pub(super) struct Sums {
    columns: Columns,
    metrics: Vec<Metric>,
    /// Of each virtual counter, whether its last value stands; also of those that the list does not reach.
    levels: Vec<bool>,
    rows: BTreeMap<(Subject, usize), Row>,
    /// In the order of their first rows.
    order: Vec<(Subject, usize)>,
}

impl Sums {
    pub(super) fn new(metrics: Vec<Metric>, levels: Vec<bool>) -> Self {
        Self { columns: Columns::default(), metrics, levels, rows: BTreeMap::new(), order: Vec::new() }
    }

    /// What values mean.
    pub(super) fn begin(&mut self, columns: &Columns) {
        self.columns = columns.clone();
    }

    /// Takes a row in. Its number becomes that of rows in the sum.
    pub(super) fn add(&mut self, row: &Row) {
        let key = (row.subject, row.set);
        let Some(sum) = self.rows.get_mut(&key) else {
            self.order.push(key);
            self.rows.insert(key, Row { number: 1, ..row.clone() });
            return;
        };
        sum.number += 1;
        sum.at = sum.at.max(row.at);
        sum.span += row.span;
        for (sum, more) in sum.counts.iter_mut().zip(&row.counts) {
            *sum = either(*sum, *more, u64::wrapping_add);
        }
        for (at, (sum, more)) in sum.virtuals.iter_mut().zip(&row.virtuals).enumerate() {
            let is_level = self.levels.get(at).copied().unwrap_or(true);
            *sum = either(*sum, *more, |sum, more| if is_level { more } else { sum.wrapping_add(more) });
        }
    }

    /// The sums, metrics computed from them.
    pub(super) fn rows(mut self) -> Vec<Row> {
        let mut last = Instant::ZERO;
        let mut done = Vec::new();
        for key in &self.order {
            let Some(mut row) = self.rows.remove(key) else { continue };
            let value =
                |metric: &Metric| metric.expression.value(&|name| row.value(&self.columns, name)).map(real);
            let metrics = self.metrics.iter().map(value).collect();
            row.metrics = metrics;
            // Rows are in the order of their times; those of sums all end at the end.
            last = last.max(row.at);
            row.at = last;
            done.push(row);
        }
        done
    }
}

/// Both together, or the one that there is: absent is not zero.
fn either<T: Copy>(one: Option<T>, other: Option<T>, both: impl Fn(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(both(one, other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::Duration;
    use solo_watch::RowKind;

    #[test]
    fn rows_of_a_subject_and_set_become_one_and_absent_is_not_zero() {
        let columns = Columns {
            counts: vec!["instructions".into(), "cycles".into(), "llc_misses".into()],
            sets: vec![vec![0, 1], vec![0, 2]],
            virtuals: vec!["energy_uj".into(), "heat_mdeg".into()],
            metrics: vec!["ipc".into()],
        };
        let row = |number, thread, set, counts: [Option<u64>; 3], virtuals: [Option<i64>; 2]| Row {
            number,
            at: Instant::new(number * 1000),
            span: Duration::new(1000),
            subject: Subject::Thread { process: 1, thread },
            kind: RowKind::Tick,
            set,
            counts: counts.to_vec(),
            virtuals: virtuals.to_vec(),
            metrics: vec![Some(9.0)],
        };
        let metrics = vec![Metric::parse("ipc=instructions/cycles").unwrap()];
        let mut sums = Sums::new(metrics, vec![false, true]);
        sums.begin(&columns);
        sums.add(&row(1, 7, 0, [Some(10), Some(10), None], [Some(5), Some(40)]));
        sums.add(&row(2, 8, 0, [Some(1), Some(2), None], [None, None]));
        sums.add(&row(3, 7, 1, [Some(4), None, Some(3)], [Some(1), Some(42)]));
        sums.add(&row(4, 7, 0, [Some(20), Some(5), None], [Some(2), Some(41)]));
        let rows = sums.rows();
        let said: Vec<_> = rows
            .iter()
            .map(|row| (row.number, row.set, row.span.get(), row.counts.clone(), row.virtuals.clone()))
            .collect();
        assert_eq!(
            said,
            [
                (2, 0, 2000, vec![Some(30), Some(15), None], vec![Some(7), Some(41)]),
                (1, 0, 1000, vec![Some(1), Some(2), None], vec![None, None]),
                (1, 1, 1000, vec![Some(4), None, Some(3)], vec![Some(1), Some(42)]),
            ]
        );
        let ipc: Vec<_> = rows.iter().map(|row| row.metrics[0]).collect();
        assert_eq!(ipc, [Some(2.0), Some(0.5), None]);
    }
}
