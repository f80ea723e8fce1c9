//! Reservations that are admitted are delivered: whatever the neighbours do, a core that waits for memory gets what it has reserved.
//!
//! The judge is the report's: it knows records only, not how the simulated memory works. That it can find something is shown by budgets
//! against twice the guaranteed bandwidth. `./x soak` tries more than the seeds of every test run: `SOLO_GUARANTEE_SEEDS` of them from
//! `SOLO_FIRST_SEED` on.

mod common;

use common::Keep;
use solo_model::experiment::End;
use solo_model::{Duration, Experiment, Record, TaskClass};
use solo_report::timeparts::TimePart;
use solo_report::{Report, Summary, verdict};
use solo_scenario::{Platforms, Scenario};
use std::fmt::Write as _;
use std::path::Path;

/// Seeds of every test run.
const SEEDS: u64 = 24;
/// As long as the cases need to show what they show.
const SHORT: End = End::At(Duration::from_millis(24));

fn report(experiment: &Experiment) -> Report {
    let mut keep = Keep::default();
    let outcome = solo_sim::run(experiment, &[], &mut keep).expect("it runs");
    let mut summary = Summary::new(experiment);
    keep.0.iter().for_each(|record| summary.add(record));
    summary.finish(outcome.end)
}

/// Periods that were judged, and those of them that were not met.
fn judged(report: &Report) -> (u64, u64) {
    let cores = report.isolation.iter().flat_map(|isolation| &isolation.cores);
    cores.fold((0, 0), |sum, core| (sum.0 + core.judged, sum.1 + core.unmet))
}

fn parse(text: &str) -> Result<Scenario, String> {
    let path = Path::new("tests/cases/generated.toml");
    let said = |report: &solo_scenario::Diagnostics| report.to_json().to_string();
    let scenario = solo_scenario::parse(text, path, &Platforms::builtin()).map_err(|report| said(&report))?;
    // A variant that can't be had does not end the others; here each of them has to be had.
    scenario.refused.first().map_or(Ok(()), |refused| Err(said(&refused.report)))?;
    Ok(scenario)
}

fn case(name: &str, change: impl FnOnce(String) -> String) -> Result<Scenario, String> {
    let text = std::fs::read_to_string(format!("tests/cases/{name}.toml")).expect("the case is there");
    parse(&change(text))
}

fn variant(scenario: &Scenario, name: &str) -> Experiment {
    scenario.variants.iter().find(|variant| variant.variant == name).expect("the variant is there").clone()
}

/// Lehmer's generator: enough to draw scenarios in no order.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Two to eight hungry cores, each reading, writing or chasing pointers in one bank of all or in banks of its own, whose budgets
/// together are all that `guaranteed` (per mille of what memory guarantees) allows. At its `worst` each access opens a row of the bank.
fn drawn(seed: u64, guaranteed: u64, worst: bool) -> String {
    let mut draw = Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let cores = 2 + draw.below(7);
    let p4080 = cores > 4 || draw.below(2) == 0;
    let platform = if p4080 { "p4080" } else { "xeon-w3530" };
    let kinds: Vec<u64> = (0..cores).map(|_| draw.below(3)).collect();
    let (reads, written) = if p4080 { (1_263_000, 1_183_000) } else { (1_263_000, 1_159_000) };
    let countable = if kinds.contains(&1) { written / 2 } else { reads } * guaranteed / 1000;
    let weights: Vec<u64> = (0..cores).map(|_| 1 + draw.below(9)).collect();
    let sum: u64 = weights.iter().sum();
    // Half of them fit into the caches; eight cores must fit into one bank.
    let size = if draw.below(2) == 0 {
        "8MiB"
    } else if cores > 4 {
        "12MiB"
    } else {
        "32MiB"
    };
    let (banks, one_bank) = (if p4080 { 32 } else { 16 }, worst | (draw.below(2) == 0));
    let mut text = format!(
        "name = \"drawn\"\nplatform = \"{platform}\"\nduration = \"5ms\"\nseed = {seed}\n[scheduler]\npolicy = \"P-RM\"\n\
         overheads = \"epos-thesis\"\n"
    );
    for (core, kind) in kinds.iter().enumerate() {
        let drawn = [256, 1024, 4096][draw.below(3) as usize];
        let stride = if worst { 4096 } else { drawn };
        let work = match kind {
            0 => format!("{{ stream = \"{size}\", stride = \"{stride}B\" }}"),
            1 => format!("{{ stream = \"{size}\", stride = \"{stride}B\", writes = \"100%\" }}"),
            _ => format!("{{ chase = \"{size}\", stride = \"{stride}B\", accesses = 20000 }}"),
        };
        let (each, own) = (banks / cores, core as u64);
        let own = if one_bank { "0".to_owned() } else { format!("{}-{}", own * each, (own + 1) * each - 1) };
        let _ = write!(
            text,
            "[[task]]\nname = \"t{core}\"\nclass = \"best-effort\"\ncore = {core}\nbanks = \"{own}\"\nwork = [{work}]\n"
        );
    }
    let budgets: Vec<String> = (0..cores as usize)
        .map(|core| format!("{core} = \"{}kB/s\"", countable * weights[core] / sum))
        .collect();
    let _ = write!(text, "[isolation.bandwidth]\ncores = {{ {} }}\n", budgets.join(", "));
    text
}

