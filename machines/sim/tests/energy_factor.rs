//! Energy factors, measured by windows of equal instructions, and placements that go by them (PMCTrack 4.2.2).
//!
//! Programs are drawn: how many cycles they take on either kind, what they mispredict and what they read. Each runs alone on a big and on a
//! small core; six together run under assignments and placements.

mod common;

use common::{ms, run};
use solo_model::estimate::{Asymmetry, Factor, Model, Node, Side, Tree};
use solo_model::experiment::End;
use solo_model::listening::{Listening, MonitorKind, Reaction};
use solo_model::policy::{Criterion, Policy, Scope};
use solo_model::task::Release;
use solo_model::units::*;
use solo_model::work::{Buffer, Pattern, Step, Touch, Work};
use solo_model::{
    BufferId, Consumer, CoreId, EventId, EventSet, Execute, Experiment, Fixed, KindId, Phase, Platform,
    PowerDomain, Record, SplitMix64, Task, TaskClass,
};
use solo_observe::monitor;
use solo_scenario::Platforms;
use std::path::Path;
use std::sync::LazyLock;

const INSTRUCTIONS: u64 = 40_000_000;
/// A window: a tenth of a program. The paper's programs are hundreds of times as long, and so are its windows.
const WINDOW: u64 = 4_000_000;
const BIG: KindId = KindId(0);
const SMALL: KindId = KindId(1);

fn juno() -> Platform {
    Platforms::builtin().load("juno", Path::new("")).expect("it is sound")
}

/// One of 19 programs, as in the paper; each has two phases of half its instructions.
#[derive(Clone)]
struct Program {
    phases: Vec<(Phase, u64)>,
}

impl Program {
    /// One that reads no memory and stays in its first phase.
    fn plain(number: u64) -> Self {
        let mut program = Self::drawn(number);
        program.phases[0].1 = 0;
        program.phases[1] = program.phases[0].clone();
        program
    }

    fn drawn(number: u64) -> Self {
        let mut random = SplitMix64::new(0x5EC + number);
        let phase = |random: &mut SplitMix64, number: u32| {
            let big = 550 + random.below(900) as u32;
            let small = big * (1_050 + random.below(1_400) as u32) / 1_000;
            let branches = 20_000 + random.below(180_000) as u32;
            let branch_misses = branches / 1000 * random.below(70) as u32;
            // How a model tells phases apart: no two have as many branches.
            let branches = branches / 100 * 100 + number;
            let reads = [0, 0, 50, 400, 1_500][random.below(5) as usize];
            let phase = Phase { millicycles: vec![big, small], branches, branch_misses, ..Phase::default() };
            (phase, reads)
        };
        let number = number as u32 * 2;
        Self { phases: vec![phase(&mut random, number), phase(&mut random, number + 1)] }
    }

    fn task(&self, platform: &Platform, name: usize, core: CoreId) -> Task {
        let step = |(phase, reads): &(Phase, u64)| {
            let touch = Touch {
                pattern: Pattern::Random,
                buffer: BufferId(name as u32),
                // Reads among a million instructions.
                accesses: INSTRUCTIONS / 2 * reads / 1_000_000,
                stride: Bytes::new(64),
                writes: PerMille::default(),
                think: Duration::ZERO,
            };
            let touch = (*reads > 0).then_some(touch);
            Step::Execute(Execute::new(platform, INSTRUCTIONS / 2, phase.clone(), touch))
        };
        Task {
            core: Some(core),
            work: Work { steps: self.phases.iter().map(step).collect() },
            ..Task::new(
                format!("p{name}"),
                TaskClass::BestEffort,
                Release::Continuous { offset: Duration::ZERO },
            )
        }
    }
}

fn experiment(platform: &Platform, programs: &[Program], cores: &[u16], runs: u64) -> Experiment {
    let tasks = programs.iter().zip(cores).enumerate();
    let tasks = tasks.map(|(at, (program, core))| program.task(platform, at, CoreId(*core))).collect();
    let mut policy = Policy::new(Scope::Partitioned, Criterion::RoundRobin);
    policy.quantum = Some(ms(10));
    let buffers = (0..programs.len()).map(|at| Buffer { name: format!("b{at}"), size: Bytes::from_mib(16) });
    Experiment {
        buffers: buffers.collect(),
        sample_every: Duration::from_secs(1),
        ..Experiment::new("energy factor", platform.clone(), policy, tasks, End::Jobs(runs))
    }
}

