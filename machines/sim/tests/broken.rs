//! Experiments that nobody has checked: a library may be given any. Each is run to its end or refused by a value, never by a panic.
//!
//! Sound experiments are taken as JSON, and their numbers, words and lists exchanged for others: each alone, then several at a time. What
//! JSON refuses, the types of an experiment can't hold; all else is given to the machine.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;
use solo_model::experiment::End;
use solo_model::{Duration, Experiment, Instant, PerMille, Record};
use solo_scenario::Platforms;
use solo_sim::{Observer, SimError};
use std::ops::ControlFlow;
use std::path::Path;

/// Enough of everything that refers to something else: colors, banks, locked pages, budgets, clusters, locks, repetitions, monitors.
const WHOLE: [&str; 3] = [
    r#"
name = "isolated"
platform = "xeon-w3530"
duration = "200us"
[scheduler]
policy = "P-EDF"
overheads = "epos-thesis"
[[lock]]
name = "m"
protocol = "inheritance"
[[task]]
name = "a"
class = "hard"
core = 0
period = "50us"
deadline = "40us"
wcet = "9us"
work = [{ lock = "m" }, { compute = ["1us", "3us"] }, { unlock = "m" }, { sweep = "8KiB" }, { sleep = "1us" }]
[[task]]
name = "b"
class = "best-effort"
core = 1
work = [{ repeat = 2, steps = [{ stream = "64KiB", writes = "50%" }, { chase = "16KiB", accesses = 30 }] }]
[isolation.colors]
a = "0-7"
b = "8-15"
[isolation.lockdown]
a = 1
[[device]]
name = "camera"
owner = "a"
direction = "input"
moves = "4KiB"
period = "40us"
slot = "30us"
core = 3
[[device]]
name = "disk"
owner = "b"
direction = "output"
moves = "8KiB"
period = "50us"
offset = "7us"
rate = "1GB/s"
[isolation.bandwidth]
period = "20us"
cores = { 0 = "100MB/s", 1 = "100MB/s" }
dma = { camera = "200MB/s" }
"#,
    r#"
name = "clustered"
platform = "p4080"
duration = "200us"
[scheduler]
policy = "C-FP"
clusters = [[0, 1], [2, 3], [4, 5, 6, 7]]
tick = "10us"
[[lock]]
name = "c"
protocol = "ceiling"
[[lock]]
name = "s"
protocol = "semaphore"
units = 2
[[task]]
name = "t"
class = "soft"
core = 2
priority = 3
period = "30us"
copies = 3
work = [{ lock = "c" }, { compute = "4us" }, { unlock = "c" }]
[[task]]
name = "u"
class = "soft"
core = 0
priority = 1
offset = "7us"
period = "60us"
work = [{ lock = "s" }, { random = "32KiB", accesses = 50 }, { unlock = "s" }]
"#,
    r#"
name = "listening"
platform = "i7-2600"
duration = "200us"
[scheduler]
policy = "G-LLF"
quantum = "10us"
[scheduler.monitor]
event = "llc_misses"
period = "50us"
threshold = 4
classes = ["best-effort"]
action = "yield"
[[buffer]]
name = "shared"
size = "64KiB"
[[task]]
name = "x"
class = "hard"
period = "70us"
wcet = "20us"
work = [{ random = "64KiB", accesses = 100, writes = "30%", buffer = "shared" }]
[[task]]
name = "y"
class = "best-effort"
work = [{ random = "64KiB", accesses = 100, writes = "50%", buffer = "shared" }]
"#,
];

/// One exchange in so many is tried in every test run; it has no divisor in common with what a value is exchanged for.
const EVERY: usize = 23;

/// Stops what goes on and on.
struct Few(u32);

