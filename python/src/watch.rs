//! Long work beside Python: progress out, Ctrl-C in, and nobody waits for Python meanwhile.
//!
//! The work goes on in a thread of its own. The caller's thread, which is the only one in which Python tells of signals, looks
//! at it twenty times a second: it asks for signals and tells the caller's `progress`. An exception of either stops the work.

use pyo3::prelude::*;
use solo_lab::{Cancel, Control, Progress};
use solo_model::{Instant, PerMille};
use std::collections::BTreeMap;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often Python is asked.
const LOOK: Duration = Duration::from_millis(50);

/// The first exception of anything that Python was asked meanwhile: it stops the work, and is raised when it has stopped.
#[derive(Clone, Default)]
pub(crate) struct Failure {
    first: Arc<Mutex<Option<PyErr>>>,
    pub(crate) cancel: Cancel,
}

impl Failure {
    /// Keeps the first and stops the work.
    pub(crate) fn tell(&self, error: PyErr) {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.cancel.request();
    }

    fn take(&self) -> Option<PyErr> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// How far each run has come, until Python is told.
#[derive(Default)]
struct Latest(Mutex<BTreeMap<String, (u64, f64)>>);

impl Progress for Latest {
    fn reached(&self, run: &str, now: Instant, share: PerMille) {
        let place = (now.get(), f64::from(share.get()) / 1000.0);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(run.to_owned(), place);
    }
}

impl Latest {
    fn tell(&self, py: Python<'_>, listener: Option<&Py<PyAny>>) -> PyResult<()> {
        let Some(listener) = listener else { return Ok(()) };
        let reached = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for (run, (now, share)) in reached {
            listener.call1(py, (run, now, share))?;
        }
        Ok(())
    }
}

/// Does `work` beside Python and returns what it came to; an exception where Python had one.
pub(crate) fn beside<T: Send>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    failure: &Failure,
    work: impl FnOnce(&Control<'_>) -> T + Send,
) -> PyResult<T> {
    let latest = Latest::default();
    let control = Control { progress: &latest, cancel: failure.cancel.clone() };
    let (told, ended) = channel();
    let ended = Mutex::new(ended);
    let outcome = py.detach(|| {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // Attached once and let go: what Python is asked inside finds its state of this thread.
                let outcome = Python::attach(|py| py.detach(|| work(&control)));
                // Where nobody hears any more there is nothing to tell.
                let _ = told.send(outcome);
            });
            wait(&ended.lock().unwrap_or_else(PoisonError::into_inner), &latest, progress, failure)
        })
    });
    if let Some(error) = failure.take() {
        return Err(error);
    }
    latest.tell(py, progress)?;
    outcome.ok_or_else(|| pyo3::exceptions::PyRuntimeError::new_err("the work ended without an outcome"))
}

/// Waits for the outcome, and asks Python now and then.
fn wait<T>(
    ended: &std::sync::mpsc::Receiver<T>,
    latest: &Latest,
    progress: Option<&Py<PyAny>>,
    failure: &Failure,
) -> Option<T> {
    loop {
        match ended.recv_timeout(LOOK) {
            Ok(outcome) => return Some(outcome),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if failure.cancel.requested() {
            continue;
        }
        let asked = Python::attach(|py| py.check_signals().and_then(|()| latest.tell(py, progress)));
        if let Err(error) = asked {
            failure.tell(error);
        }
    }
}
