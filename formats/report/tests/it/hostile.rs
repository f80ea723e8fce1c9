//! Records that no machine would emit, as a crafted run directory may hold: nothing panics.

use crate::fabricate::corun;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
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

fn record() -> BoxedStrategy<Record> {
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
        (instant(), task(), instant(), 0_u16..6).prop_map(|(at, task, since, other)| {
            let (job, release) = (JobIndex(at.get()), since);
            match other {
                0 => Record::Skipped(SkippedRecord { at, task, job, release, deadline: Some(since) }),
                1 => Record::Sleep(SleepRecord { at, since, task }),
                2 => Record::Held(HeldRecord { at, since, task }),
                3 => Record::Ipi(IpiRecord { at, from: CoreId(other), to: CoreId(5) }),
                _ => {
                    let action = if other == 4 { LockAction::Granted } else { LockAction::Released };
                    Record::Lock(LockRecord { at, task, lock: LockId(other), action })
                }
            }
        }),
        isolation(),
        isolation(),
    ]
    .boxed()
}

/// What regulation leaves, with numbers from one end of what fits to the other.
fn isolation() -> BoxedStrategy<Record> {
    let events = || edge().prop_map(Events::new);
    let pair = move || (events(), events()).prop_map(|(reads, writes)| [reads, writes]);
    let core = || (0_u16..6).prop_map(CoreId);
    let counts = (edge(), edge(), edge());
    prop_oneof![
        (instant(), instant(), core()).prop_map(|(at, since, core)| Record::Throttle(ThrottleRecord {
            at,
            since,
            core
        })),
        (instant(), counts, events(), events()).prop_map(
            |(at, (periods, exempt, violations), worst_excess, overdraft)| {
                let sums = ConservationRecord { at, periods, exempt, violations, worst_excess, overdraft };
                Record::Conservation(sums)
            }
        ),
        (instant(), core(), edge(), edge()).prop_map(|(at, core, waited, behind_others)| {
            let (waited, behind_others) = (Duration::new(waited), Duration::new(behind_others));
            Record::Wait(WaitRecord { at, core, waited, behind_others })
        }),
        energy(),
        metric(),
        (instant(), core(), edge(), pair(), pair()).prop_map(|(at, core, period, before, reserved)| {
            Record::Budget(BudgetRecord { at, core, period, before, reserved })
        }),
        (instant(), instant(), 0_u16..3, edge(), edge(), any::<bool>()).prop_map(
            |(at, since, device, moved, reads, overlapping)| {
                Record::Transfer(TransferRecord {
                    at,
                    since,
                    device: DeviceId(device),
                    moved: Bytes::new(moved),
                    left: Bytes::new(reads),
                    reads,
                    writes: moved,
                    overlaps: overlapping.then_some(DeviceId(device ^ 1)),
                })
            }
        ),
        (instant(), instant(), core(), 0_u16..3, 0_u32..4, 0_u8..3).prop_map(
            |(at, raised, core, device, task, outcome)| {
                let admitted = [Admitted::Released, Admitted::Held, Admitted::Merged][usize::from(outcome)];
                let (device, task) = (DeviceId(device), TaskId(task));
                Record::Interrupt(InterruptRecord { at, raised, core, device, task, admitted })
            }
        ),
        ((instant(), instant(), core(), edge()), (pair(), pair(), pair(), pair()), edge(), any::<bool>())
            .prop_map(|((at, since, core, period), (used, reserved, donated, predicted), throttled, yes)| {
                Record::Regulation(RegulationRecord {
                    at,
                    since,
                    core,
                    period,
                    used,
                    reserved,
                    predicted,
                    donated,
                    reclaimed: used,
                    throttled: Duration::new(throttled),
                    shared: yes,
                    lost_overflow: !yes,
                })
            }),
    ]
    .boxed() // on the stack it would be too large
}

