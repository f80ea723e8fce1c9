//! Threads whose work is code elsewhere: bodies that ask for what steps say are recorded as the steps are, and what only bodies can do.
#![allow(missing_docs)]

mod common;

use common::{Keep, compute, experiment, jobs, ms, periodic, run};
use proptest::prelude::*;
use solo_model::experiment::{End, Experiment};
use solo_model::record::SwitchReason;
use solo_model::task::{Release, Task};
use solo_model::work::{Lock, LockProtocol, Span, Step};
use solo_model::{Criterion, Duration, Instant, JobIndex, LockId, Policy, Record, Scope, TaskId};
use solo_sim::{RemoteBody, Request, SimError, SimulationEnd, Stop, run_bodies};
use solo_workload::{Op, Program};

/// A body that asks for what the steps of its task say.
struct Player {
    program: Program,
    job: u64,
    begun: bool,
}

impl RemoteBody for Player {
    fn next(&mut self, _: Instant) -> Request {
        if !self.begun {
            self.begun = true;
            self.program.begin_job(JobIndex(self.job));
        }
        match self.program.next() {
            Some(Op::Compute(length)) => Request::Compute(length),
            Some(Op::Acquire(lock)) => Request::Acquire(lock),
            Some(Op::Release(lock)) => Request::Release(lock),
            Some(Op::Sleep(length)) => Request::Sleep(length),
            Some(other) => panic!("{other:?} is nothing that a body asks for"),
            None => {
                (self.job, self.begun) = (self.job + 1, false);
                Request::WaitNext
            }
        }
    }
}

fn players(experiment: &Experiment) -> Vec<Box<dyn RemoteBody>> {
    let line = experiment.platform.line();
    let player = |(index, task): (usize, &Task)| -> Box<dyn RemoteBody> {
        let id = TaskId(index as u32);
        let program = Program::new(&task.work, id, &experiment.buffers, line, experiment.seed, &[]).unwrap();
        Box::new(Player { program, job: 0, begun: false })
    };
    experiment.tasks.iter().enumerate().map(player).collect()
}

fn run_of<'b>(
    experiment: &Experiment,
    bodies: Vec<Box<dyn RemoteBody + 'b>>,
) -> Result<(Vec<Record>, SimulationEnd), SimError> {
    let mut keep = Keep::default();
    let end = run_bodies(experiment, bodies, &mut keep)?;
    Ok((keep.0, end))
}

/// What a job does that a body can ask for.
fn is_askable(experiment: &Experiment) -> bool {
    let askable =
        |step: &Step| matches!(step, Step::Compute(_) | Step::Acquire(_) | Step::Release(_) | Step::Sleep(_));
    experiment.buffers.is_empty() && experiment.tasks.iter().all(|task| task.work.steps.iter().all(askable))
}

#[test]
fn bodies_that_ask_for_what_steps_say_are_recorded_as_the_steps_are() {
    let cases = solo_corpus::load_folder(&solo_corpus::folder()).unwrap_or_else(|error| panic!("{error}"));
    let mut compared = 0;
    for case in &cases {
        let experiment = case.experiment();
        if !is_askable(&experiment) {
            continue;
        }
        let expected = run(&experiment);
        let found = run_of(&experiment, players(&experiment)).unwrap();
        assert_eq!(found, expected, "{}", case.name);
        compared += 1;
    }
    println!("{compared} of {} cases", cases.len());
    assert!(compared >= 40, "only {compared} of {} cases", cases.len());
}

/// A job of up to three sections of a lock, sleeps and computations.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let part = (0_u16..3, 1_u64..400, 0_u64..300).prop_map(|(kind, length, sleep)| {
        let compute = Step::Compute(Span::exactly(Duration::new(length * 1000)));
        match kind {
            0 => vec![compute],
            1 => vec![Step::Sleep(Span::exactly(Duration::new(sleep * 1000 + 1))), compute],
            _ => vec![Step::Acquire(LockId(0)), compute, Step::Release(LockId(0))],
        }
    });
    proptest::collection::vec(part, 1..4).prop_map(|parts| parts.into_iter().flatten().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Any criterion, any scope, both directions of a lock.
    #[test]
    fn random_bodies_are_recorded_as_random_steps(
        works in proptest::collection::vec((steps(), 2_u64..9), 1..6),
        criterion in 0..Criterion::ALL.len(),
        scope in 0_usize..2,
        protocol in 0_usize..3,
    ) {
        let tasks = (0..).zip(works).map(|(index, (steps, period))| {
            periodic(&format!("t{index}"), index % 2, ms(period), steps)
        });
        let mut tried = experiment(2, tasks.collect(), &[], End::At(ms(40)));
        let scope = [Scope::Partitioned, Scope::Global][scope].clone();
        let criterion = Criterion::ALL[criterion];
        tried.policy = Policy::new(scope, criterion);
        tried.policy.quantum = criterion.facts().quantum.map(|(quantum, _)| quantum);
        let protocol = [LockProtocol::Plain, LockProtocol::Inheritance, LockProtocol::Ceiling][protocol];
        tried.locks = vec![Lock { name: "l".into(), protocol }];
        let mut keep = Keep::default();
        match solo_sim::run(&tried, &[], &mut keep) {
            Ok(end) => prop_assert_eq!(run_of(&tried, players(&tried)).unwrap(), (keep.0, end)),
            Err(expected) => {
                let found = run_of(&tried, players(&tried)).unwrap_err();
                prop_assert_eq!(found.to_string(), expected.to_string());
            }
        }
    }
}

/// Asks for these, one after the other, and ends.
struct Script(std::vec::IntoIter<Request>, Vec<Instant>);

