//! Placements that decide by what they hear of the cache and of memory, each beside doing nothing; and what mixes of applications hold
//! of the cache (PMCTrack 4.3).

use solo_model::experiment::End;
use solo_model::sample::Subject;
use solo_model::{CoreId, Duration, EventId, Experiment, Instant, Record, TaskId};
use solo_scenario::{Platforms, Scenario};
use solo_sim::{Observer, SimulationEnd};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;

fn scenario(name: &str) -> Scenario {
    let path = PathBuf::from(format!("../scenarios/papers/pmctrack/{name}.toml"));
    let text = std::fs::read_to_string(&path).expect("it is there");
    solo_scenario::parse(&text, &path, &Platforms::builtin()).unwrap_or_else(|report| panic!("{report}"))
}

fn variant(scenario: &Scenario, name: &str, end: Duration) -> Experiment {
    let named = |experiment: &&Experiment| experiment.variant == name;
    let found = scenario.variants.iter().find(named).unwrap_or_else(|| panic!("no variant {name}"));
    Experiment { end: End::At(end), ..found.clone() }
}

#[derive(Default)]
struct Keep(Vec<Record>);

impl Observer for Keep {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        self.0.push(record);
        ControlFlow::Continue(())
    }
}

fn run(experiment: &Experiment) -> (Vec<Record>, SimulationEnd) {
    let mut keep = Keep::default();
    let end = solo_sim::run(experiment, &[], &mut keep).unwrap_or_else(|error| panic!("{error}"));
    (keep.0, end)
}

/// What all cores counted of an event from a time on.
fn counted(records: &[Record], event: EventId, from: Duration) -> u64 {
    let of = |record: &Record| match record {
        Record::Sample(sample) if sample.core().is_some() && sample.at > Instant::ZERO + from => {
            sample.counts.get(event)
        }
        _ => None,
    };
    records.iter().filter_map(of).sum()
}

/// What a task's process held at the end.
fn held(records: &[Record], task: u32) -> u64 {
    let of = |record: &Record| match record {
        Record::Sample(sample) if sample.subject == Subject::Task(TaskId(task)) => sample.virtuals[0],
        _ => None,
    };
    records.iter().filter_map(of).next_back().expect("it is told") as u64
}

#[test]
fn ways_by_utility_spare_misses_beside_doing_nothing() {
    let scenario = scenario("ways-by-curves");
    let (whole, from) = (Duration::from_millis(240), Duration::from_millis(200));
    let ran = ["nothing", "utility"].map(|name| run(&variant(&scenario, name, whole)));
    let [nothing, utility] = ran.each_ref().map(|(records, _)| {
        let rate = |event| counted(records, event, from);
        rate(EventId::LLC_MISSES) as f64 * 1000.0 / rate(EventId::INSTRUCTIONS) as f64
    });
    let held = ran.each_ref().map(|(records, _)| [0, 1, 2, 3].map(|task| held(records, task) / 1024));
    println!("misses in 1,000 instructions: {nothing:.2} without, {utility:.2} with; held, KiB: {held:?}");
    assert!(utility < nothing * 0.9, "{utility} {nothing}");
    // Whoever comes back to its lines has more of the cache, and who never does has less.
    assert!(held[1][0] + held[1][1] > held[0][0] + held[0][1], "{held:?}");
    assert!(held[1][2] + held[1][3] < held[0][2] + held[0][3], "{held:?}");
}

#[test]
fn heavy_tasks_end_behind_different_caches_and_miss_less() {
    let scenario = scenario("spread-the-heavy");
    let (whole, from) = (Duration::from_millis(120), Duration::from_millis(60));
    let ran = ["nothing", "spread"].map(|name| run(&variant(&scenario, name, whole)));
    let misses = ran.each_ref().map(|(records, _)| counted(records, EventId::LLC_MISSES, from));
    let heard = &ran[1].1.heard;
    let moved: u64 = heard.iter().map(|core| core.moved).sum();
    println!("misses {misses:?}, {moved} moves");
    let last = |task: u32| {
        let to = |record: &Record| match record {
            Record::Switch(switch) if switch.to == Some(TaskId(task)) => Some(switch.core),
            _ => None,
        };
        ran[1].0.iter().filter_map(to).next_back().expect("it ran")
    };
    let die = |core: CoreId| core.0 / 2;
    assert_ne!(die(last(0)), die(last(1)), "the heavy ones are apart");
    assert_eq!(moved, 2, "one exchange, and nobody is moved for nothing after it");
    assert!(misses[1] < misses[0], "{misses:?}");
}

/// What each task's process held of the last level in the second half of a run, in thousandths, by the name of its pattern.
fn shares(experiment: &Experiment) -> BTreeMap<String, u64> {
    let (records, _) = run(experiment);
    let capacity = experiment.listening.as_ref().expect("it listens").observed.capacity.get();
    let End::At(end) = experiment.end else { panic!("it ends at a time") };
    let mut sums = BTreeMap::<String, (u64, u64)>::new();
    for record in &records {
        let Record::Sample(sample) = record else { continue };
        let Subject::Task(task) = sample.subject else { continue };
        if sample.at.since(Instant::ZERO) > end / 2 {
            let name = &experiment.tasks[task.index()].name;
            let name = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('-');
            let (sum, count) = sums.entry(name.to_owned()).or_default();
            *sum += sample.virtuals[0].expect("it has an id") as u64;
            *count += 1;
        }
    }
    sums.into_iter().map(|(name, (sum, count))| (name, sum * 1000 / count / capacity)).collect()
}

/// PMCTrack, Fig. 16: with whomever it runs, one application holds 65 to 95 % of the cache, and another little.
#[test]
fn figure_16_an_application_that_streams_holds_most_of_the_cache_and_one_that_works_in_blocks_little() {
    let scenario = scenario("figure-16");
    let mut all = BTreeMap::<String, Vec<u64>>::new();
    for mix in 1..=12 {
        let shares = shares(&variant(&scenario, &format!("mix{mix}"), Duration::from_millis(8)));
        println!("mix{mix}: {shares:?}");
        assert!(shares.values().sum::<u64>() <= 1000, "{shares:?}");
        shares.into_iter().for_each(|(name, share)| all.entry(name).or_default().push(share));
    }
    assert!(all["ilbdc"].iter().all(|share| *share < 200), "{all:?}");
    assert!(all["swim"].iter().all(|share| *share >= 500), "{all:?}");
}

/// PMCTrack, Fig. 17: what programs hold changes as they go through their phases.
#[test]
fn figure_17_what_programs_hold_changes_with_their_phases() {
    let scenario = scenario("figure-17");
    let experiment = Experiment { end: End::At(Duration::from_millis(40)), ..scenario.base };
    let (records, _) = run(&experiment);
    let of = |task: u32| {
        let held = |record: &Record| match record {
            Record::Sample(sample) if sample.subject == Subject::Task(TaskId(task)) => sample.virtuals[0],
            _ => None,
        };
        records.iter().filter_map(held).map(|held| held / 1024).collect::<Vec<i64>>()
    };
    for (task, name) in [(0, "first"), (1, "second"), (2, "parallel")] {
        let held = of(task);
        let every: Vec<i64> = held.iter().copied().step_by(4).collect();
        println!("{name}, KiB every 2 ms: {every:?}");
        let settled = &held[held.len() / 4..];
        let (least, most) = (settled.iter().min().expect("samples"), settled.iter().max().expect("samples"));
        assert!(most > least, "{name}: {held:?}");
    }
}
