//! What a terminal shows, word by word.

use crate::fabricate::*;
use crate::summary::summarise;
use solo_model::power::{ClusterPower, DramPower};
use solo_model::*;
use solo_report::classes::{ClassShare, classes};
use solo_report::table::{self, Style};
use solo_report::{Report, compare, verdict};

pub(crate) fn report_of(what: (Experiment, Vec<Load>), seed: u64) -> Report {
    let end = Duration::from_secs(20);
    summarise(&what.0, Stream::new(&what, seed).until(end), Instant::ZERO + end)
}

#[test]
fn a_missed_deadline_is_explained_against_solo() {
    let (solo, corun) = (report_of(solo(), 1), report_of(corun(), 1));
    let verdict = verdict(&corun, Some(&solo));
    assert!(!verdict.held && !verdict.hard_held);
    insta::assert_snapshot!(table::report(&corun, &verdict, Some(&solo), Style::PLAIN));
}

#[test]
fn a_missed_deadline_is_explained_without_a_baseline() {
    let corun = report_of(corun(), 1);
    insta::assert_snapshot!(verdict(&corun, None).lines.join("\n"));
}

#[test]
fn a_held_run_says_how_close_it_was() {
    let (solo, isolated) = (report_of(solo(), 1), report_of(isolated(), 1));
    let verdict = verdict(&isolated, Some(&solo));
    assert!(verdict.held && verdict.hard_held);
    insta::assert_snapshot!(table::report(&isolated, &verdict, Some(&solo), Style::PLAIN));
}

/// A held run says which task its baseline slowed down most; where none, which became faster; and only where none did either,
/// that nothing has changed.
#[test]
fn a_held_run_says_what_changed_most_in_either_direction() {
    let run = |first, second| {
        let of = |name, core, cost_us| Load { name, core, cost_us, jitter_us: 0, ..FRAME };
        let loads = vec![of("first", 0, first), of("second", 1, second)];
        report_of((experiment("two", 4, &loads), loads), 1)
    };
    let baseline = run(4_000, 4_000);
    let said = |first, second| verdict(&run(first, second), Some(&baseline)).lines.join("\n");
    let cases = [
        ((4_000, 4_000), "no p99 of a task with a deadline changed by as much as is shown"),
        ((4_000, 2_000), "second changed most: p99 2.00 ms from 4.00 ms (factor 0.50)"),
        ((3_000, 2_000), "second changed most: p99 2.00 ms from 4.00 ms (factor 0.50)"),
        ((4_400, 1_000), "first changed most: p99 4.40 ms from 4.00 ms (factor 1.10)"),
        ((5_000, 4_400), "first changed most: p99 5.00 ms from 4.00 ms (factor 1.25)"),
    ];
    for ((first, second), expected) in cases {
        let said = said(first, second);
        assert!(said.contains(expected), "{first}, {second}: {said}");
    }
}

#[test]
fn many_tasks_that_miss_are_ranked() {
    let mix = report_of(mix(), 1);
    insta::assert_snapshot!(table::report(&mix, &verdict(&mix, None), None, Style::PLAIN));
}

#[test]
fn variants_stand_side_by_side() {
    let reports = [
        ("solo", report_of(solo(), 1)),
        ("corun", report_of(corun(), 1)),
        ("isolated", report_of(isolated(), 1)),
    ];
    insta::assert_snapshot!(table::comparison(&compare(&reports), Style::PLAIN));
}

