//! Scenario files whose scheduler listens, on the simulated machine: what each action does to whom.

mod common;

use common::{jobs, ms, run};
use solo_model::work::Step;
use solo_model::{CoreId, CoreSet, Duration, EventId, Experiment, Instant, Record, TaskId};
use solo_sim::Faults;
use std::path::Path;

/// A soft and a best-effort task on one buffer, each on a core of its own.
const SHARED: &str = r#"
name = "one buffer"
platform = "i7-2600"
duration = "80ms"
sample = "10ms"
[scheduler]
policy = "P-RM"
MONITOR
[[buffer]]
name = "shared"
size = "128KiB"
[[task]]
name = "srt"
class = "soft"
core = 2
period = "10ms"
work = [{ random = "128KiB", stride = "4B", accesses = 60_000, writes = "33%", buffer = "shared" }]
[[task]]
name = "be"
class = "best-effort"
core = 4
release = "continuous"
work = [{ random = "128KiB", stride = "64B", accesses = 50_000, writes = "50%", buffer = "shared" }]
"#;
const BE: TaskId = TaskId(1);
const BE_CORE: CoreId = CoreId(4);

fn parse(text: &str) -> Experiment {
    let scenario = solo_scenario::parse(text, Path::new("t.toml"), &solo_scenario::Platforms::builtin());
    scenario.unwrap_or_else(|report| panic!("{report}")).base
}

fn monitor(event: &str, threshold: &str, classes: &str, action: &str) -> String {
    format!(
        "[scheduler.monitor]\nevent = \"{event}\"\nperiod = \"10ms\"\nthreshold = {threshold}\n\
         classes = [{classes}]\naction = \"{action}\"\n"
    )
}

fn shared(monitor: &str) -> Experiment {
    parse(&SHARED.replace("MONITOR", monitor))
}

fn hitm(threshold: &str, action: &str) -> Experiment {
    shared(&monitor("snoop_hitm", threshold, "\"best-effort\"", action))
}

/// When a task was held, from when and until when.
fn held(records: &[Record], task: TaskId) -> Vec<(Instant, Instant)> {
    let of = |record: &Record| match record {
        Record::Held(held) if held.task == task => Some((held.since, held.at)),
        _ => None,
    };
    records.iter().filter_map(of).collect()
}

/// From when until when a task was on a core.
fn stays(records: &[Record], task: TaskId, end: Instant) -> Vec<(CoreId, Instant, Instant)> {
    let (mut stays, mut since) = (Vec::new(), Vec::<(CoreId, Instant)>::new());
    for record in records {
        let Record::Switch(switch) = record else { continue };
        if switch.from == Some(task)
            && let Some(at) = since.iter().position(|(core, _)| *core == switch.core)
        {
            let (core, from) = since.remove(at);
            stays.push((core, from, switch.at));
        }
        if switch.to == Some(task) {
            since.push((switch.core, switch.at));
        }
    }
    stays.extend(since.into_iter().map(|(core, from)| (core, from, end)));
    stays
}

/// What a core counted in each period of 10 ms, by the samples of the run, which no policy has touched.
fn counted(records: &[Record], core: CoreId, event: EventId) -> Vec<u64> {
    let of = |record: &Record| match record {
        Record::Sample(sample) if sample.core() == Some(core) => sample.counts.get(event),
        _ => None,
    };
    records.iter().filter_map(of).collect()
}

fn worst(records: &[Record]) -> Duration {
    jobs(records, 0).iter().map(|job| job.finish.since(job.release)).max().expect("it has jobs")
}

/// (1), (2): above the threshold the task is off its core for exactly the next period, and the core, which has nobody else, is
/// idle; in a period that begins with it on the core it stays.
#[test]
fn a_task_that_disturbs_is_away_for_the_next_period_and_its_core_idle() {
    let (records, outcome) = run(&hitm("4", "yield"));
    let counts = counted(&records, BE_CORE, EventId::SNOOP_HITM);
    assert!(counts[0] > 4, "it disturbs: {counts:?}");
    let there = stays(&records, BE, outcome.end);
    assert!(there.iter().all(|(core, ..)| *core == BE_CORE));
    // An access that is under way at the end of a period is finished first.
    let access = Duration::from_micros(1);
    for (period, count) in counts.iter().enumerate().take(7) {
        let (begin, end) = (Instant::ZERO + ms(10 * (period as u64 + 1)), ms(10));
        let away = !there.iter().any(|(_, from, to)| *from < begin + end && *to > begin + access);
        assert_eq!(away, *count > 4, "after period {period}, in which {count} were counted: {there:?}");
    }
    let (since, until) = *held(&records, BE).first().expect("it is held");
    assert!(
        since.since(Instant::ZERO + ms(10)) < access && until == Instant::ZERO + ms(20),
        "{since} to {until}"
    );
}

