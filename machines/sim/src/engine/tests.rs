//! What the engine tells the counters: when a core is in the kernel.

use super::*;
use solo_hal::{CounterId, Modes, Pmu};
use solo_model::{Duration, EventId, Record};

/// A task that computes, ticks that interrupt it, and what the kernel's paths cost.
const SCENARIO: &str = r#"
name = "modes"
platform = "xeon-w3530"
jobs = 20
[scheduler]
policy = "P-RM"
overheads = "epos-thesis"
[[task]]
name = "work"
class = "hard"
core = 0
period = "1ms"
work = [{ compute = "300us" }, { sweep = "16KiB" }]
"#;

/// Adds up what the kernel's paths cost, and how many they were.
#[derive(Default)]
struct Paths(Duration, u64);

impl Observer for Paths {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        if let Record::Overhead(path) = record
            && path.core == CoreId(0)
        {
            self.0 += path.cost;
            self.1 += 1;
        }
        ControlFlow::Continue(())
    }
}

struct Visit<'a>(&'a Experiment);

impl solo_schedule::Visitor for Visit<'_> {
    type Output = ([u64; 3], Paths);

    /// What three counters of cycles stand at after the run: all, threads, kernel; and the time in the kernel's paths.
    fn visit<C: Criterion>(self) -> Self::Output {
        let mut engine = Engine::<C>::new(self.0, &[], StandIns::default()).expect("it can be built");
        let modes = [Modes::All, Modes::User, Modes::Kernel];
        for (number, modes) in (0..).zip(modes) {
            let counter = CounterId(number);
            engine.hardware.configure(CoreId(0), counter, EventId::CYCLES).expect("there are four");
            engine.hardware.count_in(CoreId(0), counter, modes).expect("they tell modes");
        }
        let mut paths = Paths::default();
        engine.run(&mut paths);
        engine.show_counts();
        let read = |number| engine.hardware.read(CoreId(0), CounterId(number)).expect("it is there");
        ([0, 1, 2].map(read), paths)
    }
}

#[test]
fn cycles_in_the_kernel_are_those_of_its_paths() {
    let platforms = solo_scenario::Platforms::builtin();
    let path = std::path::Path::new("modes.toml");
    let scenario = solo_scenario::parse(SCENARIO, path, &platforms).expect("it is sound");
    let experiment = &scenario.base;
    let ([all, threads, kernel], paths) =
        solo_schedule::dispatch(experiment.policy.criterion, Visit(experiment));
    assert_eq!(all, threads + kernel);
    let clock = u128::from(experiment.platform.kinds[0].clock.get());
    let expected = u128::from(paths.0.get()) * clock / 1_000_000_000;
    // Records say whole nanoseconds: up to three cycles of each path are missing.
    let off = u128::from(kernel).abs_diff(expected);
    assert!(paths.1 > 20 && off <= u128::from(3 * paths.1), "{kernel} beside {expected} cycles");
}
