//! Bounds against the kernel itself: no job of any task responds later than was proved, on the ideal machine and
//! on the simulated one, which charges kernel paths and makes SMT siblings slow each other down.
//!
//! `./x soak` looks on: `SOLO_PROVE_SETS` says how many seeds are drawn, `SOLO_FIRST_SEED` which is the first.

mod beside;
mod crossed;
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
use solo_prove::system::{Judged, Open, Proof, System, TaskFinding};
use solo_scenario::Platforms;
use std::ops::ControlFlow;
use std::path::Path;

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
    proofs_of(System::of(experiment).judge(&mut Effort::steps(1 << 24)))
}

fn proofs_of(judged: Judged) -> Vec<Option<Proof>> {
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

/// What the drawn scenarios of divided cores are made of, so that a generator that misses something is noticed.
#[derive(Default, Debug)]
struct Borders {
    proved: u64,
    /// Of tasks in windows.
    divided: u64,
    /// Of these, beside tasks in no partition of the same core; and beside such that use memory.
    beside_free: u64,
    beside_free_accesses: u64,
    /// And beside a task of another partition that uses memory.
    beside_accesses: u64,
    /// Tasks in windows without a bound because of a lock.
    locked: u64,
    /// And tasks in windows with one, beside a lock that somebody in no partition takes.
    beside_locks: u64,
    refused: u64,
}

impl Borders {
    fn add(&mut self, experiment: &Experiment, judged: &Judged) {
        use solo_model::work::Step;
        let partitions = experiment.isolation.partitions.clone().unwrap_or_default();
        let home = |task: usize| partitions.of(TaskId(task as u32));
        let divided = |task: usize| home(task).and_then(|home| partitions.core_of(home)).is_some();
        for (at, task) in judged.tasks.iter().enumerate() {
            let lock = matches!(task.outcome, TaskFinding::Open(Open::Lock { .. }));
            self.locked += u64::from(lock && divided(at));
            if !matches!(task.outcome, TaskFinding::Proved(_)) {
                continue;
            }
            self.proved += 1;
            if !divided(at) {
                continue;
            }
            self.divided += 1;
            let others = (0..judged.tasks.len()).filter(|&other| {
                home(other) != home(at) && experiment.tasks[other].core == experiment.tasks[at].core
            });
            let [free, other]: [Vec<&solo_model::Task>; 2] = [true, false].map(|free| {
                let of = others.clone().filter(|&other| home(other).is_none() == free);
                of.map(|other| &experiment.tasks[other]).collect()
            });
            let uses = |task: &&solo_model::Task| task.work.touches_memory();
            let takes = |task: &&solo_model::Task| {
                task.work.steps.iter().any(|step| matches!(step, Step::Acquire(_)))
            };
            self.beside_free += u64::from(!free.is_empty());
            self.beside_free_accesses += u64::from(free.iter().any(uses));
            self.beside_accesses += u64::from(other.iter().any(uses));
            self.beside_locks += u64::from(free.iter().any(takes));
        }
    }
}

/// One of the scenarios of divided cores: what crosses the border of a window once in ten times with accesses, three times without.
fn of_divided(seed: u64) -> Experiment {
    let crossed = |accesses: bool| {
        let text = crossed::scenario(seed, accesses);
        let found = solo_scenario::parse(&text, Path::new("crossed.toml"), &Platforms::builtin());
        found.unwrap_or_else(|why| panic!("seed {seed}: {:?}\n{text}", why.problems().first())).base
    };
    match seed % 30 {
        0 => crossed(true),
        3 | 5 | 8 | 13 | 15 | 18 | 23 | 25 | 28 => crossed(false),
        _ => draw::divided(seed),
    }
}

/// The same on cores whose time is divided among partitions. `./x soak windows` looks on.
#[test]
fn no_job_exceeds_its_bound_in_the_windows_of_its_partition() {
    let sets = sets(3000);
    let mut borders = Borders::default();
    for seed in seeds(sets) {
        let experiment = of_divided(seed);
        let judged = System::of(&experiment).judge(&mut Effort::steps(1 << 24));
        borders.add(&experiment, &judged);
        let proofs = proofs_of(judged);
        if proofs.iter().all(Option::is_none) {
            continue;
        }
        match simulated(&experiment, &proofs) {
            Ok(None) => {}
            Ok(Some(found)) => panic!("seed {seed}: {found}\n{}", told(&experiment)),
            Err(why) => {
                println!("seed {seed}: {why}");
                borders.refused += 1;
            }
        }
        let memory = experiment.tasks.iter().any(|task| task.work.touches_memory());
        if !memory && experiment.overheads == solo_model::overhead::OverheadTable::free() {
            let run = ideal::run(&experiment, &ideal::IdealOptions::default());
            let records = run.map(|run| run.records).unwrap_or_default();
            let found = records.iter().find_map(|record| against(&proofs, record));
            assert_eq!(found, None, "seed {seed}, on the ideal machine\n{}", told(&experiment));
        }
    }
    println!("{borders:?}");
    if sets >= 1000 {
        let Borders {
            divided, beside_free, beside_free_accesses, beside_accesses, locked, beside_locks, ..
        } = borders;
        assert!(borders.refused * 20 < sets && divided * 8 > sets && beside_free * 4 > sets, "{borders:?}");
        assert!(locked * 4 > sets && beside_locks * 50 > sets, "{borders:?}");
        assert!(beside_free_accesses * 100 > sets && beside_accesses * 100 > sets, "{borders:?}");
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
            let all = partitions.cycles().iter().flat_map(|cycle| &cycle.windows);
            let own = all.filter(|window| window.partition == home);
            own.map(|window| window.length).reduce(Duration::saturating_add)
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