/// (1) with 8.4: after the fifth event of a period the task is away until its end, so that the soft task runs as if alone.
#[test]
fn at_the_fifth_event_by_interrupt_the_soft_task_runs_as_if_alone() {
    let (alone, _) = run(&parse(
        &SHARED
            .replace("MONITOR", "")
            .replace("class = \"best-effort\"", "class = \"best-effort\"\noffset = \"10s\""),
    ));
    let (disturbed, _) = run(&shared(""));
    let (at_once, _) = run(&hitm("4", "overflow"));
    let (later, _) = run(&hitm("4", "yield"));
    let [alone, disturbed, at_once, later] =
        [&alone, &disturbed, &at_once, &later].map(|records| worst(records));
    assert!(disturbed.get() * 100 > alone.get() * 110, "{disturbed} beside {alone}: it disturbs");
    assert!(at_once.get() * 100 <= alone.get() * 102, "{at_once} beside {alone}");
    assert!(later <= disturbed, "{later} beside {disturbed}");
    let (records, _) = run(&hitm("4", "overflow"));
    for (period, count) in counted(&records, BE_CORE, EventId::SNOOP_HITM).iter().enumerate() {
        // A step that is under way when the counter interrupts may count another one.
        assert!(*count <= 6, "{count} in period {period}");
    }
    for (since, until) in held(&records, BE) {
        assert!(until.get() % 10_000_000 == 0 && until.since(since) <= ms(10), "{since} {until}");
    }
}

/// (1): a threshold that nothing reaches changes nothing at all, whatever is to be done above it.
#[test]
fn a_threshold_that_nothing_reaches_changes_no_record() {
    let (plain, _) = run(&shared(""));
    for action in ["yield", "overflow", "serialize", "report"] {
        assert!(run(&hitm("1_099_511_627_776", action)).0 == plain, "{action}");
    }
    assert!(run(&hitm("4", "report")).0 == plain, "a report has no consequences");
}

/// (3): the soft task counts as much, and is left alone unless its class is named.
#[test]
fn only_classes_that_are_named_are_concerned() {
    for action in ["yield", "overflow", "serialize"] {
        let (records, _) = run(&hitm("4", action));
        assert_eq!(held(&records, TaskId(0)), [], "{action}");
    }
    // A soft task that is on its core at the end of a period.
    let long = SHARED.replace("period = \"10ms\"", "period = \"80ms\"").replace("60_000", "6_000_000");
    let soft = monitor("snoop_hitm", "4", "\"soft\"", "yield");
    let (records, _) = run(&parse(&long.replace("MONITOR", &soft)));
    assert!(!held(&records, TaskId(0)).is_empty());
    assert_eq!(held(&records, BE), []);
}

/// (5): own buffers in own colors: nothing is taken from anybody, and nobody yields.
#[test]
fn who_shares_nothing_never_yields() {
    let own = SHARED
        .replace(", buffer = \"shared\"", "")
        .replace("[[buffer]]\nname = \"shared\"\nsize = \"128KiB\"\n", "")
        .replace("MONITOR", &monitor("snoop_hitm", "4", "\"best-effort\"", "yield"))
        .replace("[[task]]\nname = \"srt\"", "[isolation.memory]\ngroups = 32\n[isolation.colors]\nsrt = \"0\"\nbe = \"1\"\n[[task]]\nname = \"srt\"");
    let (records, _) = run(&parse(&own));
    assert_eq!(held(&records, BE), []);
    assert!(counted(&records, BE_CORE, EventId::SNOOP_HITM).iter().all(|count| *count == 0));
}

/// A metric by expression acts as the count does where it comes to the same, and where nothing divides it is quiet.
#[test]
fn an_expression_is_looked_at_like_a_count() {
    let by = |event: &str, threshold| {
        let monitor = monitor(event, threshold, "\"best-effort\"", "yield");
        held(&run(&shared(&monitor)).0, BE)
    };
    let count = by("snoop_hitm", "4");
    assert!(!count.is_empty());
    assert_eq!(by("2 * snoop_hitm - snoop_hitm", "4"), count);
    assert_eq!(by("snoop_hitm / 1000000", "4"), []);
    // No DRAM write happens: there is nothing to divide by.
    assert_eq!(by("snoop_hitm / (llc_misses - llc_misses)", "0"), []);
}

