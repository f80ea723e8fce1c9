//! Scenarios and experiments: what is to run.

use crate::convert::{class_name, from_json, shown};
use crate::error;
use crate::explore::Policies;
use crate::lack::Lack;
use crate::run::{Run, Wanted};
use crate::table::{Rows, Table, integer, maybe};
use crate::watch::{Failure, beside};
use pyo3::prelude::*;
use solo_lab::{LabError, Origin, Recordings, Simulation};
use solo_model::experiment::End;
use solo_model::platform::Pmu;
use solo_model::{Duration, EventTable};
use solo_plan::{Aims, Ending, search_for};
use solo_report::export::{Kind, Value};
use solo_scenario::{Code, Overrides, Platforms};
use solo_store::{Folder, Replace};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The names of the platforms that come with the package (`platforms/`).
#[pyfunction]
pub(crate) fn platforms() -> Vec<String> {
    Platforms::builtin().names().map(str::to_owned).collect()
}

/// A platform, by its name or the path of its file, as a dictionary: cores, caches, DRAM, counters.
#[pyfunction]
pub(crate) fn platform<'py>(py: Python<'py>, name_or_path: &str) -> PyResult<Bound<'py, PyAny>> {
    let platform = Platforms::builtin().load(name_or_path, Path::new("."));
    let platform = platform.map_err(|report| error::diagnostics(py, &report))?;
    shown(py, serde_json::to_string(&platform))
}

/// What so many counters count that are bound to an event each.
#[pyfunction]
pub(crate) fn events_of_fixed(counters: u8) -> Vec<String> {
    let table = EventTable::default();
    Pmu::events_of_fixed(counters).iter().map(|event| table.name(*event).to_string()).collect()
}

/// What a code of a diagnostic means (`solo explain`): meaning, explanation, a wrong and a right example. `None` for no code.
#[pyfunction]
pub(crate) fn explain(code: &str) -> Option<(String, String, String, String)> {
    let entry = Code::named(code)?.entry();
    Some((entry.meaning.into(), entry.explanation.into(), entry.wrong.into(), entry.right.into()))
}

/// A scenario file, read and checked.
#[pyclass(frozen, module = "solocore")]
pub(crate) struct Scenario(solo_scenario::Scenario);

#[pymethods]
impl Scenario {
    /// Reads and checks the text of a scenario. Files that it names are looked for beside `path`, which messages name.
    #[staticmethod]
    #[pyo3(signature = (text, path=None))]
    fn parse(py: Python<'_>, text: &str, path: Option<PathBuf>) -> PyResult<Self> {
        let path = path.unwrap_or_else(|| PathBuf::from("scenario.toml"));
        let read = py.detach(|| solo_scenario::parse(text, &path, &Platforms::builtin()));
        read.map(Self).map_err(|report| error::diagnostics(py, &report))
    }

    /// Reads and checks a scenario file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let read = py.detach(|| solo_scenario::load(&path, &Platforms::builtin()));
        read.map(Self).map_err(|report| error::diagnostics(py, &report))
    }

    /// The name.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// The text.
    #[getter]
    fn text(&self) -> &str {
        &self.0.source
    }

    /// The names of its variants that can be had, in the order of the file.
    #[getter]
    fn variants(&self) -> Vec<String> {
        self.0.variants.iter().map(|variant| variant.variant.clone()).collect()
    }

    /// Variants that can't be had on the platform, with their problems.
    #[getter]
    fn refused<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
        let one = |refused: &solo_scenario::Refused| {
            Ok((refused.variant.clone(), from_json(py, &refused.report.to_json().to_string())?))
        };
        self.0.refused.iter().map(one).collect()
    }

    /// What is probably not meant as it is written, as the problems of `ScenarioError`.
    #[getter]
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let list: Vec<_> = self.0.warnings.iter().map(solo_scenario::Diagnostic::to_json).collect();
        from_json(py, &serde_json::Value::from(list).to_string())
    }

    /// The experiment of a variant; without a name, of the scenario as it stands.
    #[pyo3(signature = (variant=None))]
    fn experiment(&self, py: Python<'_>, variant: Option<&str>) -> PyResult<Experiment> {
        let recordings = Recordings::of_scenario(&self.0);
        let experiment = match variant {
            None | Some("") => Some(&self.0.base),
            Some(name) => self.0.variants.iter().find(|experiment| experiment.variant == name),
        };
        let Some(experiment) = experiment else {
            let expected = format!("a variant of the scenario: {}", self.variants().join(", "));
            return Err(error::input(py, &expected, variant.unwrap_or_default(), "variant"));
        };
        let origin = Some(Arc::new((self.0.path.clone(), self.0.source.clone())));
        Ok(Experiment { value: experiment.clone(), recordings, origin })
    }

    fn __repr__(&self) -> String {
        format!(
            "<solocore.Scenario {:?}: {} tasks, {} variants>",
            self.0.name,
            self.0.base.tasks.len(),
            self.0.variants.len()
        )
    }
}

