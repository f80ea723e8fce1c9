//! Budgets that change during a run.

use crate::bench::{Bench, MS, config};
use solo_isolate::regulator::{
    Allowance, Config, DIRECTIONS, Direction, PerDirection, Step, TaskConfig, Throttle,
};
use solo_model::isolation::{Reclaim, Sharing};
use solo_model::{CoreId, CoreSet, Duration, Events};

fn step(at: Duration, named: &[u16], cores: Vec<Option<PerDirection<Allowance>>>, guaranteed: u64) -> Step {
    Step {
        at,
        named: named.iter().map(|&core| CoreId(core)).collect(),
        cores,
        guaranteed: Events::new(guaranteed),
    }
}

/// From `budgets` to `then` at `at`.
fn changing(budgets: &[u64], at: Duration, then: &[u64]) -> Config {
    let later = config(then);
    let differs = |core: &u16| budgets[usize::from(*core)] != then[usize::from(*core)];
    let named: Vec<u16> = (0..budgets.len() as u16).filter(differs).collect();
    Config { steps: vec![step(at, &named, later.cores, later.guaranteed.get())], ..config(budgets) }
}

#[test]
fn a_change_waits_for_the_period_that_begins_then_or_later() {
    for (at, first) in [(MS * 2, 2), (MS * 2 - Duration::new(1), 2), (MS * 2 + Duration::new(1), 3)] {
        let mut bench = Bench::new(changing(&[1000, 500], at, &[400, 500]));
        for period in 0..5 {
            let expected = if period < first { 1000 } else { 400 };
            assert_eq!((bench.read(0, 5000), bench.read(1, 5000)), (expected, 500), "{at}, period {period}");
            let told = bench.last[0].and_then(|decision| decision.rebudgeted);
            assert!(told.is_none(), "it is told when the period begins, and not by an overflow");
            bench.now += MS / 2;
            assert_eq!(bench.on_period(0).throttle, Throttle::Core, "nothing changes inside a period");
            bench.next_period();
            let [one, other] = [0, 1].map(|core| bench.last[core].and_then(|decision| decision.rebudgeted));
            assert_eq!((one.is_some(), other), (period + 1 == first, None), "{at}, period {period}");
            if let Some(change) = one {
                assert_eq!((change.core, change.at, change.period), (CoreId(0), bench.now, first + 1));
                let events = |of: PerDirection<Events>| of[Direction::Reads].get();
                assert_eq!((events(change.before), events(change.reserved)), (1000, 400));
            }
        }
        assert_eq!(bench.regulator.conservation().violations, 0);
    }
}

/// What is taken from one core is given to another in the same period, so that the sum is never exceeded: also where the core that
/// loses comes into the period long after the one that gains.
#[test]
fn the_sum_of_reservations_holds_across_a_change() {
    let mut bench = Bench::new(changing(&[1000, 200], MS * 3, &[200, 1000]));
    let mut all = Vec::new();
    for _ in 0..6 {
        // Core 0 uses nothing in the first half; then core 1 has come into the next period already.
        all.push((bench.read(1, 9000), bench.read(0, 9000)));
        bench.now = bench.regulator.next_boundary();
        let _ = bench.on_period(1);
        bench.now += MS / 2;
        let _ = bench.on_period(0);
    }
    assert_eq!(all, [(200, 1000), (200, 1000), (200, 1000), (1000, 200), (1000, 200), (1000, 200)]);
    let conservation = bench.regulator.conservation();
    assert_eq!((conservation.violations, conservation.worst_excess), (0, Events::ZERO));
}

#[test]
fn changes_that_no_period_saw_are_all_taken_in_their_order() {
    let mut config = changing(&[1000], MS * 2, &[300]);
    let (later, last) = (changing(&[300], MS * 3, &[700]), changing(&[700], MS * 9, &[50]));
    config.steps.extend(later.steps.into_iter().chain(last.steps));
    let mut bench = Bench::new(config);
    // The core sleeps through the periods from 1 ms to 4 ms.
    bench.now += MS * 4;
    let change = bench.on_period(0).rebudgeted.expect("it has another budget");
    assert_eq!((change.before[Direction::Reads].get(), change.reserved[Direction::Reads].get()), (1000, 700));
    assert_eq!(bench.read(0, 5000), 700);
}

#[test]
fn weights_that_change_divide_what_is_guaranteed_anew() {
    let weights = |of: &[u32]| -> Vec<_> {
        of.iter().map(|&weight| Some(PerDirection([Allowance::Weight(weight); DIRECTIONS]))).collect()
    };
    let mut config = config(&[0, 0]);
    config.guaranteed = Events::new(1200);
    config.cores = weights(&[1, 1]);
    config.steps.push(step(MS * 2, &[1], weights(&[1, 3]), 1200));
    let stands = |core| TaskConfig { stands: true, home: Some(CoreId(core)), ..TaskConfig::NONE };
    config.tasks = vec![stands(0), stands(1)];
    assert_eq!(config.joined(), CoreSet::first(2));
    let mut bench = Bench::new(config);
    let mut limits = Vec::new();
    for _ in 0..4 {
        limits.push([bench.limit(0), bench.limit(1)]);
        bench.next_period();
    }
    assert_eq!(limits, [[600, 600], [600, 600], [300, 900], [300, 900]]);
    // Cores that have weights only later depend on one another from the start.
    let mut fixed = changing(&[10, 10], MS, &[10, 10]);
    assert_eq!(fixed.joined(), CoreSet::EMPTY);
    fixed.steps[0].cores = weights(&[1, 1]);
    assert_eq!(fixed.joined(), CoreSet::first(2));
}

/// Gifts, and periods that begin early, are of the budgets that hold.
#[test]
fn gifts_and_shared_periods_follow_the_change() {
    let mut config = changing(&[1000, 1000], MS * 2, &[400, 1600]);
    (config.reclaim, config.sharing) = (Reclaim::Pool, Sharing::Proportional);
    let mut bench = Bench::new(config);
    for period in 0..6 {
        let before = bench.regulator.conservation().violations;
        bench.read(0, 300);
        bench.read(1, 9000);
        bench.next_period();
        assert_eq!(bench.regulator.conservation().violations, before, "period {period}");
        let whole = bench.limit(0) + bench.limit(1) + bench.regulator.unclaimed(Direction::Reads).get();
        assert_eq!(whole, 2000, "period {period}");
    }
    assert_eq!(
        bench.last[1].and_then(|decision| decision.report).map(|of| of.reserved[Direction::Reads].get()),
        Some(1600)
    );
}