/// Two thresholds: once it is loud a core stays so above the lower one; a core that is away counts nothing and is calm.
#[test]
fn between_two_thresholds_a_core_stays_as_it_was() {
    let by = |threshold, action| held(&run(&hitm(threshold, action)).0, BE);
    assert_eq!(by("[2, 4]", "yield"), by("4", "yield"));
    assert_eq!(by("[4, 1_099_511_627_776]", "yield"), [], "it was never loud");
}

/// The benchmark of the invalidation paper on its processor with so many times the repetitions of the file: variant, monitor.
fn invalidations(variant: &str, times: u64, monitor: &str) -> (Experiment, Vec<Record>, Instant) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../scenarios/papers/hpc-invalidations/invalidations.toml");
    let text = std::fs::read_to_string(&file).expect("the scenario is there");
    // Kernel paths cost nothing, so that what is left of a difference is the policy's.
    let text = text.replace("overheads = \"epos-thesis\"\n", monitor);
    let scenario = solo_scenario::parse(&text, &file, &solo_scenario::Platforms::builtin());
    let scenario = scenario.unwrap_or_else(|report| panic!("{report}"));
    let found = scenario.variants.into_iter().find(|experiment| experiment.variant == variant);
    let mut experiment = found.expect("the variant is there");
    for step in experiment
        .tasks
        .iter_mut()
        .filter(|task| task.name.starts_with("function"))
        .flat_map(|task| &mut task.work.steps)
    {
        if let Step::Touch(touch) = step {
            touch.accesses *= times;
        }
    }
    let (records, outcome) = run(&experiment);
    (experiment, records, outcome.end)
}

fn invalidate(threshold: &str, action: &str) -> String {
    monitor("cmp_snoop_invalidate", threshold, "\"soft\"", action)
}

/// When the last of the two functions was done.
fn done(records: &[Record]) -> Instant {
    let ends = (0..2).flat_map(|task| jobs(records, task)).map(|job| job.finish);
    ends.max().expect("both are done")
}

/// G: alone, and on arrays of their own, the functions are never acted on; on the same arrays they are in the first quantum.
#[test]
fn invalidations_are_acted_on_in_the_first_quantum_and_only_where_they_are() {
    for quiet in ["sequential, 32KiB", "best case, 32KiB"] {
        let (_, plain, _) = invalidations(quiet, 6, "");
        let (_, records, _) = invalidations(quiet, 6, &invalidate("1000", "migrate"));
        assert!(records == plain, "{quiet}");
        let event = "cmp_snoop_invalidate";
        let (experiment, records, _) = invalidations(quiet, 6, &invalidate("1000", "report"));
        let event = experiment.platform.events.find(event).expect("the processor counts it");
        for core in [CoreId(0), CoreId(2)] {
            let counts = counted(&records, core, event);
            assert!(counts.iter().all(|count| *count < 100), "{quiet}, {core}: {counts:?}");
        }
    }
    let (experiment, records, end) = invalidations("parallel, 32KiB", 6, &invalidate("1000", "migrate"));
    let event = experiment.platform.events.find("cmp_snoop_invalidate").expect("the processor counts it");
    assert!(counted(&records, CoreId(2), event)[0] > 1000);
    let moved = stays(&records, TaskId(1), end);
    let (from, to) = (moved.first().expect("it ran"), moved.last().expect("it ran"));
    assert_eq!((from.0, to.0), (CoreId(2), CoreId(1)), "{moved:?}");
    let away = moved.iter().find(|(core, ..)| *core == CoreId(1)).expect("it is there").1;
    assert!(away.since(Instant::ZERO) < ms(11), "moved at {away}");
    let stayed = stays(&records, TaskId(0), end);
    assert!(stayed.iter().all(|(core, ..)| *core == CoreId(0)), "one of the two moves: {stayed:?}");
    // Behind one cache they stay, however much they count.
    let later = moved.iter().filter(|(core, from, _)| *core != CoreId(1) && *from > Instant::ZERO + ms(11));
    assert_eq!(later.count(), 0, "{moved:?}");
}

/// G: taking turns, the two functions are never on their cores at the same time from the first quantum on.
#[test]
fn whoever_takes_turns_is_alone() {
    let (_, records, end) = invalidations("parallel, 32KiB", 6, &invalidate("1000", "serialize"));
    let [a, b] = [TaskId(0), TaskId(1)].map(|task| stays(&records, task, end));
    let first = Instant::ZERO + ms(10) + Duration::from_micros(100);
    for (_, from, to) in a.iter().filter(|(_, from, _)| *from > first) {
        for (_, other, until) in b.iter().filter(|(_, from, _)| *from > first) {
            // Both tick in the same instant, one core after the other.
            let both = (*to).min(*until).since((*from).max(*other));
            assert!(both < Duration::from_micros(20), "{from} to {to} beside {other} to {until}");
        }
    }
    let turns = [TaskId(0), TaskId(1)].map(|task| held(&records, task).len());
    assert!(turns.iter().any(|&times| times > 0), "somebody waits for its turn");
}

