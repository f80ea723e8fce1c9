//! What isolation did, in the terminal and on the page.

use crate::fabricate::*;
use solo_model::isolation::*;
use solo_model::record::{BudgetRecord, RegulationRecord, ThrottleRecord, WaitRecord};
use solo_model::*;
use solo_report::export::{Exporter, Format, Table};
use solo_report::perfetto::TraceWriter;
use solo_report::run::Tier;
use solo_report::{Report, Summary, html, perfetto, table, verdict};

/// Cores 0 and 1 have budgets.
pub(crate) fn regulation() -> Regulation {
    let core = |core, mb: u64| CoreBudget {
        core: CoreId(core),
        budget: Budget::Rate(Bandwidth::new(mb * 1_000_000)),
        writes: None,
    };
    Regulation {
        reclaim: Reclaim::Pool,
        quantum: Events::new(1000),
        ..Regulation::new(
            Duration::from_millis(1),
            Counted::One(EventId::LLC_MISSES),
            vec![core(0, 900), core(1, 300)],
            Bandwidth::new(1_292_000_000),
        )
    }
}

fn isolated() -> Report {
    let (mut experiment, _) = corun();
    experiment.isolation.bandwidth = Some(regulation());
    let owner = ColorOwner {
        task: TaskId(0),
        colors: (0..4).chain(9..10).map(Color).collect(),
        banks: vec![Bank(2)],
    };
    experiment.isolation.memory =
        Some(Coloring { owners: vec![owner], kernel: Some(Color(15)), ..Coloring::default() });
    let mut summary = Summary::new(&experiment);
    for period in 1..=20_u64 {
        let at = Instant::ZERO + Duration::from_millis(period);
        let since = Instant::ZERO + Duration::from_millis(period - 1);
        for core in [CoreId(0), CoreId(1)] {
            let throttled = if core.0 == 1 { Duration::from_micros(250) } else { Duration::ZERO };
            if core.0 == 1 {
                let from = since + Duration::from_micros(750);
                summary.add(&Record::Throttle(ThrottleRecord { at, since: from, core }));
            }
            let events = |n| [Events::new(n), Events::ZERO];
            summary.add(&Record::Regulation(RegulationRecord {
                at,
                since,
                core,
                period,
                used: events(1000),
                reserved: events(4000),
                predicted: events(900),
                donated: events(10),
                reclaimed: events(5),
                throttled,
                shared: false,
                lost_overflow: core.0 == 0 && period == 7,
            }));
        }
    }
    summary.finish(Instant::ZERO + Duration::from_millis(20))
}

#[test]
fn periods_add_up() {
    let report = isolated();
    let isolation = report.isolation.as_ref().expect("there is isolation");
    let [first, second] = &isolation.cores[..] else { panic!("two cores") };
    assert_eq!((first.periods, first.throttled_periods, first.lost_overflows), (20, 0, 1));
    assert_eq!((second.throttled_periods, second.throttled), (20, Duration::from_millis(5)));
    assert_eq!(second.throttled_max, Duration::from_micros(250));
    assert_eq!(first.used, Bytes::new(20 * 1000 * 64));
    assert_eq!((first.donated, first.reclaimed), (Bytes::new(20 * 640), Bytes::new(20 * 320)));
    assert_eq!(first.prediction_error, Bytes::new(20 * 6400));
    assert_eq!(first.mean(), Some(Bandwidth::new(64_000_000)));
    assert_eq!(second.spans.len(), 20);
    assert_eq!(isolation.owners[0].colors, [0, 1, 2, 3, 9]);
}

#[test]
fn a_terminal_and_a_page_say_who_owns_what_and_who_was_throttled() {
    let report = isolated();
    let text = table::report(&report, &verdict(&report, None), None, table::Style::PLAIN);
    for word in ["0-3, 9", "(kernel)", "900 MB/s", "20 of 20", "5.00 ms"] {
        assert!(text.contains(word), "{word} is missing in\n{text}");
    }
    let provenance = html::Provenance {
        machine: "sim".into(),
        tier: Tier::A,
        facts: Vec::new(),
        reproduce: "solo run x".into(),
        folder: None,
        scenario: String::new(),
        refused: Vec::new(),
    };
    let page = html::run(&report, None, &provenance);
    for word in [
        "Isolation",
        "color 0",
        "rect class=\"throttled\"",
        "budget 300 MB/s",
        "interrupts were lost or late",
    ] {
        assert!(page.contains(word), "{word} is missing");
    }
}

