//! Faults that were found in the public code (docs/policies/published-faults.md), one test each: they are not
//! here.

use crate::bench::{Bench, MS, config};
use solo_isolate::regulator::{Direction, Throttle};
use solo_model::isolation::{Donation, Reclaim, Sharing, WrongDonation};
use solo_model::{CoreId, CoreSet, Duration, Events};

/// 1. The donor of 2022 got a full budget again when it reached what it had kept, after the taker had the gift:
///    prediction + reservation instead of reservation.
#[test]
fn a_donor_does_not_spend_its_gift_again() {
    for reclaim in [Reclaim::Peers, Reclaim::Pool] {
        let mut config = config(&[4000, 4000]);
        config.reclaim = reclaim;
        config.quantum = Events::new(4000);
        config.wrong_donation = WrongDonation::Throttle;
        let mut bench = Bench::new(config);
        bench.read(0, 1000);
        bench.read(1, 4000);
        bench.next_period();
        // The donor's 3500 go to core 1, then the donor wants everything.
        let taken = bench.read(1, 100_000);
        let kept = bench.read(0, 100_000);
        assert!(taken > 4000, "the gift was used: {taken}");
        assert_eq!(taken + kept, 8000);
        bench.next_period();
        assert_eq!(bench.regulator.conservation().violations, 0);
    }
}

/// The same with the donor's reservation upheld: it gets to its reservation and not beyond, and what that costs
/// is named.
#[test]
fn an_upheld_reservation_is_counted_as_overdraft() {
    let mut config = config(&[4000, 4000]);
    config.reclaim = Reclaim::Peers;
    let mut bench = Bench::new(config);
    bench.read(0, 1000);
    bench.read(1, 4000);
    bench.next_period();
    let taken = bench.read(1, 100_000);
    let kept = bench.read(0, 100_000);
    assert_eq!(kept, 4000, "not prediction + reservation");
    let conservation = bench.regulator.conservation();
    assert_eq!(taken + kept, 8000 + conservation.overdraft.get());
    bench.next_period();
    assert_eq!(bench.regulator.conservation().violations, 0);
}

/// 2. A grant was written where the counter did not see it. Here each decision names what to program, counted
///    from its reading.
#[test]
fn a_grant_reaches_the_counter() {
    let mut config = config(&[4000, 4000]);
    config.reclaim = Reclaim::Pool;
    let mut bench = Bench::new(config);
    bench.read(0, 1000);
    bench.read(1, 4000);
    bench.next_period();
    bench.count(1, Direction::Reads, 2000);
    assert_eq!(bench.overflow(1).arm[Direction::Reads], Some(Events::new(2000)));
    // Three events late: the next grant covers them.
    bench.count(1, Direction::Reads, 2003);
    assert_eq!(bench.overflow(1).arm[Direction::Reads], Some(Events::new(1000)));
}

/// 3. Nothing cleared the mask of active cores, so that one idle core kept sharing from ever beginning.
#[test]
fn an_idle_core_does_not_keep_the_others_from_sharing() {
    for sharing in [Sharing::Spare, Sharing::Proportional] {
        let mut config = config(&[100, 100, 100, 100]);
        config.sharing = sharing;
        let mut bench = Bench::new(config);
        let _ = bench.run(2, None);
        let _ = bench.run(3, None);
        bench.read(0, 100);
        assert_eq!(bench.throttle(0), Throttle::Core);
        bench.read(1, 100);
        assert_eq!([bench.throttle(0), bench.throttle(1)], [Throttle::Off; 2]);
    }
}

/// 3b. Sharing begins too when the last core that still had budget becomes idle.
#[test]
fn becoming_idle_begins_sharing() {
    let mut config = config(&[100, 100]);
    config.sharing = Sharing::Proportional;
    let mut bench = Bench::new(config);
    bench.read(1, 100);
    assert_eq!(bench.throttle(1), Throttle::Core);
    let decision = bench.run(0, None);
    assert_eq!(decision.call, CoreSet::only(CoreId(1)));
    assert_eq!(bench.throttle(1), Throttle::Off);
}

/// 5. Masks were read, modified and compared without synchronisation: two last cores could each miss the other.
#[test]
fn two_last_cores_in_the_same_instant_begin_sharing_once() {
    for (first, second) in [(0, 1), (1, 0)] {
        let mut config = config(&[100, 100]);
        config.sharing = Sharing::Proportional;
        let mut bench = Bench::new(config);
        bench.now += Duration::from_micros(3);
        bench.count(0, Direction::Reads, 100);
        bench.count(1, Direction::Reads, 100);
        let before = bench.overflow(first);
        assert_eq!((before.throttle, before.call), (Throttle::Core, CoreSet::EMPTY));
        let after = bench.overflow(second);
        assert_eq!((after.throttle, after.call), (Throttle::Off, CoreSet::only(CoreId(first as u16))));
        assert_eq!(bench.throttle(first), Throttle::Off);
        assert_eq!(bench.regulator.next_boundary(), bench.now + MS);
    }
}