/// What was used in a span of time.
#[derive(Clone, Copy, Debug)]
struct Used {
    joules: f64,
    seconds: f64,
    instructions: f64,
}

impl Used {
    /// Equation 5.
    fn product(&self) -> f64 {
        self.joules * self.seconds / self.instructions
    }

    /// Equation 4.
    fn by_speed(&self) -> f64 {
        self.joules / (self.instructions / self.seconds)
    }

    fn speed(&self) -> f64 {
        self.instructions / self.seconds
    }
}

/// Equation 3.
fn factor([big, small]: [Used; 2]) -> f64 {
    small.product() / big.product()
}

/// A program alone on a core, window by window, by the kernel's own readings of counters and meters.
fn windows(program: &Program, core: u16) -> Vec<Used> {
    let platform = juno();
    let mut alone = experiment(&platform, std::slice::from_ref(program), &[core], 2);
    let observed =
        monitor::observed(MonitorKind::EnergyDelay, None, "", &[], &platform.events).expect("it has a meter");
    let mut listening = Listening::new(observed, ms(100), Reaction::Windows);
    listening.settings = vec![WINDOW];
    alone.listening = Some(listening);
    let (records, _) = run(&alone);
    let used = records.iter().filter_map(|record| match record {
        Record::Energy(used) => Some(used),
        _ => None,
    });
    let window = used.filter_map(|used| match used.of {
        Consumer::Window { events, span, .. } => Some(Used {
            joules: used.dynamic.get() as f64 * 1e-15,
            seconds: span.get() as f64 * 1e-9,
            instructions: events.get() as f64,
        }),
        _ => None,
    });
    window.take((INSTRUCTIONS / WINDOW) as usize).collect()
}

/// The same of all of a program: what its jobs used. What the cluster shares, and its other cores, is spent wherever a program is.
fn whole(program: &Program, kind: KindId) -> Used {
    let (records, end) = alone(program, kind);
    Used { joules: of_jobs(&records, |_| true), ..measured(&records, end, |_| true) }
}

/// As the paper measures: all of its cluster, and the commands of memory (4.2.2).
fn by_meters(program: &Program, kind: KindId) -> Used {
    let (records, end) = alone(program, kind);
    measured(&records, end, |of| of == PowerDomain::Cluster(kind))
}

fn alone(program: &Program, kind: KindId) -> (Vec<Record>, u64) {
    let core = if kind == BIG { 0 } else { 2 };
    let (records, end) = run(&experiment(&juno(), std::slice::from_ref(program), &[core], 2));
    (records, end.end.get())
}

/// What jobs of some tasks used, in joules.
fn of_jobs(records: &[Record], tasks: impl Fn(u32) -> bool) -> f64 {
    let used = records.iter().filter_map(|record| match record {
        Record::Energy(part) => match part.of {
            Consumer::Job { task, .. } if tasks(task.0) => Some(part.total().get() as f64 * 1e-15),
            _ => None,
        },
        _ => None,
    });
    used.sum()
}

/// What clusters that count and memory's commands used, and all instructions.
fn measured(records: &[Record], end: u64, counts: impl Fn(PowerDomain) -> bool) -> Used {
    let mut used = Used { joules: 0.0, seconds: end as f64 * 1e-9, instructions: 0.0 };
    for record in records {
        match record {
            Record::Energy(part) => match part.of {
                Consumer::Domain(PowerDomain::Dram) => used.joules += part.dynamic.get() as f64 * 1e-15,
                Consumer::Domain(of) if counts(of) => used.joules += part.total().get() as f64 * 1e-15,
                _ => {}
            },
            Record::Sample(sample) if sample.core().is_some() => {
                used.instructions += sample.counts.get(EventId::INSTRUCTIONS).unwrap_or(0) as f64;
            }
            _ => {}
        }
    }
    used
}

/// A program, and what it is alone on a big and on a small core.
type Known = (Program, [Used; 2]);

/// All 19 programs.
static KNOWN: LazyLock<Vec<Known>> = LazyLock::new(|| (0..19).map(Program::drawn).map(known).collect());
/// Others without memory and phases: nobody is in anybody's way, and factors are constant. Their orders by speedup and by energy nearly agree,
/// so that it takes more of them to find workloads in which they don't.
static PLAIN: LazyLock<Vec<Known>> = LazyLock::new(|| (0..150).map(Program::plain).map(known).collect());

fn known(program: Program) -> Known {
    let both = [whole(&program, BIG), whole(&program, SMALL)];
    (program, both)
}

fn speedup([big, small]: [Used; 2]) -> f64 {
    big.speed() / small.speed()
}

