//! A placement written in Python, as a value that the kernel keeps.

use crate::convert::repr;
use crate::error;
use crate::hooks::{Action, Hook, Situation as Snapshot};
use crate::watch::Failure;
use pyo3::prelude::*;
use solo_model::Instant;
use solo_schedule::{Actions, Hook as Told, Placement, Situation};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// Asks `placement.on(now_ns, hook, situation)`. Copies are the same Python object: a run has one.
#[derive(Clone)]
pub(crate) struct Asked {
    object: Arc<Py<PyAny>>,
    /// The kinds of hooks that it hears: Python is not asked about others.
    hears: Arc<BTreeSet<String>>,
    failure: Failure,
}

impl Asked {
    pub(crate) fn new(py: Python<'_>, object: Py<PyAny>, failure: &Failure) -> PyResult<Self> {
        let hears = match object.bind(py).getattr_opt("hears")? {
            Some(hears) => {
                hears.try_iter()?.map(|kind| kind?.extract()).collect::<PyResult<BTreeSet<String>>>()?
            }
            None => BTreeSet::from(["tick".to_owned()]),
        };
        Ok(Self { object: Arc::new(object), hears: Arc::new(hears), failure: failure.clone() })
    }

    fn ask(&self, now: Instant, hook: Hook, situation: &dyn Situation) -> PyResult<Actions> {
        Python::attach(|py| {
            let asked = (now.get(), hook, Snapshot::of(situation));
            let answer = self.object.bind(py).call_method1("on", asked)?;
            if answer.is_none() {
                return Ok(Actions::NONE);
            }
            if let Ok(Action(action)) = answer.extract::<Action>() {
                return Ok(Actions::one(action));
            }
            let wrong = |found: &Bound<'_, PyAny>| {
                let expected = format!("None, an Action or at most {} of them", Actions::MOST);
                error::policy(py, &expected, &repr(found), "on of the placement")
            };
            let mut actions = Actions::NONE;
            for one in answer.try_iter().map_err(|_| wrong(&answer))? {
                let one = one?;
                let Action(action) = one.extract::<Action>().map_err(|_| wrong(&one))?;
                actions.push(action).ok_or_else(|| wrong(&answer))?;
            }
            Ok(actions)
        })
    }
}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a placement written in Python")
    }
}

impl PartialEq for Asked {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.object, &other.object)
    }
}

impl Placement for Asked {
    fn name(&self) -> &'static str {
        "tried-out"
    }

    fn on(&mut self, now: Instant, hook: Told, situation: &dyn Situation) -> Actions {
        let hook = Hook::from(hook);
        if self.failure.cancel.requested() || !self.hears.contains(hook.kind()) {
            return Actions::NONE;
        }
        self.ask(now, hook, situation).unwrap_or_else(|error| {
            self.failure.tell(error);
            Actions::NONE
        })
    }
}
