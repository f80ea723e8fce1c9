//! Files that hold one number each: clocks, temperatures, board sensors.

use super::{Gauge, plain};
use solo_model::Duration;
use solo_observe::module::{Growth, Kind, Reading};
use solo_observe::{Input, MonitoringModule, VirtualCounter};
use solo_perf::files::Files;

/// One virtual counter a file: a level as it stands, a sum by its growth.
pub(super) struct Numbers {
    name: String,
    counters: Vec<VirtualCounter>,
    inputs: Vec<Input>,
    growth: Vec<Growth>,
    /// Every number is multiplied by this.
    factors: Vec<i64>,
}

impl Numbers {
    pub(super) fn boxed(name: &str, gauges: Vec<(Gauge, i64)>) -> Option<Box<dyn MonitoringModule>> {
        if gauges.is_empty() {
            return None;
        }
        let growth = vec![Growth::default(); gauges.len()];
        let factors = gauges.iter().map(|(_, factor)| *factor).collect();
        let (inputs, counters) = gauges.into_iter().map(|(gauge, _)| (gauge.input, gauge.counter)).unzip();
        Some(Box::new(Self { name: name.to_owned(), counters, inputs, growth, factors }))
    }
}

impl MonitoringModule for Numbers {
    fn name(&self) -> &str {
        &self.name
    }
    fn counters(&self) -> &[VirtualCounter] {
        &self.counters
    }
    fn inputs(&self) -> &[Input] {
        &self.inputs
    }
    fn sample(&mut self, _: Duration, readings: &[Reading], values: &mut Vec<Option<i64>>) {
        for (i, reading) in readings.iter().enumerate() {
            let number = match self.counters[i].kind {
                Kind::Level => reading.number(),
                Kind::Sum => self.growth[i].since(reading.number(), 0),
            };
            values.push(number.and_then(|number| number.checked_mul(self.factors[i])));
        }
    }
}

/// The present clock of each CPU.
pub(super) fn frequency(files: &dyn Files) -> Option<Box<dyn MonitoringModule>> {
    let base = "/sys/devices/system/cpu";
    let gauge = |cpu: String| {
        let path = format!("{base}/{cpu}/cpufreq/scaling_cur_freq");
        files.number(&path)?;
        let name = format!("frequency_{cpu}_khz");
        Some((Gauge::new(path, name, format!("the clock of {cpu}, in kilohertz"), Kind::Level), 1))
    };
    Numbers::boxed("frequency", files.list(base).into_iter().filter_map(gauge).collect())
}

/// The thermal zones.
pub(super) fn temperature(files: &dyn Files) -> Option<Box<dyn MonitoringModule>> {
    let base = "/sys/class/thermal";
    let gauge = |zone: String| {
        let path = format!("{base}/{zone}/temp");
        files.number(&path)?;
        let kind = files.text(&format!("{base}/{zone}/type")).unwrap_or_else(|| zone.clone());
        let number = zone.trim_start_matches("thermal_zone");
        let name = format!("temperature_{}_{number}_mdeg", plain(&kind));
        Some((Gauge::new(path, name, format!("{kind}, in thousandths of a degree Celsius"), Kind::Level), 1))
    };
    Numbers::boxed("temperature", files.list(base).into_iter().filter_map(gauge).collect())
}

/// Board sensors: `energyN_input` in microjoules, `powerN_input` in microwatts (the kernel's hwmon interface).
pub(super) fn sensors(files: &dyn Files) -> Option<Box<dyn MonitoringModule>> {
    let base = "/sys/class/hwmon";
    let mut gauges = Vec::new();
    for device in files.list(base) {
        let chip = files.text(&format!("{base}/{device}/name")).unwrap_or_else(|| device.clone());
        for file in files.list(&format!("{base}/{device}")) {
            let Some(sensor) = file.strip_suffix("_input") else { continue };
            let (kind, unit) = match sensor {
                energy if energy.starts_with("energy") => (Kind::Sum, "uj"),
                power if power.starts_with("power") => (Kind::Level, "uw"),
                _ => continue,
            };
            let label =
                files.text(&format!("{base}/{device}/{sensor}_label")).unwrap_or_else(|| sensor.to_owned());
            let number = device.trim_start_matches("hwmon");
            let name = format!("{}_{number}_{}_{unit}", plain(&chip), plain(&label));
            let meaning = format!("{label} of {chip}");
            gauges.push((Gauge::new(format!("{base}/{device}/{file}"), name, meaning, kind), 1));
        }
    }
    Numbers::boxed("hwmon", gauges)
}
