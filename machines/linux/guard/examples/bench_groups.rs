//! Budgets of page faults held on a cgroup with a process on each of two CPUs that cause as many as they can: what is used, how long after a
//! ring the group is frozen, and what being held costs where the budget is never used up. Needs root and cgroups of version 2.
//!
//! ```text
//! cargo run --release -p solo-guard --example bench_groups [PERIODS]
//! ```

mod common;

use common::{Hog, three};
use solo_guard::groups::{GroupBudgets, GroupsHeld, hold};
use solo_guard::occupier::Budgets;
use solo_guard::{Group, Guard, Machine, Setting};
use solo_model::isolation::{Budget, CoreBudget, Counted, Regulation};
use solo_model::{Bandwidth, Bytes, CoreId, Duration, EventId, Events};
use solo_perf::resolve::Attr;
use std::ops::ControlFlow;
use std::path::Path;

/// PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS.
const PAGE_FAULTS: Attr =
    Attr { kind: 1, config: [2, 0, 0], exclude_user: false, exclude_kernel: false, period: 0 };
/// Events and period in microseconds.
const BUDGETS: [(u64, u64); 6] =
    [(20, 1000), (100, 1000), (200, 1000), (40, 10_000), (1000, 10_000), (4000, 100_000)];
/// More than anybody causes.
const ALL: u64 = 1 << 40;

fn main() {
    let words = common::words();
    let periods = words.first().and_then(|word| word.parse().ok()).unwrap_or(10_000);
    let machine = || Machine::below(Path::new("/")).expect("this machine");
    let state = tempfile::tempdir().expect("a folder");
    let (mut guard, _) = Guard::start(state.path(), machine()).expect("a guard");
    let above = machine().group_of(std::process::id()).expect("cgroups of version 2");
    let group = above.below(&format!("solo-bench-{}", std::process::id())).expect("a name");
    guard.change(&Setting::Folder { group: group.clone() }, Setting::THERE).expect("a group");
    let cpus: Vec<usize> = solo_threads::sched::cpus().into_iter().take(2).collect();
    let hogs: Vec<Hog> = cpus.iter().map(|cpu| Hog::on(*cpu)).collect();
    hogs.iter().for_each(|hog| machine().enter(&group, hog.id()).expect("it enters"));
    println!(
        "events/period  stopped  used/period  most  beyond p50/p99/max  ring to frozen us p50/p99/max  leaked  late us p50/p99/max"
    );
    for (events, period_us) in BUDGETS {
        // As many periods, or a minute.
        let periods = periods.min(60_000_000 / period_us);
        let held = run(&group, &mut guard, events, period_us, periods);
        line(events, period_us, &held);
    }
    // In turns: nobody, and a guard whose budget is never used up.
    let rate = |guard: &mut Guard<Machine>, period_us| {
        run(&group, guard, ALL, period_us, 2_000_000 / period_us).groups[0].tally.events
    };
    for period_us in [1000, 10_000] {
        let mut ratios: Vec<f64> = Vec::new();
        for _ in 0..10 {
            let (free, held) = (rate(&mut guard, 1_000_000), rate(&mut guard, period_us));
            ratios.push(held as f64 / free.max(1) as f64);
        }
        ratios.sort_by(f64::total_cmp);
        println!(
            "page faults in 2 s with periods of {period_us} us beside those of 1 s: {:.3} ({:.3} to {:.3}, ten pairs)",
            ratios[5], ratios[0], ratios[9]
        );
    }
    drop(hogs);
    let _ = guard.undo();
}

fn run(group: &Group, guard: &mut Guard<Machine>, events: u64, period_us: u64, periods: u64) -> GroupsHeld {
    let period = Duration::new(period_us * 1000);
    let budget = Budget::Events(Events::new(events));
    let cores = vec![CoreBudget { core: CoreId(0), budget, writes: None }];
    let regulation = Regulation::new(period, Counted::One(EventId::LLC_MISSES), cores, Bandwidth::ZERO);
    let budgets = Budgets { regulation, line: Bytes::new(64), event: PAGE_FAULTS };
    let budgets = GroupBudgets { budgets, groups: vec![group.clone()] };
    let held = hold(&budgets, guard, &|| {}, &mut |live| match live.since >= period * periods {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    held.unwrap_or_else(|error| {
        eprintln!("skipped: {error}");
        std::process::exit(3);
    })
}

fn line(events: u64, period_us: u64, held: &GroupsHeld) {
    let tally = &held.groups[0].tally;
    println!(
        "{events} in {period_us} us  {} of {}  {:.2}  {}  {}  {}  {} in {}  {}   {} told again, {} otherwise",
        tally.throttled,
        tally.periods,
        tally.events as f64 / tally.periods.max(1) as f64,
        tally.most,
        three(&tally.beyond, 1.0),
        three(&tally.latency, 1000.0),
        tally.leaked,
        tally.leaks,
        three(&tally.late, 1000.0),
        held.replayed.compared,
        held.replayed.disagreements
    );
}