/// Looks for what the text of a scenario leaves open (cores, colors, budgets, windows, and banks where `banks` says so) until the proofs
/// hold, as `solo plan` does. Files that it names are looked for beside `path`.
#[pyfunction]
#[pyo3(signature = (text, path=None, *, banks=false))]
pub(crate) fn plan(py: Python<'_>, text: &str, path: Option<PathBuf>, banks: bool) -> PyResult<Plan> {
    let path = &path.unwrap_or_else(|| PathBuf::from("scenario.toml"));
    let platforms = Platforms::builtin();
    let requests = solo_scenario::requests(text, path, &platforms, &Overrides::default());
    let requests = requests.map_err(|report| error::diagnostics(py, &report))?;
    let refused = |expected, found: &str| error::input(py, expected, found, "text");
    let request = requests.first().ok_or_else(|| refused("a scenario that asks for something", "none"))?;
    let search = py.detach(|| search_for(request, Aims { banks }));
    let written = solo_scenario::write_plan(text, &search.choices);
    let written =
        written.map_err(|why| refused("a scenario that a plan can be written into", &why.to_string()))?;
    let rounds = search.rounds.len() as u64;
    match search.ending {
        Ending::Planned(planned) => {
            let value = planned.plan.experiment;
            let origin = Some(Arc::new((path.clone(), written.clone())));
            let experiment = Some(Experiment { value, recordings: Recordings::default(), origin });
            Ok(Plan { text: written, rounds, lack: None, experiment })
        }
        Ending::Impossible(why) => {
            Ok(Plan { text: written, rounds, lack: Some(Lack::from(&why)), experiment: None })
        }
        // The reader of scenarios says what is wrong, and where it is written.
        Ending::Refused(_) => match solo_scenario::parse(&written, path, &platforms) {
            Err(report) => Err(error::diagnostics(py, &report)),
            Ok(_) => Err(refused("a plan that the scenario allows", "a refusal")),
        },
    }
}

/// What `plan` found.
#[pyclass(frozen, module = "solocore")]
pub(crate) struct Plan {
    text: String,
    rounds: u64,
    lack: Option<Lack>,
    experiment: Option<Experiment>,
}

#[pymethods]
impl Plan {
    /// The scenario with the plan written into it.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// True where every deadline is proved, on the conditions that `solo check` would name.
    #[getter]
    fn found(&self) -> bool {
        self.experiment.is_some()
    }

    /// How many attempts came before.
    #[getter]
    fn rounds(&self) -> u64 {
        self.rounds
    }

    /// What stood in the way of the nearest attempt; `None` where there is a plan.
    #[getter]
    fn lack(&self) -> Option<Lack> {
        self.lack.clone()
    }

    /// The planned experiment; `None` where there is none.
    #[getter]
    fn experiment(&self) -> Option<Experiment> {
        self.experiment.clone()
    }
}

/// A scenario or a variant with nothing left to decide: what runs. It never changes; `with_` and `without` make others.
#[pyclass(frozen, skip_from_py_object, module = "solocore")]
#[derive(Clone)]
pub(crate) struct Experiment {
    pub(crate) value: solo_model::Experiment,
    pub(crate) recordings: Recordings,
    /// The scenario's file and text, where it comes from one.
    origin: Option<Arc<(PathBuf, String)>>,
}

impl Experiment {
    fn with(&self, change: impl FnOnce(&mut solo_model::Experiment)) -> Self {
        let mut other = self.clone();
        change(&mut other.value);
        other
    }

