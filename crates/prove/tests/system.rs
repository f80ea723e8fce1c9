//! Bounds against the kernel itself: no job of any task responds later than was proved, on the ideal machine and
//! on the simulated one, which charges kernel paths.

use proptest::prelude::*;
use solo_corpus::{ideal, ideal_platform};
use solo_model::experiment::End;
use solo_model::overhead::{Overhead, OverheadTable};
use solo_model::policy::{Criterion, Policy, Scope, Timing};
use solo_model::record::Record;
use solo_model::task::{Release, Task, TaskClass};
use solo_model::units::{Duration, PerMille};
use solo_model::work::{Lock, LockProtocol, Span, Step, Work};
use solo_model::{CoreId, CoreSet, Experiment, LockId};
use solo_prove::Budget;
use solo_prove::system::{Outcome, Overall, Proof, System, mends};
use std::ops::ControlFlow;

const CORES: usize = 4;

/// How many systems each property tries.
fn cases() -> u32 {
    std::env::var("SOLO_PROVE_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(150)
}

/// One drawn task: class, core, period, execution, offset, deadline and critical section as shares.
type Drawn = (u8, u16, u64, u64, u64, u64, u64);

fn task(index: usize, drawn: Drawn, unit: u64, locks: bool) -> Task {
    let (class, core, period, share, offset, deadline, section) = drawn;
    let c = (period * share / 100).max(1) * unit;
    let held = c * section / 10;
    let compute = |length| Step::Compute(Span::exactly(Duration::new(length)));
    let mut steps = vec![compute(c - held)];
    if locks && held > 0 {
        steps.extend([Step::Acquire(LockId(0)), compute(held), Step::Release(LockId(0))]);
    } else {
        steps.push(compute(held));
    }
    Task {
        name: format!("t{index}"),
        class: [TaskClass::Hard, TaskClass::Hard, TaskClass::Soft][usize::from(class)],
        release: Release::Periodic {
            offset: Duration::new(offset * unit),
            period: Duration::new(period * unit),
        },
        deadline: Some(Duration::new((period * deadline / 100).max(1) * unit)),
        wcet: None,
        priority: Some(u32::try_from(period).unwrap_or(0)),
        core: Some(CoreId(core)),
        work: Work { steps },
    }
}

fn experiment(
    tasks: Vec<Drawn>,
    scope: Scope,
    criterion: Criterion,
    timing: Timing,
    overheads: OverheadTable,
    unit: u64,
) -> Experiment {
    let partitioned = scope == Scope::Partitioned;
    // A lock is shared by the tasks of one core only.
    let locks = |task: &Drawn| partitioned && task.1 == 0;
    let tasks = tasks.iter().enumerate().map(|(i, &drawn)| task(i, drawn, unit, locks(&drawn)));
    let policy = Policy { scope, criterion, timing, quantum: None };
    let end = End::At(Duration::new(700 * unit));
    Experiment {
        overheads,
        locks: vec![Lock { name: "l".into(), protocol: LockProtocol::Ceiling }],
        sample_every: Duration::new(unit * 1000),
        ..Experiment::new("drawn", ideal_platform(CORES), policy, tasks.collect(), end)
    }
}

fn drawn(cores: u16) -> impl Strategy<Value = Vec<Drawn>> {
    let period = prop::sample::select(vec![5u64, 8, 10, 12, 15, 20, 25, 40, 60]);
    let one = (0u8..3, 0..cores, period, 3u64..55, 0u64..20, 60u64..=100, 0u64..8);
    prop::collection::vec(one, 1..10)
}

fn policies() -> impl Strategy<Value = (Scope, Criterion)> {
    let pairs = CoreSet::first(2);
    let rest = CoreSet::first(4).iter().filter(|core| !pairs.contains(*core)).collect::<Vec<_>>();
    let rest = rest.into_iter().fold(CoreSet::EMPTY, |set, core| set.or(CoreSet::only(core)));
    let scopes = vec![Scope::Partitioned, Scope::Clustered(vec![pairs, rest]), Scope::Global];
    let criteria = vec![Criterion::Edf, Criterion::Rm, Criterion::Dm, Criterion::StaticPriority];
    (prop::sample::select(scopes), prop::sample::select(criteria))
}

fn proofs(experiment: &Experiment) -> Vec<Option<Proof>> {
    let judged = System::of(experiment).judge(&mut Budget::default());
    let proof = |outcome: &Outcome| match outcome {
        Outcome::Proved(proof) => Some(proof.clone()),
        _ => None,
    };
    judged.tasks.iter().map(|task| proof(&task.outcome)).collect()
}

/// Holds each finished and unfinished job against the bounds.
fn hold(experiment: &Experiment, proofs: &[Option<Proof>], record: &Record) -> Result<(), TestCaseError> {
    let (task, response, executed) = match record {
        Record::Job(job) => (job.task, job.response(), job.executed),
        Record::Unfinished(job) => (job.task, job.at.since(job.release), job.executed),
        _ => return Ok(()),
    };
    if let Some(proof) = &proofs[task.index()] {
        let at_most = proof.bound;
        prop_assert!(response <= at_most, "task {task:?} took {response}, bound {at_most}: {experiment:#?}");
        prop_assert!(executed <= proof.occupied, "{task:?} executed {executed} of {}", proof.occupied);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn no_job_exceeds_its_bound_on_the_ideal_machine(
        tasks in drawn(CORES as u16), (scope, criterion) in policies(),
    ) {
        let experiment = experiment(tasks, scope, criterion, Timing::OneShot, OverheadTable::free(), 1);
        let proofs = proofs(&experiment);
        let run = ideal::run(&experiment, &ideal::Options::default()).expect("the kernel admits it");
        for record in &run.records {
            hold(&experiment, &proofs, record)?;
        }
    }

    /// Everything on one core, where tasks crowd.
    #[test]
    fn nor_on_one_crowded_core(
        tasks in drawn(1), criterion in prop::sample::select(vec![Criterion::Edf, Criterion::Rm, Criterion::Dm]),
    ) {
        let experiment =
            experiment(tasks, Scope::Partitioned, criterion, Timing::OneShot, OverheadTable::free(), 1);
        let proofs = proofs(&experiment);
        let run = ideal::run(&experiment, &ideal::Options::default()).expect("the kernel admits it");
        for record in &run.records {
            hold(&experiment, &proofs, record)?;
        }
    }
}

struct Holding<'a> {
    experiment: &'a Experiment,
    proofs: &'a [Option<Proof>],
    found: Result<(), TestCaseError>,
}

impl solo_sim::Observer for Holding<'_> {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        self.found = hold(self.experiment, self.proofs, &record);
        if self.found.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
    fn progress(&mut self, _: solo_model::Instant, _: PerMille) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases() / 3))]

    /// Kernel paths of up to a few per cent of the shortest period, one-shot timers and ticks.
    #[test]
    fn no_job_exceeds_its_bound_where_kernel_paths_cost_time(
        tasks in drawn(CORES as u16), (scope, criterion) in policies(),
        costs in prop::array::uniform6(0u64..4000), tick in 0u64..4,
    ) {
        let mut overheads = OverheadTable::free();
        for (row, cost) in costs.into_iter().enumerate() {
            if Overhead::ALL[row] != Overhead::CacheAffinity {
                overheads.steps[row] = vec![(0, Duration::new(cost))];
            }
        }
        let unit = 100_000;
        let timing = if tick == 0 { Timing::OneShot } else { Timing::Tick(Duration::new(tick * unit)) };
        let experiment = experiment(tasks, scope, criterion, timing, overheads, unit);
        let proofs = proofs(&experiment);
        let mut holding = Holding { experiment: &experiment, proofs: &proofs, found: Ok(()) };
        solo_sim::run(&experiment, &[], &mut holding).expect("the machine runs it");
        holding.found?;
    }
}

