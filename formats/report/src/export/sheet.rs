//! A table of any columns, written row by row.

use super::sinks::Sink;
use super::{Column, ExportError, Format, Value, sink};
use std::io::Write;

/// A table whose columns are named when it is begun.
pub struct Sheet<'a> {
    sink: Box<dyn Sink + 'a>,
}

impl<'a> Sheet<'a> {
    /// Starts a table called `name` on `out`.
    ///
    /// # Errors
    /// When `out` refuses the header.
    pub fn new(
        name: &str,
        columns: Vec<Column>,
        format: Format,
        out: impl Write + Send + 'a,
    ) -> Result<Self, ExportError> {
        Ok(Self { sink: sink(format, out, name, columns)? })
    }

    /// Writes a row with one value for each column.
    ///
    /// # Errors
    /// When the output refuses.
    pub fn row(&mut self, row: &[Value]) -> Result<(), ExportError> {
        self.sink.row(row)
    }

    /// Lets a reader see what has been written so far, where the format allows it.
    ///
    /// # Errors
    /// When the output refuses.
    pub fn flush(&mut self) -> Result<(), ExportError> {
        self.sink.flush()
    }

    /// Completes the table.
    ///
    /// # Errors
    /// When the output refuses.
    pub fn finish(self) -> Result<(), ExportError> {
        self.sink.finish()
    }
}