impl RemoteBody for Script {
    fn next(&mut self, now: Instant) -> Request {
        self.1.push(now);
        self.0.next().unwrap_or(Request::Exit)
    }
}

fn script(requests: Vec<Request>) -> Script {
    Script(requests.into_iter(), Vec::new())
}

fn small(tasks: Vec<Task>) -> Experiment {
    experiment(2, tasks, &[], End::At(ms(50)))
}

fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}

#[test]
fn a_body_hears_the_time_at_which_what_it_asked_for_was_done() {
    let tried = small(vec![periodic("t", 0, ms(10), vec![compute(us(1))])]);
    let mut body = script(vec![
        Request::Compute(us(100)),
        Request::Compute(Duration::ZERO),
        Request::Sleep(us(50)),
        Request::WaitNext,
        Request::Compute(us(7)),
    ]);
    let (records, end) = run_of(&tried, vec![Box::new(Borrowed(&mut body))]).unwrap();
    let heard: Vec<u64> = body.1.iter().map(|at| at.get() / 1000).collect();
    assert_eq!(heard, [0, 100, 100, 150, 10_000, 10_007]);
    // It has ended: nothing is released any more.
    assert_eq!(jobs(&records, 0).len(), 2);
    assert_eq!(end.stop, Stop::TimeOver);
}

struct Borrowed<'b>(&'b mut Script);

impl RemoteBody for Borrowed<'_> {
    fn next(&mut self, now: Instant) -> Request {
        self.0.next(now)
    }
}

#[test]
fn a_job_of_a_sporadic_task_is_released_as_a_body_asks_for_it() {
    let distance = ms(5);
    let asked = Task { release: Release::Sporadic { distance }, ..periodic("asked", 1, distance, vec![]) };
    let tried = small(vec![periodic("asks", 0, ms(20), vec![]), asked]);
    let asks = script(vec![
        Request::Compute(us(10)),
        Request::Trigger(TaskId(1), Duration::ZERO),
        Request::Trigger(TaskId(1), Duration::ZERO),
        Request::Trigger(TaskId(1), Duration::ZERO),
        // Nobody is released by these.
        Request::Trigger(TaskId(0), Duration::ZERO),
        Request::Trigger(TaskId(77), Duration::MAX),
        Request::Sleep(ms(6)),
        Request::Trigger(TaskId(1), us(6_500)),
        Request::WaitNext,
        Request::Compute(us(10)),
        Request::WaitNext,
    ]);
    let answers = script([Request::Compute(us(20)), Request::WaitNext].repeat(10));
    let (records, _) = run_of(&tried, vec![Box::new(asks), Box::new(answers)]).unwrap();
    let releases: Vec<u64> = jobs(&records, 1).iter().map(|job| job.release.get() / 1000).collect();
    assert_eq!(releases, [10, 5_010, 12_510]);
}

#[test]
fn a_body_that_ends_gives_back_what_it_holds_and_the_others_go_on() {
    let mut tried = small(vec![
        periodic("dies", 0, ms(10), vec![Step::Acquire(LockId(0)), Step::Release(LockId(0))]),
        periodic("lives", 1, ms(10), vec![Step::Acquire(LockId(0)), Step::Release(LockId(0))]),
    ]);
    tried.locks = vec![Lock { name: "l".into(), protocol: LockProtocol::Plain }];
    let dies = script(vec![Request::Acquire(LockId(0)), Request::Compute(us(300)), Request::Exit]);
    let job = [
        Request::Compute(us(10)),
        Request::Acquire(LockId(0)),
        Request::Compute(us(10)),
        Request::Release(LockId(0)),
        Request::WaitNext,
    ];
    let (records, _) = run_of(&tried, vec![Box::new(dies), Box::new(script(job.repeat(9)))]).unwrap();
    let finished: Vec<u64> = jobs(&records, 1).iter().map(|job| job.finish.get() / 1000).collect();
    // Behind the one that died the first, by themselves the others.
    assert_eq!(finished, [310, 10_020, 20_020, 30_020, 40_020]);
    assert_eq!(jobs(&records, 0).len(), 1);
    let exits = records
        .iter()
        .filter(|record| matches!(record, Record::Switch(switch) if switch.reason == SwitchReason::Exited));
    assert_eq!(exits.count(), 1);
}

#[test]
fn a_run_that_a_body_gives_up_has_no_end() {
    let tried = small(vec![periodic("gives up", 0, ms(10), vec![]), periodic("goes on", 1, ms(1), vec![])]);
    let gives_up = script(vec![Request::Compute(ms(3)), Request::Abandon]);
    let goes_on = script([Request::Compute(us(10)), Request::WaitNext].repeat(50));
    let (records, end) = run_of(&tried, vec![Box::new(gives_up), Box::new(goes_on)]).unwrap();
    assert_eq!(end.stop, Stop::Interrupted);
    assert!(records.iter().all(|record| record.at() <= Instant::ZERO + ms(4)));
}

#[test]
fn times_without_measure_are_cut_and_other_numbers_of_bodies_refused() {
    let tried = small(vec![periodic("t", 0, ms(10), vec![])]);
    for request in [Request::Sleep(Duration::MAX), Request::Compute(Duration::MAX)] {
        let body = script(vec![Request::Compute(us(1)), request]);
        let (records, end) = run_of(&tried, vec![Box::new(body)]).unwrap();
        assert_eq!((jobs(&records, 0).len(), end.stop), (0, Stop::TimeOver));
    }
    let refused = run_of(&tried, Vec::new()).unwrap_err();
    assert!(matches!(refused, SimError::Bodies { tasks: 1, given: 0 }), "{refused}");
}
