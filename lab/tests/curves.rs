//! Miss-rate curves that a scheduler measures while its tasks run, beside what a functional cache misses on the same accesses, and
//! what placements make of them.

use solo_model::isolation::{ColorOwner, Coloring, Fallback};
use solo_model::platform::{FramePolicy, Replacement};
use solo_model::{Bytes, Color, Experiment, Fixed, JobIndex, MissRateCurve, Record, TaskId};
use solo_sim::{Observer, SimulationEnd};
use solo_trace::{CacheSpec, Reference, Simulation};
use solo_workload::image::TraceKind;
use solo_workload::{AccessKind, Op, Program};
use std::ops::ControlFlow;
use std::path::Path;

/// The last level of the test's chip: 16 ways of 64 KiB.
const WAYS: u64 = 16;
const WAY: u64 = 64 * 1024;

/// A curve that falls in a line, one with a knee, and one that is level.
const TASKS: &str = r#"
[[task]]
name = "line"
class = "best-effort"
core = 0
release = "continuous"
work = [{ random = "1088KiB", stride = "64B", accesses = 4000 }]
[[task]]
name = "knee"
class = "best-effort"
core = 1
release = "continuous"
work = [{ repeat = 20, steps = [{ random = "256KiB", stride = "64B", accesses = 150 }, { ring = "2MiB", stride = "64B", accesses = 50 }] }]
[[task]]
name = "level"
class = "best-effort"
core = 2
release = "continuous"
work = [{ ring = "4MiB", stride = "64B", accesses = 4000 }]
"#;

