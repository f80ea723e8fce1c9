//! Probes stand where the thesis counts overheads (2.5), and records say why a core changed.
//!
//! The ideal machine runs everything under `solo_hal::Checked`, which panics at nested or unbalanced probes.

mod common;

use common::{experiment, ms, policy, task};
use solo_corpus::ideal::{IdealOptions, run};
use solo_model::policy::{Policy, Scope, Timing};
use solo_model::record::SwitchReason;
use solo_model::task::Release;
use solo_model::{Criterion, Overhead, Record, TaskClass};

fn times(paths: &[u64; Overhead::COUNT], overhead: Overhead) -> u64 {
    let at = Overhead::ALL.iter().position(|&other| other == overhead).expect("one of all");
    paths[at]
}

#[test]
fn each_job_costs_two_decisions_and_two_switches_and_a_preemption_one_loss_of_affinity() {
    // T0 2/10, T1 4/30 from 8 ms on: preempted once, at 10.
    let mut tasks = vec![task(0, 10, 2), task(1, 30, 4)];
    tasks[1].release = Release::Periodic { offset: ms(8), period: ms(30) };
    let run = run(&experiment(1, policy(Scope::Global, Criterion::Rm), tasks, 19), &IdealOptions::default())
        .unwrap();
    let paths = |overhead| times(&run.paths, overhead);
    // start: T0 | 2 idle | 8 T1 | 10 T0 | 12 T1 | 14 idle
    assert_eq!(paths(Overhead::ContextSwitch), 6);
    assert_eq!(paths(Overhead::Scheduling), 6);
    assert_eq!(paths(Overhead::Tick), 2, "one-shot: an interrupt for each time of release after the start");
    assert_eq!(paths(Overhead::Release), 3, "at the start, at 8 and at 10");
    assert_eq!(paths(Overhead::CacheAffinity), 1);
    assert_eq!(paths(Overhead::Ipi), 0);
    let reasons: Vec<_> = run
        .records
        .iter()
        .filter_map(|r| if let Record::Switch(s) = r { Some(s.reason) } else { None })
        .collect();
    use SwitchReason::{Finished, Idle, Preempted, Start};
    assert_eq!(reasons, [Start, Finished, Idle, Preempted, Finished, Finished]);
}

#[test]
fn ticks_cost_an_interrupt_each_and_a_decision_only_where_something_is_released() {
    let ticking = Policy { timing: Timing::Tick(ms(1)), ..policy(Scope::Global, Criterion::Rm) };
    let run = run(&experiment(1, ticking, vec![task(0, 10, 2)], 20), &IdealOptions::default()).unwrap();
    assert_eq!(times(&run.paths, Overhead::Tick), 19);
    assert_eq!(times(&run.paths, Overhead::Release), 2);
    assert_eq!(times(&run.paths, Overhead::Scheduling), 4);
}

#[test]
fn a_request_is_probed_where_it_is_sent() {
    let mut tasks = vec![task(0, 20, 5), task(1, 20, 5), task(2, 40, 20)];
    tasks[0].release = Release::Periodic { offset: ms(1), period: ms(20) };
    tasks[2].class = TaskClass::Soft;
    let run = run(&experiment(2, policy(Scope::Global, Criterion::Edf), tasks, 20), &IdealOptions::default())
        .unwrap();
    let sent = run.records.iter().filter(|r| matches!(r, Record::Ipi(_))).count() as u64;
    assert_eq!((sent, times(&run.paths, Overhead::Ipi)), (1, 1));
}
