//! An enforcer's decisions reach cgroups, and a guard that ends lets everybody go on.

mod common;

use common::{Fake, freeze, values};
use solo_guard::{Freezer, FreezerError, Group, Guard, Throttle, Whom, carry_out};
use solo_isolate::enforce::{Enforcer, Event};
use solo_isolate::regulator::{Config, CounterValue, Machine, PerDirection, TaskConfig};
use solo_model::isolation::*;
use solo_model::{Bandwidth, Bytes, CoreId, Duration, Events, Instant, TaskId};

const CORE: CoreId = CoreId(0);

/// A core with 1000 events a millisecond, and two tasks on it; the first may have 100 of them.
fn enforcer() -> Enforcer {
    let wanted = Regulation {
        quantum: Events::new(100),
        charge_per_mille: 500,
        ..Regulation::new(
            Duration::from_millis(1),
            Counted::One(solo_model::EventId::LLC_MISSES),
            vec![CoreBudget { core: CORE, budget: Budget::Events(Events::new(1000)), writes: None }],
            Bandwidth::new(1 << 30),
        )
    };
    let machine = Machine { cores: 1, line: Bytes::new(64), counter_width: 48, in_flight: Events::new(10) };
    let slots = vec![TaskConfig::NONE; 2];
    let mut enforcer = Enforcer::new(Config::of_machine(&wanted, &machine, Bandwidth::new(1 << 30), slots));
    let limited = TaskConfig { limit: Some(PerDirection([Events::new(100); 2])), ..TaskConfig::NONE };
    assert!(enforcer.join(TaskId(0), limited));
    enforcer
}

#[test]
fn a_task_is_frozen_when_its_budget_is_used_up_and_thawed_with_the_next_period() {
    let place = tempfile::tempdir().unwrap();
    let machine = Fake::new(place.path(), &values());
    let (mut guard, _) = Guard::start(place.path(), machine.clone()).unwrap();
    let groups = ["a", "b"].map(|group| Group::new(group).unwrap());
    let mut freezer = Freezer::new(&mut guard, groups.to_vec());
    let mut enforcer = enforcer();
    let at = |us| Instant::ZERO + Duration::from_micros(us);
    let mut others = 0;
    let mut tell = |us, count, event| {
        let actions = enforcer.on(at(us), CORE, PerDirection([CounterValue(count), CounterValue(0)]), event);
        carry_out(&mut enforcer, CORE, actions, &mut freezer, |_| others += 1).unwrap();
        machine.value(&freeze("a"))
    };
    assert_eq!(tell(0, 0, Event::Period), "0");
    assert_eq!(tell(0, 0, Event::Switched(Some(TaskId(0)))), "0");
    assert_eq!(tell(50, 99, Event::Reading), "0");
    assert_eq!(tell(60, 120, Event::Overflow), "1");
    assert_eq!(tell(70, 120, Event::Switched(Some(TaskId(1)))), "1");
    assert_eq!(tell(1000, 130, Event::Period), "0");
    assert_eq!(tell(1000, 130, Event::Switched(Some(TaskId(0)))), "0");
    assert_eq!(tell(1060, 300, Event::Overflow), "1");
    assert!(others > 0, "counters are somebody else's to arm");
    guard.undo();
    assert_eq!(machine.values(), values());
}

#[test]
fn the_freezer_refuses_cores_and_tasks_without_a_group() {
    let place = tempfile::tempdir().unwrap();
    let (mut guard, _) = Guard::start(place.path(), Fake::new(place.path(), &values())).unwrap();
    let mut freezer = Freezer::new(&mut guard, vec![Group::new("a").unwrap()]);
    for whom in [Whom::Core(CORE), Whom::Task(TaskId(1))] {
        assert!(matches!(freezer.stop(whom), Err(FreezerError::NoGroup(found)) if found == whom));
    }
    assert!(freezer.stop(Whom::Task(TaskId(0))).is_ok());
}