    /// What the tasks of these names are asked for must exist.
    fn known(&self, py: Python<'_>, names: &[String]) -> PyResult<()> {
        match names.iter().find(|name| self.value.tasks.iter().all(|task| task.name != **name)) {
            None => Ok(()),
            Some(name) => {
                let known: Vec<&str> = self.value.tasks.iter().map(|task| task.name.as_str()).collect();
                Err(error::input(
                    py,
                    &format!("a task of the experiment: {}", known.join(", ")),
                    name,
                    "tasks",
                ))
            }
        }
    }
}

#[pymethods]
impl Experiment {
    /// The scenario's name.
    #[getter]
    fn name(&self) -> &str {
        &self.value.name
    }

    /// The variant's name; empty for the scenario as it stands.
    #[getter]
    fn variant(&self) -> &str {
        &self.value.variant
    }

    /// The scheduling policy, for example `P-EDF`.
    #[getter]
    fn policy(&self) -> String {
        self.value.policy.to_string()
    }

    /// The platform's name.
    #[getter]
    fn platform(&self) -> &str {
        &self.value.platform.name
    }

    /// The number of cores.
    #[getter]
    fn cores(&self) -> usize {
        self.value.platform.cores.len()
    }

    /// The source of all randomness.
    #[getter]
    fn seed(&self) -> u64 {
        self.value.seed
    }

    /// The task names, in the order of their numbers.
    #[getter]
    fn task_names(&self) -> Vec<String> {
        self.value.tasks.iter().map(|task| task.name.clone()).collect()
    }

    /// The tasks as a table: name, class, core, period, relative deadline, declared execution time (ns), static priority.
    fn tasks(&self) -> PyResult<Table> {
        const COLUMNS: &[(&str, Kind)] = &[
            ("task", Kind::Text),
            ("class", Kind::Text),
            ("core", Kind::Integer),
            ("offset_ns", Kind::Integer),
            ("period_ns", Kind::Integer),
            ("deadline_ns", Kind::Integer),
            ("wcet_ns", Kind::Integer),
            ("priority", Kind::Integer),
        ];
        let mut rows = Rows::of("tasks", COLUMNS);
        for task in &self.value.tasks {
            let ns = |time: Option<Duration>| maybe(time.map(Duration::get));
            rows.push(&[
                Value::Text(task.name.clone()),
                Value::Text(class_name(task.class).to_owned()),
                maybe(task.core.map(|core| u64::from(core.0))),
                integer(task.release.offset().get()),
                ns(task.release.period()),
                ns(task.relative_deadline()),
                ns(task.wcet),
                maybe(task.priority.map(u64::from)),
            ]);
        }
        rows.finish()
    }

    /// What is proved of each task (ns): the bound of its response time and of the time that it occupies a core. Missing
    /// where nothing is proved.
    fn bounds(&self, py: Python<'_>) -> PyResult<Table> {
        let bounds = py.detach(|| solo_lab::bounds(&self.value));
        let columns = [("task", Kind::Text), ("response_ns", Kind::Integer), ("occupied_ns", Kind::Integer)];
        let mut rows = Rows::of("bounds", &columns);
        for (task, bound) in self.value.tasks.iter().zip(bounds) {
            let response = bound.as_ref().map(|bound| bound.response.get());
            let occupied = bound.as_ref().map(|bound| bound.occupied.get());
            rows.push(&[Value::Text(task.name.clone()), maybe(response), maybe(occupied)]);
        }
        rows.finish()
    }

    /// The same with another seed.
    fn with_seed(&self, seed: u64) -> Self {
        self.with(|experiment| experiment.seed = seed)
    }

    /// The same, which ends when each periodic task has finished so many jobs.
    fn with_jobs(&self, py: Python<'_>, jobs: u64) -> PyResult<Self> {
        if jobs == 0 {
            return Err(error::input(py, "at least 1", "0", "jobs"));
        }
        Ok(self.with(|experiment| experiment.end = End::Jobs(jobs)))
    }

    /// The same without the tasks of these names.
    #[pyo3(signature = (*names))]
    fn without(&self, py: Python<'_>, names: Vec<String>) -> PyResult<Self> {
        self.known(py, &names)?;
        Ok(self.with(|experiment| experiment.retain_tasks(|task| !names.contains(&task.name))))
    }

