//! What a terminal shows, word by word.

use crate::fabricate::*;
use crate::summary::summarise;
use solo_model::*;
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