/// Core 0 has 900 MB/s, then 300, then as many events as come to 64 MB/s: budgets are told as they were asked for, where they can be.
#[test]
fn budgets_that_changed_are_told_with_their_times() {
    let (mut experiment, _) = corun();
    let budget = |budget| CoreBudget { core: CoreId(0), budget, writes: None };
    let change = |ms, to| BudgetChange { at: Duration::from_millis(ms), cores: vec![budget(to)] };
    let changes = vec![
        change(2, Budget::Rate(Bandwidth::new(300_000_000))),
        change(5, Budget::Events(Events::new(1000))),
    ];
    experiment.isolation.bandwidth = Some(Regulation { changes, ..regulation() });
    let mut summary = Summary::new(&experiment);
    for (ms, period, before, after) in [(2, 3, 14_062, 4687), (5, 6, 4687, 1000)] {
        summary.add(&Record::Budget(BudgetRecord {
            at: Instant::ZERO + Duration::from_millis(ms),
            core: CoreId(0),
            period,
            before: [Events::new(before), Events::ZERO],
            reserved: [Events::new(after), Events::ZERO],
        }));
    }
    let report = summary.finish(Instant::ZERO + Duration::from_millis(9));
    let text = table::report(&report, &verdict(&report, None), None, table::Style::PLAIN);
    let said = "core0 had a budget of 300 MB/s from 2.00 ms on and 64.0 MB/s from 5.00 ms on.";
    assert!(text.contains(said), "{text}");
    let json = serde_json::to_value(&report).expect("JSON");
    let first = &json["isolation"]["cores"][0]["changes"][0];
    assert_eq!((&first["from_ns"], &first["budget_bytes_per_s"]), (&2_000_000.into(), &300_000_000.into()));
}

/// A row of a period waits for what its core waited; where nobody says that, the row comes without it, and none is lost.
#[test]
fn rows_of_periods_say_how_long_cores_waited_and_what_they_lacked() {
    let (mut experiment, _) = corun();
    experiment.isolation.bandwidth = Some(regulation());
    let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
    let period = |core: u16, used: u64| {
        Record::Regulation(RegulationRecord {
            at: at(1),
            since: at(0),
            core: CoreId(core),
            period: 1,
            used: [Events::new(used), Events::ZERO],
            reserved: [Events::new(if core == 0 { 14_000 } else { 4000 }), Events::ZERO],
            predicted: [Events::ZERO; 2],
            donated: [Events::ZERO; 2],
            reclaimed: [Events::ZERO; 2],
            throttled: Duration::ZERO,
            shared: false,
            lost_overflow: false,
        })
    };
    let wait = |core, us| {
        let span = Duration::from_micros(us);
        Record::Wait(WaitRecord { at: at(1), core: CoreId(core), waited: span, behind_others: span })
    };
    // Core 0 waited all the time and got next to nothing; core 1 is told nothing about, then got all it wanted.
    let records = [period(0, 100), wait(0, 990), period(1, 4000), period(1, 3000), wait(1, 10)];
    let mut out = Vec::new();
    let mut exporter =
        Exporter::new(Table::Regulation, Format::Csv, &mut out, &experiment).expect("a header");
    records.iter().for_each(|record| exporter.add(record).expect("a row"));
    exporter.finish().expect("an end");
    let text = String::from_utf8(out).expect("a text");
    let ends: Vec<Vec<&str>> = text.lines().skip(2).map(|line| line.rsplit(',').take(3).collect()).collect();
    assert_eq!(ends.len(), 3, "{text}");
    assert_eq!(ends[0][1..], ["990000", "990000"]);
    assert!(ends[0][0].parse::<u64>().expect("a number") > 5000, "{text}");
    assert_eq!(ends[1], ["", "", ""]);
    assert_eq!(ends[2], ["0", "10000", "10000"]);

    let mut trace = TraceWriter::new(Vec::new(), &experiment).expect("a trace");
    records.iter().for_each(|record| trace.add(record).expect("a packet"));
    let packets = perfetto::decode(&trace.finish(at(1)).expect("an end").0).expect("packets");
    let named = |wanted: &str| {
        packets.iter().find_map(|packet| match &packet.data {
            Some(perfetto::Data::TrackDescriptor(track)) if track.name.as_deref() == Some(wanted) => {
                track.uuid
            }
            _ => None,
        })
    };
    let values = |track: Option<u64>| -> Vec<i64> {
        let event = |packet: &perfetto::TracePacket| match &packet.data {
            Some(perfetto::Data::TrackEvent(event)) if event.track_uuid == track => event.counter_value,
            _ => None,
        };
        packets.iter().filter_map(event).collect()
    };
    assert_eq!(values(named("core0 budget used")), [100 * 64 * 1000]);
    assert_eq!(values(named("core1 budget")), [4000 * 64 * 1000; 2]);
    assert_eq!(named("core2 budget"), None, "it is not regulated");
}

#[test]
fn a_report_without_isolation_says_nothing_of_it() {
    let (experiment, _) = corun();
    let report = Summary::new(&experiment).finish(Instant::ZERO);
    assert_eq!(report.isolation, None);
    assert!(!serde_json::to_string(&report).expect("JSON").contains("isolation"));
}
