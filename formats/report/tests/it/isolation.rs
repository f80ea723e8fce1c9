//! What isolation did, in the terminal and on the page.

use crate::fabricate::*;
use solo_model::isolation::*;
use solo_model::record::{RegulationRecord, ThrottleRecord};
use solo_model::*;
use solo_report::run::Tier;
use solo_report::{Report, Summary, html, table, verdict};

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

#[test]
fn a_report_without_isolation_says_nothing_of_it() {
    let (experiment, _) = corun();
    let report = Summary::new(&experiment).finish(Instant::ZERO);
    assert_eq!(report.isolation, None);
    assert!(!serde_json::to_string(&report).expect("JSON").contains("isolation"));
}
