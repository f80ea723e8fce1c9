//! Sweeps and evaluations, point by point: for a cluster, or whole.

use crate::convert::from_json;
use crate::error;
use crate::watch::{Failure, beside};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;
use solo_lab::evaluation::{Sharing, Size, chapter_6, chapter_7, chapter_8};
use solo_lab::sweep::{self, Axis, AxisError, Collection, MOST_POINTS, Part};
use solo_lab::{Control, LabError};
use solo_scenario::{Choice, Overrides};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What an axis is, where one is none.
fn expected(wrong: AxisError) -> String {
    match wrong {
        AxisError::Form => "KEY=VALUE,VALUE... or KEY=1..20, such as task.frame.period=10ms,20ms".to_owned(),
        AxisError::Hidden => "characters that can be seen".to_owned(),
        AxisError::TooMany => format!("at most {MOST_POINTS} values"),
    }
}

/// Work in numbered points, and what Python gets of all of them.
trait Work: Sync {
    fn line(&self, point: u64, control: &Control<'_>) -> Result<String, LabError>;
    fn collect(&self, folder: &Path) -> Result<Collection, LabError>;
    /// Does what is not kept in the folder, and says what all of it came to, as JSON.
    fn whole(&self, folder: &Path, control: &Control<'_>) -> Result<String, LabError>;
}

/// Points, and what is made of them all.
struct Rows<P: sweep::Points, R> {
    points: P,
    rows: fn(&[P::Done]) -> R,
}

impl<P: sweep::Points + Clone + Send + 'static, R: Serialize> Work for Rows<P, R> {
    fn line(&self, point: u64, control: &Control<'_>) -> Result<String, LabError> {
        self.points.line(point, control)
    }
    fn collect(&self, folder: &Path) -> Result<Collection, LabError> {
        self.points.collect(folder)
    }
    fn whole(&self, folder: &Path, control: &Control<'_>) -> Result<String, LabError> {
        let done = self.points.run(folder, Part::WHOLE, &[], control)?;
        Ok(serde_json::to_string(&(self.rows)(&done)).unwrap_or_default())
    }
}

impl<P: sweep::Points + Clone + Send + 'static, R: Serialize + Send + 'static> Rows<P, R> {
    fn evaluation(points: P, rows: fn(&[P::Done]) -> R) -> Evaluation {
        Evaluation { hash: points.hash(), points: points.count(), work: Box::new(Self { points, rows }) }
    }
}

/// Lines of points, in their order.
fn lines(py: Python<'_>, work: &dyn Work, points: &[u64]) -> PyResult<Vec<String>> {
    let failure = Failure::default();
    let lines = beside(py, None, &failure, |control| {
        points.iter().map(|&point| work.line(point, control)).collect::<Result<Vec<_>, LabError>>()
    })?;
    lines.map_err(|failed| error::lab(py, &failed))
}

fn whole<'py>(
    py: Python<'py>,
    work: &dyn Work,
    folder: &Path,
    progress: Option<&Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let failure = Failure::default();
    let found = beside(py, progress, &failure, |control| work.whole(folder, control))?;
    from_json(py, &found.map_err(|failed| error::lab(py, &failed))?)
}

fn collected(py: Python<'_>, work: &dyn Work, folder: &Path) -> PyResult<Points> {
    let collection = work.collect(folder).map_err(|failed| error::lab(py, &failed))?;
    Ok(Points(Mutex::new(Some(collection))))
}

/// A scenario at many points (`solo sweep`): keys set to values, every combination once.
#[pyclass(frozen, module = "solocore")]
pub(crate) struct Sweep(Rows<sweep::Sweep, Vec<sweep::SweptPoint>>);

#[pymethods]
impl Sweep {
    /// The sweep of a scenario's text over `axes`, each `KEY=VALUE,VALUE...` or `KEY=1..20`; the last changes fastest. Files that the
    /// scenario names are looked for beside `path`.
    #[new]
    #[pyo3(signature = (text, axes, *, path=None, seed=None, jobs=None))]
    fn new(
        py: Python<'_>,
        text: String,
        axes: Vec<String>,
        path: Option<PathBuf>,
        seed: Option<u64>,
        jobs: Option<u64>,
    ) -> PyResult<Self> {
        let axis = |text: &String| {
            text.parse::<Axis>().map_err(|wrong| error::input(py, &expected(wrong), text, "axes"))
        };
        let axes = axes.iter().map(axis).collect::<PyResult<Vec<_>>>()?;
        let path = path.unwrap_or_else(|| PathBuf::from("scenario.toml"));
        let sweep = sweep::Sweep {
            source: text,
            path,
            axes,
            instead: Overrides { seed, jobs, of: Choice::Variants },
        };
        match sweep.points() {
            Some(_) => Ok(Self(Rows { points: sweep, rows: <[_]>::to_vec })),
            None => Err(error::input(py, &format!("at most {MOST_POINTS} points"), "more", "axes")),
        }
    }

    /// What tells it from others, in hexadecimal digits.
    #[getter]
    fn hash(&self) -> String {
        self.0.points.hash()
    }

    /// How many points there are.
    fn __len__(&self) -> usize {
        self.0.points.points().unwrap_or(MOST_POINTS) as usize
    }

