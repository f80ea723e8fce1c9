//! Estimation models, evaluated by what evaluates them in a kernel.

use crate::error;
use pyo3::prelude::*;
use solo_model::{Fixed, KindId};
use solo_scenario::{Platforms, parse_model};
use std::path::{Path, PathBuf};

/// An estimation model of a platform, read from its file (docs/models.md) and evaluated in integers.
#[pyclass(frozen, module = "solocore")]
pub(crate) struct Model {
    model: solo_model::estimate::Model,
    kinds: Vec<String>,
    platform: String,
}

impl Model {
    fn name(&self, kind: KindId) -> &str {
        self.kinds.get(kind.index()).map_or("", String::as_str)
    }

    fn side(&self, py: Python<'_>, kind: &str) -> PyResult<&solo_model::estimate::Side> {
        let found = self.model.sides.iter().find(|side| self.name(side.kind) == kind);
        found.ok_or_else(|| {
            let expected = format!("a kind of core that the model knows: {}", self.kinds().join(", "));
            error::input(py, &expected, kind, "kind")
        })
    }
}

#[pymethods]
impl Model {
    /// Reads and checks the text of a model of `platform`, a name or a path. `path` names the file in messages.
    #[staticmethod]
    #[pyo3(signature = (text, platform, path=None))]
    fn parse(py: Python<'_>, text: &str, platform: &str, path: Option<PathBuf>) -> PyResult<Self> {
        let path = path.unwrap_or_else(|| PathBuf::from("model.toml"));
        let loaded = Platforms::builtin().load(platform, Path::new("."));
        let platform = loaded.map_err(|report| error::diagnostics(py, &report))?;
        let model = parse_model(text, &path, &platform).map_err(|report| error::diagnostics(py, &report))?;
        let kinds = platform.kinds.iter().map(|kind| kind.name.clone()).collect();
        Ok(Self { model, kinds, platform: platform.name.clone() })
    }

    /// What it estimates: `speedup-factor` or `energy-factor`.
    #[getter]
    fn factor(&self) -> &'static str {
        self.model.factor.name()
    }

    /// The platform's name.
    #[getter]
    fn platform(&self) -> &str {
        &self.platform
    }

    /// The kinds of cores that it has a side for, in the order of its file.
    #[getter]
    fn kinds(&self) -> Vec<String> {
        self.model.sides.iter().map(|side| self.name(side.kind).to_owned()).collect()
    }

    /// The metrics of a kind of core: expressions over its events, in the order that `estimate` takes.
    fn metrics(&self, py: Python<'_>, kind: &str) -> PyResult<Vec<String>> {
        Ok(self.side(py, kind)?.metrics.clone())
    }

    /// The estimates for rows of metrics, all of them whole steps of 10^-12: what the kernel's monitor makes of the same metrics.
    /// `None` where the sum leaves the range of 128 bits.
    fn estimate(&self, py: Python<'_>, kind: &str, rows: Vec<Vec<i128>>) -> PyResult<Vec<Option<i128>>> {
        let side = self.side(py, kind)?;
        let one = |(at, row): (usize, Vec<i128>)| {
            if row.len() != side.metrics.len() {
                let expected = format!("{} metrics", side.metrics.len());
                return Err(error::input(py, &expected, &row.len().to_string(), &format!("row {at}")));
            }
            let metrics: Vec<Fixed> = row.into_iter().map(Fixed::from_units).collect();
            Ok(side.estimate(&metrics).map(Fixed::units))
        };
        rows.into_iter().enumerate().map(one).collect()
    }

    fn __repr__(&self) -> String {
        format!("<solocore.Model of {}: {}, {}>", self.platform, self.factor(), self.kinds().join(", "))
    }
}
