//! The rows that records make in a table, for whoever keeps them.

use super::Table;
use super::columns::{self, Column, Value};
use super::periods::Periods;
use solo_model::{Experiment, Record};

/// The rows of one table, while records come: what [`Exporter`](super::Exporter) writes, for a caller that keeps values itself.
pub struct Rows<'e> {
    table: Table,
    experiment: &'e Experiment,
    periods: Periods,
    row: Vec<Value>,
}

impl<'e> Rows<'e> {
    /// The rows of `table` in a run of `experiment`, before its first record.
    pub fn new(table: Table, experiment: &'e Experiment) -> Self {
        Self { table, experiment, periods: Periods::new(experiment), row: Vec::new() }
    }

    /// The columns: each row has a value for each.
    pub fn columns(&self) -> Vec<Column> {
        columns::of(self.table, &self.experiment.platform.events)
    }

    /// The row that is complete now that `record` has come; nothing where none is.
    pub fn of(&mut self, record: &Record) -> Option<&[Value]> {
        self.row.clear();
        match self.table {
            Table::Regulation => self.periods.add(record, &mut self.row),
            table => columns::fill(table, record, self.experiment, &mut self.row),
        }
        self.made()
    }

    /// The row that still waits when no more records come.
    pub fn last(&mut self) -> Option<&[Value]> {
        self.row.clear();
        self.periods.flush(&mut self.row);
        self.made()
    }

    fn made(&self) -> Option<&[Value]> {
        (!self.row.is_empty()).then_some(self.row.as_slice())
    }
}
