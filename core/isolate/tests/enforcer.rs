//! The enforcer as a value: a machine of a few lines carries its actions out, as a kernel or a guard would.

use solo_isolate::enforce::{Action, Actions, Enforcer, Event};
use solo_isolate::regulator::{Config, CounterValue, Direction, Machine, PerDirection, TaskConfig};
use solo_model::isolation::*;
use solo_model::{Bandwidth, Bytes, CoreId, CoreSet, Duration, Events, Instant, TaskId};

const A: CoreId = CoreId(0);
const B: CoreId = CoreId(1);

/// 1000 events a millisecond for each of two cores, from plain numbers: no platform, no experiment.
fn config(sharing: Sharing, slots: usize) -> Config {
    let core = |core| CoreBudget { core, budget: Budget::Events(Events::new(1000)), writes: None };
    let wanted = Regulation {
        sharing,
        quantum: Events::new(100),
        charge_per_mille: 500,
        ..Regulation::new(
            Duration::from_millis(1),
            Counted::One(solo_model::EventId::LLC_MISSES),
            vec![core(A), core(B)],
            Bandwidth::new(1 << 30),
        )
    };
    let machine = Machine { cores: 2, line: Bytes::new(64), counter_width: 48, in_flight: Events::new(10) };
    Config::of_machine(&wanted, &machine, Bandwidth::new(1 << 30), vec![TaskConfig::NONE; slots])
}

fn us(n: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(n)
}

fn read(count: u64) -> PerDirection<CounterValue> {
    PerDirection([CounterValue(count), CounterValue(0)])
}

fn arm(events: u64) -> Action {
    Action::Arm(Direction::Reads, Some(Events::new(events)))
}

fn all(actions: Actions) -> Vec<Action> {
    let list: Vec<_> = actions.collect();
    assert!(list.len() <= Actions::MOST, "{list:?}");
    list
}

fn begun(sharing: Sharing, slots: usize) -> Enforcer {
    let mut enforcer = Enforcer::new(config(sharing, slots));
    for core in [A, B] {
        assert!(enforcer.is_due(core, us(0)));
        assert_eq!(all(enforcer.on(us(0), core, read(0), Event::Period)), [arm(1000)]);
        let on = Some(TaskId(u32::from(core.0)));
        assert_eq!(all(enforcer.on(us(0), core, read(0), Event::Switched(on))), [arm(1000)]);
    }
    enforcer
}

#[test]
fn a_core_stops_once_and_goes_on_once_with_its_report() {
    let mut enforcer = begun(Sharing::None, 2);
    let stopped = all(enforcer.on(us(400), A, read(1000), Event::Overflow));
    assert_eq!(stopped, [Action::Arm(Direction::Reads, None), Action::Stop]);
    assert!(enforcer.is_stopped(A) && !enforcer.is_stopped(B));
    // Told again, it is not stopped again.
    let again = all(enforcer.on(us(500), A, read(1003), Event::Overflow));
    assert_eq!(again, [Action::Arm(Direction::Reads, None)]);
    assert_eq!(enforcer.boundary(), us(1000));
    let next = all(enforcer.on(us(1000), A, read(1003), Event::Period));
    assert_eq!(next[0], arm(1000));
    let Action::Report(report) = next[1] else { panic!("{next:?}") };
    assert_eq!((report.used[Direction::Reads].get(), report.throttled), (1003, Duration::from_micros(600)));
    assert_eq!(next[2], Action::Resumed { since: us(400), charge: Duration::from_micros(300) });
    assert_eq!(next[3..], [Action::Go]);
    assert!(!enforcer.is_stopped(A));
}

#[test]
fn reading_counters_finds_what_no_interrupt_told() {
    let mut enforcer = begun(Sharing::None, 2);
    assert_eq!(all(enforcer.on(us(100), A, read(999), Event::Reading)), [arm(1)]);
    let found = all(enforcer.on(us(200), A, read(1200), Event::Reading));
    assert_eq!(found.last(), Some(&Action::Stop));
    assert_eq!(enforcer.regulator().account(A).expect("a core").overflows, 0);
}

