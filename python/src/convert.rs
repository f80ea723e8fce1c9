//! Values of the house as Python's plain ones.

use pyo3::prelude::*;
use serde_json::error::Error as JsonError;
use solo_model::{Fixed, TaskClass};

/// A JSON text as dictionaries, lists, texts and numbers.
pub(crate) fn from_json<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.getattr("loads")?.call1((text,))
}

/// What serializes as JSON, which all that is shown does.
pub(crate) fn shown<'py>(py: Python<'py>, text: Result<String, JsonError>) -> PyResult<Bound<'py, PyAny>> {
    let text = text.map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))?;
    from_json(py, &text)
}

/// A metric as Python's number: whole numbers below 2^53 are exact.
pub(crate) fn number(value: Fixed) -> f64 {
    let (whole, rest) = (value.units() / Fixed::SCALE, value.units() % Fixed::SCALE);
    whole as f64 + rest as f64 / Fixed::SCALE as f64
}

/// Python's number as a metric: to the nearest of its steps of 10^-12; `None` for what is none.
pub(crate) fn fixed(number: f64) -> Option<Fixed> {
    // Above this, floats are whole numbers that a count of 64 bits does not hold.
    if !number.is_finite() || number.abs() >= i64::MAX as f64 {
        return None;
    }
    let (whole, rest) = (number.trunc(), number.fract());
    let steps = Fixed::from((rest * Fixed::SCALE as f64).round() as i64);
    Fixed::from(whole as i64).add(steps.divide(Fixed::from(Fixed::SCALE as i64))?)
}

/// The word in scenario files.
pub(crate) const fn class_name(class: TaskClass) -> &'static str {
    match class {
        TaskClass::Hard => "hard",
        TaskClass::Soft => "soft",
        TaskClass::BestEffort => "best-effort",
    }
}

/// A value as Python shows it, for messages.
pub(crate) fn repr(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| "something that can't be shown".to_owned(), |text| text.to_string())
}