/// The seeds to try: some in every test run, others and more where `./x soak` says so.
fn seeds() -> std::ops::Range<u64> {
    let said = |variable| std::env::var(variable).ok()?.parse::<u64>().ok();
    let first = said("SOLO_FIRST_SEED").unwrap_or(0);
    first..first.saturating_add(said("SOLO_GUARANTEE_SEEDS").unwrap_or(SEEDS))
}

#[test]
fn admitted_reservations_are_delivered() {
    let seeds = seeds();
    let (mut periods, mut failed) = (0, Vec::new());
    for seed in seeds.clone() {
        let text = drawn(seed, 1000, seed % 4 == 0);
        let scenario =
            parse(&text).unwrap_or_else(|report| panic!("seed {seed} is refused: {report}\n{text}"));
        let report = report(&scenario.base);
        let (judged, unmet) = judged(&report);
        periods += judged;
        if unmet > 0 {
            let cores = report.isolation.iter().flat_map(|isolation| &isolation.cores);
            let lacks: Vec<_> = cores.map(|core| (core.core.0, core.unmet, core.worst_lack.get())).collect();
            failed.push((seed, lacks));
        }
    }
    println!("seeds {seeds:?}, {periods} periods of cores judged, not met in {failed:?}");
    assert!(periods > (seeds.end - seeds.start) * 6, "{periods} periods are not enough");
    assert!(failed.is_empty(), "{failed:?}");
}

/// Hungry cores that all read or all write, each access in another row of one bank, more of them than caches hold: memory serves
/// what it guarantees and no more. Their budgets add up to `share` per mille of that, as misses (of which lines written back are the
/// second half) or as reads and writes.
fn saturating(seed: u64, share: u64) -> String {
    let mut draw = Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let p4080 = seed.is_multiple_of(2);
    let platform = if p4080 { "p4080" } else { "xeon-w3530" };
    let cores = 2 + draw.below(3);
    let (writes, both) = [("0%", false), ("100%", false), ("100%", true)][(seed / 2 % 3) as usize];
    let written = if p4080 { 1_183_000 } else { 1_159_000 };
    let countable = if writes == "0%" { 1_263_000 } else { written / 2 } * share / 1000;
    let weights: Vec<u64> = (0..cores).map(|_| 2 + draw.below(3)).collect();
    let sum: u64 = weights.iter().sum();
    let mut text = format!(
        "name = \"saturating\"\nplatform = \"{platform}\"\nduration = \"8ms\"\nseed = {seed}\n[scheduler]\npolicy = \"P-RM\"\n"
    );
    for core in 0..cores {
        let _ = write!(
            text,
            "[[task]]\nname = \"t{core}\"\nclass = \"best-effort\"\ncore = {core}\nbanks = \"0\"\n\
             work = [{{ stream = \"32MiB\", stride = \"4096B\", writes = \"{writes}\" }}]\n"
        );
    }
    let budgets: Vec<String> = weights
        .iter()
        .enumerate()
        .map(|(core, weight)| format!("{core} = \"{}kB/s\"", countable * weight / sum))
        .collect();
    let budgets = budgets.join(", ");
    let _ = write!(text, "[isolation.bandwidth]\ncores = {{ {budgets} }}\n");
    if both {
        let _ = write!(text, "counts = \"reads-and-writes\"\nwrites = {{ {budgets} }}\n");
    }
    text
}