fn experiment(monitor: &str, tasks: &str, duration_ms: u64) -> Experiment {
    let text = format!(
        "name = \"curves\"\nplatform = \"xeon-e5-2695v3\"\nduration = \"{duration_ms}ms\"\nsample = \"1ms\"\n\
         [scheduler]\npolicy = \"P-RM\"\n[scheduler.monitor]\nclasses = [\"best-effort\"]\n{monitor}\n{tasks}"
    );
    let scenario = solo_scenario::parse(&text, Path::new("t.toml"), &solo_scenario::Platforms::builtin());
    let mut experiment = scenario.unwrap_or_else(|report| panic!("{report}")).base;
    let platform = &mut experiment.platform;
    platform.frames = FramePolicy::Sequential;
    for cache in &mut platform.caches {
        cache.replacement = Replacement::Lru;
        match cache.level {
            1 => cache.size = Bytes::new(4 * 1024),
            2 => cache.size = Bytes::new(32 * 1024),
            _ => (cache.size, cache.ways, cache.hashed_slices) = (Bytes::new(WAYS * WAY), WAYS as u16, 1),
        }
    }
    let listening = experiment.listening.as_mut().expect("it listens");
    listening.observed.capacity = Bytes::new(WAYS * WAY);
    experiment
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

/// The accesses of so many jobs of a task, as references, and the instructions of each.
fn references(experiment: &Experiment, task: usize, jobs: u64) -> Vec<(Reference, u64)> {
    let (work, line) = (&experiment.tasks[task].work, experiment.platform.line());
    let id = TaskId(task as u32);
    let mut program =
        Program::new(work, id, &experiment.buffers, line, experiment.seed, &[]).expect("it is a program");
    let mut references = Vec::new();
    for job in 0..jobs {
        program.begin_job(JobIndex(job));
        while let Some(op) = program.next() {
            let Op::Access(access) = op else { panic!("only accesses: {op:?}") };
            let kind = if access.kind == AccessKind::Write { TraceKind::Write } else { TraceKind::Read };
            // Buffers lie far apart.
            let address = (u64::from(access.buffer.0) << 32) + access.offset.get();
            let reference = Reference { address, size: 1, kind, core: solo_model::CoreId(0) };
            references.push((reference, u64::from(access.instructions)));
        }
    }
    references
}

/// Misses of the last level in 1,000 instructions with 1 to all ways, as `solo trace cache` counts them.
fn truth(experiment: &Experiment, task: usize) -> Vec<f64> {
    let references = references(experiment, task, 60);
    let warm = references.len() / 3;
    let instructions: u64 = references[warm..].iter().map(|(_, instructions)| instructions).sum();
    let misses = |ways: u64, count: usize| {
        let text = format!("H=4K:8:64:lru+32K:8:64:lru+{}K:{ways}:64:lru", ways * WAY / 1024);
        let spec: CacheSpec = text.parse().expect("a cache");
        let mut simulation = Simulation::new(&spec);
        references[..count].iter().for_each(|(reference, _)| simulation.refer(reference));
        simulation.into_counts().last().expect("three levels").misses
    };
    let rate =
        |ways| (misses(ways, references.len()) - misses(ways, warm)) as f64 * 1000.0 / instructions as f64;
    (1..=WAYS).map(rate).collect()
}

fn number(fixed: Fixed) -> f64 {
    fixed.units() as f64 / 1e12
}

/// The mean difference to the truth between 10 and 90 % of the cache, as a share of the truth's greatest value there; by way.
fn error(curve: &MissRateCurve, truth: &[f64]) -> f64 {
    let ranges = MissRateCurve::BINS as u64 / WAYS;
    let (low, high) = (WAYS.div_ceil(10), WAYS * 9 / 10);
    let at = |ways: u64| number(curve.points[(ways * ranges) as usize]);
    let differences = (low..=high).map(|ways| (at(ways) - truth[ways as usize - 1]).abs());
    let greatest = truth[low as usize - 1];
    differences.sum::<f64>() / (high - low + 1) as f64 / greatest
}

fn show(name: &str, curve: &MissRateCurve, truth: &[f64]) {
    let ranges = MissRateCurve::BINS / WAYS as usize;
    let points: Vec<String> =
        (1..=WAYS as usize).map(|ways| format!("{:.1}", number(curve.points[ways * ranges]))).collect();
    let truth: Vec<String> = truth.iter().map(|rate| format!("{rate:.1}")).collect();
    println!(
        "{name}: {} of {} sizes\n  online {}\n  truth  {}",
        curve.covered(3),
        curve.bins.len(),
        points.join(" "),
        truth.join(" ")
    );
}

const CURVES: &str = "monitor = \"miss-rate-curve\"\nperiod = \"250us\"\n";

/// PMCTrack 4.3.1: duty cycles move the equilibrium, so that curves come out at sizes that it does not reach by itself.
#[test]
fn duty_cycles_give_curves_near_the_truth_at_sizes_that_the_equilibrium_does_not_reach() {
    let with = experiment(&format!("{CURVES}action = \"duty-cycle\"\nsettle = 24"), TASKS, 450);
    let without = experiment(&format!("{CURVES}action = \"report\"\nthreshold = 0"), TASKS, 150);
    let ((_, with_end), (_, without_end)) = (run(&with), run(&without));
    for (task, name) in ["line", "knee", "level"].into_iter().enumerate() {
        let truth = truth(&with, task);
        let (moved, still) = (&with_end.curves[task], &without_end.curves[task]);
        show(&format!("{name}, duty cycles"), moved, &truth);
        show(&format!("{name}, equilibrium"), still, &truth);
        let (moved_error, still_error) = (error(moved, &truth), error(still, &truth));
        println!(
            "  mean error {:.2} %, at the equilibrium {:.2} %",
            moved_error * 100.0,
            still_error * 100.0
        );
        assert!(moved_error <= 0.05, "{name}");
        assert!(still.covered(3) < moved.covered(3), "{name}");
    }
}

/// The use of cache allocation that PMCTrack plans: a sweep through the ways gives points at all sizes.
#[test]
fn a_sweep_through_the_ways_gives_curves_near_the_truth() {
    let experiment = experiment(&format!("{CURVES}action = \"way-sweep\"\nsettle = 12"), TASKS, 300);
    let (_, end) = run(&experiment);
    for (task, name) in ["line", "knee", "level"].into_iter().enumerate() {
        let (truth, curve) = (truth(&experiment, task), &end.curves[task]);
        show(&format!("{name}, ways"), curve, &truth);
        let error = error(curve, &truth);
        println!("  mean error {:.2} %", error * 100.0);
        assert!(error <= 0.05, "{name}");
    }
}

/// So many of the 16 colors for the first of two tasks, the others for the second.
fn colored(own: u64) -> Coloring {
    let owner = |task, colors: std::ops::Range<u64>| {
        let colors = colors.map(|color| Color(color as u16)).collect();
        ColorOwner { task: TaskId(task), colors, banks: Vec::new() }
    };
    Coloring {
        groups: 0,
        kernel: None,
        owners: vec![owner(0, 0..own), owner(1, own..WAYS)],
        fallback: Fallback::default(),
        shared: true,
        kernel_data: None,
        heaps: solo_model::isolation::Heaps::default(),
    }
}

/// A part of the cache for each of two tasks by colors, run by run: the same curve once more.
#[test]
fn colors_give_the_same_curve_size_by_size() {
    let mut truth_of = None;
    let mut worst: f64 = 0.0;
    for own in [2_u64, 4, 8, 12, 14] {
        let tasks = TASKS.split("[[task]]\nname = \"level\"").next().expect("two tasks");
        let monitor = format!("{CURVES}action = \"report\"\nthreshold = 0");
        // Colors are those of the chip that the test makes, which the file does not know.
        let mut experiment = experiment(&monitor, tasks, 60);
        experiment.isolation.memory = Some(colored(own));
        let truth = truth_of.get_or_insert_with(|| truth(&experiment, 0));
        let (_, end) = run(&experiment);
        let bins = &end.curves[0].bins;
        let (misses, instructions) =
            bins.iter().fold((0, 0), |sum, bin| (sum.0 + bin.misses, sum.1 + bin.instructions));
        let rate = misses as f64 * 1000.0 / instructions as f64;
        println!("{own} of 16 colors: {rate:.1}, truth {:.1}", truth[own as usize - 1]);
        worst = worst.max((rate - truth[own as usize - 1]).abs() / truth[0]);
    }
    assert!(worst <= 0.05, "{worst}");
}
