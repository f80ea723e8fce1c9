//! Budgets of page faults held on one CPU while a process there causes as many as it can: what is used, what is leaked, and how
//! long after a ring the occupier has the core. Needs root, or CAP_SYS_NICE and CAP_PERFMON.
//!
//! ```text
//! cargo run --release -p solo-guard --example bench_guard [CPU [PERIODS]]
//! ```

mod common;

use common::{Hog, three};
use solo_guard::occupier::{Budgets, CoreTally, hold};
use solo_model::isolation::{Budget, CoreBudget, Counted, Reclaim, Regulation, Sharing};
use solo_model::{Bandwidth, Bytes, CoreId, Duration, EventId, Events};
use solo_perf::resolve::Attr;
use std::ops::ControlFlow;

/// PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS.
const PAGE_FAULTS: Attr =
    Attr { kind: 1, config: [2, 0, 0], exclude_user: false, exclude_kernel: false, period: 0 };
/// Events and period in microseconds.
const BUDGETS: [(u64, u64); 7] =
    [(4, 1000), (20, 1000), (100, 1000), (200, 1000), (1000, 10_000), (1000, 1000), (4, 10_000)];

fn main() {
    let words = common::words();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
    let (cpu, periods) = (number(0).unwrap_or(1), number(1).unwrap_or(10_000));
    println!(
        "events/period  periods  stopped  used/period  most  beyond p50/p99/max  ring to core us p50/p99/max  leaked"
    );
    for (events, period_us) in BUDGETS {
        let _hog = Hog::on(cpu as usize);
        run(&[(cpu as u16, events)], period_us, periods, |_| {});
    }
    println!("the same with reclaiming, the other CPU idle with a budget of its own");
    let _hog = Hog::on(cpu as usize);
    let other = u16::from(cpu == 0);
    for (events, period_us) in [(100, 1000), (1000, 10_000)] {
        run(&[(cpu as u16, events), (other, events)], period_us, periods, |regulation| {
            (regulation.reclaim, regulation.sharing) = (Reclaim::Pool, Sharing::None);
        });
    }
}

fn run(budgets: &[(u16, u64)], period_us: u64, periods: u64, change: impl Fn(&mut Regulation)) {
    let one = |&(core, events): &(u16, u64)| {
        let budget = Budget::Events(Events::new(events));
        CoreBudget { core: CoreId(core), budget, writes: None }
    };
    let period = Duration::new(period_us * 1000);
    let cores = budgets.iter().map(one).collect();
    let mut regulation = Regulation::new(period, Counted::One(EventId::LLC_MISSES), cores, Bandwidth::ZERO);
    change(&mut regulation);
    let budgets = Budgets { regulation, line: Bytes::new(64), event: PAGE_FAULTS };
    let end = period * periods;
    let held = hold(&budgets, None, &|| {}, &mut |live| match live.since >= end {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    match held {
        Ok(held) => {
            held.cores.iter().for_each(|core| line(&budgets, core));
            let sum = held.conservation;
            println!(
                "    all together: {} of {} periods above the sum, by {} at most; {} overdrawn",
                sum.violations, sum.periods, sum.worst_excess, sum.overdraft
            );
            let all = held.replayed;
            println!(
                "    {} decisions told again, {} answered otherwise, {} not kept",
                all.compared, all.disagreements, all.not_compared
            );
        }
        Err(error) => {
            eprintln!("skipped: {error}");
            std::process::exit(3);
        }
    }
}

fn line(budgets: &Budgets, core: &CoreTally) {
    let period_us = budgets.regulation.period.get() / 1000;
    let own = budgets.regulation.cores.iter().find(|entry| entry.core == core.core);
    let Some(Budget::Events(events)) = own.map(|own| own.budget) else { return };
    println!(
        "{} {} of {period_us} us  {}  {}  {:.3}  {}  {}  {}  {} in {}",
        core.core,
        events.get(),
        core.periods,
        core.throttled,
        core.events as f64 / core.periods.max(1) as f64,
        core.most,
        three(&core.beyond, 1.0),
        three(&core.latency, 1000.0),
        core.leaked,
        core.leaks,
    );
    println!(
        "    late us {}  taken away us {} ({})",
        three(&core.late, 1000.0),
        three(&core.taken_away, 1000.0),
        core.taken_away.count()
    );
}
