//! Rows as Perfetto counter tracks: one group a subject, one track a column.

use super::{subject_kind, subject_number};
use solo_model::Instant;
use solo_report::perfetto::CounterTrace;
use solo_watch::{Columns, Row};
use std::io::{self, Write};

/// Writes rows as rates over their intervals; virtual counters as they are.
pub(super) struct Trace<W> {
    trace: CounterTrace<W>,
    columns: Columns,
}

impl<W: Write> Trace<W> {
    pub(super) fn new(out: W, columns: &Columns) -> Self {
        Self { trace: CounterTrace::new(out), columns: columns.clone() }
    }

    pub(super) fn row(&mut self, row: &Row) -> io::Result<()> {
        let owner = match subject_number(row.subject) {
            Some(number) => format!("{} {number}", subject_kind(row.subject)),
            None => subject_kind(row.subject).to_owned(),
        };
        // A counter's value holds from its time stamp on, so it belongs at the beginning of the interval.
        let from = Instant::new(row.at.get().saturating_sub(row.span.get()));
        let span = u128::from(row.span.get().max(1));
        for (name, count) in self.columns.counts.iter().zip(&row.counts) {
            if let Some(count) = count {
                let rate = u128::from(*count) * 1_000_000_000 / span;
                self.trace.value(&owner, name, "1/s", from, i64::try_from(rate).unwrap_or(i64::MAX))?;
            }
        }
        for (name, value) in self.columns.virtuals.iter().zip(&row.virtuals) {
            if let Some(value) = value {
                self.trace.value(&owner, name, "", from, *value)?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(self) -> io::Result<W> {
        self.trace.finish()
    }
}