fn fixed(tasks: Vec<Drawn>, criterion: Criterion) -> Experiment {
    experiment(tasks, Scope::Partitioned, criterion, Timing::OneShot, OverheadTable::free(), 1)
}

/// Thesis 2.4.1.1: response times 2, 7 and 26 of tasks (2, 10), (5, 15), (10, 25); the third is late by one.
#[test]
fn the_thesis_example_is_explained_and_mended() {
    let with = |period, c| {
        let mut task = task(0, (0, 1, period, 50, 0, 100, 0), 1, false);
        task.work.steps = vec![Step::Compute(Span::exactly(Duration::new(c)))];
        task
    };
    let mut experiment = fixed(Vec::new(), Criterion::Rm);
    experiment.tasks = vec![with(10, 2), with(15, 5), with(25, 10)];
    let system = System::of(&experiment);
    let judged = system.judge(&mut Budget::default());
    assert_eq!(judged.overall(), Overall::NotProved);
    let Outcome::NotProved(gap) = &judged.tasks[2].outcome else { panic!("{:?}", judged.tasks[2]) };
    assert_eq!((gap.needs.get(), gap.has.get(), gap.exact), (26, 25, true));
    let changes = mends(&system, 2, &mut Budget::default());
    use solo_prove::system::Change::{Move, Period, Wcet};
    let ns = Duration::new;
    assert!(changes.contains(&Wcet { task: 2, from: ns(10), to: ns(9) }), "{changes:?}");
    assert!(changes.contains(&Period { task: 2, from: ns(25), to: ns(26) }), "{changes:?}");
    assert!(changes.iter().any(|change| matches!(change, Move { .. })), "{changes:?}");
}

/// What cannot be proved says why; a lock without protocol, an unknown execution time, LLF.
#[test]
fn what_stands_in_the_way_is_named() {
    use solo_prove::system::Open;
    let one = (0, 0, 10, 20, 0, 100, 5);
    let open = |experiment: &Experiment| {
        let judged = System::of(experiment).judge(&mut Budget::default());
        match &judged.tasks[0].outcome {
            Outcome::Open(open) => open.clone(),
            other => panic!("{other:?}"),
        }
    };
    let mut experiment = fixed(vec![one, (0, 0, 20, 20, 0, 100, 5)], Criterion::Rm);
    experiment.locks[0].protocol = LockProtocol::Plain;
    assert!(matches!(open(&experiment), Open::Lock { .. }));
    experiment.policy.criterion = Criterion::Llf;
    assert_eq!(open(&experiment), Open::Criterion(Criterion::Llf));
    let mut continuous = fixed(vec![one], Criterion::Rm);
    continuous.tasks[0].release = Release::Continuous { offset: Duration::ZERO };
    assert_eq!(open(&continuous), Open::NoPeriod(0));
}
