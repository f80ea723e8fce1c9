//! Exceptions: the classes are Python's (`solocore/errors.py`), so that they can carry data and be caught by name.

use crate::convert::from_json;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use solo_lab::LabError;
use solo_scenario::Diagnostics;
use solo_study::StudyError;

/// An exception of `solocore.errors`.
fn raise<'py>(
    py: Python<'py>,
    class: &str,
    arguments: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
) -> PyErr {
    let made = || -> PyResult<Bound<'py, PyAny>> {
        py.import("solocore.errors")?.getattr(class)?.call1(arguments.into_pyobject(py)?)
    };
    match made() {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// What is wrong with a scenario: one problem or more, each with its code and its place.
pub(crate) fn diagnostics(py: Python<'_>, report: &Diagnostics) -> PyErr {
    match from_json(py, &report.to_json().to_string()) {
        Ok(problems) => raise(py, "ScenarioError", (report.to_string(), problems)),
        Err(error) => error,
    }
}

/// Why something did not run; a request to stop is Python's own exception.
pub(crate) fn lab(py: Python<'_>, error: &LabError) -> PyErr {
    match error {
        LabError::Interrupted => PyKeyboardInterrupt::new_err("interrupted"),
        LabError::Platform(report) => diagnostics(py, report),
        error => raise(py, "RunError", (error.to_string(), kind(error))),
    }
}

/// The name of the variant: what a program asks for.
fn kind(error: &LabError) -> String {
    let shown = format!("{error:?}");
    shown.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default().to_owned()
}

/// Why a study came to nothing.
pub(crate) fn study(py: Python<'_>, error: &StudyError) -> PyErr {
    match error {
        StudyError::Interrupted => PyKeyboardInterrupt::new_err("interrupted"),
        error => raise(py, "StudyError", (error.to_string(),)),
    }
}

/// What a caller passed is not what is expected there.
pub(crate) fn input(py: Python<'_>, expected: &str, found: &str, place: &str) -> PyErr {
    raise(py, "InputError", (expected, found, place))
}

/// What a policy written in Python answered is no answer.
pub(crate) fn policy(py: Python<'_>, expected: &str, found: &str, place: &str) -> PyErr {
    raise(py, "PolicyError", (expected, found, place))
}