/// G: a threshold that nothing reaches leaves every record as it was.
#[test]
fn a_threshold_of_a_billion_changes_no_record() {
    let (_, plain, _) = invalidations("parallel, 32KiB", 6, "");
    for action in ["migrate", "serialize"] {
        let (_, heard, _) = invalidations("parallel, 32KiB", 6, &invalidate("1_000_000_000", action));
        assert!(heard == plain, "{action}");
    }
}

/// G: next to the data the functions take no longer than on arrays of their own, within a tenth; apart they take longer.
#[test]
fn next_to_the_data_it_is_as_fast_as_on_data_of_its_own() {
    let small = |variant: &str, monitor: &str| {
        let (_, records, _) = invalidations(variant, 6, monitor);
        done(&records).since(Instant::ZERO)
    };
    let best = small("best case, 512KiB", "");
    let apart = small("parallel, 512KiB", "");
    let moved = small("parallel, 512KiB", &invalidate("1000", "migrate"));
    println!("best case {best}, parallel {apart}, migrated {moved}");
    assert!(apart.get() * 100 > best.get() * 120, "apart they lose: {best}, {apart}");
    // What is left after the first quantum, in which they were apart.
    let left = |all: Duration| u128::from(all.saturating_sub(ms(10)).get());
    let as_best = u128::from(best.get()) * left(apart) / u128::from(apart.get());
    assert!(left(moved) * 100 <= as_best * 110, "{moved} of {apart}: next to the data {as_best} ns are left");
}

/// The same policy with two monitors on two platforms: a count of the one's invalidations, a rate of the other's changed lines.
/// What the policy is made of is equal, and so is what it does: the best-effort task is kept off, the soft one is not.
#[test]
fn one_policy_hears_two_monitors_on_two_platforms_without_a_change() {
    let listens = |monitor: &str| {
        format!(
            "[scheduler.monitor]\n{monitor}\nperiod = \"10ms\"\nthreshold = 1000\nclasses = [\"best-effort\"]\n\
             action = \"yield\"\n"
        )
    };
    let on_core2 = SHARED.replace("i7-2600", "core2-q9550").replace("core = 2", "core = 0");
    let core2 = on_core2
        .replace("core = 4", "core = 2")
        .replace("MONITOR", &listens("event = \"cmp_snoop_invalidate\""));
    let i7 = SHARED.replace("MONITOR", &listens("monitor = \"hitm-rate\""));
    let policies = [core2, i7].map(|text| {
        let experiment = parse(&text);
        let (records, _) = run(&experiment);
        assert!(!held(&records, BE).is_empty(), "{}", experiment.platform.name);
        assert_eq!(held(&records, TaskId(0)), [], "{}", experiment.platform.name);
        solo_schedule::placements::of(
            experiment.listening.as_ref().expect("it listens"),
            &experiment.platform,
        )
    });
    assert!(policies[0] == policies[1], "not a line of the policy knows what is counted, or where");
}

/// Interrupts that are lost are told: of each period that passed its limit unnoticed. Without faults there is none.
#[test]
fn overflows_that_nobody_hears_are_in_the_report() {
    let seen = |faults| {
        let experiment = hitm("4", "overflow");
        let (mut keep, mut summary) = (common::Keep::default(), solo_report::Summary::new(&experiment));
        let outcome = solo_sim::run_with_faults(&experiment, &[], &mut keep, faults).expect("it can run");
        keep.0.iter().for_each(|record| summary.add(record));
        let ended = solo_report::RunEnd {
            end: outcome.end,
            reason: solo_report::EndReason::TimeOver,
            stop_on: None,
            shortfalls: solo_report::Shortfalls::default(),
            heard: outcome.heard,
            curves: outcome.curves,
        };
        (
            counted(&keep.0, BE_CORE, EventId::SNOOP_HITM),
            summary.finish(outcome.end).with_outcome(&ended),
            keep.0,
        )
    };
    let text = |report: &solo_report::Report| {
        let verdict = solo_report::verdict::verdict(report, None);
        solo_report::table::report(report, &verdict, None, solo_report::table::Style::PLAIN)
    };
    let (counts, report, records) = seen(Faults::default());
    let cores = &report.listening.as_ref().expect("it listens").cores;
    let core = cores[BE_CORE.index()];
    assert_eq!((core.lost_overflows, core.false_overflows), (0, 0));
    assert_eq!(core.counted, counts.iter().sum::<u64>(), "what it counted");
    // A hold that ends with the run is not recorded.
    assert!(matches!(core.held - held(&records, BE).len() as u64, 0..=1), "whom it held: {core:?}");
    // At each overflow, and at the end of each period but that with which the run ends.
    assert_eq!(core.samples, 7 + core.held, "{core:?}");
    assert!(!text(&report).contains("without the interrupt"), "{}", text(&report));

    let lost_overflows = CoreSet::only(BE_CORE);
    let (counts, report, _) = seen(Faults { lost_overflows, every: 2, ..Faults::default() });
    let core = report.listening.as_ref().expect("it listens").cores[BE_CORE.index()];
    // Where the interrupt came the task left at the fifth event or the sixth.
    let unnoticed = counts[..7].iter().filter(|count| **count > 6).count() as u64;
    assert!(unnoticed > 2, "{counts:?}");
    assert_eq!(core.lost_overflows, unnoticed, "{counts:?}");
    assert!(
        text(&report).contains(&format!("{unnoticed} periods passed without the interrupt")),
        "{}",
        text(&report)
    );
}

