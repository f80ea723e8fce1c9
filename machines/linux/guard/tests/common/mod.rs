//! A made-up machine that keeps what it looked like before each step of the guard.
#![allow(dead_code, unreachable_pub, missing_docs)]

use solo_guard::{Actuator, Group, Identity, JOURNAL, Knob, Seen, Setting};
use solo_store::StoreError;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

pub type Values = BTreeMap<Setting, (String, u64)>;

/// What was on disk and what the settings said at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Moment {
    pub journal: Vec<u8>,
    pub values: Values,
}

#[derive(Default)]
pub struct State {
    pub values: Values,
    pub boot: String,
    /// Every moment at which the guard touched the machine, in order.
    pub moments: Vec<Moment>,
    /// Says what was written in other words.
    pub reword: Option<fn(&str) -> String>,
    /// Refuses to set these.
    pub refuses: Vec<Setting>,
    journal: PathBuf,
}

#[derive(Clone, Default)]
pub struct Fake(pub Rc<RefCell<State>>);

impl Fake {
    pub fn new(folder: &Path, values: &Values) -> Self {
        let state = State {
            values: values.clone(),
            boot: "this one".into(),
            journal: folder.join(JOURNAL),
            ..State::default()
        };
        Self(Rc::new(RefCell::new(state)))
    }

    pub fn values(&self) -> Values {
        self.0.borrow().values.clone()
    }

    pub fn value(&self, setting: &Setting) -> String {
        self.0.borrow().values[setting].0.clone()
    }

    pub fn put(&self, setting: &Setting, value: &str) {
        self.0.borrow_mut().values.get_mut(setting).expect("a setting").0 = value.into();
    }

    fn keep_moment(&self) {
        let mut state = self.0.borrow_mut();
        let journal = std::fs::read(&state.journal).unwrap_or_default();
        let values = state.values.clone();
        state.moments.push(Moment { journal, values });
    }
}

pub fn refused(kind: io::ErrorKind) -> StoreError {
    StoreError::Io { operation: "set", path: "/fake".into(), source: kind.into() }
}

impl Actuator for Fake {
    fn look(&self, setting: &Setting) -> Result<Seen, StoreError> {
        self.keep_moment();
        let state = self.0.borrow();
        let (value, file) = state.values.get(setting).ok_or_else(|| refused(io::ErrorKind::NotFound))?;
        Ok(Seen { value: value.clone(), identity: Identity { device: 1, file: *file } })
    }

    fn set(&mut self, setting: &Setting, value: &str) -> Result<(), StoreError> {
        self.keep_moment();
        let mut state = self.0.borrow_mut();
        if state.refuses.contains(setting) {
            return Err(refused(io::ErrorKind::PermissionDenied));
        }
        let value = state.reword.map_or_else(|| value.to_owned(), |reword| reword(value));
        state.values.get_mut(setting).ok_or_else(|| refused(io::ErrorKind::NotFound))?.0 = value;
        drop(state);
        self.keep_moment();
        Ok(())
    }

    fn boot(&self) -> Result<String, StoreError> {
        Ok(self.0.borrow().boot.clone())
    }
}

pub fn knob(group: &str, knob: Knob) -> Setting {
    Setting::Cgroup { group: Group::new(group).expect("a group"), knob }
}

pub fn freeze(group: &str) -> Setting {
    knob(group, Knob::Freeze)
}

/// Two groups and two settings of the machine.
pub fn values() -> Values {
    [
        (freeze("a"), "0"),
        (freeze("b"), "0"),
        (knob("b", Knob::Cpus), "0-3"),
        (Setting::Interrupt { number: 7 }, "0-1"),
        (Setting::RealTimeRuntime, "950000"),
    ]
    .into_iter()
    .zip(10..)
    .map(|((setting, value), file)| (setting, (value.to_owned(), file)))
    .collect()
}
