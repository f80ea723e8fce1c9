//! An occupier that closes a gate instead of computing.

mod hog;

use solo_guard::occupier::{Budgets, Gate, Held, hold};
use solo_model::isolation::{Budget, CoreBudget, Counted, Regulation};
use solo_model::{Bandwidth, Bytes, CoreId, Duration, EventId, Events};
use solo_perf::resolve::Attr;
use std::io;
use std::ops::ControlFlow;
use std::sync::Mutex;

/// `PERF_TYPE_SOFTWARE` and `PERF_COUNT_SW_PAGE_FAULTS`.
const PAGE_FAULTS: Attr =
    Attr { kind: 1, config: [2, 0, 0], exclude_user: false, exclude_kernel: false, period: 0 };
const BUDGET: u64 = 20;

/// Keeps nobody away, and remembers what was asked of it.
#[derive(Default)]
struct Broken {
    asked: Mutex<Vec<bool>>,
    refuses: bool,
}

impl Broken {
    fn ask(&self, closed: bool) -> io::Result<()> {
        self.asked.lock().unwrap().push(closed);
        if self.refuses { Err(io::Error::other("out of order")) } else { Ok(()) }
    }
}

impl Gate for Broken {
    fn close(&self, _: CoreId) -> io::Result<()> {
        self.ask(true)
    }

    fn open(&self, _: CoreId) -> io::Result<()> {
        self.ask(false)
    }
}

/// Holds a CPU for 200 periods beside a hog; nothing where this machine can't.
fn held(gate: &Broken) -> Option<Held> {
    let cpu = CoreId(*solo_threads::sched::cpus().last().expect("there is one") as u16);
    let cores = vec![CoreBudget { core: cpu, budget: Budget::Events(Events::new(BUDGET)), writes: None }];
    let period = Duration::from_millis(1);
    let regulation = Regulation::new(period, Counted::One(EventId::LLC_MISSES), cores, Bandwidth::ZERO);
    let budgets = Budgets { regulation, line: Bytes::new(64), event: PAGE_FAULTS };
    let _hog = hog::on(cpu);
    let held = hold(&budgets, Some(gate), &|| {}, &mut |live| match live.since >= period * 200 {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    held.inspect_err(|error| println!("skipped: budgets of page faults: {error}")).ok()
}

#[test]
fn a_gate_that_keeps_nobody_away_is_found_out() {
    let gate = Broken::default();
    let Some(held) = held(&gate) else { return };
    let core = &held.cores[0];
    assert!(core.throttled > 0, "the hog used its budget up in no period of {}", core.periods);
    assert!(core.leaked > 0, "{core:?}");
    assert_eq!(core.taken_away.count(), 0, "nobody computed");
    let asked = gate.asked.into_inner().unwrap();
    assert!(asked.chunks(2).all(|pair| pair == [true, false]), "closed and opened in turns, open at the end");
    assert_eq!(held.replayed.disagreements, 0);
}

#[test]
fn a_gate_that_refuses_ends_what_is_held_and_is_named() {
    let gate = Broken { refuses: true, ..Broken::default() };
    let Some(held) = held(&gate) else { return };
    let failure = held.cores[0].failure.as_ref().map(ToString::to_string);
    assert_eq!(failure.as_deref(), Some("out of order"));
}
