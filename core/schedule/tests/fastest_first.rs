//! Cores of several speeds against the definition: the most urgent threads run on the fastest.

mod common;

use common::rank;
use proptest::prelude::*;
use solo_model::{CoreId, CoreSet, ThreadId};
use solo_schedule::criteria::{Edf, Fcfs};
use solo_schedule::{Choice, Criterion, Head, Scheduler, Whereabouts};
use std::collections::{BTreeMap, BTreeSet};

fn set(cores: &[u16]) -> CoreSet {
    cores.iter().map(|&core| CoreId(core)).collect()
}

/// Five cores, all online: the third and the last are the fastest, the first is the slowest.
fn speeds() -> [CoreSet; 3] {
    [set(&[2, 4]), set(&[1, 3]), set(&[0])]
}

fn domain<C: Criterion>() -> Scheduler<C> {
    let mut domain = Scheduler::new(CoreSet::first(5), 32);
    CoreSet::first(5).iter().for_each(|core| domain.bring_online(core));
    domain.fastest_first(&speeds());
    domain
}

/// Lets all cores that are asked choose until none is; the threads that changed their core.
fn settle(domain: &mut Scheduler<Edf>, backwards: bool) -> BTreeSet<u32> {
    let place = |domain: &Scheduler<Edf>| {
        let on = |core| Some((domain.running(core)?.thread.0, core));
        CoreSet::first(5).iter().filter_map(on).collect::<BTreeMap<u32, CoreId>>()
    };
    let before = place(domain);
    for _ in 0..10 {
        let mut asked: Vec<_> = domain.cores_to_change().iter().collect();
        if backwards {
            asked.reverse();
        }
        if asked.is_empty() {
            let after = place(domain);
            return after
                .iter()
                .filter(|(thread, core)| before.get(thread).is_some_and(|was| was != *core))
                .map(|(thread, _)| *thread)
                .collect();
        }
        for core in asked {
            let _ = domain.choose_suited(core);
        }
    }
    panic!("cores ask one another without end: {domain:?}");
}

fn on(domain: &Scheduler<Edf>, core: u16) -> Option<u32> {
    domain.running(CoreId(core)).map(|head| head.thread.0)
}

#[test]
fn a_job_moves_up_when_a_faster_core_becomes_free_and_down_when_a_more_urgent_one_comes() {
    let mut domain = domain::<Edf>();
    for (thread, key) in [(0, 10), (1, 20), (2, 30), (3, 40), (4, 50), (5, 60)] {
        domain.insert(ThreadId(thread), rank(thread, key));
    }
    assert!(settle(&mut domain, false).is_empty());
    assert_eq!([2, 4, 1, 3, 0].map(|core| on(&domain, core)), [0, 1, 2, 3, 4].map(Some));
    // One of the fastest ends: the next two move up, the fifth comes from the queue.
    domain.remove(ThreadId(0));
    assert_eq!(domain.cores_to_change(), set(&[0, 1]), "2 and 3 wait for what these leave");
    assert_eq!(settle(&mut domain, false), BTreeSet::from([2, 4]));
    assert_eq!(
        [2, 4, 1, 3, 0].map(|core| on(&domain, core)),
        [2, 1, 4, 3, 5].map(Some),
        "equally fast: 1 and 3 stay"
    );
    // The most urgent of all comes: the least urgent of each kind goes a kind down.
    domain.insert(ThreadId(6), rank(6, 1));
    assert_eq!(settle(&mut domain, true), BTreeSet::from([2, 4]));
    assert_eq!([2, 4, 1, 3, 0].map(|core| on(&domain, core)), [6, 1, 2, 3, 4].map(Some));
    assert_eq!(domain.place(ThreadId(5)), Whereabouts::Ready);
}

