//! Runs: what was seen.

use crate::convert::shown;
use crate::error;
use crate::table::{Rows, Table};
use pyo3::prelude::*;
use solo_lab::{Control, LabError, Recordings, Simulation};
use solo_model::{Experiment, Record};
use solo_report::export::{Rows as Filled, Table as Kind};
use solo_report::{RecordHasher, Report, table, verdict};
use std::path::PathBuf;

/// The tables that are kept.
#[derive(Clone)]
pub(crate) struct Wanted(Vec<Kind>);

impl Wanted {
    pub(crate) fn of(py: Python<'_>, names: Option<Vec<String>>) -> PyResult<Self> {
        let Some(names) = names else { return Ok(Self(Kind::ALL.to_vec())) };
        let known = Kind::ALL.map(Kind::name).join(", ");
        let one = |name: &String| {
            let found = Kind::ALL.into_iter().find(|kind| kind.name() == name);
            found.ok_or_else(|| error::input(py, &format!("some of {known}"), name, "tables"))
        };
        Ok(Self(names.iter().map(one).collect::<PyResult<_>>()?))
    }

    /// Runs and keeps.
    pub(crate) fn run(
        &self,
        experiment: &Experiment,
        recordings: &Recordings,
        control: &Control<'_>,
    ) -> Result<Ran, LabError> {
        let mut kept = Keeping::new(self, experiment);
        let name = experiment.name.as_str();
        let simulation = Simulation { experiment, recordings, name, control, stop_on: None };
        let report = simulation.report_of(|record| kept.add(record))?;
        Ok(kept.finish(report))
    }
}

/// The tables of a run while they grow.
pub(crate) struct Keeping<'e> {
    tables: Vec<(Filled<'e>, Rows)>,
    hash: RecordHasher,
}

impl<'e> Keeping<'e> {
    pub(crate) fn new(wanted: &Wanted, experiment: &'e Experiment) -> Self {
        let one = |kind: &Kind| {
            let filled = Filled::new(*kind, experiment);
            let rows = Rows::new(kind.name(), filled.columns());
            (filled, rows)
        };
        Self { tables: wanted.0.iter().map(one).collect(), hash: RecordHasher::new() }
    }

    pub(crate) fn add(&mut self, record: &Record) {
        self.hash.add(record);
        for (filled, rows) in &mut self.tables {
            if let Some(row) = filled.of(record) {
                rows.push(row);
            }
        }
    }

    pub(crate) fn finish(self, report: Report) -> Ran {
        let one = |(mut filled, mut rows): (Filled<'e>, Rows)| {
            if let Some(row) = filled.last() {
                rows.push(row);
            }
            rows
        };
        Ran {
            report,
            tables: self.tables.into_iter().map(one).collect(),
            hash: self.hash.finish().to_string(),
        }
    }
}

/// A run, before it is Python's.
pub(crate) struct Ran {
    report: Report,
    tables: Vec<Rows>,
    hash: String,
}

/// What was seen in a run: its records as tables, what they amount to, and whether everything held.
#[pyclass(frozen, module = "solocore")]
pub(crate) struct Run {
    report: Report,
    tables: Vec<Py<Table>>,
    hash: String,
    tasks: Vec<String>,
    cores: usize,
}

impl Run {
    pub(crate) fn of(py: Python<'_>, experiment: &Experiment, ran: Result<Ran, LabError>) -> PyResult<Self> {
        let Ran { report, tables, hash } = ran.map_err(|failed| error::lab(py, &failed))?;
        let tables = tables.into_iter().map(|rows| Py::new(py, rows.finish()?)).collect::<PyResult<_>>()?;
        let tasks = experiment.tasks.iter().map(|task| task.name.clone()).collect();
        Ok(Self { report, tables, hash, tasks, cores: experiment.platform.cores.len() })
    }
}

#[pymethods]
impl Run {
    /// What it amounts to, as a dictionary: that of `report.json`, times in nanoseconds.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        shown(py, serde_json::to_string(&self.report))
    }

    /// Who missed what, and why, as a dictionary.
    #[getter]
    fn verdict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        shown(py, serde_json::to_string(&verdict(&self.report, None)))
    }

    /// True where the verdict holds: exit code 0 of `solo run`.
    #[getter]
    fn held(&self) -> bool {
        verdict(&self.report, None).held
    }

    /// BLAKE3 of all records, in hexadecimal digits: the same records have the same.
    #[getter]
    fn record_hash(&self) -> &str {
        &self.hash
    }

    /// The task names, in the order of their numbers.
    #[getter]
    fn task_names(&self) -> Vec<String> {
        self.tasks.clone()
    }

    /// The number of cores.
    #[getter]
    fn cores(&self) -> usize {
        self.cores
    }

    /// One of the tables that were kept.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Py<Table>> {
        let named = |table: &&Py<Table>| table.get().is_named(name);
        match self.tables.iter().find(named) {
            Some(table) => Ok(table.clone_ref(py)),
            None => Err(error::input(
                py,
                &format!("a table that was kept: {}", self.kept().join(", ")),
                name,
                "name",
            )),
        }
    }

    /// The names of the tables that were kept.
    fn kept(&self) -> Vec<String> {
        self.tables.iter().map(|table| table.get().named().to_owned()).collect()
    }

    /// A row for each job: release, start, finish, deadline, response (ns), where its time went (ns), what was counted.
    #[getter]
    fn jobs(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.table(py, "jobs")
    }

    /// A row for each counter sample of a core.
    #[getter]
    fn samples(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.table(py, "samples")
    }

    /// A row for each change of what a core runs.
    #[getter]
    fn switches(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.table(py, "switches")
    }

    /// A row for each core's part of a regulation period.
    #[getter]
    fn regulation(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.table(py, "regulation")
    }

    /// The report for people, as `solo run` prints it.
    fn __str__(&self) -> String {
        table::report(&self.report, &verdict(&self.report, None), None, table::Style::PLAIN)
    }

    fn __repr__(&self) -> String {
        let held = if self.held() { "held" } else { "not held" };
        format!("<solocore.Run {}: {held}, ended at {} ns>", self.report.scenario, self.report.end.get())
    }
}

/// A run folder of `solo run`, whole and undamaged, with the tables that are wanted.
#[pyfunction]
#[pyo3(signature = (path, tables=None))]
pub(crate) fn open_run(py: Python<'_>, path: PathBuf, tables: Option<Vec<String>>) -> PyResult<Run> {
    let wanted = Wanted::of(py, tables)?;
    let read = py.detach(|| {
        let run = solo_report::Run::open(&path)?;
        let experiment = run.experiment().clone();
        let mut kept = Keeping::new(&wanted, &experiment);
        for record in run.records() {
            kept.add(&record?);
        }
        // As it was first shown.
        let report = run.report()?.with_bounds(&solo_lab::bounds(&experiment));
        let warnings = solo_lab::diagnosis::warnings(&experiment, &report);
        let ran = kept.finish(report.with_warnings(warnings));
        Ok((experiment.clone(), ran))
    });
    match read {
        Ok((experiment, ran)) => Run::of(py, &experiment, Ok(ran)),
        Err(failed) => Err(error::lab(py, &LabError::Run(failed))),
    }
}
