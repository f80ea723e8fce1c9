//! Runs a workload under schedulers, and each of its programs alone.

use crate::programs::Program;
use solo_model::estimate::{Asymmetry, Factor, Model, Node, Side, Tree};
use solo_model::listening::{Listening, MonitorKind, Reaction};
use solo_model::{CoreId, Duration, EventId, EventSet, Experiment, Fixed, KindId, Platform, Record};
use solo_observe::monitor;
use solo_scenario::Platforms;
use std::ops::ControlFlow;
use std::path::Path;

/// What a scheduler came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judged {
    /// Aggregate speedup over small cores (equation 1).
    pub(crate) speedup: f64,
    /// The greatest slowdown by the least (equation 2).
    pub(crate) unfairness: f64,
}

/// By application, the sum of the logarithms of the times that its runs took, and how many.
struct Times {
    leaders: Vec<u32>,
    found: Vec<(f64, f64)>,
}

impl solo_sim::Observer for Times {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        if let Record::Job(job) = &record
            && let Some(at) = self.leaders.iter().position(|leader| *leader == job.task.0)
        {
            let (sum, runs) = &mut self.found[at];
            *sum += (job.response().get() as f64).ln();
            *runs += 1.0;
        }
        ControlFlow::Continue(())
    }
}

fn times(experiment: &Experiment) -> Vec<f64> {
    let leaders: Vec<u32> =
        experiment.applications.iter().map(|application| application.threads[0].0).collect();
    let found = vec![(0.0, 0.0); leaders.len()];
    let mut times = Times { leaders, found };
    solo_sim::run(experiment, &[], &mut times).expect("it runs");
    times.found.into_iter().map(|(sum, runs)| (sum / runs).exp()).collect()
}

/// Each scheduler on the same programs.
pub(crate) fn judge(
    platform: &str,
    programs: &[Program],
    schedulers: &[(Reaction, MonitorKind)],
) -> Vec<Judged> {
    let chip = Platforms::builtin().load(platform, Path::new("")).expect("it is sound");
    let mut text = format!(
        "name = \"mix\"\nplatform = \"{platform}\"\njobs = 3\nsample = \"10s\"\n[scheduler]\npolicy = \"P-RR\"\nquantum = \"50ms\"\n"
    );
    let mut first = 0;
    for program in programs {
        text.push_str(&program.written(&chip, first));
        first += program.threads;
    }
    let scenario = solo_scenario::parse(&text, Path::new("mix.toml"), &Platforms::builtin());
    let base = scenario.unwrap_or_else(|report| panic!("{report}")).base;
    let big = chip.big_cores();
    let small: Vec<CoreId> = chip.core_set().iter().filter(|core| !big.contains(*core)).collect();
    let all: Vec<CoreId> = big.iter().chain(small.iter().copied()).collect();
    let alone = |cores: &[CoreId]| -> Vec<f64> {
        (0..programs.len()).map(|which| times(&one(&base, which, cores))[0]).collect()
    };
    let (slow, fast) = (alone(&small), alone(&all));
    let of = |&(reaction, kind): &(Reaction, MonitorKind)| {
        let experiment =
            Experiment { listening: Some(listening(reaction, kind, &chip, programs)), ..base.clone() };
        let found = times(&experiment);
        let gains = found.iter().zip(&slow).map(|(time, slow)| slow / time - 1.0);
        let slowdowns = || found.iter().zip(&fast).map(|(time, fast)| time / fast);
        let (most, least) = (slowdowns().fold(f64::MIN, f64::max), slowdowns().fold(f64::MAX, f64::min));
        Judged { speedup: gains.sum(), unfairness: most / least }
    };
    schedulers.iter().map(of).collect()
}

/// A program alone, its threads on these cores.
fn one(base: &Experiment, which: usize, cores: &[CoreId]) -> Experiment {
    let mut alone = base.clone();
    let names: Vec<String> = base.applications[which]
        .threads
        .iter()
        .map(|thread| base.tasks[thread.index()].name.clone())
        .collect();
    alone.retain_tasks(|task| names.contains(&task.name));
    for (task, core) in alone.tasks.iter_mut().zip(cores.iter().cycle()) {
        task.core = Some(*core);
    }
    alone
}

/// A model that knows every phase by its branches, the same on both kinds of cores; it is as good as a model can be.
fn model(chip: &Platform, programs: &[Program]) -> Model {
    let branches = chip.events.find("branches_retired").expect("it is of the platform");
    let clocks = chip.kinds[0].clock.get() as f64 / chip.kinds[1].clock.get() as f64;
    let mut known: Vec<(f64, f64)> = programs
        .iter()
        .flat_map(|program| program.phases(chip))
        .map(|phase| {
            let cycles = phase.cycles.map(f64::from);
            (f64::from(phase.branches), cycles[1] / cycles[0] * clocks)
        })
        .collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let fixed = |value: f64| Fixed::parse(&format!("{value:.9}")).expect("a number");
    let mut nodes = Vec::new();
    for pair in known.windows(2) {
        let at = nodes.len() as u16;
        let at_most = fixed(f64::midpoint(pair[0].0, pair[1].0));
        nodes.push(Node::Split { metric: 0, at_most, low: at + 1, high: at + 2 });
        nodes.push(Node::Leaf(fixed(pair[0].1)));
    }
    nodes.push(Node::Leaf(fixed(known.last().expect("a program").1)));
    let tree = Tree::new(nodes, 1).expect("a tree");
    let side = |kind| Side {
        kind: KindId(kind),
        sets: vec![EventSet::EMPTY.with(EventId::INSTRUCTIONS).with(branches)],
        metrics: vec!["1000 * branches_retired / instructions".into()],
        base: Fixed::ZERO,
        trees: vec![tree.clone()],
    };
    Model { factor: Factor::Speedup, sides: vec![side(0), side(1)] }
}

fn listening(reaction: Reaction, kind: MonitorKind, chip: &Platform, programs: &[Program]) -> Listening {
    let clock_ratio = (chip.kinds[0].clock.get() * 1000 / chip.kinds[1].clock.get()) as u32;
    let model = (kind == MonitorKind::Estimate).then(|| model(chip, programs));
    let asymmetry = Asymmetry { big: KindId(0), small: KindId(1), clock_ratio, model };
    let observed = monitor::observed_of_kinds(kind, asymmetry, &chip.events).expect("it can be observed");
    Listening::new(observed, Duration::from_millis(200), reaction)
}
