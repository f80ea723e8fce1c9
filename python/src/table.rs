//! Rows as Arrow: a record batch that other libraries take over without copying, by the Arrow PyCapsule interface.

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator, StructArray};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use solo_report::export::{Column, Kind, SCHEMA, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// A table: named columns of 64-bit integers, floats, texts and truth values, each of which may be missing. Units stand last in
/// names (`response_ns`).
///
/// pyarrow, pandas, polars and DuckDB take it over as it is, by the Arrow PyCapsule interface
/// (https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html): `pyarrow.table(t)`, `polars.DataFrame(t)`.
#[pyclass(frozen, module = "solocore")]
pub(crate) struct Table {
    name: String,
    batch: RecordBatch,
}

fn refused(error: &ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[pymethods]
impl Table {
    /// What the table holds: `jobs`, `samples`, `switches`, `regulation`, `tasks`, ...
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        format!(
            "<solocore.Table {}: {} rows, {} columns>",
            self.name,
            self.batch.num_rows(),
            self.batch.num_columns()
        )
    }

    /// The address of a column's values in memory: that of the same column in pyarrow, for nothing is copied.
    fn address(&self, column: &str) -> PyResult<usize> {
        let array = self.batch.column_by_name(column);
        let array = array.ok_or_else(|| PyValueError::new_err(format!("no column {column:?}")))?.to_data();
        Ok(array.buffers().first().map_or(0, |buffer| buffer.as_ptr() as usize))
    }

    /// The table as `pyarrow.Table`; nothing is copied.
    fn to_arrow<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.getattr("table")?.call1((slf,))
    }

    /// The table as `pandas.DataFrame` with Arrow's own columns: nothing is copied, and missing values stay missing.
    fn to_pandas<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("solocore.frames")?.getattr("to_pandas")?.call1((slf,))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema =
            FFI_ArrowSchema::try_from(self.batch.schema().as_ref()).map_err(|error| refused(&error))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // What is asked for is a wish: a consumer that needs other types casts.
        drop(requested_schema);
        let array = FFI_ArrowArray::new(&StructArray::from(self.batch.clone()).into_data());
        Ok((self.__arrow_c_schema__(py)?, PyCapsule::new_with_value(py, array, c"arrow_array")?))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }
}

/// A column while it grows.
enum Growing {
    Integer(Int64Builder),
    Real(Float64Builder),
    Text(StringBuilder),
    Truth(BooleanBuilder),
}

impl Growing {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Integer => Self::Integer(Int64Builder::new()),
            Kind::Real => Self::Real(Float64Builder::new()),
            Kind::Text => Self::Text(StringBuilder::new()),
            Kind::Truth => Self::Truth(BooleanBuilder::new()),
        }
    }

    /// A value of another kind than the column's is missing.
    fn push(&mut self, value: &Value) {
        match (self, value) {
            (Self::Integer(column), Value::Integer(value)) => column.append_value(*value),
            (Self::Real(column), Value::Real(value)) => column.append_value(*value),
            (Self::Text(column), Value::Text(value)) => column.append_value(value),
            (Self::Truth(column), Value::Truth(value)) => column.append_value(*value),
            (Self::Integer(column), _) => column.append_null(),
            (Self::Real(column), _) => column.append_null(),
            (Self::Text(column), _) => column.append_null(),
            (Self::Truth(column), _) => column.append_null(),
        }
    }

    fn finish(self) -> (DataType, ArrayRef) {
        match self {
            Self::Integer(mut column) => (DataType::Int64, Arc::new(column.finish())),
            Self::Real(mut column) => (DataType::Float64, Arc::new(column.finish())),
            Self::Text(mut column) => (DataType::Utf8, Arc::new(column.finish())),
            Self::Truth(mut column) => (DataType::Boolean, Arc::new(column.finish())),
        }
    }
}

/// A table while it grows.
pub(crate) struct Rows {
    name: String,
    columns: Vec<(String, Growing)>,
}

impl Rows {
    pub(crate) fn new(name: &str, columns: impl IntoIterator<Item = Column>) -> Self {
        let columns = columns.into_iter().map(|column| (column.name.into_owned(), Growing::new(column.kind)));
        Self { name: name.to_owned(), columns: columns.collect() }
    }

    /// A table of these columns.
    pub(crate) fn of(name: &str, columns: &[(&'static str, Kind)]) -> Self {
        Self::new(name, columns.iter().map(|&(name, kind)| Column { name: name.into(), kind }))
    }

    /// Adds a row with a value for each column.
    pub(crate) fn push(&mut self, row: &[Value]) {
        for ((_, column), value) in self.columns.iter_mut().zip(row) {
            column.push(value);
        }
    }

    /// The whole table. It says what it is and of which version, as Parquet files do (`solo.schema`).
    pub(crate) fn finish(self) -> PyResult<Table> {
        let version = HashMap::from([("solo.schema".to_owned(), format!("{}/{SCHEMA}", self.name))]);
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for (name, column) in self.columns {
            let (kind, array) = column.finish();
            fields.push(Field::new(name, kind, true));
            arrays.push(array);
        }
        let schema = Arc::new(Schema::new_with_metadata(fields, version));
        let batch = RecordBatch::try_new(schema, arrays).map_err(|error| refused(&error))?;
        Ok(Table { name: self.name, batch })
    }
}

/// A whole number as a value; what 64 bits with a sign don't hold is the largest that they do.
pub(crate) fn integer(value: impl Into<u64>) -> Value {
    Value::Integer(i64::try_from(value.into()).unwrap_or(i64::MAX))
}

/// The same where there is one.
pub(crate) fn maybe(value: Option<u64>) -> Value {
    value.map_or(Value::Missing, integer)
}

impl Table {
    /// What it holds.
    pub(crate) fn named(&self) -> &str {
        &self.name
    }

    pub(crate) fn is_named(&self, name: &str) -> bool {
        self.name == name
    }
}