/// What each class got, added up from the records alone.
#[test]
fn what_a_class_got_is_what_its_jobs_got() {
    let what = mix();
    let end = Duration::from_secs(20);
    let records: Vec<Record> = Stream::new(&what, 1).until(end).collect();
    let report = summarise(&what.0, records.clone(), Instant::ZERO + end);
    let shares = classes(&report);
    let found: Vec<TaskClass> = shares.iter().map(|share| share.class).collect();
    assert_eq!(found, [TaskClass::Hard, TaskClass::Soft, TaskClass::BestEffort]);
    for ClassShare { class, got: share } in shares {
        let own = |task: TaskId| what.0.tasks[task.index()].class == class;
        let jobs: Vec<&JobRecord> = records
            .iter()
            .filter_map(|record| if let Record::Job(job) = record { Some(job) } else { None })
            .filter(|job| own(job.task))
            .collect();
        assert_eq!(share.jobs, jobs.len() as u64);
        assert_eq!(share.tasks, what.0.tasks.iter().filter(|task| task.class == class).count() as u64);
        let unfinished = |record: &&Record| matches!(record, Record::Unfinished(job) if own(job.task) && job.deadline.is_some_and(|at| at < job.at));
        let late = jobs.iter().filter(|job| job.missed()).count() + records.iter().filter(unfinished).count();
        assert_eq!(share.misses, late as u64, "{class:?}");
        let executed: u128 = jobs.iter().map(|job| u128::from(job.executed.get())).sum();
        let response: u128 = jobs.iter().map(|job| u128::from(job.response().get())).sum();
        let stretch = (response * 1000 / executed) as u64;
        assert!(
            share.stretch_per_mille.is_some_and(|found| found.abs_diff(stretch) <= 1),
            "{share:?} {stretch}"
        );
        let mut on_core = 0;
        for core in 0..8 {
            let mut since = None;
            for record in &records {
                if let Record::Switch(switch) = record
                    && switch.core == CoreId(core)
                {
                    let from = since.take().unwrap_or(switch.at);
                    on_core +=
                        switch.from.filter(|task| own(*task)).map_or(0, |_| switch.at.since(from).get());
                    since = Some(switch.at);
                }
            }
        }
        // What is under way at the end is missing here.
        let per_mille = on_core * 1000 / end.get();
        assert!(share.on_core_per_mille.abs_diff(per_mille) <= 30, "{share:?} {per_mille}");
    }
}

/// Beside a baseline: jobs over its jobs, and the mean of the slowdowns that the table of tasks has.
#[test]
fn classes_are_compared_by_jobs_and_by_the_slowdowns_of_their_tasks() {
    let slowed = |cost| {
        let (_, mut loads) = mix();
        loads.iter_mut().for_each(|load| load.cost_us = load.cost_us * cost / 100);
        report_of((experiment("mix", 8, &loads), loads), 1)
    };
    let reports = [("solo", slowed(50)), ("slower", slowed(70))];
    let compared = compare(&reports);
    for class in &compared.classes {
        let cells: Vec<_> = class.cells.iter().map(|cell| cell.expect("each has all classes")).collect();
        assert_eq!((cells[0].jobs_per_mille, cells[0].slowdown_per_mille), (Some(1000), Some(1000)));
        let jobs = (cells[1].got.jobs * 1000 + cells[0].got.jobs / 2) / cells[0].got.jobs;
        assert_eq!(cells[1].jobs_per_mille, Some(jobs));
        let slowdowns: Vec<u64> = compared
            .tasks
            .iter()
            .filter(|task| task.class == class.class)
            .filter_map(|task| task.cells[1].as_ref()?.slowdown_p50_per_mille)
            .collect();
        let mean = slowdowns.iter().sum::<u64>() / slowdowns.len() as u64;
        assert_eq!(cells[1].slowdown_per_mille, Some(mean), "{:?}", class.class);
        assert!(mean > 1000, "{:?}", class.class);
    }
    let json = serde_json::to_value(&compared).expect("it is JSON");
    assert_eq!(json["classes"][2]["class"], "best-effort");
    assert_eq!(json["classes"][2]["variants"][1]["variant"], "slower");
    assert!(json["classes"][2]["variants"][1]["jobs_per_mille"].as_u64().is_some_and(|jobs| jobs < 1000));
}

#[test]
fn a_run_without_jobs_shows_nothing_and_says_so() {
    let (experiment, _) = solo();
    let report = summarise(&experiment, [], Instant::ZERO);
    insta::assert_snapshot!(table::report(&report, &verdict(&report, None), None, Style::PLAIN));
}

