//! Hand-computed tables of the published behaviour (case study 2.2, SCE 2.2, the code of 2013 and of 2022).

use crate::bench::{Bench, MS, config};
use solo_isolate::regulator::{Allowance, Direction, PerDirection, TaskConfig, Throttle};
use solo_model::isolation::{Donation, Reclaim, Sharing};
use solo_model::{CoreId, Duration, Events, TaskId};

#[test]
fn a_core_gets_its_budget_and_waits_for_the_next_period() {
    let mut bench = Bench::new(config(&[1000, 500]));
    assert_eq!((bench.read(0, 400), bench.throttle(0)), (400, Throttle::Off));
    assert_eq!((bench.read(0, 5000), bench.throttle(0)), (600, Throttle::Core));
    assert_eq!(bench.read(1, 5000), 500);
    bench.next_period();
    assert_eq!((bench.throttle(0), bench.read(0, 5000)), (Throttle::Off, 1000));
    let report = bench.last[0].unwrap();
    assert_eq!(report.throttle, Throttle::Core);
    bench.next_period();
    let report = bench.last[0].unwrap().report.unwrap();
    assert_eq!((report.used[Direction::Reads].get(), report.throttled), (1000, MS));
}

/// 2013: donors put into the pool what they are not expected to use, by EWMA 1/2.
#[test]
fn a_pool_lends_what_is_not_expected_to_be_used() {
    let mut config = config(&[4000, 4000]);
    config.reclaim = Reclaim::Pool;
    let mut bench = Bench::new(config);
    // Core 0 uses 1000 in each period: predicted 500, 750, ... so it gives 3500, 3250.
    bench.read(0, 1000);
    bench.read(1, 4000);
    bench.next_period();
    assert_eq!((bench.limit(0), bench.limit(1)), (500, 2000));
    assert_eq!(bench.regulator.unclaimed(Direction::Reads), Events::new(3500 + 2000));
    // Core 1 takes its own 2000 back, then quanta of 1000: 2000 + 2000 + 1000 + 1000 + 1000 and the last 500.
    assert_eq!(bench.read(1, 100_000), 7500);
    assert_eq!(bench.throttle(1), Throttle::Core);
    // Nothing is left: core 0 has 500 of its 1000 and goes on up to its reservation nevertheless.
    assert_eq!(bench.read(0, 1000), 1000);
    assert_eq!(bench.regulator.account(CoreId(0)).unwrap().wrong_donations, 1);
    assert_eq!(bench.regulator.conservation().overdraft, Events::new(3500));
    // Compensation: having given too much, it gives nothing in the next period; 3000 of 4000 were missing.
    bench.next_period();
    assert_eq!(bench.limit(0), 4000);
    assert_eq!(bench.regulator.account(CoreId(0)).unwrap().missing_tenths[7], 1);
}

#[test]
fn gifts_follow_the_task() {
    let mut config = config(&[1000, 1000, 1000]);
    config.reclaim = Reclaim::Pool;
    config.tasks[0].donates = Donation::Nothing;
    config.tasks[2].donates = Donation::Everything;
    let mut bench = Bench::new(config);
    bench.read(1, 600);
    bench.read(2, 900);
    bench.next_period();
    // Hard: nothing. Normal: 1000 - 300. Everything, but for the one event that lets it ask.
    assert_eq!([bench.limit(0), bench.limit(1), bench.limit(2)], [1000, 300, 1]);
}

#[test]
fn an_idle_core_keeps_what_a_waking_hard_task_will_need() {
    let mut config = config(&[1000, 1000]);
    config.reclaim = Reclaim::Pool;
    config.idle_donates[0] = Donation::Nothing;
    let mut bench = Bench::new(config);
    let _ = bench.run(0, None);
    let _ = bench.run(1, None);
    bench.next_period();
    assert_eq!([bench.limit(0), bench.limit(1)], [1000, 1]);
}

#[test]
fn leftover_gifts_do_not_carry_over() {
    let mut config = config(&[1000, 1000]);
    config.reclaim = Reclaim::Pool;
    let mut bench = Bench::new(config);
    bench.next_period();
    bench.next_period();
    // Two cores gave 999 each in this period only.
    assert_eq!(bench.regulator.unclaimed(Direction::Reads), Events::new(1998));
}