/// Twice the guaranteed bandwidth is refused; admitted where the file says that there is so much, it is always found not to be there.
/// The same scenarios with what there is are admitted and get it: the judge accuses nobody.
#[test]
fn a_guarantee_of_twice_what_there_is_is_always_caught() {
    let seeds = seeds();
    let half = (seeds.end - seeds.start) / 2;
    for seed in seeds.take(half as usize) {
        let sound = saturating(seed, 1000);
        let scenario =
            parse(&sound).unwrap_or_else(|report| panic!("seed {seed} is refused: {report}\n{sound}"));
        let (periods, unmet) = judged(&report(&scenario.base));
        assert!(periods > 0 && unmet == 0, "seed {seed}: {unmet} of {periods}\n{sound}");
        let twice = saturating(seed, 2000);
        assert!(parse(&twice).is_err(), "seed {seed}: twice the guaranteed bandwidth is admitted\n{twice}");
        let scenario = parse(&format!("{twice}guaranteed = \"2600MB/s\"\n")).expect("the file says so");
        let (periods, unmet) = judged(&report(&scenario.base));
        assert!(unmet * 2 >= periods && unmet > 0, "seed {seed}: {unmet} of {periods}\n{twice}");
    }
}

/// The same with budgets that change at 4 of 8 ms: each core gets what its neighbor had. `share` per mille of what is guaranteed is
/// reserved from then on, all of it before.
fn changing(seed: u64, share: u64) -> String {
    let text = saturating(seed, 1000);
    let line = text.lines().find(|line| line.starts_with("cores = {")).expect("budgets");
    let rates: Vec<u64> = line
        .split('"')
        .skip(1)
        .step_by(2)
        .map(|rate| rate.trim_end_matches("kB/s").parse().expect("a number"))
        .collect();
    let turned = rates.iter().cycle().skip(1).take(rates.len()).enumerate();
    let budgets: Vec<String> =
        turned.map(|(core, rate)| format!("{core} = \"{}kB/s\"", rate * share / 1000)).collect();
    let budgets = budgets.join(", ");
    let writes =
        if text.contains("reads-and-writes") { format!("writes = {{ {budgets} }}\n") } else { String::new() };
    format!("{text}[[isolation.bandwidth.change]]\nat = \"4ms\"\ncores = {{ {budgets} }}\n{writes}")
}

/// Budgets that change are delivered before and after. Twice what there is, from the change on, is refused with the time; where the file
/// says that there is so much, it is found not to be there, and not before the change.
#[test]
fn budgets_that_change_are_delivered_and_broken_promises_are_found() {
    let seeds = seeds();
    let half = (seeds.end - seeds.start) / 2;
    for seed in seeds.take(half as usize / 2) {
        let sound = changing(seed, 1000);
        let scenario =
            parse(&sound).unwrap_or_else(|report| panic!("seed {seed} is refused: {report}\n{sound}"));
        let told = report(&scenario.base);
        let (periods, unmet) = judged(&told);
        assert!(periods > 0 && unmet == 0 && told.conserved(), "seed {seed}: {unmet} of {periods}\n{sound}");
        let cores = &told.isolation.as_ref().expect("isolated").cores;
        assert!(cores.iter().all(|core| core.changes.len() == 1), "seed {seed}: {:?}", cores[0].changes);
        let late = |core: &solo_report::report::CoreRegulation| core.changes[0].0.get() - 4_000_000;
        assert!(cores.iter().all(|core| late(core) < 100_000), "a period begins at 4 ms");

        let twice = changing(seed, 2000);
        let refused =
            parse(&twice).err().unwrap_or_else(|| panic!("seed {seed}: twice is admitted\n{twice}"));
        assert!(refused.contains("from 4ms on: reservations of"), "{refused}");
        let believed = twice.replacen(
            "[isolation.bandwidth]\n",
            "[isolation.bandwidth]\nguaranteed = \"2600MB/s\"\n",
            1,
        );
        let scenario = parse(&believed).expect("the file says so");
        let (periods, unmet) = judged(&report(&scenario.base));
        assert!(unmet * 4 >= periods && unmet > 0, "seed {seed}: {unmet} of {periods}\n{believed}");
        let before = Experiment { end: End::At(Duration::from_millis(4)), ..scenario.base };
        let (periods, unmet) = judged(&report(&before));
        assert!(periods > 0 && unmet == 0, "seed {seed}: {unmet} of {periods} before the change\n{believed}");
    }
}