/// Bare metal counts nothing for jobs and takes no samples: that is no zero, in no table.
#[test]
fn what_was_not_counted_is_a_dash() {
    let (mut experiment, loads) = corun();
    experiment.platform.kinds[0].energy = vec![(EventId::INSTRUCTIONS, Energy::new(150))];
    let what = (experiment, loads);
    let end = Duration::from_secs(1);
    let uncounted = |mut record: Record| match &mut record {
        Record::Sample(_) => None,
        Record::Job(job) => {
            job.counts = Counts::NONE;
            Some(record)
        }
        _ => Some(record),
    };
    let records = Stream::new(&what, 1).until(end).filter_map(uncounted);
    let report = summarise(&what.0, records, Instant::ZERO + end);
    assert!(report.tasks.iter().any(|task| task.jobs > 0));
    assert!(report.tasks.iter().all(|task| task.counts.is_none() && task.counts_late.is_none()));
    assert_eq!(report.energy, None, "nobody knows what it cost");
    // Columns in which nobody has a value may be left out; a zero may not stand there.
    let shown = table::cores(&report, Style::PLAIN);
    let counted = ["instr/cycle", "LLC misses", "HITM", "DRAM mean", "DRAM peak"];
    let columns = counted.iter().filter(|column| shown.contains(*column)).count();
    let rows: Vec<&str> =
        shown.lines().filter(|line| line.trim_start().starts_with("core") && line.contains('%')).collect();
    assert!(!rows.is_empty());
    for row in rows {
        let cells: Vec<&str> = row.split_whitespace().collect();
        assert!(cells[cells.len() - columns..].iter().all(|cell| *cell == "-"), "{row}");
    }
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["tasks"][0]["counts"], serde_json::json!({}), "absent, not zero");
}

#[test]
fn color_adds_escapes_and_nothing_else() {
    let corun = report_of(corun(), 1);
    let verdict = verdict(&corun, None);
    let colored = table::report(&corun, &verdict, None, Style { color: true, ..Style::PLAIN });
    assert!(colored.contains('\x1b'));
    let mut plain = String::new();
    let mut escape = false;
    for c in colored.chars() {
        match c {
            '\x1b' => escape = true,
            'm' if escape => escape = false,
            _ if escape => {}
            c => plain.push(c),
        }
    }
    let trimmed = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    assert_eq!(trimmed(&plain), trimmed(&table::report(&corun, &verdict, None, Style::PLAIN)));
}

#[test]
fn color_follows_the_terminal_and_no_color() {
    let set = |value: &'static str| Some(std::ffi::OsStr::new(value));
    assert!(Style::detect(true, None, None).color && Style::detect(true, set(""), None).color);
    assert!(!Style::detect(true, set("1"), None).color && !Style::detect(false, None, None).color);
}

/// Each event of a finished job, and of a sample, at its cost; with the costs' source and doubt.
#[test]
fn energy_is_events_times_costs() {
    let mut what = corun();
    let costs = vec![(EventId::INSTRUCTIONS, Energy::new(150)), (EventId::DRAM_READS, Energy::new(20_000))];
    what.0.platform.kinds[0].energy = costs;
    what.0.platform.sources = vec![("energy of core: instructions".into(), "G: guess".into())];
    let report = report_of(what, 1);
    let energy = report.energy.as_ref().expect("the platform names costs");
    let of = |counts: &Counts| {
        counts.get(EventId::INSTRUCTIONS).unwrap() * 150 + counts.get(EventId::DRAM_READS).unwrap() * 20_000
    };
    for (task, spent) in report.tasks.iter().zip(&energy.tasks) {
        assert_eq!((spent.jobs, spent.energy.get()), (task.jobs, of(&task.counts)));
    }
    let sampled: Vec<_> = report.cores.iter().filter(|core| core.samples > 0).collect();
    assert_eq!(energy.cores.len(), sampled.len());
    for (core, spent) in sampled.into_iter().zip(&energy.cores) {
        assert_eq!((spent.core, spent.energy.get()), (core.core, of(&core.counts)));
    }
    assert!(energy.tasks.iter().any(|task| task.energy > Energy::ZERO) && !energy.validated);
    let text = table::report(&report, &verdict(&report, None), None, Style::PLAIN);
    assert!(text.contains("energy of") && text.contains("(source G: guess): not validated"), "{text}");
    let silent = report_of(corun(), 1);
    assert!(silent.energy.is_none());
}

