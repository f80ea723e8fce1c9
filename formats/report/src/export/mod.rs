//! Records as tables for other tools: jobs, samples, switches and regulation periods as CSV, JSON lines or Parquet.
//!
//! Column names carry their units last (`response_ns`). Rows are written as records come; Parquet gathers
//! them into row groups of a fixed number of rows.

mod columns;
#[cfg(feature = "parquet")]
mod parquet;
mod periods;
mod rows;
mod sheet;
mod sinks;

pub use columns::{Column, Kind, Value};
pub use rows::Rows;
pub use sheet::Sheet;

use sinks::Sink;
use solo_model::{EventTable, Experiment, Record};
use std::borrow::Cow;
use std::io::{self, Write};

/// The version of the tables' columns; text files say it in their first line, Parquet files as `solo.schema`, such as
/// `jobs/1`. It grows when a column
/// changes its name or its meaning, not when one is added.
pub const SCHEMA: u32 = 1;

/// Which records become rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Table {
    /// One row a job, finished or not.
    Jobs,
    /// One row a counter sample.
    Samples,
    /// One row a change of what a core runs.
    Switches,
    /// One row a core's part of a regulation period.
    Regulation,
    /// One row a task each time that it is looked at what its process holds of the last-level cache.
    Occupancy,
    /// One row for what a job used on cores of a kind, and for each meter at the end of each sampling interval.
    Energy,
    /// One row a task that is on a core when a sampling period of the policy's monitor ends there: what the monitor says of it.
    Metrics,
}

impl Table {
    /// All tables.
    pub const ALL: [Self; 7] = [
        Self::Jobs,
        Self::Samples,
        Self::Switches,
        Self::Regulation,
        Self::Occupancy,
        Self::Energy,
        Self::Metrics,
    ];

    /// The name in file names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jobs => "jobs",
            Self::Samples => "samples",
            Self::Switches => "switches",
            Self::Regulation => "regulation",
            Self::Occupancy => "occupancy",
            Self::Energy => "energy",
            Self::Metrics => "metrics",
        }
    }

    /// The names of the columns for runs whose events are those of `events`.
    pub fn columns(self, events: &EventTable) -> Vec<Cow<'static, str>> {
        columns::of(self, events).into_iter().map(|column| column.name).collect()
    }
}

/// How rows are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Comma-separated values: a comment with name and version, a header, rows; a missing value is empty.
    Csv,
    /// One JSON object a line, the first with name and version; a missing value is `null`.
    JsonLines,
    /// Apache Parquet, compressed with Snappy; refused where this crate was built without its feature `parquet`.
    Parquet,
}

impl Format {
    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "CSV",
            Self::JsonLines => "JSON lines",
            Self::Parquet => "Parquet",
        }
    }

    /// True where this crate was built with the writer of the format: text always is.
    pub const fn is_built(self) -> bool {
        cfg!(feature = "parquet") || !matches!(self, Self::Parquet)
    }

    /// The ending of file names.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::JsonLines => "jsonl",
            Self::Parquet => "parquet",
        }
    }
}

/// Why rows could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The output refused.
    #[error("cannot write the table: {}", solo_store::system_reason(.0))]
    Io(#[from] io::Error),
    /// This program was built without the writer of that format.
    #[error("this program was built without {}; build it with the feature `{}`", .0.name(), .0.extension())]
    NotBuilt(Format),
    /// The Parquet writer refused.
    #[cfg(feature = "parquet")]
    #[error("cannot write the table: {0}")]
    Parquet(#[from] ::parquet::errors::ParquetError),
}

/// Writes one table while records come.
pub struct Exporter<'a> {
    sink: Box<dyn Sink + 'a>,
    rows: Rows<'a>,
}

impl<'a> Exporter<'a> {
    /// Starts a table on `out`.
    ///
    /// # Errors
    /// When `out` refuses the header.
    pub fn new(
        table: Table,
        format: Format,
        out: impl Write + Send + 'a,
        experiment: &'a Experiment,
    ) -> Result<Self, ExportError> {
        let rows = Rows::new(table, experiment);
        Ok(Self { sink: sink(format, out, table.name(), rows.columns())?, rows })
    }

    /// Writes a row where `record` belongs to the table.
    ///
    /// # Errors
    /// When the output refuses.
    pub fn add(&mut self, record: &Record) -> Result<(), ExportError> {
        match self.rows.of(record) {
            Some(row) => self.sink.row(row),
            None => Ok(()),
        }
    }

    /// Completes the table.
    ///
    /// # Errors
    /// When the output refuses.
    pub fn finish(mut self) -> Result<(), ExportError> {
        if let Some(row) = self.rows.last() {
            self.sink.row(row)?;
        }
        self.sink.finish()
    }
}

/// Starts a table on `out` in the given format.
fn sink<'a>(
    format: Format,
    out: impl Write + Send + 'a,
    name: &str,
    columns: Vec<Column>,
) -> Result<Box<dyn Sink + 'a>, ExportError> {
    Ok(match format {
        Format::Csv => Box::new(sinks::CsvSink::new(out, name, &columns)?),
        Format::JsonLines => Box::new(sinks::JsonSink::new(out, name, &columns)?),
        #[cfg(feature = "parquet")]
        Format::Parquet => Box::new(parquet::ParquetSink::new(out, name, columns)?),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => return Err(ExportError::NotBuilt(format)),
    })
}
