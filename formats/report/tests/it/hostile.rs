//! Records that no machine would emit, as a crafted run directory may hold: nothing panics.

use crate::fabricate::corun;
use proptest::prelude::*;
use solo_model::record::*;
use solo_model::*;
use solo_report::export::{Exporter, Format, Table};
use solo_report::html::{self, Provenance};
use solo_report::perfetto::TraceWriter;
use solo_report::table::{self, Style};
use solo_report::{Manifest, RecordHasher, Summary, compare, verdict};

fn edge() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(1),
        Just(u64::MAX),
        Just(u64::MAX - 1),
        Just(1 << 63),
        Just((1 << 63) - 1),
        any::<u64>(),
        0_u64..1_000_000_000,
    ]
}

fn instant() -> impl Strategy<Value = Instant> {
    edge().prop_map(Instant::new)
}

fn counts() -> impl Strategy<Value = Counts> {
    edge().prop_map(|count| {
        let mut counts = Counts::NONE;
        solo_model::EventTable::default().iter().for_each(|(event, _)| counts.add(event, count));
        counts
    })
}

fn job() -> impl Strategy<Value = Record> {
    let times = (instant(), instant(), instant(), proptest::option::of(instant()));
    (times, edge(), 0_u32..4, 0_u16..6, counts(), any::<bool>()).prop_map(
        |((release, start, finish, deadline), length, task, core, counts, stalled)| {
            let length = Duration::new(length);
            let stalls = Stalls { compute: length, dram: length, kernel: length, ..Stalls::default() };
            Record::Job(JobRecord {
                task: TaskId(task),
                job: JobIndex(length.get()),
                core: CoreId(core),
                release,
                start,
                finish,
                deadline,
                executed: length,
                preemptions: u32::MAX,
                migrations: u32::MAX,
                backlog: u32::MAX,
                counts,
                stalls: stalled.then_some(stalls),
            })
        },
    )
}

fn record() -> impl Strategy<Value = Record> {
    let task = || (0_u32..4).prop_map(TaskId);
    let core = || (0_u16..6).prop_map(CoreId);
    prop_oneof![
        job(),
        job(),
        (instant(), core(), proptest::option::of(task()), proptest::option::of(task())).prop_map(
            |(at, core, from, to)| {
                Record::Switch(SwitchRecord { at, core, from, to, reason: SwitchReason::Idle })
            }
        ),
        (instant(), edge(), core(), counts()).prop_map(|(at, span, core, counts)| {
            Record::Sample(Sample::of_core(core, at, Duration::new(span), counts))
        }),
        (instant(), task(), instant(), proptest::option::of(instant())).prop_map(
            |(at, task, release, deadline)| {
                let (job, executed) = (JobIndex(0), Duration::MAX);
                Record::Unfinished(UnfinishedRecord { at, task, job, release, deadline, executed })
            }
        ),
        (instant(), core(), task(), instant()).prop_map(|(at, core, task, release)| {
            let job = JobIndex(0);
            Record::Release(ReleaseRecord { at, core, task, job, release, deadline: None })
        }),
        (instant(), core(), edge()).prop_map(|(at, core, cost)| {
            let (overhead, cost) = (Overhead::Tick, Duration::new(cost));
            Record::Overhead(OverheadRecord { at, core, overhead, cost })
        }),
        (instant(), edge()).prop_map(|(at, count)| Record::Dropped(DroppedRecord { at, count })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn nothing_panics(records in prop::collection::vec(record(), 0..40), end in instant()) {
        let (experiment, _) = corun();
        let mut summary = Summary::new(&experiment);
        let mut hasher = RecordHasher::new();
        let mut trace = TraceWriter::new(Vec::new(), &experiment).unwrap();
        let mut out = Vec::new();
        let mut rows = Exporter::new(Table::Jobs, Format::JsonLines, &mut out, &experiment).unwrap();
        for record in &records {
            summary.add(record);
            hasher.add(record);
            trace.add(record).unwrap();
            rows.add(record).unwrap();
        }
        rows.finish().unwrap();
        trace.finish(end).unwrap();
        let report = summary.finish(end);
        let provenance = Provenance::from(&Manifest::new(&experiment, "", ""));
        let verdict = verdict(&report, Some(&report));
        prop_assert!(!verdict.lines.is_empty());
        prop_assert!(table::report(&report, &verdict, Some(&report), Style::PLAIN).contains("doubts:"));
        prop_assert!(html::run(&report, None, &provenance).len() < 1_000_000);
        prop_assert!(!compare(&[("a", &report), ("b", &report)]).tasks.is_empty());
        let text = serde_json::to_string(&report).unwrap();
        let read: solo_report::Report = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
}
