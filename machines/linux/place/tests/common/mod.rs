//! A made-up Linux: counts that are written down, tasks by their priorities, settings in memory.
#![allow(dead_code, unreachable_pub, missing_docs)]

use solo_guard::{Actuator, Group, Identity, Knob, Seen, Setting};
use solo_model::listening::ScriptedCount;
use solo_model::{CoreId, Counts, Duration, EventId, EventSet, Instant, TaskId};
use solo_place::{CoreSeen, Life, Observation, TaskSeen, Where};
use solo_store::StoreError;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::rc::Rc;

/// What cores count.
pub struct Script {
    pub counts: Vec<ScriptedCount>,
    pub events: EventSet,
}

/// Tasks that never end, the first of a core's first.
pub struct World {
    script: Script,
    /// The tasks: of those on a core the first one runs.
    pub first_served: Vec<TaskId>,
    cores: usize,
    last: Instant,
    /// Cores that are offline.
    pub offline: BTreeSet<u16>,
    /// Tasks that have ended.
    pub ended: BTreeSet<u32>,
}

impl World {
    pub fn new(script: Script, tasks: usize, cores: usize) -> Self {
        let first_served = (0..tasks as u32).map(TaskId).collect();
        Self {
            script,
            first_served,
            cores,
            last: Instant::ZERO,
            offline: BTreeSet::new(),
            ended: BTreeSet::new(),
        }
    }

    fn count(&self, core: CoreId, now: Instant) -> Counts {
        let new = |count: &&ScriptedCount| count.core == core && count.at > self.last && count.at <= now;
        let counted = |event: EventId| {
            self.script
                .counts
                .iter()
                .filter(new)
                .filter(|count| count.event == event)
                .map(|count| count.count)
                .sum()
        };
        Counts::of(self.script.events, counted)
    }

    /// What is seen at the end of a period.
    pub fn look(&mut self, at: Instant, period: Duration, places: &dyn Where) -> Observation {
        let (mut tasks, mut cores) = (Vec::new(), Vec::new());
        for task in (0..self.first_served.len() as u32).map(TaskId) {
            let Some(core) = places.home(task) else { continue };
            let life = if self.ended.contains(&task.0) { Life::Ended } else { Life::Lives };
            // Who is served first has run longest.
            let rank = self.first_served.iter().position(|first| *first == task).unwrap_or(0);
            let ran = Duration::new(period.get() - rank as u64);
            let ran = if places.is_held(task) || life == Life::Ended { Duration::ZERO } else { ran };
            tasks.push(TaskSeen { task, life, core, ran, counts: self.count(core, at), held: None });
        }
        for core in (0..self.cores as u16).filter(|core| !self.offline.contains(core)).map(CoreId) {
            let runs = |task: &TaskId| {
                tasks.iter().any(|seen| seen.task == *task && seen.core == core && !seen.ran.is_zero())
            };
            let running = self.first_served.iter().copied().find(runs);
            cores.push(CoreSeen { core, running, set: 0, counts: self.count(core, at) });
        }
        let span = at.since(self.last);
        self.last = at;
        Observation { at, span, next: Some(at + period), cores, tasks }
    }
}

/// Settings in memory.
#[derive(Clone, Default)]
pub struct Fake(pub Rc<RefCell<State>>);

#[derive(Default)]
pub struct State {
    pub values: BTreeMap<Setting, String>,
    /// Settings that are refused with this error.
    pub refuses: BTreeMap<Setting, io::ErrorKind>,
    /// Who came out of whom.
    pub heirs: BTreeMap<u32, Vec<u32>>,
    pub sets: Vec<(Setting, String)>,
}

pub fn affinity(thread: u32, group: &str) -> Setting {
    Setting::Affinity { thread, group: Group::new(group).unwrap() }
}

pub fn knob(group: &str, knob: Knob) -> Setting {
    Setting::Cgroup { group: Group::new(group).unwrap(), knob }
}

impl Fake {
    pub fn with(values: &[(Setting, &str)]) -> Self {
        let fake = Self::default();
        fake.0.borrow_mut().values =
            values.iter().map(|(setting, value)| (setting.clone(), (*value).to_owned())).collect();
        fake
    }

    pub fn says(&self, setting: &Setting) -> Option<String> {
        self.0.borrow().values.get(setting).cloned()
    }

    pub fn put(&self, setting: &Setting, value: Option<&str>) {
        let mut state = self.0.borrow_mut();
        match value {
            Some(value) => state.values.insert(setting.clone(), value.to_owned()),
            None => state.values.remove(setting),
        };
    }

    pub fn refuse(&self, setting: &Setting, kind: io::ErrorKind) {
        self.0.borrow_mut().refuses.insert(setting.clone(), kind);
    }
}

fn error(kind: io::ErrorKind) -> StoreError {
    StoreError::Io { operation: "set", path: "/fake".into(), source: kind.into() }
}

impl Actuator for Fake {
    fn look(&self, setting: &Setting) -> Result<Seen, StoreError> {
        let state = self.0.borrow();
        let absent = matches!(setting, Setting::Folder { .. }).then(|| Setting::ABSENT.to_owned());
        let value = state.values.get(setting).cloned().or(absent);
        let value = value.ok_or_else(|| error(io::ErrorKind::NotFound))?;
        Ok(Seen { value, identity: Identity { device: 1, file: 1 } })
    }

    fn set(&mut self, setting: &Setting, value: &str) -> Result<(), StoreError> {
        let mut state = self.0.borrow_mut();
        if let Some(kind) = state.refuses.get(setting) {
            return Err(error(*kind));
        }
        state.sets.push((setting.clone(), value.to_owned()));
        state.values.insert(setting.clone(), value.to_owned());
        Ok(())
    }

    fn boot(&self) -> Result<String, StoreError> {
        Ok("this one".to_owned())
    }

    fn heirs(&self, setting: &Setting) -> Vec<Setting> {
        let Setting::Affinity { thread, group } = setting else { return Vec::new() };
        let heirs = self.0.borrow().heirs.get(thread).cloned().unwrap_or_default();
        heirs.into_iter().map(|thread| Setting::Affinity { thread, group: group.clone() }).collect()
    }
}