/// Three sets in turn on the processor that counts two events at a time. By hand, from the samples of a run in which nobody
/// listens: first-level misses in the first 3 ms, last-level misses in the next, changed lines in the last, each three times,
/// and instructions in all of them. That and no other number is what the threshold is compared with.
#[test]
fn sets_take_turns_on_a_processor_with_too_few_counters() {
    let multiplexed = |threshold: u64| {
        format!(
            "[scheduler.monitor]\nevent = \"1000000000 * (l1_misses + llc_misses + snoop_hitm) / instructions\"\n\
             sets = [[\"l1_misses\", \"instructions\"], [\"llc_misses\", \"instructions\"], [\"snoop_hitm\", \"instructions\"]]\n\
             period = \"9ms\"\nthreshold = {threshold}\nclasses = [\"best-effort\"]\naction = \"yield\"\n"
        )
    };
    let core2 = |monitor: &str| {
        let other = SHARED.replace("i7-2600", "core2-q9550").replace("sample = \"10ms\"", "sample = \"3ms\"");
        other.replace("core = 2", "core = 0").replace("core = 4", "core = 2").replace("MONITOR", monitor)
    };
    let (records, _) = run(&parse(&core2("")));
    let third = |event, third: usize| counted(&records, CoreId(2), event)[third];
    let misses = [EventId::L1_MISSES, EventId::LLC_MISSES, EventId::SNOOP_HITM];
    let misses: u64 = misses.into_iter().enumerate().map(|(at, event)| 3 * third(event, at)).sum();
    let instructions: u64 = (0..3).map(|at| third(EventId::INSTRUCTIONS, at)).sum();
    let rate = 1_000_000_000 * misses / instructions;
    // A look comes as soon as the access is done that is under way: a few more events than at the very end of the turn.
    let slack = rate / 1000;
    let first = |threshold: u64| {
        let experiment = parse(&core2(&multiplexed(threshold)));
        assert_eq!(experiment.platform.pmu.programmable, 2);
        held(&run(&experiment).0, BE).first().copied()
    };
    let (since, until) = first(rate - slack).expect("it is above the threshold");
    assert!(since.since(Instant::ZERO + ms(9)) < Duration::from_micros(1), "{since}");
    assert_eq!(until, Instant::ZERO + ms(18));
    assert!(first(rate + slack).is_none_or(|(since, _)| since > Instant::ZERO + ms(17)), "{rate}");
    // What was counted all the time is another number: this test tells them apart.
    let all = |event| (0..3).map(|at| third(event, at)).sum::<u64>();
    let all = all(EventId::L1_MISSES) + all(EventId::LLC_MISSES) + all(EventId::SNOOP_HITM);
    assert!((1_000_000_000 * all / instructions).abs_diff(rate) > 2 * slack, "{all} and {misses}");

    // Without turns it is refused before the run, and the remedy is said.
    let wish = multiplexed(4);
    let lines = wish.lines().filter(|line| !line.starts_with("sets"));
    let without = core2(&lines.map(|line| format!("{line}\n")).collect::<String>());
    let refused = solo_scenario::parse(&without, Path::new("t.toml"), &solo_scenario::Platforms::builtin());
    let text = refused.map(|_| ()).expect_err("four events, two counters").to_string();
    assert!(text.contains("4 programmable counters are needed; each core has 2"), "{text}");
    assert!(text.contains("or let sets of them take turns"), "{text}");
}
