//! Monitoring modules at work: their inputs are read, their values collected.

use solo_model::{Duration, Instant};
use solo_observe::module::Reading;
use solo_observe::{Input, MonitoringModule};
use solo_perf::files::Files;

/// Any number of monitoring modules, sampled together.
#[derive(Default)]
pub struct Modules {
    modules: Vec<Box<dyn MonitoringModule>>,
    last: Option<Instant>,
}

impl Modules {
    /// None.
    pub fn none() -> Self {
        Self::default()
    }

    /// One more.
    pub fn add(&mut self, module: Box<dyn MonitoringModule>) {
        self.modules.push(module);
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.modules.is_empty()
    }

    /// The names of all virtual counters, in the order of their values.
    pub fn columns(&self) -> Vec<String> {
        let counters = self.modules.iter().flat_map(|module| module.counters());
        counters.map(|counter| counter.name.clone()).collect()
    }

    /// Reads all inputs and gives one value for each virtual counter. `count` tells what an event has counted
    /// since the last call.
    pub fn sample(
        &mut self,
        at: Instant,
        files: &dyn Files,
        count: &dyn Fn(&str) -> Option<u64>,
    ) -> Vec<Option<i64>> {
        let span = self.last.replace(at).map_or(Duration::ZERO, |last| at.since(last));
        let mut values = Vec::new();
        for module in &mut self.modules {
            let readings: Vec<Reading> =
                module.inputs().iter().map(|input| read(input, files, count)).collect();
            let before = values.len();
            module.sample(span, &readings, &mut values);
            // A module that miscounts must not shift the columns of the next.
            values.resize(before + module.counters().len(), None);
        }
        values
    }
}

fn read(input: &Input, files: &dyn Files, count: &dyn Fn(&str) -> Option<u64>) -> Reading {
    match input {
        Input::File(path) => files.read(path).map_or(Reading::Absent, Reading::Text),
        Input::Count(event) => count(event).map_or(Reading::Absent, Reading::Count),
    }
}
