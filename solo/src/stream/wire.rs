//! Rows as JSON, and back.

use crate::watching::{subject_kind, subject_number};
use serde::{Deserialize, Serialize};
use solo_model::{CoreId, Duration, Instant};
use solo_observe::Subject;
use solo_watch::{Columns, Row, RowKind};

/// A row on its way; the same names as in the columns of a recording.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub(crate) struct RowLine {
    pub(crate) row: u64,
    pub(crate) at_ns: u64,
    pub(crate) span_ns: u64,
    pub(crate) subject: String,
    pub(crate) process: Option<u32>,
    pub(crate) id: Option<u32>,
    pub(crate) event: String,
    pub(crate) set: usize,
    pub(crate) counts: Vec<Option<u64>>,
    pub(crate) virtuals: Vec<Option<i64>>,
    pub(crate) metrics: Vec<Option<f64>>,
}

impl From<&Row> for RowLine {
    fn from(row: &Row) -> Self {
        let process = match row.subject {
            Subject::Thread { process, .. } | Subject::Tree { process } => Some(process),
            Subject::Core(_) | Subject::Machine | Subject::Task(_) => None,
        };
        Self {
            row: row.number,
            at_ns: row.at.get(),
            span_ns: row.span.get(),
            subject: subject_kind(row.subject).to_owned(),
            process,
            id: subject_number(row.subject),
            event: row.kind.name().to_owned(),
            set: row.set,
            counts: row.counts.clone(),
            virtuals: row.virtuals.clone(),
            // JSON knows no infinity.
            metrics: row.metrics.iter().map(|value| value.filter(|value| value.is_finite())).collect(),
        }
    }
}

impl RowLine {
    /// The row, its values as many as there are columns; `None` for a subject or kind that nobody knows.
    pub(crate) fn read(self, columns: &Columns) -> Option<Row> {
        let subject = match (self.subject.as_str(), self.process, self.id) {
            ("thread", Some(process), Some(thread)) => Subject::Thread { process, thread },
            ("process", _, Some(process)) => Subject::Tree { process },
            ("core", _, Some(core)) => Subject::Core(CoreId(u16::try_from(core).ok()?)),
            ("machine", ..) => Subject::Machine,
            _ => return None,
        };
        let kind = RowKind::ALL.into_iter().find(|kind| kind.name() == self.event)?;
        let (mut counts, mut virtuals, mut metrics) = (self.counts, self.virtuals, self.metrics);
        counts.resize(columns.counts.len(), None);
        virtuals.resize(columns.virtuals.len(), None);
        metrics.resize(columns.metrics.len(), None);
        Some(Row {
            number: self.row,
            at: Instant::new(self.at_ns),
            span: Duration::new(self.span_ns),
            subject,
            kind,
            set: self.set,
            counts,
            virtuals,
            metrics,
        })
    }
}