/// 6. Usage was shown for reads only; a core that only writes looked idle.
#[test]
fn writes_are_reported_and_predicted() {
    let mut config = config(&[1000, 1000]);
    config.directions = 2;
    config.reclaim = Reclaim::Pool;
    let mut bench = Bench::new(config);
    bench.work(0, Direction::Writes, 400);
    bench.next_period();
    let report = bench.last[0].unwrap().report.unwrap();
    assert_eq!(report.used[Direction::Writes], Events::new(400));
    bench.next_period();
    let report = bench.last[0].unwrap().report.unwrap();
    assert_eq!(report.predicted[Direction::Writes], Events::new(200));
}

/// A handler of 2013 took an overflow below the limit for stale and left the counter without a limit.
#[test]
fn a_stale_overflow_leaves_the_rest_armed() {
    let mut bench = Bench::new(config(&[1000]));
    bench.count(0, Direction::Reads, 400);
    let decision = bench.overflow(0);
    assert_eq!((decision.throttle, decision.arm[Direction::Reads]), (Throttle::Off, Some(Events::new(600))));
    assert_eq!(bench.regulator.account(CoreId(0)).unwrap().stale_overflows, 1);
}

/// A hard task's core keeps its whole reservation whatever the others take (SCE 2.2: criticality must not pay
/// for sharing).
#[test]
fn a_hard_task_never_pays_for_reclaiming() {
    for reclaim in [Reclaim::Pool, Reclaim::Peers] {
        let mut config = config(&[1000, 1000]);
        config.reclaim = reclaim;
        config.tasks[0].donates = Donation::Nothing;
        config.wrong_donation = WrongDonation::Throttle;
        let mut bench = Bench::new(config);
        for _ in 0..5 {
            bench.next_period();
            bench.read(1, 100_000);
            assert_eq!(bench.read(0, 1000), 1000);
        }
    }
}

/// 2013, donation by the task that "is or was throttled" on a core: a core that is stopped at a period's end has no
/// task on it, and must not give away what the hard task that it stopped will need.
#[test]
fn a_stopped_core_gives_by_the_task_that_it_stopped() {
    for reclaim in [Reclaim::Pool, Reclaim::Peers] {
        let mut config = config(&[1000, 1000]);
        config.reclaim = reclaim;
        config.tasks[0].donates = Donation::Nothing;
        let mut bench = Bench::new(config);
        bench.read(0, 5000);
        assert_eq!(bench.throttle(0), Throttle::Core);
        bench.next_period();
        bench.next_period();
        // Core 1, which read nothing, gives all that it is not expected to use; core 0 gives nothing.
        assert_eq!((bench.limit(0), bench.limit(1)), (1000, 1));
    }
}

/// `rt` of 2022: a core that is watched and never armed. Here it is one without a budget: it is never stopped, what
/// it uses is reported, and it takes part in no gift and no sharing.
#[test]
fn a_core_without_a_budget_is_watched_and_never_armed() {
    let mut config = config(&[1000, 1000]);
    config.cores[0] = None;
    config.reclaim = Reclaim::Peers;
    config.sharing = Sharing::Proportional;
    let mut bench = Bench::new(config);
    assert_eq!(bench.last[0].unwrap().arm[Direction::Reads], None);
    assert_eq!(bench.read(0, 50_000), 50_000);
    bench.next_period();
    let report = bench.last[0].unwrap().report.unwrap();
    assert_eq!((report.used[Direction::Reads].get(), report.donated[Direction::Reads].get()), (50_000, 0));
    assert_eq!(bench.regulator.conservation().violations, 0, "nothing was promised of it");
    // Sharing begins when the regulated cores are exhausted, whatever the other does.
    let boundary = bench.regulator.next_boundary();
    bench.now += Duration::from_micros(5);
    bench.read(1, 1000);
    assert_ne!(bench.regulator.next_boundary(), boundary);
}

/// A period number that a core has seen already begins nothing again (2013): neither budget nor gift.
#[test]
fn a_period_begins_once_on_a_core() {
    let mut config = config(&[1000, 1000]);
    config.reclaim = Reclaim::Pool;
    let mut bench = Bench::new(config);
    bench.next_period();
    bench.read(0, 1);
    let before = (bench.limit(0), bench.regulator.unclaimed(Direction::Reads));
    for _ in 0..3 {
        assert_eq!(bench.on_period(0).report, None);
    }
    assert_eq!((bench.limit(0), bench.regulator.unclaimed(Direction::Reads)), before);
}
