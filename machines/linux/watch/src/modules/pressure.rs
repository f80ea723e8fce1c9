//! Files that hold several numbers with names: pressure stalls, counts of the virtual memory and the scheduler.

use super::Gauge;
use solo_model::Duration;
use solo_observe::module::{Growth, Kind, Reading};
use solo_observe::{Input, MonitoringModule, VirtualCounter};
use solo_perf::files::Files;

/// Finds a number in a text.
type Find = fn(&str) -> Option<i64>;

/// Each virtual counter grows by a number found in a file.
struct Found {
    name: &'static str,
    counters: Vec<VirtualCounter>,
    inputs: Vec<Input>,
    parts: Vec<(Growth, Find)>,
}

impl Found {
    fn boxed(name: &'static str, parts: Vec<(Gauge, Find)>) -> Option<Box<dyn MonitoringModule>> {
        if parts.is_empty() {
            return None;
        }
        let mut module = Self { name, counters: Vec::new(), inputs: Vec::new(), parts: Vec::new() };
        for (gauge, find) in parts {
            module.counters.push(gauge.counter);
            module.inputs.push(gauge.input);
            module.parts.push((Growth::default(), find));
        }
        Some(Box::new(module))
    }
}

impl MonitoringModule for Found {
    fn name(&self) -> &str {
        self.name
    }
    fn counters(&self) -> &[VirtualCounter] {
        &self.counters
    }
    fn inputs(&self) -> &[Input] {
        &self.inputs
    }
    fn sample(&mut self, _: Duration, readings: &[Reading], values: &mut Vec<Option<i64>>) {
        for ((growth, find), reading) in self.parts.iter_mut().zip(readings) {
            let now = match reading {
                Reading::Text(text) => find(text),
                _ => None,
            };
            values.push(growth.since(now, 0));
        }
    }
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=12345`: microseconds in which some task waited.
fn some_total(text: &str) -> Option<i64> {
    let line = text.lines().find(|line| line.starts_with("some"))?;
    line.split_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

fn named(text: &str, name: &str) -> Option<i64> {
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Pressure stall information.
pub(super) fn stall(files: &dyn Files) -> Option<Box<dyn MonitoringModule>> {
    let part = |what: &str| {
        let path = format!("/proc/pressure/{what}");
        some_total(&files.read(&path).ok()?)?;
        let meaning = format!("time in which some task waited for {what}, in microseconds");
        Some((Gauge::new(path, format!("psi_{what}_us"), meaning, Kind::Sum), some_total as Find))
    };
    Found::boxed("psi", ["cpu", "memory", "io"].into_iter().filter_map(part).collect())
}

/// Page faults and context switches of the whole machine.
pub(super) fn faults(files: &dyn Files) -> Option<Box<dyn MonitoringModule>> {
    let parts: [(&str, &str, &str, Find); 3] = [
        ("/proc/vmstat", "machine_page_faults", "page faults of the machine", |text| named(text, "pgfault")),
        ("/proc/vmstat", "machine_major_faults", "major page faults of the machine", |text| {
            named(text, "pgmajfault")
        }),
        ("/proc/stat", "machine_context_switches", "context switches of the machine", |text| {
            named(text, "ctxt")
        }),
    ];
    let part = |(path, name, meaning, find): (&str, &str, &str, Find)| {
        find(&files.read(path).ok()?)?;
        Some((Gauge::new(path.to_owned(), name.to_owned(), meaning, Kind::Sum), find))
    };
    Found::boxed("faults", parts.into_iter().filter_map(part).collect())
}