/// What suits a core runs elsewhere: until that one has let it go the core waits, and takes no other for a moment.
#[test]
fn a_core_waits_for_what_another_has_still_to_leave() {
    let mut domain = domain::<Edf>();
    for thread in 0..3 {
        domain.insert(ThreadId(thread), rank(thread, i64::from(thread)));
    }
    let _ = settle(&mut domain, false);
    domain.vacate(CoreId(2));
    assert_eq!((on(&domain, 4), on(&domain, 1)), (Some(1), Some(2)));
    assert_eq!(domain.choose_suited(CoreId(2)), Choice::Keep, "2 runs on another core still");
    assert_eq!(domain.choose_suited(CoreId(1)), Choice::Leave);
    assert_eq!(domain.cores_to_change(), set(&[2]));
    assert_eq!(domain.choose_suited(CoreId(2)), Choice::Take(ThreadId(2)));
}

#[test]
fn nothing_changes_without_preemption_or_on_equal_cores() {
    assert!(domain::<Edf>().moves_up() && !domain::<Fcfs>().moves_up());
    let mut equal = Scheduler::<Edf>::new(set(&[1, 3]), 4);
    equal.fastest_first(&speeds());
    assert!(!equal.moves_up());
}

#[derive(Clone, Debug)]
enum Event {
    Ready(u32, i64),
    Finished(u16),
    Rerank(u32, i64),
    Chooses(u16),
    Offline(u16),
    Online(u16),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0..32_u32, -20..20_i64).prop_map(|(thread, key)| Event::Ready(thread, key)),
        3 => (0..5_u16).prop_map(Event::Finished),
        1 => (0..32_u32, -20..20_i64).prop_map(|(thread, key)| Event::Rerank(thread, key)),
        2 => (0..5_u16).prop_map(Event::Chooses),
        1 => (0..5_u16).prop_map(Event::Offline),
        1 => (0..5_u16).prop_map(Event::Online),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// After the cores that are asked have chosen, in any order, each kind of core runs those threads that it should, and of cores that
    /// are equally fast none has given its thread to another.
    #[test]
    fn every_kind_of_core_runs_the_threads_of_its_turn(events in prop::collection::vec(event(), 1..80), backwards: bool) {
        let mut domain = domain::<Edf>();
        let mut alive: BTreeMap<u32, Head> = BTreeMap::new();
        for event in events {
            let class = |domain: &Scheduler<Edf>, thread: u32| match domain.place(ThreadId(thread)) {
                Whereabouts::Running(core) => speeds().iter().position(|equal| equal.contains(core)),
                _ => None,
            };
            let before: BTreeMap<u32, _> = alive.keys().map(|&thread| (thread, class(&domain, thread))).collect();
            match event {
                Event::Ready(thread, key) => {
                    let head = Head { thread: ThreadId(thread), rank: rank(thread, key) };
                    match alive.insert(thread, head) {
                        None => domain.insert(head.thread, head.rank),
                        Some(_) => domain.rerank(head.thread, head.rank),
                    }
                }
                Event::Finished(core) => {
                    if let Some(head) = domain.vacate(CoreId(core)) {
                        alive.remove(&head.thread.0);
                    }
                }
                Event::Rerank(thread, key) => {
                    if let Some(old) = alive.get_mut(&thread) {
                        old.rank = rank(thread, key);
                        domain.rerank(old.thread, old.rank);
                    }
                }
                Event::Chooses(core) => drop(domain.choose_suited(CoreId(core))),
                Event::Offline(core) => {
                    if let Some(head) = domain.running(CoreId(core)) {
                        domain.put_back(CoreId(core), head.rank);
                    }
                    domain.take_offline(CoreId(core));
                }
                Event::Online(core) => domain.bring_online(CoreId(core)),
            }
            let moved = settle(&mut domain, backwards);
            let mut expected: Vec<Head> = alive.values().copied().collect();
            expected.sort_unstable_by_key(|head| head.rank);
            let mut expected = expected.into_iter().map(|head| head.thread.0);
            for equal in speeds() {
                let online = equal.iter().filter(|&core| domain.is_online(core));
                let theirs: BTreeSet<u32> = expected.by_ref().take(online.clone().count()).collect();
                let running: BTreeSet<u32> = online.filter_map(|core| on(&domain, core.0)).collect();
                prop_assert_eq!(running, theirs);
            }
            for thread in moved {
                prop_assert_ne!(before.get(&thread).copied().flatten(), class(&domain, thread), "{} moved needlessly", thread);
            }
        }
    }
}