    /// The same with the tasks of these names alone.
    #[pyo3(signature = (*names))]
    fn only(&self, py: Python<'_>, names: Vec<String>) -> PyResult<Self> {
        self.known(py, &names)?;
        Ok(self.with(|experiment| experiment.retain_tasks(|task| names.contains(&task.name))))
    }

    /// All of it as JSON, as in `experiment.json` of a run's folder.
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.value)
            .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))
    }

    /// The experiment of `to_json`.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str) -> PyResult<Self> {
        let wrong = |found: String| error::input(py, "an experiment as to_json writes it", &found, "text");
        let value: solo_model::Experiment =
            serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        value.check().map_err(|implausible| wrong(implausible.to_string()))?;
        Ok(Self { value, recordings: Recordings::default(), origin: None })
    }

    fn __reduce__<'py>(slf: Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let text = slf.borrow().to_json()?;
        Ok((slf.py().get_type::<Self>().getattr("from_json")?, (text,)))
    }

    /// Runs it on the simulated machine. Records are kept as Arrow while it runs, those of `tables`; `progress(run, now_ns, share)` is
    /// told how far it has come. Other threads go on meanwhile, and Ctrl-C stops it.
    ///
    /// `criterion`, `placement` and `monitor` are policies written in Python (`solocore.policies`) that take the places of those
    /// that the experiment names: deterministic, and slow.
    #[pyo3(signature = (*, progress=None, tables=None, criterion=None, placement=None, monitor=None))]
    fn run(
        &self,
        py: Python<'_>,
        progress: Option<Py<PyAny>>,
        tables: Option<Vec<String>>,
        criterion: Option<Py<PyAny>>,
        placement: Option<Py<PyAny>>,
        monitor: Option<Py<PyAny>>,
    ) -> PyResult<Run> {
        let wanted = Wanted::of(py, tables)?;
        let policies = Policies { criterion, placement, monitor };
        if policies.is_none() {
            let failure = Failure::default();
            let ran = beside(py, progress.as_ref(), &failure, |control| {
                wanted.run(&self.value, &self.recordings, control)
            })?;
            return Run::of(py, &self.value, ran);
        }
        crate::explore::run(py, (&self.value, &self.recordings), &wanted, progress.as_ref(), policies)
    }

    /// Runs it into `folder`, which is free or, with `replace`, holds an earlier run: records, report, and what it takes to repeat it,
    /// sealed by hashes, as `solo run --out FOLDER` does. What is returned is read back from there.
    #[pyo3(signature = (folder, *, progress=None, tables=None, replace=false))]
    fn keep(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        progress: Option<Py<PyAny>>,
        tables: Option<Vec<String>>,
        replace: bool,
    ) -> PyResult<Run> {
        let Some(origin) = &self.origin else {
            return Err(error::input(
                py,
                "an experiment of a scenario",
                "one without its text",
                "experiment",
            ));
        };
        let failure = Failure::default();
        let kept = beside(py, progress.as_ref(), &failure, |control| -> Result<(), LabError> {
            let replace = if replace { Replace::Ours } else { Replace::Never };
            let place = Folder::claim(&folder, solo_store::Kind::Run, replace)?;
            let origin = Origin {
                path: &origin.0,
                source: &origin.1,
                command: vec!["solocore".to_owned(), "Experiment.keep".to_owned()],
                host: solo_lab::host(),
                commit: option_env!("SOLO_COMMIT").map(str::to_owned),
                started: None,
            };
            let (experiment, recordings, name) = (&self.value, &self.recordings, self.value.name.as_str());
            Simulation { experiment, recordings, name, control, stop_on: None }
                .into_directory(&origin, &place)?;
            Ok(())
        })?;
        kept.map_err(|failed| error::lab(py, &failed))?;
        crate::run::open_run(py, folder, tables)
    }

    fn __repr__(&self) -> String {
        let variant =
            if self.value.variant.is_empty() { String::new() } else { format!(" / {}", self.value.variant) };
        format!(
            "<solocore.Experiment {}{variant}: {} tasks under {} on {}>",
            self.value.name,
            self.value.tasks.len(),
            self.value.policy,
            self.value.platform.name
        )
    }
}
