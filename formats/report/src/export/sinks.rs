//! Rows as text.

use super::columns::{Column, Value};
use super::{ExportError, SCHEMA};
use std::borrow::Cow;
use std::io::Write;

/// Where rows go.
pub(super) trait Sink {
    /// Writes a row with a value for each column.
    fn row(&mut self, row: &[Value]) -> Result<(), ExportError>;
    /// Writes what is left.
    fn finish(self: Box<Self>) -> Result<(), ExportError>;
    /// Lets a reader see what has been written so far, where the format allows it.
    fn flush(&mut self) -> Result<(), ExportError> {
        Ok(())
    }
}

/// Comma-separated values.
pub(super) struct CsvSink<W: Write> {
    writer: csv::Writer<W>,
}

impl<W: Write> CsvSink<W> {
    /// The first line is a comment that names the table and its version, the second the columns.
    pub(super) fn new(mut out: W, table: &str, columns: &[Column]) -> Result<Self, ExportError> {
        writeln!(out, "# solo {table}, version {SCHEMA}")?;
        let mut writer = csv::Writer::from_writer(out);
        writer
            .write_record(columns.iter().map(|column| cell(&column.name).into_owned()))
            .map_err(csv_error)?;
        Ok(Self { writer })
    }
}

impl<W: Write> Sink for CsvSink<W> {
    fn row(&mut self, row: &[Value]) -> Result<(), ExportError> {
        for value in row {
            let written = match value {
                Value::Missing => self.writer.write_field(""),
                Value::Integer(value) => self.writer.write_field(value.to_string()),
                Value::Real(value) if value.is_finite() => self.writer.write_field(value.to_string()),
                Value::Real(_) => self.writer.write_field(""),
                Value::Text(text) => self.writer.write_field(&*cell(text)),
                Value::Truth(truth) => self.writer.write_field(if *truth { "true" } else { "false" }),
            };
            written.map_err(csv_error)?;
        }
        self.writer.write_record(None::<&[u8]>).map_err(csv_error)
    }

    fn finish(mut self: Box<Self>) -> Result<(), ExportError> {
        self.flush()
    }

    fn flush(&mut self) -> Result<(), ExportError> {
        Ok(self.writer.flush()?)
    }
}

/// A text as a cell that no spreadsheet takes for a formula: an apostrophe before it says that it is text.
fn cell(text: &str) -> Cow<'_, str> {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

fn csv_error(error: csv::Error) -> ExportError {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => ExportError::Io(error),
        other => ExportError::Io(std::io::Error::other(format!("{other:?}"))),
    }
}

/// One JSON object a line.
pub(super) struct JsonSink<W> {
    out: W,
    /// `"name":` for each column.
    keys: Vec<String>,
    line: String,
}

impl<W: Write> JsonSink<W> {
    /// The first line is an object that names the table and its version.
    pub(super) fn new(mut out: W, table: &str, columns: &[Column]) -> Result<Self, ExportError> {
        writeln!(out, "{{\"format\":{},\"schema\":{SCHEMA}}}", serde_json::Value::from(table))?;
        let key = |column: &Column| format!("{}:", serde_json::Value::from(&*column.name));
        let keys = columns.iter().map(key).collect();
        Ok(Self { out, keys, line: String::new() })
    }
}

impl<W: Write> Sink for JsonSink<W> {
    fn row(&mut self, row: &[Value]) -> Result<(), ExportError> {
        self.line.clear();
        for (key, value) in self.keys.iter().zip(row) {
            self.line.push(if self.line.is_empty() { '{' } else { ',' });
            self.line.push_str(key);
            match value {
                Value::Missing => self.line.push_str("null"),
                Value::Integer(value) => self.line.push_str(&value.to_string()),
                Value::Real(value) if value.is_finite() => self.line.push_str(&value.to_string()),
                Value::Real(_) => self.line.push_str("null"),
                Value::Text(text) => self.line.push_str(&serde_json::Value::from(text.as_str()).to_string()),
                Value::Truth(truth) => self.line.push_str(if *truth { "true" } else { "false" }),
            }
        }
        self.line.push_str("}\n");
        Ok(self.out.write_all(self.line.as_bytes())?)
    }

    fn finish(mut self: Box<Self>) -> Result<(), ExportError> {
        self.flush()
    }

    fn flush(&mut self) -> Result<(), ExportError> {
        Ok(self.out.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::Kind;

    #[test]
    fn no_cell_begins_a_formula() {
        let column = |name: &'static str| Column { name: Cow::Borrowed(name), kind: Kind::Text };
        let mut bytes = Vec::new();
        let mut sink = Box::new(CsvSink::new(&mut bytes, "texts", &[column("=name"), column("b")]).unwrap());
        for text in ["=HYPERLINK(\"x\")", "+1", "-1+2", "@SUM(1)", "\t=1", "\r=1", "plain"] {
            sink.row(&[Value::Text(text.into()), Value::Integer(-5)]).unwrap();
        }
        sink.finish().unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (version, text) = text.split_once('\n').unwrap();
        assert_eq!(version, "# solo texts, version 1");
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        let first: Vec<String> = reader.records().map(|row| row.unwrap()[0].to_owned()).collect();
        assert_eq!(
            first,
            ["'=name", "'=HYPERLINK(\"x\")", "'+1", "'-1+2", "'@SUM(1)", "'\t=1", "'\r=1", "plain"]
        );
        assert!(
            text.lines().skip(1).all(|line| line.ends_with("-5") || line.contains('\r')),
            "numbers stay numbers"
        );
    }
}
