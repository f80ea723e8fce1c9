//! Schedulability tests over task sets.

use crate::convert::from_json;
use crate::error;
use crate::sets::Sets;
use crate::table::{Rows, Table, integer};
use crate::watch::{Failure, beside};
use pyo3::prelude::*;
use rayon::prelude::*;
use solo_lab::LabError;
use solo_prove::catalogue::{self, TESTS, Test};
use solo_prove::jsonl::{self, BatchOptions};
use solo_prove::{Effort, TestAnswer};
use solo_report::export::{Column, Kind, Value};

/// The schedulability tests: id, policy, deadlines, cores, whether it is exact, its source.
#[pyfunction]
pub(crate) fn tests(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    from_json(py, &serde_json::Value::from(catalogue::entries()).to_string())
}

/// Judges task sets on `cores` cores by the tests of these ids, or by all default ones. The tasks of set `i` are those from
/// `begin[i]` up to `begin[i + 1]`; execution times `c`, periods `t` and deadlines `d` are whole microseconds. A test that says nothing
/// about a set, or does not end within `steps`, has no answer.
#[pyfunction]
#[pyo3(signature = (cores, cluster, begin, c, t, d, tests=None, steps=None, explain=false))]
#[allow(clippy::too_many_arguments, reason = "columns, as Python's side has checked them")]
pub(crate) fn judge(
    py: Python<'_>,
    cores: u32,
    cluster: Option<u64>,
    begin: Vec<usize>,
    c: Vec<u64>,
    t: Vec<u64>,
    d: Vec<u64>,
    tests: Option<Vec<String>>,
    steps: Option<u64>,
    explain: bool,
) -> PyResult<Table> {
    let sets = Sets::of(py, cores, cluster, &begin, (&c, &t, &d))?;
    let known = |id: &String| {
        let known: Vec<&str> = TESTS.iter().map(|test| test.id).collect();
        catalogue::find(id).ok_or_else(|| error::input(py, &known.join(", "), id, "tests"))
    };
    let tests =
        tests.map(|ids| ids.iter().map(known).collect::<PyResult<Vec<&'static Test>>>()).transpose()?;
    let options =
        BatchOptions { tests, steps: steps.unwrap_or(Effort::DEFAULT_STEPS), ..BatchOptions::default() };
    let failure = Failure::default();
    let judged = beside(py, None, &failure, |control| {
        let one = |set: &solo_prove::TaskSet| {
            if control.cancel.requested() {
                Err(LabError::Interrupted)
            } else {
                Ok(jsonl::judge(set, &options))
            }
        };
        sets.0.par_iter().map(one).collect::<Result<Vec<_>, LabError>>()
    })?;
    let judged = judged.map_err(|failed| error::lab(py, &failed))?;
    table(&judged, explain)
}

/// A row for each set, a column for each test.
fn table(judged: &[Vec<(&'static Test, TestAnswer)>], explain: bool) -> PyResult<Table> {
    let kind = if explain { Kind::Text } else { Kind::Truth };
    let mut columns = vec![Column { name: "set".into(), kind: Kind::Integer }];
    let tests = judged.first().map_or(&[][..], Vec::as_slice);
    columns.extend(tests.iter().map(|(test, _)| Column { name: test.id.into(), kind }));
    let mut rows = Rows::new("verdicts", columns);
    for (at, verdicts) in judged.iter().enumerate() {
        let value = |(_, answer): &(&Test, TestAnswer)| match explain {
            true => Value::Text(answer.to_string()),
            false => answer.decided().map_or(Value::Missing, Value::Truth),
        };
        let row: Vec<Value> = std::iter::once(integer(at as u64)).chain(verdicts.iter().map(value)).collect();
        rows.push(&row);
    }
    rows.finish()
}