impl Observer for Few {
    fn record(&mut self, _: Record) -> ControlFlow<()> {
        self.0 = self.0.saturating_sub(1);
        if self.0 == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
    fn progress(&mut self, _: Instant, _: PerMille) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Sound experiments, each tried as it is.
fn sound() -> Vec<Value> {
    let read = |text: &str| {
        let scenario = solo_scenario::parse(text, Path::new("sound.toml"), &Platforms::builtin());
        scenario.unwrap_or_else(|report| panic!("{report}")).base
    };
    let mut all: Vec<Experiment> = WHOLE.into_iter().map(read).collect();
    for experiment in &mut all {
        experiment.end = End::At(Duration::from_micros(200));
        run(experiment).unwrap_or_else(|error| panic!("{}: {error}", experiment.name));
    }
    all.iter().map(|experiment| serde_json::to_value(experiment).expect("JSON")).collect()
}

fn run(experiment: &Experiment) -> Result<(), SimError> {
    solo_sim::run(experiment, &[], &mut Few(400)).map(drop)
}

/// What a value is exchanged for.
fn others(of: &Value) -> Vec<Value> {
    let numbers = [0, 1, 3, 65, 255, 65_535, 4_294_967_295, 1 << 40, u64::MAX];
    match of {
        Value::Number(_) => numbers.map(Value::from).into_iter().chain([Value::from(-1)]).collect(),
        Value::String(_) => vec![Value::from(""), Value::from("\u{1b}"), Value::from("b")],
        Value::Bool(known) => vec![Value::from(!known)],
        Value::Null => vec![Value::from(0), Value::from(u64::MAX), Value::from(1)],
        Value::Array(items) => {
            let twice = items.iter().chain(items).cloned().collect();
            let fewer = items.iter().skip(1).cloned().collect();
            let backwards = items.iter().rev().cloned().collect();
            vec![Value::Array(vec![]), Value::Array(twice), Value::Array(fewer), Value::Array(backwards)]
        }
        Value::Object(_) => vec![Value::Null],
    }
}

/// The places of all values, as JSON pointers.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| places(item, &format!("{at}/{index}"), found));
        }
        Value::Object(entries) => {
            entries.iter().for_each(|(key, item)| places(item, &format!("{at}/{key}"), found));
        }
        _ => {}
    }
}

fn all_places(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    places(value, "", &mut found);
    // The table of events and the costs of paths are long and alike.
    found.retain(|place| !place.is_empty() && !place.starts_with("/platform/events/"));
    found
}

/// Runs what became of an experiment, if it still is one, and says where it panics.
fn tried(changed: &Value, what: &str) -> Option<String> {
    let experiment: Experiment = serde_json::from_value(changed.clone()).ok()?;
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&experiment)));
    let words = |panic: Box<dyn std::any::Any + Send>| {
        let said = panic.downcast_ref::<String>().cloned();
        said.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
    };
    outcome.err().map(|panic| format!("{what}: {}", words(panic)))
}

#[test]
fn each_value_exchanged_is_run_or_refused() {
    let said = |variable: &str| std::env::var(variable).ok()?.parse::<usize>().ok();
    // Every run tries some; `SOLO_BROKEN_EVERY=1` tries all of them (minutes).
    let every = said("SOLO_BROKEN_EVERY").unwrap_or(EVERY).max(1);
    let mut number = said("SOLO_FIRST_SEED").unwrap_or(0);
    let mut panics = Vec::new();
    for whole in sound() {
        for place in all_places(&whole) {
            let Some(value) = whole.pointer(&place) else { continue };
            for other in others(value) {
                number += 1;
                if !number.is_multiple_of(every) {
                    continue;
                }
                let mut changed = whole.clone();
                let what = format!("{} {place} = {other}", whole["name"]);
                *changed.pointer_mut(&place).expect("it is there") = other;
                panics.extend(tried(&changed, &what));
            }
        }
    }
    assert!(panics.is_empty(), "{} panics:\n{}", panics.len(), panics.join("\n"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn several_values_exchanged_are_run_or_refused(
        which in any::<Index>(),
        changes in proptest::collection::vec((any::<Index>(), any::<Index>()), 2..5),
    ) {
        thread_local! { static SOUND: Vec<Value> = sound(); }
        let mut changed = SOUND.with(|all| which.get(all).clone());
        let mut what = changed["name"].to_string();
        for (place, other) in changes {
            let places = all_places(&changed);
            let place = place.get(&places);
            // A run without an end and without samples has nothing to stop it by.
            if place.starts_with("/end") || place == "/sample_every" {
                continue;
            }
            let value = changed.pointer_mut(place).expect("it is there");
            let others = others(value);
            *value = other.get(&others).clone();
            what += &format!(", {place} = {value}");
        }
        prop_assert_eq!(tried(&changed, &what), None);
    }
}

/// What the types of an experiment can't hold: a share above the whole.
#[test]
fn a_share_above_the_whole_is_none() {
    assert!(serde_json::from_str::<PerMille>("1000").is_ok());
    assert!(serde_json::from_str::<PerMille>("1001").is_err());
}