/// Equation 3 by sums over the run, equation 7 by ratios, of whole programs and of windows: to 1e-9.
#[test]
fn both_ways_to_the_energy_factor_agree() {
    let mut compared = 0;
    let mut check = |both: [Used; 2]| {
        let [big, small] = both;
        assert!((big.product() / big.by_speed() - 1.0).abs() < 1e-9, "equations 4 and 5");
        let by_ratios = speedup(both) / (big.joules / small.joules);
        assert!((factor(both) / by_ratios - 1.0).abs() < 1e-9, "{} and {by_ratios}", factor(both));
        compared += 1;
    };
    KNOWN.iter().for_each(|(_, both)| check(*both));
    for (program, _) in &KNOWN[..6] {
        let (big, small) = (windows(program, 0), windows(program, 2));
        assert_eq!((big.len(), small.len()), (10, 10));
        big.into_iter().zip(small).for_each(|(big, small)| check([big, small]));
    }
    assert_eq!(compared, 79);
}

/// The kernel's windows come to what the machine's records of the whole run say, and tell the two phases apart.
#[test]
fn windows_tell_phases_apart() {
    let mut apart = 0;
    for (program, _) in &KNOWN[..6] {
        let factors: Vec<f64> = windows(program, 0)
            .into_iter()
            .zip(windows(program, 2))
            .map(|(big, small)| factor([big, small]))
            .collect();
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        let (first, second) = (mean(&factors[..4]), mean(&factors[6..]));
        let within = |part: &[f64], of: f64| part.iter().all(|factor| (factor / of - 1.0).abs() < 0.05);
        assert!(within(&factors[1..4], first) && within(&factors[6..9], second), "{factors:?}");
        apart += usize::from((first / second - 1.0).abs() > 0.1);
    }
    assert!(apart >= 3, "{apart}");
}

/// Six programs, the two of the greatest `key` on the big cores.
fn assigned(of: &[Known], programs: &[usize], key: impl Fn([Used; 2]) -> f64) -> Vec<u16> {
    let mut order: Vec<usize> = (0..programs.len()).collect();
    order.sort_by(|a, b| key(of[programs[*b]].1).total_cmp(&key(of[programs[*a]].1)));
    let mut cores = vec![0; programs.len()];
    order.into_iter().zip(0..).for_each(|(program, core)| cores[program] = core);
    cores
}

/// What became of a workload.
#[derive(Clone, Copy, Debug)]
struct Judged {
    /// Energy of all meters times time of the whole workload by all instructions (equation 5).
    whole: f64,
    /// The geometric mean of the programs' own products: what each used, times how long its runs took.
    own: f64,
    /// Aggregate speedup (equation 1).
    speedup: f64,
}

fn judged(of: &[Known], experiment: &Experiment, programs: &[usize]) -> Judged {
    let (records, end) = run(experiment);
    let used = measured(&records, end.end.get(), |_| true);
    let (mut logarithms, mut speedup) = (0.0, 0.0);
    for (at, program) in programs.iter().enumerate() {
        let runs = common::jobs(&records, at as u32);
        let times: f64 = runs.iter().map(|job| (job.response().get() as f64 * 1e-9).ln()).sum();
        let completion = (times / runs.len() as f64).exp();
        speedup += INSTRUCTIONS as f64 / of[*program].1[1].speed() / completion - 1.0;
        // The run that did not end is part of the energy, and of the instructions.
        let instructions = INSTRUCTIONS as f64 * end.end.get() as f64 * 1e-9 / completion;
        let joules = of_jobs(&records, |task| task == at as u32) / instructions;
        logarithms += (joules * completion).ln();
    }
    Judged { whole: used.product(), own: (logarithms / programs.len() as f64).exp(), speedup }
}

/// Six of the 19 programs, drawn until HSP and EF-driven map them differently.
fn workloads(of: &[Known], count: usize) -> Vec<Vec<usize>> {
    let mut random = SplitMix64::new(40);
    let mut found = Vec::new();
    for _ in 0..10_000 {
        let mut all: Vec<usize> = (0..of.len()).collect();
        let drawn: Vec<usize> =
            (0..6).map(|_| all.swap_remove(random.below(all.len() as u64) as usize)).collect();
        let on_big = |cores: Vec<u16>| cores.iter().map(|core| *core < 2).collect::<Vec<bool>>();
        if on_big(assigned(of, &drawn, speedup)) != on_big(assigned(of, &drawn, factor)) {
            found.push(drawn);
        }
        if found.len() == count {
            break;
        }
    }
    found
}

