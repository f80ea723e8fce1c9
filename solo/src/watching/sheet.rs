//! Rows as a sheet of columns, for CSV, JSON lines and Parquet.

use super::{subject_kind, subject_number};
use solo_observe::Subject;
use solo_report::export::{Column, Kind, Value};
use solo_watch::{Columns, Row};
use std::borrow::Cow;

/// The columns that every sheet has, before counts, virtual counters and metrics.
const FIRST: [(&str, Kind); 8] = [
    ("row", Kind::Integer),
    ("at_ns", Kind::Integer),
    ("span_ns", Kind::Integer),
    ("subject", Kind::Text),
    ("process", Kind::Integer),
    ("id", Kind::Integer),
    ("event", Kind::Text),
    ("set", Kind::Integer),
];

/// The columns of a sheet.
pub(super) fn columns(columns: &Columns) -> Vec<Column> {
    let fixed = FIRST.iter().map(|(name, kind)| Column { name: Cow::Borrowed(*name), kind: *kind });
    let named = |names: &[String], kind| {
        names.iter().map(move |name| Column { name: Cow::Owned(name.clone()), kind }).collect::<Vec<_>>()
    };
    fixed
        .chain(named(&columns.counts, Kind::Integer))
        .chain(named(&columns.virtuals, Kind::Integer))
        .chain(named(&columns.metrics, Kind::Real))
        .collect()
}

/// A row's values, in the order of [`columns`].
pub(super) fn values(row: &Row) -> Vec<Value> {
    let integer = |value: u64| Value::Integer(i64::try_from(value).unwrap_or(i64::MAX));
    let process = match row.subject {
        Subject::Thread { process, .. } | Subject::Tree { process } => Value::Integer(i64::from(process)),
        Subject::Core(_) | Subject::Machine | Subject::Task(_) => Value::Missing,
    };
    let mut values = vec![
        integer(row.number),
        integer(row.at.get()),
        integer(row.span.get()),
        Value::Text(subject_kind(row.subject).into()),
        process,
        subject_number(row.subject).map_or(Value::Missing, |number| Value::Integer(i64::from(number))),
        Value::Text(row.kind.name().into()),
        integer(row.set as u64),
    ];
    values.extend(row.counts.iter().map(|count| count.map_or(Value::Missing, integer)));
    values.extend(row.virtuals.iter().map(|value| value.map_or(Value::Missing, Value::Integer)));
    values.extend(row.metrics.iter().map(|value| value.map_or(Value::Missing, Value::Real)));
    values
}
