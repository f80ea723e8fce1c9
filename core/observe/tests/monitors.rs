//! Monitors over scripted counters of a simulated core, and what becomes of their metrics without memory.
#![allow(unsafe_code, reason = "an allocator is an unsafe trait; this one counts and passes on")]

use proptest::prelude::*;
use solo_model::sample::Why;
use solo_model::{CoreId, Counts, Duration, EventId, EventTable, Instant, Sample};
use solo_observe::formula::FormulaError;
use solo_observe::{Board, Derived, Expression, Fixed, HitmRate, Ipc, MetricId, Monitor, Rate};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

const IPC: MetricId = MetricId(0);
const MPKI: MetricId = MetricId(1);
const HITM: MetricId = MetricId(2);

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is handed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn fixed(text: &str) -> Fixed {
    Fixed::parse(text).unwrap()
}

fn sample(why: Why, span: Duration, counts: &[(EventId, u64)]) -> Sample {
    let counts: Counts = counts.iter().copied().collect();
    Sample { why, ..Sample::of_core(CoreId(1), Instant::ZERO + span, span, counts) }
}

fn tick(counts: &[(EventId, u64)]) -> Sample {
    sample(Why::Tick, Duration::from_millis(1), counts)
}

fn mpki() -> Rate {
    let expression = Expression::parse("1000 * llc_misses / instructions").unwrap();
    Rate::new(MPKI, &expression, &EventTable::default()).unwrap()
}

#[test]
fn metrics_are_absent_where_something_was_not_counted() {
    let both = [(EventId::INSTRUCTIONS, 3000), (EventId::CYCLES, 2000)];
    assert_eq!(Ipc::new(IPC).sample(&tick(&both)).get(IPC), Some(fixed("1.5")));
    assert_eq!(Ipc::new(IPC).sample(&tick(&both[..1])), Derived::NONE, "no cycles were counted");
    let still = [(EventId::INSTRUCTIONS, 0), (EventId::CYCLES, 0)];
    assert_eq!(Ipc::new(IPC).sample(&tick(&still)), Derived::NONE, "no cycle passed");
    let none = [(EventId::INSTRUCTIONS, 1000), (EventId::LLC_MISSES, 0)];
    assert_eq!(mpki().sample(&tick(&none)).get(MPKI), Some(Fixed::ZERO), "counted, and zero");
    assert_eq!(mpki().sample(&tick(&none[..1])), Derived::NONE, "not counted is not zero");
}

#[test]
fn a_rate_of_short_samples_waits_for_the_tick() {
    let mut monitor = HitmRate::new(HITM);
    let hitm = |count| [(EventId::SNOOP_HITM, count)];
    let part = |why, microseconds, count| sample(why, Duration::from_micros(microseconds), &hitm(count));
    assert_eq!(monitor.sample(&part(Why::Switch, 200, 4)), Derived::NONE);
    assert_eq!(monitor.sample(&part(Why::Migration, 300, 1)), Derived::NONE);
    // Its set had no turn: neither its time nor its events belong to the rate.
    assert_eq!(monitor.sample(&tick(&[(EventId::CYCLES, 7)])), Derived::NONE);
    // 4 + 1 + 5 in a millisecond.
    assert_eq!(monitor.sample(&part(Why::Tick, 500, 5)).get(HITM), Some(fixed("10000")));
    assert_eq!(
        monitor.sample(&part(Why::Tick, 1000, 0)).get(HITM),
        Some(Fixed::ZERO),
        "nothing is carried over"
    );
}

#[test]
fn a_board_keeps_what_is_known_of_each_thread() {
    let mut board = Board::new(2, 3);
    board.note(1, &Derived::one(MPKI, Some(fixed("2"))), Instant::ZERO);
    board.note(1, &Derived::one(MPKI, None), Instant::ZERO);
    board.note(1, &Derived::one(MetricId(3), Some(fixed("9"))), Instant::ZERO);
    board.note(2, &Derived::one(IPC, Some(fixed("9"))), Instant::ZERO);
    board.note(usize::MAX, &Derived::one(IPC, Some(fixed("9"))), Instant::ZERO);
    assert_eq!(board.metric(1, MPKI), Some(fixed("2")), "the last value stays");
    assert_eq!(
        (board.metric(0, MPKI), board.metric(1, IPC), board.metric(0, MetricId(3))),
        (None, None, None)
    );
    assert_eq!((board.metric(2, IPC), board.metric(usize::MAX, IPC)), (None, None));
    board.forget(1);
    assert_eq!(board.metric(1, MPKI), None);
}

#[test]
fn expressions_of_unknown_names_and_endless_ones_are_refused() {
    let table = EventTable::default();
    let refused = |text: &str| Rate::new(MPKI, &Expression::parse(text).unwrap(), &table).unwrap_err();
    assert_eq!(refused("cycles / frobs"), FormulaError::Unknown { name: "frobs".into() });
    let deep = format!("{}1{}", "(1+".repeat(60), ")".repeat(60));
    assert!(matches!(refused(&deep), FormulaError::TooDeep { .. }));
}

#[test]
fn monitors_take_no_memory() {
    let counts = [
        (EventId::INSTRUCTIONS, 3000),
        (EventId::CYCLES, 2000),
        (EventId::LLC_MISSES, 3),
        (EventId::SNOOP_HITM, 4),
    ];
    let sample = tick(&counts);
    let mut monitors: [Box<dyn Monitor>; 3] =
        [Box::new(Ipc::new(IPC)), Box::new(mpki()), Box::new(HitmRate::new(HITM))];
    let mut board = Board::new(4, 3);
    let before = ALLOCATIONS.with(Cell::get);
    for thread in 0..4 {
        for monitor in &mut monitors {
            board.note(thread, &monitor.sample(&sample), Instant::ZERO);
        }
    }
    assert_eq!(ALLOCATIONS.with(Cell::get), before);
    assert_eq!(board.metric(3, HITM), Some(fixed("4000")));
}

/// Expressions of three columns and small numbers.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("instructions".to_owned()),
        Just("cycles".to_owned()),
        Just("llc_misses".to_owned()),
        (0..1000_u32).prop_map(|number| number.to_string()),
    ];
    leaf.prop_recursive(4, 24, 2, |inner| {
        (inner.clone(), "[-+*/]", inner)
            .prop_map(|(left, operator, right)| format!("({left}{operator}{right})"))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..Default::default() })]

    /// The formula of a kernel and the expression of a terminal say the same of every sample.
    #[test]
    fn formulas_are_the_expressions_that_they_were_made_of(
        text in expression(), counts in proptest::array::uniform3(proptest::option::of(0..1_000_000_u64)),
    ) {
        let events = [EventId::INSTRUCTIONS, EventId::CYCLES, EventId::LLC_MISSES];
        let expression = Expression::parse(&text).unwrap();
        let counted: Vec<(EventId, u64)> =
            events.into_iter().zip(counts).filter_map(|(event, count)| Some((event, count?))).collect();
        let sample = tick(&counted);
        let table = EventTable::default();
        let Ok(mut rate) = Rate::new(MPKI, &expression, &table) else { return Ok(()) };
        let by_name = |name: &str| sample.counts.get(table.find(name)?).map(Fixed::from);
        prop_assert_eq!(rate.sample(&sample).get(MPKI), expression.value(&by_name), "{}", text);
    }
}