/// Workloads under the assignments by energy and by speedup factors: what each costs.
fn compared(of: &[Known], count: usize) -> Vec<(Judged, Judged)> {
    let platform = juno();
    let all = workloads(of, count);
    assert_eq!(all.len(), count, "the orders disagree in the set, else this says nothing");
    let pair = |programs: Vec<usize>| {
        let own: Vec<Program> = programs.iter().map(|program| of[*program].0.clone()).collect();
        let under = |cores: Vec<u16>| judged(of, &experiment(&platform, &own, &cores, 3), &programs);
        (under(assigned(of, &programs, factor)), under(assigned(of, &programs, speedup)))
    };
    all.into_iter().map(pair).collect()
}

/// 40 workloads of six, as in Fig. 12. The factors say who to put where so that the product of the programs' products is least, and it is,
/// where nobody is in anybody's way.
#[test]
fn by_energy_factors_never_costs_more_than_by_speedup_factors() {
    for (ef, hsp) in compared(&PLAIN, 40) {
        assert!(ef.own <= hsp.own * (1.0 + 1e-6), "{ef:?} by energy factors, {hsp:?} by speedup factors");
    }
}

/// Fig. 12 with memory and phases, told and not judged. Of the whole workload's product, which the paper measures, factors say nothing: a
/// workload ends with its longest program, wherever that is.
#[test]
fn figure_12() {
    let found = compared(&KNOWN, 40);
    let less = |what: &str, part: fn(&Judged) -> f64| {
        let mut less: Vec<f64> = found.iter().map(|(ef, hsp)| 100.0 * (1.0 - part(ef) / part(hsp))).collect();
        println!("{what}, the first ten: {:.1?}", &less[..10]);
        less.sort_by(f64::total_cmp);
        let mean = less.iter().sum::<f64>() / less.len() as f64;
        let above = less.iter().filter(|less| **less < 0.0).count();
        let (least, most, median) = (less[0], less[39], less[20]);
        println!(
            "{what}: less by {least:.1} to {most:.1} %, mean {mean:.1}, median {median:.1}; more in {above} of 40"
        );
        mean
    };
    let own = less("own energy times time", |found| found.own);
    less("all energy times time", |found| found.whole);
    let slower = less("aggregate speedup", |found| found.speedup);
    assert!(own > 0.0 && slower >= 0.0, "in the mean it spares what it is meant to spare, for some speed");
}

/// Figs. 10 and 11 and 14 as far as drawn programs have them: power of each cluster, factors, and factors over time.
#[test]
fn power_and_factors_of_the_programs() {
    let mut factors = Vec::new();
    for (number, (program, both)) in KNOWN.iter().enumerate() {
        let [big, small] = both.map(|used| used.joules / used.seconds * 1000.0);
        let meters = [by_meters(program, BIG), by_meters(program, SMALL)];
        println!(
            "program {number}: {big:.0} mW on big, {small:.0} mW on small, SF {:.2}, EF {:.2}, by meters {:.2}",
            speedup(*both),
            factor(*both),
            factor(meters)
        );
        assert!(big > small && speedup(*both) > 1.0, "{both:?}");
        factors.push(factor(*both));
    }
    let (program, _) = &KNOWN[0];
    let over_time: Vec<f64> = windows(program, 0)
        .into_iter()
        .zip(windows(program, 2))
        .map(|(big, small)| factor([big, small]))
        .collect();
    println!("energy factor of program 0, window by window: {over_time:.2?}");
    let (least, most) =
        (factors.iter().copied().fold(f64::MAX, f64::min), factors.iter().copied().fold(0.0, f64::max));
    assert!(most > 1.3 * least, "a wide diversity: {least} to {most}");
}

fn fixed(value: f64) -> Fixed {
    Fixed::parse(&format!("{value:.9}")).expect("a number")
}

/// Knows the factor of every phase by its branches; or its class, of halves.
fn model(of: &[Known], factors: Factor, programs: &[usize], classes: bool) -> Model {
    let platform = juno();
    let branches = platform.events.find("branches_retired").expect("it is of the platform");
    let mut known = Vec::new();
    for program in programs {
        for part in &of[*program].0.phases {
            let (_, both) = self::known(Program { phases: vec![part.clone(), part.clone()] });
            let value = if factors == Factor::Energy { factor(both) } else { speedup(both) };
            known.push((
                f64::from(part.0.branches) / 1000.0,
                if classes { (value * 2.0).floor() } else { value },
            ));
        }
    }
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    known.dedup();
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
        kind,
        sets: vec![EventSet::EMPTY.with(EventId::INSTRUCTIONS).with(branches)],
        metrics: vec!["1000 * branches_retired / instructions".into()],
        base: Fixed::ZERO,
        trees: vec![tree.clone()],
    };
    Model { factor: factors, sides: vec![side(BIG), side(SMALL)] }
}

