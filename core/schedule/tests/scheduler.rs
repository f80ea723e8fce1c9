//! The domain against the definition: the most urgent threads run.

mod common;

use common::rank;
use proptest::prelude::*;
use solo_model::{CoreId, CoreSet, ThreadId};
use solo_schedule::criteria::{Edf, Fcfs};
use solo_schedule::{Choice, Criterion, Scheduler, Whereabouts};
use std::collections::BTreeMap;

fn online<C: Criterion>(cores: CoreSet) -> Scheduler<C> {
    let mut domain = Scheduler::new(cores, 32);
    for core in cores.iter() {
        domain.bring_online(core);
    }
    domain
}

fn set(cores: &[u16]) -> CoreSet {
    cores.iter().map(|&core| CoreId(core)).collect()
}

/// A published EPOS mirror looks only at the calling core's head when it removes a thread, so that removing
/// one that runs on another core corrupts the list.
#[test]
fn a_thread_that_runs_on_another_core_can_be_removed() {
    let mut domain = online::<Edf>(CoreSet::first(3));
    for thread in 0..4 {
        domain.insert(ThreadId(thread), rank(thread, i64::from(thread)));
    }
    for core in 0..3 {
        assert_eq!(domain.choose(CoreId(core)), Choice::Take(ThreadId(u32::from(core))));
    }
    assert_eq!(domain.remove(ThreadId(2)), Whereabouts::Running(CoreId(2)), "called from anywhere");
    assert_eq!(domain.place(ThreadId(2)), Whereabouts::Absent);
    assert_eq!(domain.running(CoreId(0)).map(|head| head.thread), Some(ThreadId(0)));
    assert_eq!(domain.running(CoreId(1)).map(|head| head.thread), Some(ThreadId(1)));
    assert_eq!(domain.cores_to_ask(CoreId(0)), set(&[2]));
    assert_eq!(domain.choose(CoreId(2)), Choice::Take(ThreadId(3)));
    assert_eq!(domain.remove(ThreadId(2)), Whereabouts::Absent);
    assert_eq!(domain.ready_len(), 0);
}

#[test]
fn an_idle_core_comes_first_and_the_caller_before_other_idle_cores() {
    let mut domain = online::<Edf>(CoreSet::first(4));
    domain.insert(ThreadId(0), rank(0, 5));
    assert_eq!(domain.cores_to_ask(CoreId(2)), set(&[2]), "the idle caller takes it itself");
    assert_eq!(domain.choose(CoreId(2)), Choice::Take(ThreadId(0)));
    domain.insert(ThreadId(1), rank(1, 1));
    assert_eq!(domain.cores_to_ask(CoreId(2)), set(&[0]), "an idle core rather than a preemption");
}

#[test]
fn the_least_urgent_core_is_preempted_and_no_other() {
    let mut domain = online::<Edf>(CoreSet::first(3));
    for (core, key) in [(0, 10), (1, 30), (2, 20)] {
        domain.insert(ThreadId(core), rank(core, key));
        let _ = domain.choose(CoreId(core as u16));
    }
    domain.insert(ThreadId(3), rank(3, 25));
    assert_eq!(domain.cores_to_ask(CoreId(0)), set(&[1]));
    domain.insert(ThreadId(4), rank(4, 5));
    assert_eq!(domain.cores_to_ask(CoreId(0)), set(&[1]), "25 has no core to take: 5 takes that of 30");
    domain.insert(ThreadId(5), rank(5, 6));
    assert_eq!(domain.cores_to_ask(CoreId(0)), set(&[1, 2]));
    domain.insert(ThreadId(6), rank(6, 40));
    assert_eq!(domain.cores_to_ask(CoreId(0)), set(&[1, 2]));
}