/// Eight cores in one bank, seven of which write: each may miss `share` of what is guaranteed, a hard task on core 0 among them.
fn misses_in_one_bank(share: &str, more: &str) -> Result<Experiment, String> {
    let budgets: Vec<String> = (0..8).map(|core| format!("{core} = \"{share}\"")).collect();
    let line = format!("isolation.bandwidth = {{ cores = {{ {} }}{more} }}\n", budgets.join(", "));
    let scenario = case("csce3", |text| {
        let base = text.split("[[variant]]").next().expect("a first part");
        let banks = text.lines().find(|line| line.starts_with("isolation.banks")).expect("a line");
        format!("{base}[[variant]]\nname = \"v\"\n{banks}\n{line}")
    })?;
    Ok(Experiment { end: SHORT, ..variant(&scenario, "v") })
}

#[test]
fn misses_that_write_back_are_two_transfers() {
    let Err(refused) = case("csce3", |text| text) else {
        panic!("12.5 % of misses, lines written back, are admitted");
    };
    for word in ["1.183GB/s", "reads-and-writes", "best-effort", "591.5MB/s"] {
        assert!(refused.contains(word), "{word} is missing in {refused}");
    }
    let over = report(&misses_in_one_bank("12.5%", ", best-effort = \"yes\"").expect("best effort"));
    let (_, unmet) = judged(&over);
    assert!(unmet > 0, "34 of 159 MB/s are a reservation that is not delivered");
    let victim = over.isolation.as_ref().expect("isolated").cores.iter().max_by_key(|core| core.unmet);
    assert!(victim.is_some_and(|core| !core.meanwhile.is_empty()), "who used memory meanwhile");
    assert!(over.guarantees_kept(), "nothing was promised");
    let within = report(&misses_in_one_bank("5.8%", "").expect("admitted"));
    let (periods, unmet) = judged(&within);
    assert!(periods > 100 && unmet == 0, "{unmet} of {periods}");
}

#[test]
fn readers_in_one_bank_get_all_that_is_guaranteed() {
    let scenario = case("csce4", |text| text).expect("readers only");
    let experiment = Experiment { end: SHORT, ..variant(&scenario, "samebank r 12.5, readers") };
    let report = report(&experiment);
    let (periods, unmet) = judged(&report);
    assert!(periods > 100 && unmet == 0, "{unmet} of {periods}");
}

/// A promise to a hard task that is broken is a verdict.
#[test]
fn a_hard_task_without_its_reservation_is_a_verdict() {
    let mut experiment = misses_in_one_bank("12.5%", ", best-effort = \"yes\"").expect("best effort");
    let mut keep = Keep::default();
    let end = solo_sim::run(&experiment, &[], &mut keep).expect("it runs").end;
    // As if somebody had promised it nevertheless.
    experiment.isolation.bandwidth.as_mut().expect("regulated").best_effort = false;
    let mut summary = Summary::new(&experiment);
    keep.0.iter().for_each(|record| summary.add(record));
    let report = summary.finish(end);
    let judgement = verdict(&report, None);
    assert_eq!(experiment.tasks[0].class, TaskClass::Hard);
    assert!(!report.guarantees_kept() && !judgement.held, "{:?}", judgement.lines);
    assert!(judgement.unmet_periods > 0);
    assert!(judgement.lines.iter().any(|line| line.contains("core0") && line.contains("Meanwhile")));
}

