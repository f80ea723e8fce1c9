//! Bounds against the kernel itself: no job of any task responds later than was proved, on the ideal machine and
//! on the simulated one, which charges kernel paths and makes SMT siblings slow each other down.
//!
//! `./x soak` looks on: `SOLO_PROVE_SETS` says how many seeds are drawn, `SOLO_FIRST_SEED` which is the first.

mod beside;
mod draw;
mod everything;
mod interference;
mod listening;
mod memory;
mod named;
mod sporadic;
mod tardiness;
mod unbounded;
mod uniform;

use solo_corpus::ideal;
use solo_model::listening::Reaction;
use solo_model::policy::Criterion;
use solo_model::record::Record;
use solo_model::units::{Duration, PerMille};
use solo_model::{Experiment, Instant, TaskId};
use solo_prove::Effort;
use solo_prove::system::{Proof, System, TaskFinding};
use std::ops::ControlFlow;

fn said(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// How many scenarios each property draws.
pub(crate) fn sets(unless_said: u64) -> u64 {
    said("SOLO_PROVE_SETS").unwrap_or(unless_said)
}

/// The seeds of the scenarios that a property draws.
pub(crate) fn seeds(sets: u64) -> std::ops::Range<u64> {
    let first = said("SOLO_FIRST_SEED").unwrap_or(0);
    first..first.saturating_add(sets)
}

pub(crate) fn proofs(experiment: &Experiment) -> Vec<Option<Proof>> {
    let judged = System::of(experiment).judge(&mut Effort::steps(1 << 24));
    let proof = |outcome: TaskFinding| match outcome {
        TaskFinding::Proved(proof) => Some(proof),
        _ => None,
    };
    judged.tasks.into_iter().map(|task| proof(task.outcome)).collect()
}

/// What a drawn experiment is, without its platform.
fn told(experiment: &Experiment) -> String {
    let Experiment { policy, overheads, tasks, locks, isolation, .. } = experiment;
    let tasks: Vec<String> = tasks.iter().map(|task| format!("{task:?}\n")).collect();
    format!("{policy:?}\n{overheads:?}\n{}{locks:?}\n{isolation:?}", tasks.concat())
}

/// What a record says against a proof.
pub(crate) fn against(proofs: &[Option<Proof>], record: &Record) -> Option<String> {
    let (task, response, executed) = match record {
        Record::Job(job) => (job.task, job.response(), job.executed),
        Record::Unfinished(job) => (job.task, job.at.since(job.release), job.executed),
        Record::Skipped(job) => (job.task, job.at.since(job.release), Duration::ZERO),
        _ => return None,
    };
    let proof = proofs[task.index()].as_ref()?;
    if response > proof.bound {
        return Some(format!("{task} took {} of {} ({})", response.get(), proof.bound.get(), proof.by));
    }
    (executed > proof.occupied)
        .then(|| format!("{task} executed for {} of {}", executed.get(), proof.occupied.get()))
}

pub(crate) struct Holding<'a> {
    pub(crate) proofs: &'a [Option<Proof>],
    pub(crate) found: Option<String>,
}

impl solo_sim::Observer for Holding<'_> {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        self.found = against(self.proofs, &record);
        if self.found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
    fn progress(&mut self, _: Instant, _: PerMille) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Runs on the simulated machine; what contradicts the proofs, or `None`. `Err` where the machine refuses it.
pub(crate) fn simulated(experiment: &Experiment, proofs: &[Option<Proof>]) -> Result<Option<String>, String> {
    let mut holding = Holding { proofs, found: None };
    solo_sim::run(experiment, &[], &mut holding).map_err(|refusal| refusal.to_string())?;
    Ok(holding.found)
}

/// What was drawn and proved, so that a test that proves nothing is noticed.
#[derive(Default, Debug)]
struct Tally {
    refused: u64,
    tasks: u64,
    proved: u64,
    sleeping: u64,
    locking: u64,
    criteria: [u64; 9],
    shared: u64,
}

impl Tally {
    fn add(&mut self, experiment: &Experiment, proofs: &[Option<Proof>]) {
        use solo_model::work::Step;
        let has = |steps: &[Step], test: fn(&Step) -> bool| steps.iter().any(test);
        for (task, _) in experiment.tasks.iter().zip(proofs).filter(|(_, proof)| proof.is_some()) {
            self.proved += 1;
            self.sleeping += u64::from(has(&task.work.steps, |step| matches!(step, Step::Sleep(_))));
            self.locking += u64::from(has(&task.work.steps, |step| matches!(step, Step::Acquire(_))));
            let criterion = Criterion::ALL.iter().position(|&other| other == experiment.policy.criterion);
            self.criteria[criterion.unwrap_or(0)] += 1;
            let shares = experiment
                .policy
                .domains(4)
                .iter()
                .any(|domain| domain.len() > 1 && task.core.is_some_and(|core| domain.contains(core)));
            self.shared += u64::from(shares);
        }
        self.tasks += experiment.tasks.len() as u64;
    }
}