/// The thread to be preempted stays where it is until its own core has chosen: nobody can take it meanwhile.
#[test]
fn a_running_thread_is_never_in_the_queue() {
    let mut domain = online::<Edf>(CoreSet::first(2));
    domain.insert(ThreadId(0), rank(0, 10));
    let _ = domain.choose(CoreId(0));
    domain.insert(ThreadId(1), rank(1, 9));
    let _ = domain.choose(CoreId(1));
    domain.insert(ThreadId(2), rank(2, 1));
    assert_eq!(domain.cores_to_ask(CoreId(1)), set(&[0]));
    domain.vacate(CoreId(1));
    assert_eq!(domain.choose(CoreId(1)), Choice::Take(ThreadId(2)), "core 1 became free and was faster");
    assert_eq!(domain.choose(CoreId(0)), Choice::Keep, "the request arrives and is needless");
    assert_eq!(domain.place(ThreadId(0)), Whereabouts::Running(CoreId(0)));
}

#[test]
fn without_preemption_only_idle_cores_are_asked() {
    let mut domain = online::<Fcfs>(CoreSet::first(2));
    domain.insert(ThreadId(0), rank(0, 10));
    let _ = domain.choose(CoreId(0));
    domain.insert(ThreadId(1), rank(1, 1));
    domain.insert(ThreadId(2), rank(2, 2));
    assert_eq!(domain.cores_to_ask(CoreId(0)), set(&[1]));
    assert_eq!(domain.choose(CoreId(0)), Choice::Keep);
}

#[test]
fn a_core_of_another_domain_or_offline_is_left_alone() {
    let mut domain = Scheduler::<Edf>::new(set(&[2, 3]), 4);
    domain.bring_online(CoreId(3));
    domain.insert(ThreadId(0), rank(0, 1));
    assert_eq!(domain.cores_to_ask(CoreId(2)), set(&[3]));
    assert_eq!(domain.choose(CoreId(0)), Choice::Keep);
    assert_eq!(domain.running(CoreId(63)), None);
}

#[derive(Clone, Debug)]
enum Event {
    Ready(u32, i64),
    Finished(u16),
    Rerank(u32, i64),
    /// A request arrives, needed or not.
    Chooses(u16),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => (0..32_u32, -20..20_i64).prop_map(|(thread, key)| Event::Ready(thread, key)),
        2 => (0..4_u16).prop_map(Event::Finished),
        1 => (0..32_u32, -20..20_i64).prop_map(|(thread, key)| Event::Rerank(thread, key)),
        2 => (0..4_u16).prop_map(Event::Chooses),
    ]
}

proptest! {
    /// After the cores that are asked have chosen, in any order, the most urgent threads run.
    #[test]
    fn asking_is_sufficient_and_necessary(events in prop::collection::vec(event(), 1..120), backwards: bool) {
        let cores = CoreSet::first(4);
        let mut domain = online::<Edf>(cores);
        let mut alive = BTreeMap::new();
        for event in events {
            let caller = match event {
                Event::Ready(thread, key) => {
                    if alive.insert(thread, rank(thread, key)).is_none() {
                        domain.insert(ThreadId(thread), rank(thread, key));
                    } else {
                        domain.rerank(ThreadId(thread), rank(thread, key));
                    }
                    CoreId(0)
                }
                Event::Finished(core) => {
                    if let Some(head) = domain.vacate(CoreId(core)) {
                        alive.remove(&head.thread.0);
                    }
                    CoreId(core)
                }
                Event::Rerank(thread, key) => {
                    if let Some(old) = alive.get_mut(&thread) {
                        *old = rank(thread, key);
                        domain.rerank(ThreadId(thread), *old);
                    }
                    CoreId(1)
                }
                Event::Chooses(core) => {
                    let _ = domain.choose(CoreId(core));
                    CoreId(core)
                }
            };
            let mut asked: Vec<_> = domain.cores_to_ask(caller).iter().collect();
            if backwards {
                asked.reverse();
            }
            for core in asked {
                prop_assert!(matches!(domain.choose(core), Choice::Take(_)), "nobody is asked in vain");
            }
            prop_assert!(domain.cores_to_ask(caller).is_empty());
            let mut expected: Vec<_> = alive.values().copied().collect();
            expected.sort_unstable();
            expected.truncate(cores.len());
            let mut running: Vec<_> = cores.iter().filter_map(|core| domain.running(core)).map(|head| head.rank).collect();
            running.sort_unstable();
            prop_assert_eq!(running, expected);
            prop_assert_eq!(domain.ready_len(), alive.len().saturating_sub(cores.len()));
        }
    }
}
