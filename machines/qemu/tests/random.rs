//! Random scenarios on bare metal: under the instruction clock and the settled clock every record is the ideal machine's, and every
//! decision and job that of the simulated machine on a platform whose caches cost nothing. Every second scenario draws lengths of
//! computations, which the ideal machine takes at their most: these are compared with the simulated machine only.
//!
//! `./x soak random` tries more than the seeds of every test run: `SOLO_RANDOM_SCENARIOS` of them from `SOLO_FIRST_SEED` on.

mod common;

use common::Test;
use libtest_mimic::Failed;
use solo_corpus::{ideal, ideal_platform};
use solo_model::experiment::End;
use solo_model::task::Release;
use solo_model::work::{Lock, LockProtocol, Span, Step, Work};
use solo_model::{
    CoreId, CoreSet, Criterion, Duration, Experiment, LockId, Policy, Record, Scope, Task, TaskClass,
};
use solo_qemu::{BootOptions, Clock, Image, Machine, Module};
use solo_sim::Observer;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Duration as HostDuration;

/// Scenarios of every test run, and those of one boot.
const SCENARIOS: u64 = 240;
const OF_A_BOOT: u64 = 40;

/// With this much to do in one boot, on a host that may be busy.
const PATIENCE: HostDuration = HostDuration::from_secs(300);

fn said(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn main() -> ExitCode {
    common::run_everywhere("random scenarios on bare metal", |_| {
        let test: Test = Box::new(decide_alike);
        vec![("random_scenarios_are_decided_as_on_the_ideal_and_the_simulated_machine".to_owned(), test)]
    })
}

/// Lehmer's generator.
struct Draw {
    state: u64,
    /// Lengths may be random ones.
    random: bool,
}

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % bound
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// A span of up to `most_us` microseconds: exact, or, where the generator has an odd seed, perhaps of random length.
fn span(draw: &mut Draw, most_us: u64) -> Span {
    let most = Duration::from_micros(1 + draw.below(most_us));
    if !draw.random || draw.one_in(2) {
        Span::exactly(most)
    } else {
        Span { least: Duration::new(1 + most.get() / 3), most }
    }
}

/// Computations, sleeps, and sections that do not overlap but nest.
fn work(draw: &mut Draw, locks: u64) -> Work {
    let mut steps = vec![Step::Compute(span(draw, 900))];
    for _ in 0..draw.below(4) {
        match draw.below(3) {
            0 => steps.push(Step::Sleep(span(draw, 700))),
            1 if locks > 0 => {
                let outer = LockId(draw.below(locks) as u16);
                steps.extend([Step::Acquire(outer), Step::Compute(span(draw, 400))]);
                let inner = LockId(draw.below(locks) as u16);
                if inner.0 > outer.0 {
                    steps.extend([
                        Step::Acquire(inner),
                        Step::Compute(span(draw, 200)),
                        Step::Release(inner),
                    ]);
                }
                steps.push(Step::Release(outer));
            }
            _ => steps.push(Step::Compute(span(draw, 600))),
        }
    }
    Work { steps }
}

/// How the cores are divided among queues.
fn scope(draw: &mut Draw, cores: u64) -> Scope {
    match draw.below(3) {
        0 => Scope::Partitioned,
        1 if cores > 1 => {
            let first = 1 + draw.below(cores - 1);
            let clusters = [(1 << first) - 1, ((1 << cores) - 1) & !((1 << first) - 1)];
            Scope::Clustered(clusters.map(CoreSet::from_bits).to_vec())
        }
        _ => Scope::Global,
    }
}

fn drawn(seed: u64) -> Experiment {
    let state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut draw = Draw { state, random: seed % 2 == 1 };
    let cores = draw.of(&[1, 1, 2, 2, 3, 4, 8]);
    let criterion =
        draw.of(&[Criterion::Edf, Criterion::Rm, Criterion::Dm, Criterion::StaticPriority, Criterion::Fcfs]);
    let policy = Policy::new(scope(&mut draw, cores), criterion);
    let locks = draw.below(3);
    let task = |index: u64, draw: &mut Draw| {
        let period = Duration::from_micros(1000 + 100 * draw.below(60));
        let offset = Duration::from_micros(if draw.one_in(2) { 0 } else { 50 * draw.below(40) });
        let class = draw.of(&[TaskClass::Hard, TaskClass::Soft, TaskClass::BestEffort]);
        Task {
            core: Some(CoreId(draw.below(cores) as u16)),
            priority: Some(draw.below(6) as u32),
            deadline: draw.one_in(2).then(|| Duration::from_micros(500 + 100 * draw.below(60))),
            work: work(draw, locks),
            ..Task::new(format!("t{index}"), class, Release::Periodic { offset, period })
        }
    };
    let count = 1 + draw.below(3 + 2 * cores);
    let tasks = (0..count).map(|index| task(index, &mut draw)).collect();
    let protocols = [
        LockProtocol::Plain,
        LockProtocol::Inheritance,
        LockProtocol::Ceiling,
        LockProtocol::Semaphore { units: 2 },
    ];
    let lock = |index, draw: &mut Draw| Lock { name: format!("L{index}"), protocol: draw.of(&protocols) };
    let locks = (0..locks).map(|index| lock(index, &mut draw)).collect();
    let end = End::At(Duration::from_micros(9000 + draw.below(4000)));
    Experiment {
        seed,
        locks,
        ..Experiment::new(&format!("random {seed}"), ideal_platform(cores as usize), policy, tasks, end)
    }
}

/// Keeps every record.
#[derive(Default)]
struct Keep(Vec<Record>);

impl Observer for Keep {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        self.0.push(record);
        ControlFlow::Continue(())
    }
}