/// 2022: own gift first, then the whole gift of one core after the other until a quantum is exceeded.
#[test]
fn peers_lend_whole_gifts_in_the_order_of_the_cores() {
    let mut config = config(&[2000, 2000, 2000, 2000]);
    config.reclaim = Reclaim::Peers;
    config.quantum = Events::new(1500);
    let mut bench = Bench::new(config);
    for (core, used) in [(0, 2000), (1, 1000), (2, 1000), (3, 2000)] {
        assert_eq!(bench.read(core, used), used);
    }
    bench.next_period();
    assert_eq!([0, 1, 2, 3].map(|core| bench.limit(core)), [1000, 500, 500, 1000]);
    bench.read(3, 1000);
    assert_eq!(bench.limit(3), 2000, "its own gift first");
    bench.read(3, 1000);
    // Cores 0 (1000) and 1 (1500) together exceed the quantum; core 2 keeps its gift.
    assert_eq!(bench.limit(3), 4500);
    assert_eq!(bench.regulator.unclaimed(Direction::Reads), Events::new(1500));
}

#[test]
fn spare_sharing_releases_everybody_until_the_period_ends() {
    let mut config = config(&[1000, 500]);
    config.sharing = Sharing::Spare;
    let mut bench = Bench::new(config);
    bench.now += Duration::from_micros(100);
    assert_eq!(bench.read(0, 5000), 1000);
    bench.now += Duration::from_micros(100);
    assert_eq!(bench.read(1, 5000), 5000, "the last one goes on");
    assert_eq!(bench.throttle(0), Throttle::Off);
    assert_eq!(bench.last[0].unwrap().arm[Direction::Reads], None);
    assert_eq!(bench.read(0, 7000), 7000);
    bench.next_period();
    assert_eq!(bench.read(0, 5000), 1000, "regulated again");
    bench.next_period();
    let conservation = bench.regulator.conservation();
    assert_eq!((conservation.exempt, conservation.violations), (1, 0));
}

#[test]
fn proportional_sharing_divides_the_surplus_like_the_budgets() {
    let mut config = config(&[900, 300]);
    config.sharing = Sharing::Proportional;
    let mut bench = Bench::new(config);
    let mut read = [0, 0];
    for round in 1..=10_u64 {
        bench.now += Duration::from_micros(10);
        // Whoever is exhausted last begins a new period for both at once.
        read[0] += bench.read(0, 900);
        read[1] += bench.read(1, 300);
        assert_eq!(bench.regulator.next_boundary(), bench.now + MS, "round {round}: the timer starts anew");
        assert_eq!((bench.throttle(0), bench.throttle(1)), (Throttle::Off, Throttle::Off));
    }
    assert_eq!(read, [9000, 3000]);
    assert_eq!(bench.regulator.conservation().violations, 0);
}

/// The case study's Fig. 7: alone with proportional sharing a task runs as if nothing regulated it; Fig. 5:
/// without sharing it is stopped by its own budget.
#[test]
fn alone_is_regulated_without_sharing_and_free_with_it() {
    let mut alone = Bench::new(config(&[600, 600]));
    let _ = alone.run(1, None);
    assert_eq!(alone.read(0, 5000), 600);
    for sharing in [Sharing::Spare, Sharing::Proportional] {
        let mut config = config(&[600, 600]);
        config.sharing = sharing;
        let mut alone = Bench::new(config);
        let _ = alone.run(1, None);
        assert_eq!(alone.read(0, 5000), 5000);
    }
}

#[test]
fn reads_and_writes_stop_a_core_alike() {
    let mut config = config(&[1000]);
    config.directions = 2;
    let of = |events| Allowance::Fixed { events: Events::new(events), fraction: 0 };
    config.cores[0] = Some(PerDirection([of(1000), of(300)]));
    let mut bench = Bench::new(config);
    assert_eq!(bench.work(0, Direction::Writes, 5000), 300);
    assert_eq!(bench.throttle(0), Throttle::Core);
    bench.next_period();
    assert_eq!(bench.work(0, Direction::Reads, 5000), 1000);
    bench.next_period();
    let report = bench.last[0].unwrap().report.unwrap();
    assert_eq!(report.used.0.map(Events::get), [1000, 0]);
}

#[test]
fn weights_divide_the_guaranteed_bandwidth_among_active_cores() {
    let mut config = config(&[0, 0, 0]);
    config.guaranteed = Events::new(1200);
    for (core, weight) in [(0, 1), (1, 3), (2, 2)] {
        config.cores[core] = Some(PerDirection([Allowance::Weight(weight); 2]));
    }
    let mut bench = Bench::new(config);
    bench.next_period();
    assert_eq!([0, 1, 2].map(|core| bench.limit(core)), [200, 600, 400]);
    let _ = bench.run(2, None);
    bench.next_period();
    assert_eq!([0, 1].map(|core| bench.limit(core)), [300, 900]);
    // It wakes in mid-period: the others have it all until the next one.
    let _ = bench.run(2, Some(2));
    assert_eq!(bench.read(2, 100), 1);
    bench.next_period();
    assert_eq!([0, 1, 2].map(|core| bench.limit(core)), [200, 600, 400]);
}

