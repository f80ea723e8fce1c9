//! What is left over is shared, and what an occupier causes itself is nobody's use.

mod hog;

use solo_guard::occupier::{Budgets, CoreTally, hold};
use solo_model::isolation::{Budget, CoreBudget, Counted, Regulation, Sharing};
use solo_model::{Bandwidth, Bytes, CoreId, Duration, EventId, Events};
use solo_perf::resolve::Attr;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

/// `PERF_TYPE_SOFTWARE` and `PERF_COUNT_SW_PAGE_FAULTS`.
const PAGE_FAULTS: Attr =
    Attr { kind: 1, config: [2, 0, 0], exclude_user: false, exclude_kernel: false, period: 0 };
/// `PERF_COUNT_SW_TASK_CLOCK`: nanoseconds, of a CPU or of a thread.
const TASK_CLOCK: Attr = Attr { config: [1, 0, 0], ..PAGE_FAULTS };
const PERIOD: Duration = Duration::from_millis(10);
const PERIODS: u64 = 60;

/// Two occupiers of one CPU would be each other's neighbours.
static ALONE: Mutex<()> = Mutex::new(());

/// Holds budgets of these CPUs beside a hog on the last of them; nothing where this machine can't.
fn held(event: Attr, cpus: &[CoreId], budget: u64, sharing: Sharing) -> Option<Vec<CoreTally>> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let budget = Budget::Events(Events::new(budget));
    let cores = cpus.iter().map(|&core| CoreBudget { core, budget, writes: None }).collect();
    let counted = Counted::One(EventId::LLC_MISSES);
    let regulation = Regulation { sharing, ..Regulation::new(PERIOD, counted, cores, Bandwidth::ZERO) };
    let budgets = Budgets { regulation, line: Bytes::new(64), event };
    let _hog = hog::on(*cpus.last().expect("one"));
    let held = hold(&budgets, None, &|| {}, &mut |live| match live.since >= PERIOD * PERIODS {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    let held = held.inspect_err(|error| println!("skipped: budgets on this machine: {error}")).ok()?;
    assert_eq!(held.replayed.disagreements, 0);
    Some(held.cores)
}

fn cpus(most: usize) -> Vec<CoreId> {
    let all = solo_threads::sched::cpus();
    all[all.len().saturating_sub(most)..].iter().map(|&cpu| CoreId(cpu as u16)).collect()
}

#[test]
fn where_all_have_used_their_budgets_the_rest_is_for_all() {
    for sharing in [Sharing::Spare, Sharing::Proportional] {
        let Some(alone) = held(PAGE_FAULTS, &cpus(1), 20, Sharing::None) else { return };
        let Some(shared) = held(PAGE_FAULTS, &cpus(1), 20, sharing) else { return };
        let (alone, shared) = (&alone[0], &shared[0]);
        assert!(
            alone.stopped.get() > alone.periods * PERIOD.get() / 2,
            "in {} of {} periods",
            alone.throttled,
            alone.periods
        );
        assert!(shared.events > 4 * alone.events, "{sharing:?}: {} and {}", shared.events, alone.events);
        assert!(
            shared.stopped.get() * 10 < alone.stopped.get(),
            "{sharing:?}: {} and {}",
            shared.stopped,
            alone.stopped
        );
    }
}

#[test]
fn what_another_has_not_used_is_not_shared() {
    let both = cpus(2);
    if both.len() < 2 {
        return println!("skipped: sharing between CPUs: there is one");
    }
    let Some(shared) = held(PAGE_FAULTS, &both, 50, Sharing::Spare) else { return };
    let (other, hogged) = (&shared[0], &shared[1]);
    if other.throttled * 10 > other.periods {
        // Strangers run there, and cause page faults: then all have used their budgets.
        return println!(
            "skipped: what another has not used: strangers used it in {} of {} periods",
            other.throttled, other.periods
        );
    }
    assert!(
        hogged.stopped.get() > hogged.periods * PERIOD.get() / 2,
        "the other one has a budget left: {}",
        hogged.stopped
    );
}

#[test]
fn an_occupiers_own_events_are_nobodys() {
    // Half of each period, by a counter that goes on while the occupier computes.
    let Some(cores) = held(TASK_CLOCK, &cpus(1), PERIOD.get() / 2, Sharing::None) else { return };
    let core = &cores[0];
    assert!(core.is_apart);
    assert!(core.throttled > PERIODS / 2, "stopped in {}", core.throttled);
    assert!(core.leaked < core.stopped.get() / 2, "{} ns leaked of {}", core.leaked, core.stopped);
}