/// All nine criteria under all scopes, ticks, sleep, locks of all protocols, semaphores, offsets, kernel paths, SMT
/// siblings, budgets: on the simulated machine, and those without kernel paths and siblings on the ideal one as well.
#[test]
fn no_job_exceeds_its_bound() {
    let mut tally = Tally::default();
    let sets = sets(2000);
    for seed in seeds(sets) {
        let experiment = draw::experiment(seed);
        let proofs = proofs(&experiment);
        if proofs.iter().all(Option::is_none) {
            continue;
        }
        tally.add(&experiment, &proofs);
        match simulated(&experiment, &proofs) {
            Ok(None) => {}
            Ok(Some(found)) => panic!("seed {seed}: {found}\n{}", told(&experiment)),
            Err(_) => tally.refused += 1,
        }
        let free = experiment.overheads == solo_model::overhead::OverheadTable::free();
        if free && experiment.isolation.is_off() {
            let run = ideal::run(&experiment, &ideal::IdealOptions::default());
            let records = run.map(|run| run.records).unwrap_or_default();
            let found = records.iter().find_map(|record| against(&proofs, record));
            assert_eq!(found, None, "seed {seed}, on the ideal machine\n{}", told(&experiment));
        }
    }
    println!("{tally:?}");
    // A few seeds that somebody looks at again prove nothing of the drawing.
    if sets < 1000 {
        return;
    }
    assert!(tally.refused * 20 < sets, "{tally:?}");
    assert!(tally.proved * 4 > sets && tally.shared * 50 > sets, "{tally:?}");
    assert!(tally.sleeping > 0 && tally.locking > 0, "{tally:?}");
    // Those that have an analysis: EDF, RM, DM, FP, AFFINITY.
    assert!([0, 1, 2, 7, 8].iter().all(|&criterion| tally.criteria[criterion] > 0), "{tally:?}");
}

/// The same on cores of several kinds, under all scopes: on slow cores computing takes longer, and each bound knows.
#[test]
fn no_job_exceeds_its_bound_on_cores_of_several_kinds() {
    let sets = sets(2000);
    let (mut proved, mut refused, mut mixed) = (0, 0, 0_u64);
    for seed in seeds(sets) {
        let experiment = draw::kinds(seed);
        let proofs = proofs(&experiment);
        if proofs.iter().all(Option::is_none) {
            continue;
        }
        proved += proofs.iter().flatten().count() as u64;
        mixed += u64::from(
            experiment.platform.cores.iter().any(|core| core.kind != experiment.platform.reference),
        );
        match simulated(&experiment, &proofs) {
            Ok(None) => {}
            Ok(Some(found)) => panic!("seed {seed}: {found}\n{}", told(&experiment)),
            Err(_) => refused += 1,
        }
        let free = experiment.overheads == solo_model::overhead::OverheadTable::free();
        if free && experiment.isolation.is_off() {
            let run = ideal::run(&experiment, &ideal::IdealOptions::default());
            let records = run.map(|run| run.records).unwrap_or_default();
            let found = records.iter().find_map(|record| against(&proofs, record));
            assert_eq!(found, None, "seed {seed}, on the ideal machine\n{}", told(&experiment));
        }
    }
    println!("{proved} proved, {refused} refused, {mixed} with cores of another speed than the reference");
    if sets >= 1000 {
        assert!(refused * 20 < sets && proved * 4 > sets && mixed * 8 > sets, "{proved} {refused} {mixed}");
    }
}

/// The same on cores whose time is divided among partitions.
#[test]
fn no_job_exceeds_its_bound_in_the_windows_of_its_partition() {
    let sets = sets(3000);
    let (mut proved, mut refused, mut divided) = (0, 0, 0);
    for seed in seeds(sets) {
        let experiment = draw::divided(seed);
        let proofs = proofs(&experiment);
        let partitions = experiment.isolation.partitions.clone().unwrap_or_default();
        let home = |task: usize| partitions.of(TaskId(task as u32)).and_then(|at| partitions.core_of(at));
        proved += proofs.iter().flatten().count() as u64;
        if proofs.iter().all(Option::is_none) {
            continue;
        }
        divided +=
            (0..proofs.len()).filter(|&task| proofs[task].is_some() && home(task).is_some()).count() as u64;
        match simulated(&experiment, &proofs) {
            Ok(None) => {}
            Ok(Some(found)) => panic!("seed {seed}: {found}\n{}", told(&experiment)),
            Err(why) => {
                println!("seed {seed}: {why}");
                refused += 1;
            }
        }
        if experiment.overheads == solo_model::overhead::OverheadTable::free() {
            let run = ideal::run(&experiment, &ideal::IdealOptions::default());
            let records = run.map(|run| run.records).unwrap_or_default();
            let found = records.iter().find_map(|record| against(&proofs, record));
            assert_eq!(found, None, "seed {seed}, on the ideal machine\n{}", told(&experiment));
        }
    }
    println!("{proved} proved, {divided} of them in windows, {refused} refused");
    if sets >= 1000 {
        assert!(refused * 20 < sets && divided * 8 > sets, "{divided} {refused}");
    }
}