#[test]
fn a_core_where_a_hard_task_lives_keeps_its_share_while_it_is_idle() {
    let mut config = config(&[0, 0, 0]);
    config.guaranteed = Events::new(1200);
    for (core, weight) in [(0, 1), (1, 3), (2, 2)] {
        config.cores[core] = Some(PerDirection([Allowance::Weight(weight); 2]));
    }
    config.tasks[2] = TaskConfig { stands: true, home: Some(CoreId(2)), ..TaskConfig::NONE };
    let mut bench = Bench::new(config);
    let _ = bench.run(2, None);
    bench.next_period();
    assert_eq!([0, 1].map(|core| bench.limit(core)), [200, 600], "core 2 counts although it is idle");
    let _ = bench.run(2, Some(2));
    assert_eq!(bench.read(2, 1000), 400, "it has its share at once, and no more");
    // Whoever counts only while it is active gives its part to the others.
    let _ = bench.run(1, None);
    bench.next_period();
    assert_eq!([0, 2].map(|core| bench.limit(core)), [400, 800]);
}

#[test]
fn a_core_that_wakes_up_gets_its_part_of_what_nobody_holds_and_no_more() {
    let mut config = config(&[0, 0]);
    config.guaranteed = Events::new(1200);
    for core in 0..2 {
        config.cores[core] = Some(PerDirection([Allowance::Weight(1); 2]));
    }
    let mut bench = Bench::new(config);
    let _ = (bench.run(0, None), bench.run(1, None));
    bench.next_period();
    let _ = bench.run(1, Some(1));
    assert_eq!(bench.read(1, 5000), 600, "nobody held anything when the period began");
    assert_eq!(bench.throttle(1), Throttle::Core);
    let _ = bench.run(0, Some(0));
    assert_eq!(bench.read(0, 300), 300);
    // Idle and awake again is not twice its part.
    let _ = bench.run(0, None);
    let _ = bench.run(0, Some(0));
    assert_eq!(bench.read(0, 5000), 300);
    bench.next_period();
    bench.next_period();
    assert_eq!(bench.regulator.conservation().violations, 0);
}

#[test]
fn a_task_is_stopped_by_its_own_budget_and_others_are_not() {
    let mut config = config(&[1000, 1000]);
    config.tasks[0].limit = Some(PerDirection([Events::new(100); 2]));
    let mut bench = Bench::new(config);
    assert_eq!(bench.read(0, 5000), 100);
    assert_eq!(bench.throttle(0), Throttle::Task(TaskId(0)));
    assert!(bench.regulator.is_exhausted(TaskId(0)));
    // Another task takes the core and has what the core has left.
    assert_eq!(bench.run(0, Some(1)).throttle, Throttle::Off);
    assert_eq!(bench.read(0, 5000), 900);
    bench.next_period();
    assert!(!bench.regulator.is_exhausted(TaskId(0)));
    // On another core it has what is left of its own budget.
    let _ = bench.run(0, Some(0));
    assert_eq!(bench.read(0, 60), 60);
    let _ = bench.run(0, None);
    let _ = bench.run(1, Some(0));
    assert_eq!(bench.read(1, 5000), 40);
}

#[test]
fn fractions_and_overshoot_are_carried_over_where_asked_for() {
    let mut config = config(&[100]);
    config.cores[0] =
        Some(PerDirection([Allowance::Fixed { events: Events::new(100), fraction: 600_000_000 }; 2]));
    config.carry_over = true;
    let mut bench = Bench::new(config);
    let mut limits = vec![bench.limit(0)];
    for _ in 0..4 {
        bench.next_period();
        limits.push(bench.limit(0));
    }
    assert_eq!(limits, [100, 101, 100, 101, 101], "503 in five periods of 100.6");
    bench.read(0, 101);
    // Misses that were under way when it was stopped.
    bench.count(0, Direction::Reads, 30);
    bench.next_period();
    assert_eq!(bench.limit(0), 100 - 30);
    bench.count(0, Direction::Reads, 70 + 250);
    bench.next_period();
    assert_eq!(bench.limit(0), 1, "at least one event");
    bench.next_period();
    assert_eq!(bench.limit(0), 1, "the debt was above one budget");
    bench.next_period();
    assert!(bench.limit(0) > 40);
}

#[test]
fn throttled_time_is_charged_where_asked_for() {
    let mut config = config(&[100, 100]);
    config.charge_per_mille = 1500;
    let mut bench = Bench::new(config);
    bench.now += Duration::from_micros(400);
    bench.read(0, 1000);
    bench.next_period();
    let decision = bench.last[0].unwrap();
    assert_eq!(decision.charge, Duration::from_micros(900));
    assert_eq!(decision.reopened.map(|at| at.get()), Some(400_000));
    assert_eq!(bench.last[1].unwrap().charge, Duration::ZERO);
}