    /// Does points in the calling thread: a line for each, which `Points.add` keeps.
    fn lines(&self, py: Python<'_>, points: Vec<u64>) -> PyResult<Vec<String>> {
        lines(py, &self.0, &points)
    }

    /// Goes on with what is kept in `folder`, of points that others do.
    fn collect(&self, py: Python<'_>, folder: PathBuf) -> PyResult<Points> {
        collected(py, &self.0, &folder)
    }

    /// Does what is left on all cores of this machine and keeps it in `folder`; all points as dictionaries.
    #[pyo3(signature = (folder, *, progress=None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        folder: PathBuf,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        whole(py, &self.0, &folder, progress.as_ref())
    }
}

/// An evaluation of the thesis (`solo evaluate`): chapter 6, 7 or 8.
#[pyclass(frozen, module = "solocore")]
pub(crate) struct Evaluation {
    work: Box<dyn Work + Send>,
    hash: String,
    points: u64,
}

#[pymethods]
impl Evaluation {
    /// `sets` task sets, `jobs` jobs (chapter 6), periods of 200 ms (7) or of the longest (8), times divided by `scale`, of these working
    /// sets (KiB); `sharing` is `color`, `array` or `line`.
    #[new]
    #[pyo3(signature = (chapter, *, sets=10, jobs=200, scale=1, seed=1, working_sets_kib=vec![32, 64, 128, 256], sharing=vec!["color".to_owned()]))]
    #[allow(clippy::too_many_arguments, reason = "what solo evaluate takes, each by its name")]
    fn new(
        py: Python<'_>,
        chapter: u8,
        sets: u64,
        jobs: u64,
        scale: u64,
        seed: u64,
        working_sets_kib: Vec<u64>,
        sharing: Vec<String>,
    ) -> PyResult<Self> {
        for (name, value) in [("sets", sets), ("jobs", jobs), ("scale", scale)] {
            if value == 0 {
                return Err(error::input(py, "at least 1", "0", name));
            }
        }
        let known = [Sharing::Color, Sharing::Array, Sharing::Line];
        let one = |name: &String| {
            let found = known.into_iter().find(|sharing| sharing.name() == name);
            found.ok_or_else(|| error::input(py, "color, array or line", name, "sharing"))
        };
        let sharing = sharing.iter().map(one).collect::<PyResult<Vec<_>>>()?;
        let size = Size { sets, jobs, scale, seed };
        let made = py.detach(|| -> Result<Option<Self>, LabError> {
            Ok(Some(match chapter {
                6 => {
                    let fitted = [chapter_6::Repetitions::Fitted];
                    let points = chapter_6::Evaluation::new(size, &working_sets_kib, &sharing, &fitted)?;
                    Rows::evaluation(points, chapter_6::Row::all)
                }
                7 => {
                    let points = chapter_7::Evaluation::new(size, &working_sets_kib, &sharing)?;
                    Rows::evaluation(points, chapter_7::Row::all)
                }
                8 => {
                    let approaches = chapter_8::Approach::ALL;
                    let points =
                        chapter_8::Evaluation::new(size, &working_sets_kib, &sharing, &approaches, 1000)?;
                    Rows::evaluation(points, chapter_8::Row::all)
                }
                _ => return Ok(None),
            }))
        });
        let made = made.map_err(|failed| error::lab(py, &failed))?;
        made.ok_or_else(|| error::input(py, "6, 7 or 8", &chapter.to_string(), "chapter"))
    }

    /// What tells it from others, in hexadecimal digits.
    #[getter]
    fn hash(&self) -> &str {
        &self.hash
    }

    /// How many points there are.
    fn __len__(&self) -> usize {
        self.points as usize
    }

    /// Does points in the calling thread: a line for each, which `Points.add` keeps.
    fn lines(&self, py: Python<'_>, points: Vec<u64>) -> PyResult<Vec<String>> {
        lines(py, self.work.as_ref(), &points)
    }

    /// Goes on with what is kept in `folder`, of points that others do.
    fn collect(&self, py: Python<'_>, folder: PathBuf) -> PyResult<Points> {
        collected(py, self.work.as_ref(), &folder)
    }

    /// Does what is left on all cores of this machine and keeps it in `folder`; the bars of the figures as dictionaries.
    #[pyo3(signature = (folder, *, progress=None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        folder: PathBuf,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        whole(py, self.work.as_ref(), &folder, progress.as_ref())
    }
}

/// The journal of work whose points others do.
#[pyclass(frozen, module = "solocore")]
pub(crate) struct Points(Mutex<Option<Collection>>);

impl Points {
    fn open<T>(&self, work: impl FnOnce(&mut Collection) -> PyResult<T>) -> PyResult<T> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        work(held.as_mut().ok_or_else(|| PyValueError::new_err("the collection is closed"))?)
    }
}

#[pymethods]
impl Points {
    /// The numbers of the points that nobody has done, ascending.
    fn left(&self) -> PyResult<Vec<u64>> {
        self.open(|collection| Ok(collection.left()))
    }

    /// Keeps a line; false for one of a point that is kept already.
    fn add(&self, py: Python<'_>, line: &str) -> PyResult<bool> {
        self.open(|collection| collection.add(line).map_err(|failed| error::lab(py, &failed)))
    }

    /// Brings what is kept to the disk and lets the journal go.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        held.map_or(Ok(()), |collection| collection.sync()).map_err(|failed| error::lab(py, &failed))
    }
}