/// A meter for the only kind of core and for memory.
pub(crate) fn power() -> PowerModel {
    let [on, gated, shared, background] = [100, 5, 50, 300].map(Power::new);
    let [activate, read, write, refresh] =
        [29, 8, 9, 500].map(|nanojoules| Energy::new(nanojoules * 1_000_000));
    let dram = DramPower { activate, read, write, refresh, background };
    PowerModel { clusters: vec![ClusterPower { on, gated, shared }], dram: Some(dram) }
}

/// What the meter told: by task and kind, by meter, and what was nobody's; the product is by hand.
#[test]
fn a_meter_tells_of_tasks_kinds_and_domains() {
    let (mut experiment, _) = corun();
    experiment.platform.power = Some(power());
    experiment.platform.sources = vec![("power of core: on".into(), "G: guess".into())];
    let at = |milliseconds| Instant::ZERO + Duration::from_millis(milliseconds);
    let energy = |at, of, parts: [u64; 3]| {
        let [dynamic, fixed, dram] = parts.map(|microjoules| Energy::new(microjoules * 1_000_000_000));
        Record::Energy(EnergyRecord { at, of, dynamic, fixed, dram })
    };
    let kind = KindId(0);
    let job = |task, job| Consumer::Job { task: TaskId(task), job: JobIndex(job), kind };
    let cluster = Consumer::Domain(PowerDomain::Cluster(kind));
    let memory = Consumer::Domain(PowerDomain::Dram);
    let counts: Counts = [(EventId::INSTRUCTIONS, 1_000_000)].into_iter().collect();
    let sample =
        |at| Record::Sample(Sample::of_core(CoreId(0), at, Duration::from_millis(10), counts.clone()));
    let records = [
        energy(at(4), job(0, 0), [10, 5, 1]),
        sample(at(10)),
        energy(at(10), cluster, [20, 30, 0]),
        energy(at(10), memory, [2, 8, 0]),
        energy(at(12), job(0, 1), [10, 5, 1]),
        energy(at(15), job(1, 0), [4, 3, 1]),
        sample(at(20)),
        energy(at(20), cluster, [4, 26, 0]),
        energy(at(20), memory, [2, 8, 0]),
    ];
    let report = summarise(&experiment, records, at(20));
    let found = report.energy.as_ref().expect("it has a meter");
    let microjoules = |energy: Energy| energy.get() / 1_000_000_000;
    assert_eq!(found.tasks.iter().map(|task| microjoules(task.energy)).collect::<Vec<_>>()[..2], [32, 8]);
    // 16 uJ in the first 10 ms and in the second.
    let jobs = found.tasks[0].over_time.as_ref().expect("its jobs used some");
    let means: Vec<_> = jobs.bins.iter().filter_map(|bin| bin.mean()).collect();
    assert_eq!(means, [16, 16]);
    assert!(found.tasks[2..].iter().all(|task| task.over_time.is_none()));
    let of: Vec<_> =
        found.domains.iter().map(|domain| (&*domain.name, microjoules(domain.total()))).collect();
    assert_eq!(of, [("core", 80), ("dram", 20)]);
    assert_eq!((microjoules(found.total()), microjoules(found.nobodys())), (100, 60));
    // 100 uJ in 20 ms for 2,000,000 instructions: 1e-12 J s each.
    let product = found.energy_delay_js().expect("instructions retired");
    assert!((product - 1e-12).abs() < 1e-24, "{product}");
    // 50 uJ in the first 10 ms and 30 in the second.
    let power: Vec<_> = found.domains[0].power.bins.iter().filter_map(|bin| bin.mean()).collect();
    assert_eq!(power, [5, 3]);
    assert!(found.cores.is_empty() && !found.validated);
    let text = table::report(&report, &verdict(&report, None), None, Style::PLAIN);
    assert!(text.contains("nobody") && text.contains("energy by the meter: 100 uJ in all"), "{text}");
    assert!(text.contains("energy times time 1.00 pJ s an instruction"), "{text}");
}
