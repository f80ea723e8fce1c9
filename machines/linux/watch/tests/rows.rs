//! Rows of Linux and samples of a simulated core are one thing to a monitor.

use solo_model::sample::{Subject, Why};
use solo_model::{CoreId, Duration, EventId, EventTable, Instant, Sample};
use solo_observe::{
    Derived, Expression, Fixed, Ipc, MetricId, Monitor, NoNames, Rate, parse_set, set::RawLayout,
};
use solo_watch::{Columns, Row, RowKind};

const IPC: MetricId = MetricId(0);
const MPKI: MetricId = MetricId(1);

/// A row of `solo watch` and a sample of a simulated core say the same to the very same monitors.
#[test]
fn rows_of_linux_and_samples_of_a_simulated_core_are_one() {
    let first = parse_set("instructions,cycles,llc_misses", &NoNames, RawLayout::X86).unwrap();
    let second = parse_set("instructions,0x2e:umask=0x41", &NoNames, RawLayout::X86).unwrap();
    let columns = Columns::of([&first, &second]);
    let (table, ids) = columns.events().unwrap();
    let row = Row {
        number: 1,
        at: Instant::new(5_000_000),
        span: Duration::from_millis(2),
        subject: Subject::Thread { process: 7, thread: 8 },
        kind: RowKind::Exit,
        set: 0,
        counts: vec![Some(3000), Some(1500), Some(30), None],
        virtuals: vec![Some(4), None],
        metrics: vec![],
    };
    let of_linux = row.sample(&ids);
    assert_eq!((of_linux.subject, of_linux.why, of_linux.set), (row.subject, Why::Exit, 0));
    let counts = [(EventId::INSTRUCTIONS, 3000), (EventId::CYCLES, 1500), (EventId::LLC_MISSES, 30)];
    let span = Duration::from_millis(1);
    let simulated = Sample::of_core(CoreId(1), Instant::ZERO + span, span, counts.into_iter().collect());
    assert_eq!(of_linux.counts, simulated.counts, "the column without a count is absent");
    let misses = Expression::parse("1000 * llc_misses / instructions").unwrap();
    let mut monitors: [Box<dyn Monitor>; 2] =
        [Box::new(Ipc::new(IPC)), Box::new(Rate::new(MPKI, &misses, &EventTable::default()).unwrap())];
    for (monitor, (metric, value)) in monitors.iter_mut().zip([(IPC, "2"), (MPKI, "10")]) {
        assert!(monitor.wants().is_within(simulated.counts.set()));
        let both = [&of_linux, &simulated].map(|sample| monitor.sample(sample));
        assert_eq!(both.map(|derived| derived.get(metric)), [Some(Fixed::parse(value).unwrap()); 2]);
    }
    // A code without a canonical name is an event of this watch's own, by the name of its column.
    let own = table.find("r412e").expect("it has a column");
    assert_eq!((ids[3], own.canonical().is_none()), (own, true));
    let expression = Expression::parse("r412e / seconds").unwrap();
    let mut rate = Rate::new(MPKI, &expression, &table).unwrap();
    assert_eq!(rate.sample(&of_linux), Derived::NONE);
    let counted = Row { counts: vec![None, None, None, Some(6)], ..row }.sample(&ids);
    assert_eq!(rate.sample(&counted).get(MPKI), Some(Fixed::from(3000_u64)));
}
