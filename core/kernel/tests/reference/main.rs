//! The kernel beside a scheduler written from the definitions: drawn sets with critical sections of all protocols and sleeps, under
//! P-, C- and G- with FP and EDF. Every job has to begin, end and execute alike, to the tick.
//!
//! `./x soak` tries more than the seeds of every test run: `SOLO_REFERENCE_SETS` of them from `SOLO_FIRST_SEED` on.

#[path = "../common/mod.rs"]
mod common;
mod draw;
mod machine;

use common::{experiment, policy, task};
use draw::drawn;
use machine::{Does, Finished, Protocol, Set, run};
use solo_corpus::ideal::{IdealOptions, run as ideal};
use solo_model::policy::Scope;
use solo_model::task::Release;
use solo_model::work::{Lock, LockProtocol, Span, Step, Work};
use solo_model::{CoreId, CoreSet, Criterion, Duration, Experiment, Instant, LockId, Record, TaskClass};

/// Sets of every test run.
const SETS: u64 = 6000;

fn said(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn ticks(n: u64) -> Duration {
    Duration::from_micros(n)
}

/// The same set for the kernel.
fn told(set: &Set) -> Experiment {
    let criterion = if set.earliest_deadline { Criterion::Edf } else { Criterion::StaticPriority };
    let cores: usize = set.domains.iter().sum();
    let first = |domain: usize| set.domains[..domain].iter().sum::<usize>();
    let cluster = |(domain, &cores): (usize, &usize)| CoreSet::from_bits(((1 << cores) - 1) << first(domain));
    let scope = match set.domains.as_slice() {
        [_] => Scope::Global,
        domains if domains.iter().all(|&cores| cores == 1) => Scope::Partitioned,
        domains => Scope::Clustered(domains.iter().enumerate().map(cluster).collect()),
    };
    let step = |does: &Does| match *does {
        Does::Compute(length) => Step::Compute(Span::exactly(ticks(length))),
        Does::Sleep(length) => Step::Sleep(Span::exactly(ticks(length))),
        Does::Take(lock) => Step::Acquire(LockId(lock as u16)),
        Does::Give(lock) => Step::Release(LockId(lock as u16)),
    };
    let tasks = set.tasks.iter().enumerate().map(|(index, of)| {
        let mut task = task(index, 1, 1);
        task.class = [TaskClass::Hard, TaskClass::Soft, TaskClass::BestEffort][usize::from(of.class)];
        task.release = Release::Periodic { offset: ticks(of.offset), period: ticks(of.period) };
        task.deadline = Some(ticks(of.deadline));
        task.wcet = None;
        task.priority = Some(of.priority as u32);
        task.core = Some(CoreId(first(of.domain) as u16));
        task.work = Work { steps: of.does.iter().map(step).collect() };
        task
    });
    let mut told = experiment(cores, policy(scope, criterion), tasks.collect(), 1);
    told.end = solo_model::experiment::End::At(ticks(set.horizon));
    let lock = |(index, protocol): (usize, &Protocol)| Lock {
        name: format!("L{index}"),
        protocol: match *protocol {
            Protocol::Semaphore(units) => LockProtocol::Semaphore { units },
            Protocol::Plain => LockProtocol::Plain,
            Protocol::Inheritance => LockProtocol::Inheritance,
            Protocol::Ceiling => LockProtocol::Ceiling,
        },
    };
    told.locks = set.locks.iter().enumerate().map(lock).collect();
    told
}

/// The jobs that the kernel finishes before the horizon.
fn kept(set: &Set) -> Vec<Finished> {
    let records = ideal(&told(set), &IdealOptions::default()).expect("it runs").records;
    let at = |instant: Instant| instant.get() / 1000;
    let mut jobs: Vec<Finished> = records
        .iter()
        .filter_map(|record| match record {
            Record::Job(job) => Some((
                job.task.index(),
                job.job.0,
                at(job.release),
                at(job.start),
                at(job.finish),
                at(job.deadline.expect("each has one")),
                job.executed.get() / 1000,
            )),
            _ => None,
        })
        .collect();
    jobs.sort_unstable();
    jobs
}

/// A job may get a core and lose it at one instant: by the kernel's word it has begun, by the definitions it has not run yet.
fn alike(expected: &Finished, found: &Finished) -> bool {
    let (mut known, begun) = (*found, found.3 <= expected.3);
    known.3 = expected.3;
    begun && known == *expected
}

#[test]
fn the_kernel_does_what_the_definitions_say() {
    let first = said("SOLO_FIRST_SEED").unwrap_or(0);
    let sets = said("SOLO_REFERENCE_SETS").unwrap_or(SETS);
    let (mut compared, mut jobs, mut open) = ([[0_u64; 3]; 2], 0, 0);
    for seed in first..first + sets {
        let set = drawn(seed);
        let Ok(expected) = run(&set) else {
            open += 1;
            continue;
        };
        let found = kept(&set);
        if let Some(wrong) = expected.iter().zip(&found).find(|(expected, found)| !alike(expected, found)) {
            panic!(
                "seed {seed}: (task, job, release, start, end, deadline, executed) is {:?} by the definitions, {:?} by the \
                 kernel\n{set:#?}\n{expected:?}\n{found:?}",
                wrong.0, wrong.1
            );
        }
        assert_eq!(expected.len(), found.len(), "seed {seed}\n{set:#?}\n{expected:?}\n{found:?}");
        jobs += found.len() as u64;
        let scope = match set.domains.as_slice() {
            [_] => 2,
            domains if domains.iter().all(|&cores| cores == 1) => 0,
            _ => 1,
        };
        compared[usize::from(set.earliest_deadline)][scope] += 1;
    }
    println!(
        "{jobs} jobs of {compared:?} sets (FP, EDF; P, C, G) agree; {open} sets are left open by the definitions"
    );
    // Most sets have an answer, and no policy is left out.
    assert!(open * 2 < sets.max(100), "{open} of {sets} sets are left open");
    assert!(sets < 1000 || compared.iter().flatten().all(|&count| count > sets / 60), "{compared:?}");
}
