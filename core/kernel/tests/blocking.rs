//! What lock protocols promise: bounded blocking, and no deadlock under ceilings.

mod common;

use common::{compute, experiment, ms, policy, task};
use proptest::prelude::*;
use solo_corpus::ideal::{IdealOptions, run};
use solo_model::policy::Scope;
use solo_model::task::Release;
use solo_model::work::{Lock, LockProtocol, Step};
use solo_model::{Criterion, Duration, Experiment, LockId, Record, Task};

/// A critical section: a lock, how long it is held alone, and perhaps another taken inside for some time.
#[derive(Clone, Debug)]
struct Section {
    lock: u16,
    alone: u64,
    inner: Option<(u16, u64)>,
}

impl Section {
    fn length(&self) -> u64 {
        self.alone + self.inner.map_or(0, |(_, length)| length)
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps = vec![Step::Acquire(LockId(self.lock)), compute(self.alone)];
        if let Some((lock, length)) = self.inner {
            steps.extend([Step::Acquire(LockId(lock)), compute(length), Step::Release(LockId(lock))]);
        }
        steps.push(Step::Release(LockId(self.lock)));
        steps
    }
}

/// A task that runs once: its offset, and computation before each section.
#[derive(Clone, Debug)]
struct Plan {
    offset: u64,
    parts: Vec<(u64, Section)>,
}

impl Plan {
    fn length(&self) -> u64 {
        self.parts.iter().map(|(before, section)| before + section.length()).sum()
    }

    fn longest_section(&self) -> u64 {
        self.parts.iter().map(|(_, section)| section.length()).max().unwrap_or(0)
    }
}

fn plans(nested: bool) -> impl Strategy<Value = Vec<Plan>> {
    let inner = (1..3_u16, 1..4_u64);
    let section = (0..3_u16, 1..5_u64, prop::option::of(inner)).prop_map(move |(lock, alone, inner)| {
        let inner = inner.filter(|_| nested).map(|(step, length)| ((lock + step) % 3, length));
        Section { lock, alone, inner }
    });
    let parts = prop::collection::vec((1..4_u64, section), 1..4);
    prop::collection::vec((0..20_u64, parts).prop_map(|(offset, parts)| Plan { offset, parts }), 2..6)
}

/// One core, static priorities: the first plan is the most urgent.
fn scene(plans: &[Plan], protocol: LockProtocol) -> Experiment {
    let once = |(index, plan): (usize, &Plan)| {
        let mut task: Task = task(index, 1, 1);
        task.release = Release::Once { offset: ms(plan.offset) };
        let steps = |(before, section): &(u64, Section)| [vec![compute(*before)], section.steps()].concat();
        task.work.steps = plan.parts.iter().flat_map(steps).collect();
        task
    };
    let tasks = plans.iter().enumerate().map(once).collect();
    let horizon = 21 + plans.iter().map(Plan::length).sum::<u64>();
    let mut scene = experiment(1, policy(Scope::Global, Criterion::StaticPriority), tasks, horizon);
    scene.locks = (0..3).map(|index| Lock { name: format!("L{index}"), protocol }).collect();
    scene
}

/// The response time of each task; `None` for one that did not finish.
fn responses(scene: &Experiment) -> Vec<Option<Duration>> {
    let records = run(scene, &IdealOptions::default()).expect("admitted").records;
    let of = |task: usize| {
        records.iter().find_map(|record| match record {
            Record::Job(job) if job.task.index() == task => Some(job.response()),
            _ => None,
        })
    };
    (0..scene.tasks.len()).map(of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Sha, Rajkumar and Lehoczky 1990: under priority ceilings a job is blocked at most once, by at most the
    /// longest section of a less urgent one, and nobody waits for ever, whatever the nesting.
    #[test]
    fn a_ceiling_blocks_at_most_once(plans in plans(true)) {
        let responses = responses(&scene(&plans, LockProtocol::Ceiling));
        for (index, response) in responses.iter().enumerate() {
            let own_and_above: u64 = plans[..=index].iter().map(Plan::length).sum();
            let blocking = plans[index + 1..].iter().map(Plan::longest_section).max().unwrap_or(0);
            prop_assert!(response.is_some(), "task {index} never finished");
            prop_assert!(*response <= Some(ms(own_and_above + blocking)), "task {index}: {response:?}");
        }
    }

    /// Under inheritance, without nesting, a job is blocked at most once by each less urgent one.
    #[test]
    fn inheritance_blocks_at_most_once_for_each_task_below(plans in plans(false)) {
        let responses = responses(&scene(&plans, LockProtocol::Inheritance));
        for (index, response) in responses.iter().enumerate() {
            let own_and_above: u64 = plans[..=index].iter().map(Plan::length).sum();
            let blocking: u64 = plans[index + 1..].iter().map(Plan::longest_section).sum();
            prop_assert!(response.is_some(), "task {index} never finished");
            prop_assert!(*response <= Some(ms(own_and_above + blocking)), "task {index}: {response:?}");
        }
    }
}

/// The bound is not trivial: a plain mutex breaks it.
#[test]
fn a_plain_mutex_breaks_the_bound() {
    let section = |alone| Section { lock: 0, alone, inner: None };
    let plans = [
        Plan { offset: 3, parts: vec![(1, section(1))] },
        Plan { offset: 5, parts: vec![(20, Section { lock: 1, ..section(1) })] },
        Plan { offset: 0, parts: vec![(1, section(4))] },
    ];
    let bound = ms(plans[0].length() + 4);
    let urgent = |protocol| responses(&scene(&plans, protocol))[0].expect("finishes");
    assert!(urgent(LockProtocol::Plain) > bound);
    assert!(urgent(LockProtocol::Inheritance) <= bound);
    assert!(urgent(LockProtocol::Ceiling) <= bound);
}