/// The same where tasks are released with the windows of their partitions: a bound that counts no time between windows holds, and is
/// within the window.
#[test]
fn no_job_that_is_released_with_its_window_exceeds_its_bound() {
    let sets = sets(2000);
    let (mut proved, mut inside, mut refused, mut closest) = (0, 0, 0, 0);
    for seed in seeds(sets) {
        let experiment = draw::released_with_windows(seed);
        let proofs = proofs(&experiment);
        let partitions = experiment.isolation.partitions.clone().unwrap_or_default();
        let window = |task: usize| {
            let home = partitions.of(TaskId(task as u32))?;
            let mut all = partitions.cycles().iter().flat_map(|cycle| &cycle.windows);
            all.find(|window| window.partition == home).map(|window| window.length)
        };
        let within = |task: usize| {
            proofs[task]
                .as_ref()
                .is_some_and(|proof| window(task).is_some_and(|length| proof.bound <= length))
        };
        proved += proofs.iter().flatten().count() as u64;
        inside += (0..proofs.len()).filter(|&task| within(task)).count() as u64;
        match simulated(&experiment, &proofs) {
            Ok(None) => {}
            Ok(Some(found)) => panic!("seed {seed}: {found}\n{}", told(&experiment)),
            Err(why) => {
                println!("seed {seed}: {why}");
                refused += 1;
            }
        }
        if experiment.overheads == solo_model::overhead::OverheadTable::free() {
            let run = ideal::run(&experiment, &ideal::IdealOptions::default());
            let records = run.map(|run| run.records).unwrap_or_default();
            let found = records.iter().find_map(|record| against(&proofs, record));
            assert_eq!(found, None, "seed {seed}, on the ideal machine\n{}", told(&experiment));
            let share = |record: &Record| match record {
                Record::Job(job) => {
                    let bound = proofs[job.task.index()].as_ref().filter(|_| within(job.task.index()))?.bound;
                    Some(job.response().get() * 100 / bound.get().max(1))
                }
                _ => None,
            };
            closest = records.iter().filter_map(share).max().unwrap_or(0).max(closest);
        }
    }
    println!(
        "{proved} proved, {inside} within their windows, {refused} refused; the closest came to {closest} % of such a bound"
    );
    assert!(
        sets < 1000 || inside > sets && refused * 8 < sets && closest > 95,
        "{inside} {refused} {closest}"
    );
}

/// The same under schedulers that listen, of every action that takes no interrupt, to counts that are drawn: what they do to tasks of the classes named, and
/// what their looking costs, delays nobody beyond its bound.
#[test]
fn no_job_exceeds_its_bound_under_a_scheduler_that_listens() {
    let sets = sets(1200);
    let (mut proved, mut refused, mut delayed, mut acted) = (0, 0, 0_u64, [0_u64; Reaction::ALL.len()]);
    for seed in seeds(sets) {
        let experiment = draw::listening(seed);
        let proofs = proofs(&experiment);
        proved += proofs.iter().flatten().count() as u64;
        if proofs.iter().all(Option::is_none) {
            continue;
        }
        match simulated(&experiment, &proofs) {
            Ok(None) => {}
            Ok(Some(found)) => {
                panic!("seed {seed}: {found}\n{}\n{:?}", told(&experiment), experiment.listening)
            }
            Err(_) => refused += 1,
        }
        let Some(listening) = &experiment.listening else { continue };
        let place = Reaction::ALL.iter().position(|&known| known == listening.reaction);
        acted[place.unwrap_or(0)] += 1;
        let silent = Experiment { listening: None, ..experiment.clone() };
        let before = self::proofs(&silent);
        let bound =
            |proofs: &[Option<Proof>]| proofs.iter().flatten().map(|proof| proof.bound.get()).sum::<u64>();
        delayed += u64::from(bound(&before) != bound(&proofs));
    }
    println!("{proved} proved, {refused} refused, {delayed} with other bounds, by action {acted:?}");
    if sets < 1000 {
        return;
    }
    assert!(refused * 20 < sets && proved * 8 > sets && delayed * 20 > sets);
    // Under what touches others nothing is proved, and counts that are written down interrupt nobody.
    let proving = |reaction: Reaction| !reaction.facts().touches_others() && !reaction.facts().interrupts;
    let mut proved_under = Reaction::ALL.into_iter().zip(acted).filter(|(reaction, _)| proving(*reaction));
    assert!(proved_under.all(|(_, times)| times > 0), "{acted:?}");
}
