//! Hardware that misbehaves: nothing deadlocks, no core stays throttled beyond a period, and the accounts say
//! what happened.

use crate::bench::{Bench, MS, config};
use solo_isolate::regulator::{Direction, LateCores, Throttle};
use solo_model::isolation::{Reclaim, Sharing};
use solo_model::{CoreId, CoreSet, Duration, Events};

#[test]
fn a_lost_overflow_is_noticed_at_the_end_of_the_period() {
    let mut bench = Bench::new(config(&[1000, 1000]));
    // No interrupt comes: the core reads on.
    bench.count(0, Direction::Reads, 3500);
    bench.next_period();
    let report = bench.last[0].unwrap().report.unwrap();
    assert!(report.lost_overflow);
    assert_eq!(bench.regulator.account(CoreId(0)).unwrap().lost_overflows, 1);
    let conservation = bench.regulator.conservation();
    assert_eq!((conservation.violations, conservation.worst_excess), (1, Events::new(1500)));
    // It is armed again as if nothing had happened.
    assert_eq!(bench.read(0, 5000), 1000);
}

#[test]
fn a_late_timer_lengthens_only_its_own_cores_period() {
    let mut bench = Bench::new(config(&[1000, 1000]));
    bench.read(0, 5000);
    bench.read(1, 5000);
    bench.now = bench.regulator.next_boundary();
    // Core 0 is on time, core 1's timer is late.
    let _ = bench.on_period(0);
    assert_eq!([bench.throttle(0), bench.throttle(1)], [Throttle::Off, Throttle::Core]);
    // Whoever began the period is told to interrupt it.
    let throttled = CoreSet::only(CoreId(1));
    assert_eq!(bench.regulator.late_cores(bench.now), LateCores { throttled, overdue: CoreSet::EMPTY });
    bench.now += Duration::from_micros(70);
    let decision = bench.on_period(1);
    assert_eq!(decision.throttle, Throttle::Off);
    assert_eq!(bench.regulator.late_cores(bench.now), LateCores::default());
    // The period's end has not moved.
    assert_eq!(bench.regulator.next_boundary().get(), 2 * MS.get());
}

/// A core that neither its timer nor a request has reached for a whole period is named as such, throttled or not.
#[test]
fn a_core_that_misses_a_whole_period_is_overdue() {
    for throttled in [false, true] {
        let mut bench = Bench::new(config(&[1000, 1000, 1000]));
        if throttled {
            bench.read(1, 5000);
        }
        bench.now = bench.regulator.next_boundary();
        let _ = bench.on_period(0);
        let late = if throttled { CoreSet::only(CoreId(1)) } else { CoreSet::EMPTY };
        assert_eq!(
            bench.regulator.late_cores(bench.now),
            LateCores { throttled: late, overdue: CoreSet::EMPTY }
        );
        let _ = bench.on_period(2);
        bench.now = bench.regulator.next_boundary();
        let _ = bench.on_period(0);
        let overdue = CoreSet::only(CoreId(1));
        assert_eq!(bench.regulator.late_cores(bench.now), LateCores { throttled: CoreSet::EMPTY, overdue });
        let _ = bench.on_period(1);
        assert_eq!(bench.regulator.late_cores(bench.now), LateCores::default());
    }
}

/// Sharing may begin several periods at once: idle cores are not overdue for that, nor are those of a machine that looks
/// only at every third period's end.
#[test]
fn periods_that_begin_early_or_together_make_nobody_overdue() {
    let mut shared = config(&[100, 100]);
    shared.sharing = Sharing::Proportional;
    let mut bench = Bench::new(shared);
    let _ = bench.run(1, None);
    for _ in 0..5 {
        bench.now += Duration::from_micros(100);
        let _ = bench.read(0, 100);
    }
    assert_eq!(bench.regulator.late_cores(bench.now), LateCores::default());

    let mut bench = Bench::new(config(&[1000, 1000]));
    for _ in 0..3 {
        bench.now += MS * 3;
        let _ = bench.on_period(0);
        assert_eq!(bench.regulator.late_cores(bench.now), LateCores::default());
        let _ = bench.on_period(1);
    }
}

