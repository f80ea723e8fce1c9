//! A monitoring module of one's own: how much of the machine's time was spent idle.
//!
//! ```text
//! cargo run -p solo-watch --example own_module [SECONDS]
//! ```
//!
//! A module names its inputs and turns readings into values. It opens no file: the machine does, here stock Linux.

use solo_model::{Duration, Instant};
use solo_observe::module::{Growth, Kind, Reading};
use solo_observe::{Input, MonitoringModule, VirtualCounter};
use solo_perf::files::Host;
use solo_watch::Modules;

/// Thousandths of all CPUs' time that were idle in the interval.
struct Idle {
    counters: [VirtualCounter; 1],
    inputs: [Input; 1],
    idle: Growth,
    all: Growth,
}

impl Idle {
    fn new() -> Self {
        let counter = VirtualCounter {
            name: "idle_per_mille".into(),
            meaning: "thousandths of all CPUs' time spent idle".into(),
            kind: Kind::Level,
        };
        let input = Input::File("/proc/stat".into());
        Self { counters: [counter], inputs: [input], idle: Growth::default(), all: Growth::default() }
    }
}

/// Idle ticks (idle and waiting for I/O) and all ticks, from `cpu user nice system idle iowait ...`.
fn ticks(stat: &str) -> Option<(i64, i64)> {
    let numbers = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
    let numbers: Vec<i64> = numbers.map(|word| word.parse().ok()).collect::<Option<_>>()?;
    // The last two, time of guests, are part of the first two already.
    Some((numbers.get(3)? + numbers.get(4)?, numbers.iter().take(8).sum()))
}

impl MonitoringModule for Idle {
    fn name(&self) -> &str {
        "idle"
    }
    fn counters(&self) -> &[VirtualCounter] {
        &self.counters
    }
    fn inputs(&self) -> &[Input] {
        &self.inputs
    }
    fn sample(&mut self, _: Duration, readings: &[Reading], values: &mut Vec<Option<i64>>) {
        let now = match readings.first() {
            Some(Reading::Text(text)) => ticks(text),
            _ => None,
        };
        let idle = self.idle.since(now.map(|(idle, _)| idle), 0);
        let all = self.all.since(now.map(|(_, all)| all), 0);
        let share = |(idle, all): (i64, i64)| (all > 0).then(|| idle * 1000 / all);
        values.push(idle.zip(all).and_then(share));
    }
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(3_u64);
    let mut modules = Modules::none();
    modules.add(Box::new(Idle::new()));
    println!("{}", modules.columns().join(" "));
    for second in 0..=seconds {
        let values = modules.sample(Instant::new(second * 1_000_000_000), &Host::new(), &|_| None);
        let shown: Vec<String> =
            values.iter().map(|value| value.map_or_else(|| "-".into(), |value| value.to_string())).collect();
        println!("{}", shown.join(" "));
        if second < seconds {
            std::thread::sleep(std::time::Duration::from_secs(1));
        }
    }
}
