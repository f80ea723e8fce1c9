//! The Python package `solocore`: what the laboratory does, as Python values.
//!
//! This crate is `solocore._native`; what is written in Python stands in `python/solocore`. It computes nothing: it turns
//! values of the house into Python's and back. Whatever is wrong is an exception of `solocore.errors` that carries what was expected,
//! found, and where. While something runs, Python is free: other threads go on, and Ctrl-C stops it.
#![forbid(unsafe_code)]

mod convert;
mod error;
mod explore;
mod hooks;
mod lack;
mod model;
mod monitor;
mod placement;
mod proofs;
mod run;
mod scenario;
mod sets;
mod study;
mod sweep;
mod table;
mod view;
mod watch;

use pyo3::prelude::*;

/// What is built in: the version, the commit where the build knows it, and what workers of a cluster compare.
#[pyfunction]
fn build() -> (&'static str, Option<&'static str>) {
    (env!("CARGO_PKG_VERSION"), option_env!("SOLO_COMMIT"))
}

/// The part of `solocore` that is not written in Python.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(build, module)?)?;
    module.add_function(wrap_pyfunction!(proofs::tests, module)?)?;
    module.add_function(wrap_pyfunction!(proofs::judge, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::platforms, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::platform, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::events_of_fixed, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::explain, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::plan, module)?)?;
    module.add_function(wrap_pyfunction!(run::open_run, module)?)?;
    module.add_class::<table::Table>()?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<scenario::Experiment>()?;
    module.add_class::<scenario::Plan>()?;
    module.add_class::<lack::Lack>()?;
    module.add_class::<model::Model>()?;
    module.add_class::<run::Run>()?;
    module.add_class::<view::Job>()?;
    module.add_class::<view::TaskView>()?;
    module.add_class::<hooks::Hook>()?;
    module.add_class::<hooks::Action>()?;
    module.add_class::<hooks::Situation>()?;
    module.add_class::<monitor::Sample>()?;
    module.add_class::<study::Study>()?;
    module.add_class::<study::StudyCollection>()?;
    module.add_class::<sweep::Sweep>()?;
    module.add_class::<sweep::Evaluation>()?;
    module.add_class::<sweep::Points>()?;
    Ok(())
}