/// Energy of everybody, and of those that there are not.
fn energy() -> BoxedStrategy<Record> {
    let numbers = (0_u8..5, 0_u32..4, edge(), 0_u8..3);
    (instant(), numbers, [edge(), edge(), edge()])
        .prop_map(|(at, (which, task, number, kind), parts)| {
            let (task, kind) = (TaskId(task), KindId(kind));
            let of = match which {
                0 => Consumer::Job { task, job: JobIndex(number), kind },
                1 => Consumer::Domain(PowerDomain::Dram),
                2 => {
                    let (events, span) = (Events::new(number), Duration::new(number));
                    Consumer::Window { task, kind, events, span }
                }
                _ => Consumer::Domain(PowerDomain::Cluster(kind)),
            };
            let [dynamic, fixed, dram] = parts.map(Energy::new);
            Record::Energy(EnergyRecord { at, of, dynamic, fixed, dram })
        })
        .boxed()
}

/// What a monitor says of everybody, and of those that there are not: values below zero and at the ends of their type.
fn metric() -> BoxedStrategy<Record> {
    let value = prop_oneof![Just(i128::MIN), Just(i128::MAX), -5_000_000_000_000_i128..5_000_000_000_000];
    (instant(), 0_u16..6, 0_u32..4, (any::<bool>(), value), edge())
        .prop_map(|(at, core, task, (known, value), number)| {
            Record::Metric(MetricRecord {
                at,
                core: CoreId(core),
                task: TaskId(task),
                value: known.then_some(Fixed::from_units(value)),
                job: known.then_some(JobIndex(number)),
                executed: Duration::new(number),
                retired: (!known).then_some(Events::new(number)),
            })
        })
        .boxed()
}

/// The number of a record's kind: who adds one counts it here, and draws it above.
const fn kind(record: &Record) -> usize {
    match record {
        Record::Release(_) => 0,
        Record::Switch(_) => 1,
        Record::Job(_) => 2,
        Record::Ipi(_) => 3,
        Record::Lock(_) => 4,
        Record::Sample(_) => 5,
        Record::Overhead(_) => 6,
        Record::Dropped(_) => 7,
        Record::Unfinished(_) => 8,
        Record::Throttle(_) => 9,
        Record::Regulation(_) => 10,
        Record::Sleep(_) => 11,
        Record::Conservation(_) => 12,
        Record::Skipped(_) => 13,
        Record::Wait(_) => 14,
        Record::Held(_) => 15,
        Record::Budget(_) => 16,
        Record::Transfer(_) => 17,
        Record::Interrupt(_) => 18,
        Record::Energy(_) => 19,
        Record::Metric(_) => KINDS - 1,
    }
}
const KINDS: usize = 21;

#[test]
fn every_kind_of_record_is_drawn() {
    let mut runner = TestRunner::deterministic();
    let mut seen = [false; KINDS];
    for _ in 0..2000 {
        let drawn = record().new_tree(&mut runner).expect("nothing is filtered").current();
        seen[kind(&drawn)] = true;
    }
    assert_eq!(seen, [true; KINDS]);
}

fn device(name: &str) -> Device {
    let millisecond = Duration::from_millis(1);
    Device {
        name: name.into(),
        owner: TaskId(9),
        releases: None,
        direction: Direction::Output,
        moves: Bytes::new(64),
        buffer: BufferId(7),
        offset: Duration::ZERO,
        period: millisecond,
        slot: millisecond,
        core: None,
        rate: None,
        wait_every: Bytes::new(64),
    }
}

/// A part of a period and how long its core waited in it: the one is judged by the other.
fn judged() -> impl Strategy<Value = [Record; 2]> {
    let both = (isolation(), isolation());
    both.prop_map(|(first, second)| match (first, second) {
        (Record::Regulation(period), Record::Wait(wait)) => [
            Record::Regulation(period),
            Record::Wait(WaitRecord { at: period.at, core: period.core, ..wait }),
        ],
        (first, second) => [first, second],
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn nothing_panics(
        records in prop::collection::vec(record(), 0..40),
        waits in prop::collection::vec(judged(), 0..20),
        end in instant(),
        regulated in any::<bool>(),
        metered in any::<bool>(),
    ) {
        let (mut experiment, _) = corun();
        experiment.platform.power = metered.then(crate::tables::power);
        experiment.isolation.bandwidth = regulated.then(crate::isolation::regulation);
        experiment.devices = if regulated { vec![device("camera"), device("display")] } else { Vec::new() };
        let records: Vec<Record> = records.into_iter().chain(waits.into_iter().flatten()).collect();
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