#[test]
fn a_pool_calls_the_others() {
    let mut enforcer = begun(Sharing::Spare, 2);
    let _ = enforcer.on(us(300), A, read(1000), Event::Overflow);
    let shared = all(enforcer.on(us(400), B, read(1000), Event::Overflow));
    assert_eq!(shared.last(), Some(&Action::Call(CoreSet::only(A))));
    assert!(enforcer.is_due(A, us(401)));
    assert_eq!(all(enforcer.on(us(401), A, read(1000), Event::Period)).last(), Some(&Action::Go));
}

#[test]
fn tasks_join_and_leave_by_slot() {
    let mut enforcer = begun(Sharing::None, 3);
    let greedy = TaskConfig { limit: Some(PerDirection([Events::new(100); 2])), ..TaskConfig::NONE };
    assert!(enforcer.join(TaskId(0), greedy));
    assert!(!enforcer.join(TaskId(3), greedy), "there are three slots");
    let stopped = all(enforcer.on(us(50), A, read(120), Event::Overflow));
    assert_eq!(stopped.last(), Some(&Action::StopTask(TaskId(0))));
    let next = all(enforcer.on(us(50), A, read(120), Event::Switched(Some(TaskId(2)))));
    assert!(next.contains(&arm(880)), "the core has what is left of its own: {next:?}");
    assert_eq!(enforcer.freed(0), None, "not before the next period");
    let next = all(enforcer.on(us(1000), A, read(130), Event::Period));
    assert_eq!(next.last(), Some(&Action::GoTasks));
    assert_eq!((enforcer.freed(0), enforcer.freed(0)), (Some(TaskId(0)), None));
    // Whoever has the slot after it left has no limit.
    enforcer.leave(TaskId(0));
    let _ = enforcer.on(us(1000), A, read(130), Event::Switched(Some(TaskId(0))));
    let on = all(enforcer.on(us(1100), A, read(500), Event::Overflow));
    assert_eq!(on, [arm(630)]);
}

#[test]
fn a_task_that_leaves_while_it_is_stopped_is_forgotten() {
    let mut enforcer = begun(Sharing::None, 2);
    let greedy = TaskConfig { limit: Some(PerDirection([Events::new(100); 2])), ..TaskConfig::NONE };
    assert!(enforcer.join(TaskId(1), greedy));
    let _ = enforcer.on(us(50), B, read(100), Event::Overflow);
    enforcer.leave(TaskId(1));
    let next = all(enforcer.on(us(1000), B, read(100), Event::Period));
    assert!(!next.contains(&Action::GoTasks), "{next:?}");
}

/// Cores that nobody shares with need nothing of each other: two enforcers that see one core each decide as one that sees both.
#[test]
fn apart_they_decide_like_together() {
    let mut whole = Enforcer::new(config(Sharing::None, 2));
    let mut parts = [A, B].map(|_| Enforcer::new(config(Sharing::None, 2)));
    // Whoever comes first must not set the periods of all.
    parts.iter_mut().chain([&mut whole]).for_each(|part| part.count_from(us(0)));
    let (mut counts, mut seed) = ([0_u64; 2], 1_u64);
    let mut now = us(0);
    for step in 0..20_000 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let draw = seed >> 33;
        let at = (draw % 2) as usize;
        let core = [A, B][at];
        now += Duration::from_micros(draw / 2 % 40);
        if !whole.is_stopped(core) {
            counts[at] += draw / 80 % 90;
        }
        let event = match draw / 7200 % 4 {
            0 if !whole.is_stopped(core) && !whole.is_due(core, now) => {
                Event::Switched((draw / 28_800 % 3 > 0).then_some(TaskId(at as u32)))
            }
            1 => Event::Reading,
            2 => Event::Overflow,
            _ => Event::Period,
        };
        assert_eq!(whole.is_due(core, now), parts[at].is_due(core, now), "step {step}");
        let one = all(whole.on(now, core, read(counts[at]), event));
        let other = all(parts[at].on(now, core, read(counts[at]), event));
        assert_eq!(one, other, "step {step}, {event:?}");
    }
    assert!(whole.regulator().account(A).expect("a core").throttled_periods > 50);
}
