//! Rows as Parquet, one row group at a time.

use super::columns::{Column, Kind, Value};
use super::sinks::Sink;
use super::{ExportError, SCHEMA};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use std::io::Write;
use std::sync::Arc;

/// Rows of a row group: some megabytes in memory, enough for columns to compress.
const ROWS: usize = 32 << 10;

/// Gathers rows column by column and writes them as row groups.
pub(super) struct ParquetSink<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: Vec<(Column, Vec<Value>)>,
    rows: usize,
}

impl<W: Write + Send> ParquetSink<W> {
    pub(super) fn new(out: W, table: &str, columns: Vec<Column>) -> Result<Self, ExportError> {
        let fields = columns.iter().map(|column| Ok(Arc::new(field(column)?)));
        let fields = fields.collect::<Result<Vec<_>, ParquetError>>()?;
        let schema = Type::group_type_builder(table).with_fields(fields).build()?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
        let version = KeyValue::new("solo.schema".to_owned(), format!("{table}/{SCHEMA}"));
        let properties = properties.set_key_value_metadata(Some(vec![version])).build();
        let writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
        Ok(Self {
            writer,
            columns: columns.into_iter().map(|column| (column, Vec::new())).collect(),
            rows: 0,
        })
    }

    fn write_group(&mut self) -> Result<(), ExportError> {
        let mut group = self.writer.next_row_group()?;
        for (column, values) in &mut self.columns {
            let Some(mut writer) = group.next_column()? else { break };
            write_column(&mut writer, column.kind, values)?;
            writer.close()?;
            values.clear();
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }
}

impl<W: Write + Send> Sink for ParquetSink<W> {
    fn row(&mut self, row: &[Value]) -> Result<(), ExportError> {
        for ((_, values), value) in self.columns.iter_mut().zip(row) {
            values.push(value.clone());
        }
        self.rows += 1;
        if self.rows == ROWS { self.write_group() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<(), ExportError> {
        if self.rows > 0 {
            self.write_group()?;
        }
        self.writer.close()?;
        Ok(())
    }
}

fn field(column: &Column) -> Result<Type, ParquetError> {
    let (physical, logical) = match column.kind {
        Kind::Integer => (Physical::INT64, None),
        Kind::Real => (Physical::DOUBLE, None),
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Truth => (Physical::BOOLEAN, None),
    };
    Type::primitive_type_builder(&column.name, physical)
        .with_logical_type(logical)
        .with_repetition(Repetition::OPTIONAL)
        .build()
}

fn write_column(
    writer: &mut SerializedColumnWriter<'_>,
    kind: Kind,
    values: &[Value],
) -> Result<(), ParquetError> {
    match kind {
        Kind::Integer => write_values::<Int64Type>(writer, values, |value| match value {
            Value::Integer(value) => Some(*value),
            _ => None,
        }),
        Kind::Real => write_values::<DoubleType>(writer, values, |value| match value {
            Value::Real(value) => Some(*value),
            _ => None,
        }),
        Kind::Text => write_values::<ByteArrayType>(writer, values, |value| match value {
            Value::Text(text) => Some(ByteArray::from(text.as_str())),
            _ => None,
        }),
        Kind::Truth => write_values::<BoolType>(writer, values, |value| match value {
            Value::Truth(truth) => Some(*truth),
            _ => None,
        }),
    }
}

/// Parquet stores the values that are there, and for every row whether it is (definition level 1).
fn write_values<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    values: &[Value],
    of: impl Fn(&Value) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let levels: Vec<i16> = values.iter().map(|value| i16::from(*value != Value::Missing)).collect();
    let present: Vec<T::T> = values.iter().filter_map(of).collect();
    writer.typed::<T>().write_batch(&present, Some(&levels), None)?;
    Ok(())
}