/// Programs under a placement that is fed by a model; they begin in the order of their cores.
fn placed(of: &[Known], programs: &[usize], reaction: Reaction, model: Model) -> Judged {
    let platform = juno();
    let own: Vec<Program> = programs.iter().map(|program| of[*program].0.clone()).collect();
    let mut experiment = experiment(&platform, &own, &[0, 1, 2, 3, 4, 5], 3);
    let asymmetry = Asymmetry { big: BIG, small: SMALL, clock_ratio: 1294, model: Some(model) };
    let observed = monitor::observed_of_kinds(MonitorKind::Estimate, asymmetry, &platform.events)
        .expect("it can be observed");
    let mut listening = Listening::new(observed, ms(2), reaction);
    listening.settings = reaction.facts().settings.iter().map(|setting| setting.default).collect();
    experiment.listening = Some(listening);
    judged(of, &experiment, programs)
}

/// Where factors are constant the placements come to the assignments, but for the first period. HSP is fed by another metric through the
/// same interface. PRIM, whose classes don't say how good a change is, costs no less than the best.
#[test]
fn placements_come_to_the_assignments_where_factors_are_constant() {
    let all = workloads(&PLAIN, 6);
    assert_eq!(all.len(), 6);
    for programs in all {
        let own: Vec<Program> = programs.iter().map(|program| PLAIN[*program].0.clone()).collect();
        let under = |key: fn([Used; 2]) -> f64| {
            let cores = assigned(&PLAIN, &programs, key);
            judged(&PLAIN, &experiment(&juno(), &own, &cores, 3), &programs)
        };
        let (by_energy, by_speed) = (under(factor), under(speedup));
        let energy = model(&PLAIN, Factor::Energy, &programs, false);
        let near = |found: Judged, expected: Judged, what: &str| {
            let (own, speed) = (found.own / expected.own, found.speedup / expected.speedup);
            assert!(
                (own - 1.0).abs() < 0.02 && (speed - 1.0).abs() < 0.03,
                "{what}: {found:?}, {expected:?}"
            );
        };
        near(placed(&PLAIN, &programs, Reaction::EfDriven, energy.clone()), by_energy, "ef-driven");
        near(placed(&PLAIN, &programs, Reaction::EfStatic, energy), by_energy, "ef-static");
        let speeds = model(&PLAIN, Factor::Speedup, &programs, false);
        near(placed(&PLAIN, &programs, Reaction::Hsp, speeds), by_speed, "hsp");
        let rules = model(&PLAIN, Factor::Energy, &programs, true);
        let prim = placed(&PLAIN, &programs, Reaction::Prim, rules);
        assert!(prim.own >= by_energy.own * 0.999, "{prim:?}, {by_energy:?}");
    }
}

/// Placements on programs with phases and memory, told and not judged: the means of ten workloads by those of `ef-driven`.
#[test]
fn placements_where_phases_change() {
    let mut sums = [(0.0, 0.0, 0.0); 4];
    for programs in workloads(&KNOWN, 10) {
        let energy = model(&KNOWN, Factor::Energy, &programs, false);
        let runs = [
            placed(&KNOWN, &programs, Reaction::EfDriven, energy.clone()),
            placed(&KNOWN, &programs, Reaction::EfStatic, energy),
            placed(&KNOWN, &programs, Reaction::Prim, model(&KNOWN, Factor::Energy, &programs, true)),
            placed(&KNOWN, &programs, Reaction::Hsp, model(&KNOWN, Factor::Speedup, &programs, false)),
        ];
        for (sum, found) in sums.iter_mut().zip(&runs) {
            sum.0 += found.own / runs[0].own / 10.0;
            sum.1 += found.whole / runs[0].whole / 10.0;
            sum.2 += found.speedup / 10.0;
        }
    }
    for (name, (own, whole, speedup)) in ["ef-driven", "ef-static", "prim", "hsp"].into_iter().zip(sums) {
        println!("{name}: own energy times time {own:.3}, all {whole:.3}, aggregate speedup {speedup:.2}");
    }
    assert!(sums[0].2 >= sums[1].2, "who follows phases is not slower than who does not");
}
