//! Each set of a study as a row of a Parquet file.

use crate::error::StudyError;
use crate::results::{Results, SUMMARY_SCHEMA};
use crate::sets::judge::Found;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Rows of a row group.
const GROUP: usize = 1 << 16;

/// Writes every set with its verdicts into a file, which messages call `path`.
///
/// # Errors
/// When the file can't be written.
pub(crate) fn write(results: &Results, path: &Path, file: File) -> Result<(), StudyError> {
    let failed = |source| StudyError::Parquet { path: path.to_path_buf(), source };
    Columns::write(results, file).map_err(failed)
}

/// One row group, column by column.
struct Columns {
    distribution: Vec<ByteArray>,
    numbers: [Vec<i64>; 4],
    /// For each curve the verdicts, and which are there.
    verdicts: Vec<(Vec<bool>, Vec<i16>)>,
}

const NUMBERS: [&str; 4] = ["cap_per_mille", "set", "tasks", "utilization_ppm"];

impl Columns {
    fn write(results: &Results, file: File) -> Result<(), ParquetError> {
        let plan = results.plan();
        let names = plan.curves.iter().map(|curve| match curve.working_set {
            Some(size) => format!("{}, {size}", curve.name),
            None => curve.name.clone(),
        });
        let field = |name: &str, physical, logical, repetition| {
            let field = Type::primitive_type_builder(name, physical);
            Ok::<_, ParquetError>(Arc::new(
                field.with_logical_type(logical).with_repetition(repetition).build()?,
            ))
        };
        let mut fields = vec![field(
            "distribution",
            Physical::BYTE_ARRAY,
            Some(LogicalType::String),
            Repetition::REQUIRED,
        )?];
        for name in NUMBERS {
            fields.push(field(name, Physical::INT64, None, Repetition::REQUIRED)?);
        }
        for name in names {
            fields.push(field(&name, Physical::BOOLEAN, None, Repetition::OPTIONAL)?);
        }
        let schema = Type::group_type_builder("sets").with_fields(fields).build()?;
        let version = KeyValue::new("solo.schema".to_owned(), format!("sets/{SUMMARY_SCHEMA}"));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(vec![version]))
            .build();
        let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
        let labels: Vec<ByteArray> =
            plan.distributions.iter().map(|(name, _)| ByteArray::from(name.as_str())).collect();
        let mut columns = Self::empty(plan.curves.len());
        for (distribution, cap, index, row) in results.rows() {
            columns.distribution.push(labels[distribution].clone());
            let numbers = [cap, index, u64::from(row.tasks), row.utilization_ppm];
            columns.numbers.iter_mut().zip(numbers).for_each(|(column, number)| column.push(number as i64));
            for ((values, levels), found) in columns.verdicts.iter_mut().zip(&row.found) {
                match found {
                    Found::Undecided => levels.push(0),
                    decided => {
                        levels.push(1);
                        values.push(*decided == Found::Schedulable);
                    }
                }
            }
            if columns.distribution.len() == GROUP {
                columns.group(&mut writer)?;
                columns = Self::empty(plan.curves.len());
            }
        }
        if !columns.distribution.is_empty() {
            columns.group(&mut writer)?;
        }
        writer.close()?;
        Ok(())
    }

    fn empty(curves: usize) -> Self {
        Self {
            distribution: Vec::new(),
            numbers: Default::default(),
            verdicts: vec![Default::default(); curves],
        }
    }

    fn group(&self, writer: &mut SerializedFileWriter<File>) -> Result<(), ParquetError> {
        let mut group = writer.next_row_group()?;
        let mut next = |write: &mut dyn FnMut(
            &mut parquet::file::writer::SerializedColumnWriter<'_>,
        ) -> Result<(), ParquetError>| {
            match group.next_column()? {
                Some(mut column) => {
                    write(&mut column)?;
                    column.close()
                }
                None => Ok(()),
            }
        };
        next(&mut |column| values::<ByteArrayType>(column, &self.distribution, None))?;
        for numbers in &self.numbers {
            next(&mut |column| values::<Int64Type>(column, numbers, None))?;
        }
        for (verdicts, levels) in &self.verdicts {
            next(&mut |column| values::<BoolType>(column, verdicts, Some(levels)))?;
        }
        group.close()?;
        Ok(())
    }
}

fn values<T: DataType>(
    column: &mut parquet::file::writer::SerializedColumnWriter<'_>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    column.typed::<T>().write_batch(values, levels, None).map(|_| ())
}