#[test]
fn a_late_overflow_does_not_count_against_the_new_period() {
    let mut bench = Bench::new(config(&[1000, 1000]));
    bench.count(0, Direction::Reads, 1000);
    bench.now = bench.regulator.next_boundary();
    // The overflow of the old period arrives before the timer of the new one.
    let decision = bench.overflow(0);
    assert_eq!((decision.throttle, decision.arm[Direction::Reads]), (Throttle::Off, Some(Events::new(1000))));
    assert!(decision.report.is_some());
    assert!(bench.on_period(0).report.is_none(), "the timer finds the period begun");
}

#[test]
fn periods_that_nobody_saw_are_counted_and_not_given() {
    let mut bench = Bench::new(config(&[1000, 1000]));
    bench.read(0, 5000);
    bench.now += MS * 7 + Duration::from_micros(300);
    let decision = bench.on_period(0);
    assert_eq!(decision.throttle, Throttle::Off);
    assert_eq!(decision.arm[Direction::Reads], Some(Events::new(1000)), "one budget, not seven");
    assert_eq!(bench.regulator.account(CoreId(0)).unwrap().overruns, 6);
    assert_eq!(bench.regulator.next_boundary().get(), 8 * MS.get(), "in step with the first period");
}

#[test]
fn counters_wrap() {
    for width in [32, 40, 48, 64] {
        let mut config = config(&[1000, 1000]);
        config.counter_width = width;
        let top = if width == 64 { u64::MAX } else { (1 << width) - 1 };
        let mut bench = Bench::from(config, top - 1500);
        for _ in 0..4 {
            assert_eq!(bench.read(0, 5000), 1000, "{width} bits");
            bench.next_period();
        }
        assert_eq!(bench.regulator.account(CoreId(0)).unwrap().lost_overflows, 0);
    }
}

#[test]
fn donor_and_taker_in_the_same_instant() {
    for reclaim in [Reclaim::Pool, Reclaim::Peers] {
        for order in [[0, 1], [1, 0]] {
            let mut config = config(&[4000, 4000]);
            config.reclaim = reclaim;
            let mut bench = Bench::new(config);
            bench.read(0, 1000);
            bench.read(1, 1000);
            bench.next_period();
            // Both reach what they kept (500) at once and want their gifts and each other's.
            bench.count(0, Direction::Reads, 500);
            bench.count(1, Direction::Reads, 500);
            for core in order {
                let _ = bench.overflow(core);
            }
            let limits = bench.limit(0) + bench.limit(1);
            let unclaimed = bench.regulator.unclaimed(Direction::Reads).get();
            assert_eq!(limits + unclaimed, 8000);
        }
    }
}

#[test]
fn an_overflow_of_a_throttled_core_changes_nothing() {
    let mut bench = Bench::new(config(&[1000, 1000]));
    bench.read(0, 5000);
    bench.count(0, Direction::Reads, 10);
    let decision = bench.overflow(0);
    assert_eq!((decision.throttle, decision.arm[Direction::Reads]), (Throttle::Core, None));
}

#[test]
fn cores_that_do_not_exist_are_not_regulated() {
    let mut bench = Bench::new(config(&[1000]));
    let far = CoreId(9);
    let counters = Default::default();
    assert!(!bench.regulator.is_due(far, bench.now));
    for decision in [
        bench.regulator.on_period(far, bench.now, counters),
        bench.regulator.overflow(far, bench.now, counters),
        bench.regulator.switched(far, bench.now, counters, None),
    ] {
        assert_eq!((decision.throttle, decision.arm[Direction::Reads]), (Throttle::Off, None));
    }
}

#[test]
fn a_core_that_is_called_and_does_not_come_begins_at_its_timer() {
    let mut config = config(&[100, 100]);
    config.sharing = Sharing::Proportional;
    let mut bench = Bench::new(config);
    let _ = bench.read(0, 100);
    bench.count(1, Direction::Reads, 100);
    let old_boundary = bench.regulator.next_boundary();
    bench.now += Duration::from_micros(10);
    // The request to core 0 is lost.
    let decision = bench.regulator.overflow(CoreId(1), bench.now, Default::default());
    let _ = decision;
    bench.now = old_boundary;
    assert!(bench.regulator.is_due(CoreId(0), bench.now));
    assert_eq!(bench.on_period(0).throttle, Throttle::Off);
}
