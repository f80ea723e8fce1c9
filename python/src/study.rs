//! Studies over drawn task sets, block by block: for a cluster, or whole.

use crate::convert::shown;
use crate::error;
use crate::watch::{Failure, beside};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use solo_study::{Collection, Overrides, Shard, StudyError, StudyPlan};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A study: which share of drawn task sets is schedulable (thesis 5.1, 5.9). Its sets come in numbered blocks, and a block is a
/// function of the study and its number.
#[pyclass(frozen, module = "solocore")]
pub(crate) struct Study {
    plan: StudyPlan,
}

/// Judges in silence until somebody asks to stop.
struct Quiet<'c>(&'c solo_lab::Control<'c>);

impl solo_study::Progress for Quiet<'_> {
    fn done(&self, sets: u64, of: u64) {
        let share = sets.saturating_mul(1000).checked_div(of).unwrap_or(1000).min(1000) as u16;
        let share = solo_model::PerMille::new(share).unwrap_or_default();
        self.0.progress.reached("study", solo_model::Instant::ZERO, share);
    }

    fn stop(&self) -> bool {
        self.0.cancel.requested()
    }
}

#[pymethods]
impl Study {
    /// The study of a text (docs/study.md), with other numbers of sets for each cap, caps or seed where they are said. Overhead files
    /// that it names are looked for beside `path`.
    #[staticmethod]
    #[pyo3(signature = (text, path=None, *, sets=None, caps_every=None, seed=None))]
    fn parse(
        py: Python<'_>,
        text: &str,
        path: Option<PathBuf>,
        sets: Option<u64>,
        caps_every: Option<u64>,
        seed: Option<u64>,
    ) -> PyResult<Self> {
        let overrides = Overrides { sets, every: caps_every, seed };
        let plan = solo_study::parse(text, &path.unwrap_or_else(|| PathBuf::from("study.toml")), overrides);
        let plan = plan.map_err(|failed| error::study(py, &failed))?;
        Ok(Self { plan })
    }

    /// The name.
    #[getter]
    fn name(&self) -> &str {
        &self.plan.name
    }

    /// What tells it from others, the program's version included: 32 hexadecimal digits.
    #[getter]
    fn hash(&self) -> String {
        self.plan.hash()
    }

    /// How many blocks there are.
    #[getter]
    fn blocks(&self) -> u64 {
        self.plan.blocks()
    }

    /// How many sets there are.
    #[getter]
    fn sets(&self) -> u64 {
        self.plan.total_sets()
    }

    /// Judges blocks in the calling thread: a line for each, which `StudyCollection.add` keeps.
    fn judge(&self, py: Python<'_>, blocks: Vec<u64>) -> PyResult<Vec<String>> {
        let of = self.plan.blocks();
        if let Some(block) = blocks.iter().find(|&&block| block >= of) {
            let expected = format!("numbers of blocks below {of}");
            return Err(error::input(py, &expected, &block.to_string(), "blocks"));
        }
        let failure = Failure::default();
        let lines = beside(py, None, &failure, |control| {
            solo_study::judge(&self.plan, &blocks, &|| control.cancel.requested())
        })?;
        lines.map_err(|failed| error::study(py, &failed))
    }

    /// Judges what is left on all cores of this machine and keeps it in `folder`; sets judged before and now.
    #[pyo3(signature = (folder, *, progress=None))]
    fn run(&self, py: Python<'_>, folder: PathBuf, progress: Option<Py<PyAny>>) -> PyResult<(u64, u64)> {
        let failure = Failure::default();
        let ended = beside(py, progress.as_ref(), &failure, |control| {
            solo_study::run(&self.plan, &folder, Shard::WHOLE, &Quiet(control))
        })?;
        let ended = ended.map_err(|failed| error::study(py, &failed))?;
        Ok((ended.before, ended.now))
    }

    /// Puts together what is kept in `folder` and writes sets, summary, page and figures there; the summary as a dictionary.
    fn finish<'py>(&self, py: Python<'py>, folder: PathBuf) -> PyResult<Bound<'py, PyAny>> {
        let written = py.detach(|| -> Result<_, StudyError> {
            let results = solo_study::merge(&self.plan, std::slice::from_ref(&folder))?;
            let summary = results.summary();
            solo_study::write_all(&results, &summary, &folder)?;
            Ok(summary)
        });
        let summary = written.map_err(|failed| error::study(py, &failed))?;
        shown(py, serde_json::to_string(&summary))
    }

    /// Goes on with what is kept in `folder`, of blocks that others judge.
    fn collect(&self, py: Python<'_>, folder: PathBuf) -> PyResult<StudyCollection> {
        let collection = Collection::open(&self.plan, &folder).map_err(|failed| error::study(py, &failed))?;
        Ok(StudyCollection(Mutex::new(Some(collection))))
    }
}

/// The journal of a study whose blocks others judge.
#[pyclass(frozen, module = "solocore")]
pub(crate) struct StudyCollection(Mutex<Option<Collection>>);

impl StudyCollection {
    fn open<T>(&self, work: impl FnOnce(&mut Collection) -> PyResult<T>) -> PyResult<T> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        work(held.as_mut().ok_or_else(|| PyValueError::new_err("the collection is closed"))?)
    }
}

#[pymethods]
impl StudyCollection {
    /// The numbers of the blocks that nobody has judged, ascending.
    fn left(&self) -> PyResult<Vec<u64>> {
        self.open(|collection| Ok(collection.left()))
    }

    /// Keeps a line; false for one of a block that is kept already.
    fn add(&self, py: Python<'_>, line: &str) -> PyResult<bool> {
        self.open(|collection| collection.add(line).map_err(|failed| error::study(py, &failed)))
    }

    /// Brings what is kept to the disk and lets the journal go.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        held.map_or(Ok(()), |collection| collection.sync()).map_err(|failed| error::study(py, &failed))
    }
}