/// Who got which core when, and which job was released, begun, done when, having executed for how long.
fn decisions(records: &[Record]) -> Vec<String> {
    let told = |record: &Record| match record {
        Record::Switch(switch) => Some(format!("{switch:?}")),
        Record::Job(job) => {
            Some(format!("{:?}", (job.task, job.job, job.release, job.start, job.finish, job.executed)))
        }
        _ => None,
    };
    records.iter().filter_map(told).collect()
}

/// The first place at which two lists differ, in words.
fn difference<T: PartialEq + std::fmt::Debug>(ours: &[T], theirs: &[T], whose: &str) -> Option<String> {
    let at = (0..ours.len().max(theirs.len())).find(|&at| ours.get(at) != theirs.get(at))?;
    Some(format!("{at} is {:?}, {whose} has {:?}", ours.get(at), theirs.get(at)))
}

fn decide_alike(image: &Image) -> Result<(), Failed> {
    let first = said("SOLO_FIRST_SEED").unwrap_or(0);
    let seeds: Vec<u64> = (first..first + said("SOLO_RANDOM_SCENARIOS").unwrap_or(SCENARIOS)).collect();
    let options = BootOptions { instruction_clock: true, clock: Clock::Settled, ..BootOptions::default() };
    let machine = Machine { limit: PATIENCE, ..Machine::of(image.instruction_set()) }.with_cores(8);
    let (mut failures, mut records, mut refused, mut simulated) = (String::new(), 0, 0, 0);
    for seeds in seeds.chunks(OF_A_BOOT as usize) {
        // What the kernel refuses (a lock across partitions that its protocol does not allow) it refuses everywhere.
        let known = seeds.iter().filter_map(|&seed| {
            let experiment = drawn(seed);
            match ideal::run(&experiment, &ideal::IdealOptions::default()) {
                Ok(run) => Some((seed, experiment, run.records)),
                Err(_) => {
                    refused += 1;
                    None
                }
            }
        });
        let known: Vec<_> = known.collect();
        let module = |experiment: &Experiment| Module { options, experiment: Some(experiment.clone()) };
        let modules: Vec<_> = known.iter().map(|(_, experiment, _)| module(experiment)).collect();
        let reports = machine.run_modules(image, &modules)?;
        for ((seed, experiment, ideal), report) in known.iter().zip(&reports) {
            records += report.records.len();
            // The ideal machine takes lengths at their most.
            let exact = seed % 2 == 0;
            if exact && let Some(wrong) = difference(&report.records, ideal, "the ideal machine") {
                failures += &format!("seed {seed}, {}: record {wrong}\n", experiment.policy);
            }
            let mut keep = Keep::default();
            solo_sim::run(experiment, &[], &mut keep).map_err(|error| format!("seed {seed}: {error}"))?;
            simulated += keep.0.len();
            let (ours, theirs) = (decisions(&report.records), decisions(&keep.0));
            if let Some(wrong) = difference(&ours, &theirs, "the simulated machine") {
                failures += &format!("seed {seed}, {}: decision {wrong}\n", experiment.policy);
            }
        }
    }
    let all = seeds.len();
    println!(
        "{all} random scenarios on {}: {records} records, {simulated} of the simulated machine; {refused} refused",
        image.instruction_set()
    );
    // Most scenarios run.
    assert!(refused * 4 < all.max(8), "{refused} of {all} refused");
    if failures.is_empty() { Ok(()) } else { Err(failures.into()) }
}
