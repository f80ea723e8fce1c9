//! Energy from powercap: one counter a zone, which wraps at the zone's own range.

use super::{Gauge, plain};
use solo_model::Duration;
use solo_observe::module::{Growth, Kind, Reading};
use solo_observe::{Input, MonitoringModule, VirtualCounter};
use solo_perf::files::Files;

const POWERCAP: &str = "/sys/class/powercap";

struct Rapl {
    counters: Vec<VirtualCounter>,
    inputs: Vec<Input>,
    zones: Vec<(Growth, i64)>,
}

pub(super) fn find(files: &dyn Files) -> Option<Box<dyn MonitoringModule>> {
    let mut module = Rapl { counters: Vec::new(), inputs: Vec::new(), zones: Vec::new() };
    for zone in files.list(POWERCAP) {
        let base = format!("{POWERCAP}/{zone}");
        let path = format!("{base}/energy_uj");
        if !zone.contains("rapl") || files.number(&path).is_none() {
            continue;
        }
        let label = files.text(&format!("{base}/name")).unwrap_or_else(|| zone.clone());
        let number = zone.rsplit("rapl:").next().map(plain).unwrap_or_default();
        let name = format!("energy_{}_{number}_uj", plain(&label));
        let gauge = Gauge::new(path, name, format!("energy of {label}, in microjoules"), Kind::Sum);
        module.counters.push(gauge.counter);
        module.inputs.push(gauge.input);
        let range = files.number(&format!("{base}/max_energy_range_uj")).unwrap_or(0);
        module.zones.push((Growth::default(), range));
    }
    if module.zones.is_empty() {
        return None;
    }
    Some(Box::new(module))
}

impl MonitoringModule for Rapl {
    fn name(&self) -> &str {
        "rapl"
    }
    fn counters(&self) -> &[VirtualCounter] {
        &self.counters
    }
    fn inputs(&self) -> &[Input] {
        &self.inputs
    }
    fn sample(&mut self, _: Duration, readings: &[Reading], values: &mut Vec<Option<i64>>) {
        for ((growth, range), reading) in self.zones.iter_mut().zip(readings) {
            values.push(growth.since(reading.number(), *range));
        }
    }
}
