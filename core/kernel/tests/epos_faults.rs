//! Faults of the published EPOS mirrors that this kernel does not have, one test each.
//!
//! The removal of a thread that runs on another core is tested with the queue, in
//! `core/schedule/tests/scheduler.rs`; laxity with the criteria; a counter write that changes the event it
//! counts is the machines' business.

mod common;

use common::{CORE, at, config, experiment, machine, ms, policy, task};
use solo_corpus::Schedule;
use solo_corpus::ideal::{IdealOptions, run};
use solo_hal::Quiet;
use solo_kernel::{Kernel, Switch};
use solo_model::policy::{Policy, Scope, Timing};
use solo_model::task::Release;
use solo_model::{CoreId, CoreSet, Criterion, Duration, Instant, Record, TaskClass, ThreadId};
use solo_schedule::criteria::Rm;

/// The mirror releases one expired alarm a tick, so that five threads due together slip by up to four ticks.
#[test]
fn threads_due_at_the_same_tick_are_released_at_that_tick() {
    let ticking = Policy { timing: Timing::Tick(ms(10)), ..policy(Scope::Global, Criterion::Rm) };
    let mut tasks: Vec<_> = (0..5).map(|i| task(i, 100, 1)).collect();
    for task in &mut tasks {
        task.release = Release::Periodic { offset: ms(10), period: ms(100) };
    }
    let records = run(&experiment(1, ticking, tasks, 30), &IdealOptions::default()).unwrap().records;
    let release =
        |record: &Record| if let Record::Release(release) = record { Some(release.at) } else { None };
    assert_eq!(records.iter().filter_map(release).collect::<Vec<_>>(), [at(10); 5]);
}

/// The mirror's students' criterion GLM has no queue specialisation and falls back to a list with one head:
/// a global policy that uses one core. Here every criterion uses all cores of its domain.
#[test]
fn every_global_and_clustered_policy_uses_all_its_cores() {
    for criterion in Criterion::ALL {
        for scope in [Scope::Global, Scope::Clustered(vec![CoreSet::first(3)])] {
            let mut tasks: Vec<_> = (0..3).map(|i| task(i, 20, 5)).collect();
            for (core, task) in tasks.iter_mut().enumerate() {
                task.core = Some(CoreId(core as u16));
            }
            let policy = policy(scope, criterion);
            let name = policy.to_string();
            let records = run(&experiment(3, policy, tasks, 5), &IdealOptions::default()).unwrap().records;
            let schedule = Schedule::from_records(&records, 3, at(5), Duration::ZERO);
            let busy = schedule
                .cores
                .iter()
                .filter(|row| row.first().is_some_and(|s| s.from == Instant::ZERO))
                .count();
            assert_eq!(busy, 3, "{name}");
        }
    }
}

/// The mirror's clustered EDF fixes two cores a cluster and cores / 2 clusters.
#[test]
fn clusters_have_any_size() {
    for size in 1..=6 {
        let cluster = CoreSet::first(size);
        let rest = CoreSet::from_bits(CoreSet::first(7).bits() & !cluster.bits());
        let tasks: Vec<_> =
            (0..7).map(|i| solo_model::Task { core: Some(CoreId(0)), ..task(i, 20, 5) }).collect();
        let clustered = policy(Scope::Clustered(vec![cluster, rest]), Criterion::Edf);
        let records = run(&experiment(7, clustered, tasks, 5), &IdealOptions::default()).unwrap().records;
        let schedule = Schedule::from_records(&records, 7, at(5), Duration::ZERO);
        let busy: Vec<_> = (0..7).map(|core| !schedule.cores[core].is_empty()).collect();
        let expected: Vec<_> = (0..7).map(|core| core < size).collect();
        assert_eq!(busy, expected, "a cluster of {size}");
    }
}

/// What the mirror chooses when only a best-effort thread or nothing is left depends on where the idle thread
/// stands in the list. Here a lone best-effort thread keeps its core, also when it yields, and a core without
/// a thread is idle.
#[test]
fn a_lone_best_effort_thread_keeps_its_core_and_nothing_is_idle() {
    let mut best = task(0, 10, 1);
    best.class = TaskClass::BestEffort;
    best.release = Release::Once { offset: ms(0) };
    let config = config(1, policy(Scope::Global, Criterion::Rm), &[best], Vec::new());
    let mut kernel = Kernel::<Rm>::new(config, &machine(1)).expect("admitted");
    assert_eq!(kernel.start(&mut Quiet, CORE, at(0)), Switch::To(ThreadId(0)));
    assert_eq!(kernel.yield_now(&mut Quiet, CORE, at(1)), Switch::Stay);
    assert_eq!(kernel.ipi(&mut Quiet, CORE, at(2)), Switch::Stay);
    assert_eq!(kernel.wait_next(&mut Quiet, CORE, at(3)), Switch::Idle);
    assert_eq!(kernel.ipi(&mut Quiet, CORE, at(4)), Switch::Stay, "idle stays idle");
    assert_eq!(kernel.wait_next(&mut Quiet, CORE, at(5)), Switch::Idle, "nobody to wait");
}

/// A mirror of 2024 computes laxity from the time of asking, so that it does not fall while a job waits. With
/// true laxity T1, laxer at the start, overtakes T0 because it waits.
#[test]
fn laxity_falls_while_a_job_waits() {
    let mut tasks = vec![task(0, 40, 10), task(1, 40, 3)];
    tasks[0].deadline = Some(ms(14));
    tasks[1].deadline = Some(ms(9));
    let records =
        run(&experiment(1, policy(Scope::Global, Criterion::Llf), tasks, 20), &IdealOptions::default())
            .unwrap()
            .records;
    let missed = records.iter().filter(|record| matches!(record, Record::Job(job) if job.missed())).count();
    assert_eq!(missed, 0);
    let schedule = Schedule::from_records(&records, 1, at(20), Duration::ZERO);
    let order: Vec<_> =
        schedule.cores[0].iter().map(|segment| (segment.task.0, segment.from, segment.to)).collect();
    // Laxities 4 and 6 at the start; equal at 2, where the lower index stays; at 3 T1 has less.
    assert_eq!(order[..2], [(0, at(0), at(3)), (1, at(3), at(4))]);
}