#[test]
fn weights_never_starve_a_core_that_wakes_up() {
    // Reads and writes above their own r_min are another test's.
    let cut = |text: String| {
        text.split("[[variant]]\nname = \"rw above r_min\"").next().expect("a part").to_owned()
    };
    let scenario = case("weight", cut).expect("it is sound");
    for name in ["fixed 25 %", "weights 1:1", "weights 1:1 ps"] {
        let report = report(&Experiment { end: End::Jobs(30), ..variant(&scenario, name) });
        assert_eq!((report.tasks[0].misses, report.tasks[0].judged), (0, 30), "{name}");
    }
    let Err(refused) = case("weight", |text| text) else {
        panic!("more than the r_min of reads and writes is admitted");
    };
    assert!(refused.contains("1105.") && refused.contains("MiB/s"), "{refused}");
}

#[test]
fn one_cache_level_counts_and_regulates_misses() {
    let scenario = case("onelevel", |text| text).expect("it is sound");
    let free = report(&variant(&scenario, "free"));
    assert!(free.cores[0].counts.get(solo_model::EventId::LLC_MISSES) > Some(10_000));
    for name in ["budget", "dram"] {
        let report = report(&variant(&scenario, name));
        let core = &report.isolation.as_ref().expect("isolated").cores[0];
        let rate = core.mean().expect("periods").get();
        assert!((99_000_000..=102_000_000).contains(&rate), "{name}: {rate}");
    }
    let wrong = |event: &str| {
        let line = format!("counts = \"{event}\"");
        case("onelevel", move |text| text.replace("counts = \"dram_reads\"", &line)).err()
    };
    for event in ["l2_misses", "prefetches"] {
        let refused = wrong(event).unwrap_or_else(|| panic!("{event} can't happen here"));
        assert!(refused.contains(event) && refused.contains("can't happen"), "{refused}");
    }
    assert_eq!(wrong("l1_misses"), None);
}

#[test]
fn a_task_that_waits_for_its_own_budget_is_told_so() {
    let scenario = case("tb", |text| text).expect("it is sound");
    let report = report(&variant(&scenario, "taskbudget"));
    let task = &report.tasks[0];
    assert!(task.misses > 0 && task.held_times > 0 && !task.held.is_zero());
    assert!(task.time.total(TimePart::Held) > task.time.total(TimePart::Ready));
    let lines = verdict(&report, None).lines.join(" ");
    assert!(lines.contains("waiting for its own budget") && lines.contains("`budget`"), "{lines}");
}

/// However unused reservations travel, what is reserved is delivered.
#[test]
fn reclaiming_and_sharing_break_no_promise() {
    let without = |text: String| {
        // Sums of writes and of weights with fixed reservations are other tests'.
        text.replace("writes=\"30%\"", "writes=\"0%\"").replace("190MiB/s", "180MiB/s")
    };
    let scenario = case("reclaim", without).expect("it is sound");
    for experiment in scenario.variants.iter().filter(|variant| variant.isolation.bandwidth.is_some()) {
        let report = report(experiment);
        let (_, unmet) = judged(&report);
        assert_eq!(unmet, 0, "{}", experiment.variant);
        assert!(report.conserved(), "{}", experiment.variant);
    }
    let scenario = case("ps", |text| text).expect("it is sound");
    for experiment in &scenario.variants {
        assert_eq!(judged(&report(experiment)).1, 0, "{}", experiment.variant);
    }
}

/// Waiting time is told once a period and core, right behind the period.
#[test]
fn every_period_has_its_waiting_time() {
    let scenario = parse(&drawn(3, 1000, false)).expect("it is sound");
    let mut keep = Keep::default();
    solo_sim::run(&scenario.base, &[], &mut keep).expect("it runs");
    let mut periods = 0;
    for pair in keep.0.windows(2) {
        if let Record::Regulation(period) = &pair[0] {
            let Record::Wait(wait) = &pair[1] else { panic!("{:?} after a period", pair[1]) };
            assert_eq!((wait.core, wait.at), (period.core, period.at));
            assert!(wait.waited.get() <= wait.at.since(period.since).get() + 10_000);
            periods += 1;
        }
    }
    assert!(periods > 10);
}
