//! Scenario files whose scheduler listens, on the simulated machine: what each action does to whom.

mod common;

use common::listening::{counted, held, monitor, parse, stays};
use common::{jobs, ms, run};
use solo_model::{
    CoreId, CoreSet, Duration, EventId, Experiment, Instant, Overhead, OverheadTable, Record, SplitMix64,
    TaskId,
};
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

fn shared(monitor: &str) -> Experiment {
    parse(&SHARED.replace("MONITOR", monitor))
}

fn hitm(threshold: &str, action: &str) -> Experiment {
    shared(&monitor("snoop_hitm", threshold, "\"best-effort\"", action))
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

/// (1) by its definition, whatever the two tasks do: once the fifth event of a period has been counted the best-effort task is off
/// its core within a period, and stays off for one.
#[test]
fn within_a_period_of_each_fifth_event_the_task_is_off_its_core() {
    let random = &mut SplitMix64::new(81);
    let (mut fifths, mut quiet) = (0, 0);
    for round in 0..24 {
        let pick =
            |random: &mut SplitMix64, of: &[&str]| of[random.below(of.len() as u64) as usize].to_owned();
        let text = SHARED
            .replace("sample = \"10ms\"", "sample = \"500us\"")
            .replace("period = \"10ms\"", &format!("period = \"{}us\"", 3_000 + random.below(40_000)))
            .replace("accesses = 60_000", &format!("accesses = {}", 1 + random.below(20_000)))
            .replace("accesses = 50_000", &format!("accesses = {}", 1 + random.below(90_000)))
            .replace(
                "writes = \"50%\"",
                &format!("writes = \"{}\"", pick(random, &["0%", "1%", "50%", "100%"])),
            )
            .replace("stride = \"64B\"", &format!("stride = \"{}\"", pick(random, &["4B", "64B", "4096B"])))
            .replace("MONITOR", &monitor("snoop_hitm", "4", "\"best-effort\"", "yield"));
        let (records, outcome) = run(&parse(&text));
        let counts = counted(&records, BE_CORE, EventId::SNOOP_HITM);
        let there = stays(&records, BE, outcome.end);
        // A look comes as soon as the access that is under way is done.
        let access = Duration::from_micros(2);
        for (period, samples) in counts.chunks(20).enumerate().take(7) {
            let begin = Instant::ZERO + ms(10 * period as u64);
            let mut sum = 0;
            let fifth = samples.iter().position(|count| {
                sum += count;
                sum > 4
            });
            let Some(fifth) = fifth else {
                quiet += 1;
                continue;
            };
            fifths += 1;
            let latest = begin + Duration::from_micros(500) * fifth as u64 + ms(10);
            let (from, until) = (begin + ms(10) + access, begin + ms(20));
            assert!(from <= latest + access && sum > 4, "round {round}");
            let on = there.iter().find(|(_, on, off)| *on < until && *off > from);
            assert_eq!(on, None, "round {round}: {samples:?} in period {period}\n{text}");
        }
    }
    println!("{fifths} periods with a fifth event, {quiet} without");
    assert!(fifths > 40 && quiet > 20, "{fifths} with, {quiet} without");
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

/// (1) with kernel paths that take time: a threshold that nothing reaches leaves all else as it was. Where a look costs nothing
/// every record is the same, apart from those of the looks themselves.
#[test]
fn a_threshold_that_nothing_reaches_costs_the_look_and_nothing_else() {
    let free = |mut experiment: Experiment| {
        experiment.overheads = thesis_overheads();
        for path in [Overhead::Tick, Overhead::Counters] {
            let row = Overhead::ALL.iter().position(|known| *known == path).expect("one of all");
            experiment.overheads.steps[row] = vec![(0, Duration::ZERO)];
        }
        let (mut records, outcome) = run(&experiment);
        records.retain(|record| {
            let look = [Overhead::Tick, Overhead::Counters];
            !matches!(record, Record::Overhead(path) if look.contains(&path.overhead))
        });
        (records, outcome.end)
    };
    let (plain, end) = free(shared(""));
    for action in ["yield", "overflow", "serialize", "report"] {
        let (heard, until) = free(hitm("1_099_511_627_776", action));
        assert!(heard == plain && until == end, "{action}");
    }
}

/// (1): where a look costs time it costs just that: each job ends later by as many looks as its core has had until then.
#[test]
fn a_look_delays_each_job_by_its_cost_and_by_nothing_else() {
    let text = "name = \"looks\"\nplatform = \"i7-2600\"\nduration = \"205ms\"\n[scheduler]\npolicy = \"P-RM\"\n\
         overheads = \"epos-thesis\"\nMONITOR\n[[task]]\nname = \"srt\"\nclass = \"soft\"\ncore = 2\nperiod = \"200ms\"\n\
         work = [{ compute = \"90ms\" }]\n[[task]]\nname = \"be\"\nclass = \"best-effort\"\ncore = 4\n\
         release = \"continuous\"\nwork = [{ compute = \"7ms\" }]\n";
    let finished = |monitor: &str, task: u32| {
        let (records, _) = run(&parse(&text.replace("MONITOR", monitor)));
        jobs(&records, task).iter().map(|job| job.finish).collect::<Vec<_>>()
    };
    let overheads = thesis_overheads();
    let look = overheads.cost(Overhead::Tick, 2) + overheads.cost(Overhead::Counters, 2);
    assert_eq!(look, Duration::new(3432), "thesis Table 17");
    for action in ["yield", "overflow", "report"] {
        let heard = monitor("snoop_hitm", "1_099_511_627_776", "\"best-effort\"", action);
        for task in [0, 1] {
            let (before, after) = (finished("", task), finished(&heard, task));
            assert!(before.len() > usize::from(task == 1) * 20, "{before:?}");
            for (before, after) in before.iter().zip(&after) {
                let looks = after.since(Instant::ZERO) / ms(10);
                assert_eq!(after.since(*before), look * looks, "{action}, task {task}: {before} and {after}");
            }
        }
    }
}

/// The costs of the thesis's kernel.
fn thesis_overheads() -> OverheadTable {
    let with = SHARED.replace("MONITOR", "overheads = \"epos-thesis\"");
    parse(&with).overheads
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

/// (5): own buffers in own colors: in a second, a hundred periods, nothing is taken from anybody, and nobody yields.
#[test]
fn who_shares_nothing_never_yields() {
    let own = SHARED
        .replace("duration = \"80ms\"", "duration = \"1s\"")
        .replace("accesses = 50_000, writes = \"50%\"", "accesses = 50_000, writes = \"50%\", think = \"40ns\"")
        .replace(", buffer = \"shared\"", "")
        .replace("[[buffer]]\nname = \"shared\"\nsize = \"128KiB\"\n", "")
        .replace("MONITOR", &monitor("snoop_hitm", "4", "\"best-effort\"", "yield"))
        .replace("[[task]]\nname = \"srt\"", "[isolation.memory]\ngroups = 32\n[isolation.colors]\nsrt = \"0\"\nbe = \"1\"\n[[task]]\nname = \"srt\"");
    let (records, outcome) = run(&parse(&own));
    assert_eq!(outcome.end, Instant::ZERO + ms(1000));
    assert_eq!(held(&records, BE), []);
    let counts = counted(&records, BE_CORE, EventId::SNOOP_HITM);
    assert_eq!(counts, [0; 100]);
    assert!(jobs(&records, 1).len() > 100, "it ran all the time");
}

/// CAP-GS beneath it: who shares memory is on one core, where nobody takes a line from another, so that nobody yields; BFD parts
/// them, and the best-effort task is kept off.
#[test]
fn what_cap_gs_leaves_together_never_yields() {
    let placed = |partition: &str| {
        let more = format!("policy = \"P-RM\"\npartition = \"{partition}\"");
        // Without siblings that share their caches.
        let text = SHARED
            .replace("i7-2600", "xeon-w3530")
            .replace("policy = \"P-RM\"", &more)
            .replace("core = 2\n", "wcet = \"6ms\"\n")
            // On its core at each look, and beside the soft task before and after it.
            .replace("accesses = 50_000", "accesses = 500_000")
            .replace("release = \"continuous\"", "period = \"10ms\"\noffset = \"8ms\"\nwcet = \"4500us\"\ndeadline = \"10ms\"")
            .replace("core = 4\n", "")
            .replace("MONITOR", &monitor("snoop_hitm", "4", "\"best-effort\"", "yield"))
            .replace(
                "[[task]]\nname = \"srt\"",
                "[isolation.memory]\ngroups = 32\nshared = \"yes\"\n[isolation.colors]\nsrt = \"0\"\nbe = \"0\"\n[[task]]\nname = \"srt\"",
            );
        let experiment = parse(&text);
        let cores: Vec<_> = experiment.tasks.iter().map(|task| task.core.expect("it is placed")).collect();
        let (records, outcome) = run(&experiment);
        let there = stays(&records, BE, outcome.end);
        let looks = (1..8).map(|look| Instant::ZERO + ms(10 * look));
        let seen =
            looks.filter(|look| there.iter().any(|(_, from, until)| from < look && look <= until)).count();
        assert!(seen > 2, "{partition}: on its core at {seen} looks of seven");
        (cores[0] == cores[1], outcome.heard.iter().map(|core| core.held).sum::<u64>())
    };
    assert_eq!(placed("cap-gs"), (true, 0));
    let (together, held) = placed("wfd");
    assert!(!together && held > 0, "{together} {held}");
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
            ended: Vec::new(),
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
    let text = refused.map(|_| ()).expect_err("three events beside instructions, two counters").to_string();
    assert!(text.contains("3 programmable counters are needed; each core has 2"), "{text}");
    assert!(text.contains("or let sets of them take turns"), "{text}");
}
