//! `solo study fit`: tables of overheads that explain published curves.

use super::Bar;
use crate::cli::StudyFit;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::output;
use solo_model::Duration;
use solo_model::text::{Printable, counted};
use solo_prove::overhead::write_table;
use solo_report::table;
use solo_store::Dir;
use solo_study::{FitReport, FittedTable, SentenceReport};

/// Fits the tables of a file. The status says whether every published sentence holds with them.
pub(super) fn run(options: &StudyFit) -> Result<Exit, Failure> {
    let plan = solo_study::load_fit(&options.file, options.sets)?;
    let bar = Bar::new(options.show.quiet);
    let fitted = plan.fit(&bar);
    bar.bar.finish_and_clear();
    let report = fitted?;
    if let Some(path) = &options.write {
        let dir = Dir::make(path)?;
        for table in &report.tables {
            let written = dir.write(&format!("{}.json", table.name), write_table(&table.table).as_bytes())?;
            if !options.show.quiet {
                eprintln!("{}", Printable(written.display()));
            }
        }
    }
    if options.show.json {
        output::json(Document::StudyFit, &report)?;
    } else {
        output::text(&shown(&report))?;
    }
    Ok(if report.broken().next().is_none() { Exit::Held } else { Exit::NotHeld })
}

fn shown(report: &FitReport) -> String {
    let mut text = format!(
        "{}: fitted to published curves, not measured; {} a cap, {} judged\n\n",
        report.fit,
        counted(report.sets, "set"),
        counted(report.judged, "set")
    );
    text += &steps(&report.tables);
    let thousandths = |value: u64| format!("{:.2}", value as f64 / 1000.0);
    text.push('\n');
    for target in &report.targets {
        let left = target.ours_per_mille as f64 / target.published_per_mille.max(1) as f64 - 1.0;
        let (start, ours) = (thousandths(target.start_per_mille), thousandths(target.ours_per_mille));
        text += &format!("{}\n    before {start}, fitted {ours}, left {:+.1} %\n", target.text, 100.0 * left);
    }
    text += &format!("left, the root of the mean of squares: {:.1} %\n", report.left_per_mille as f64 / 10.0);
    let broken: Vec<&SentenceReport> = report.broken().collect();
    let all = report.sentences.len();
    text += &format!("\n{} of {} hold\n", all - broken.len(), counted(all as u64, "published sentence"));
    for sentence in report.sentences.iter().filter(|sentence| sentence.holds != sentence.held_before) {
        let now = if sentence.holds { "holds now, did not before" } else { "held before, does not now" };
        text += &format!("{now}: {}\n", sentence.text);
    }
    for sentence in broken {
        text += &format!("does not hold: {}\n", sentence.text);
        let pairs: Vec<String> = sentence
            .pairs_per_mille
            .iter()
            .map(|&(one, other)| format!("{} and {}", thousandths(one), thousandths(other)))
            .collect();
        text += &format!("    weighted schedulability: {}\n", pairs.join(", "));
    }
    text
}

/// What the source that grows costs, a table in each row.
fn steps(tables: &[FittedTable]) -> String {
    let mut threads: Vec<u32> =
        tables.iter().flat_map(|table| table.steps.iter().map(|step| step.threads)).collect();
    threads.sort_unstable();
    threads.dedup();
    let mut header = vec!["table".to_owned(), "grows".to_owned(), "before".to_owned()];
    header.extend(threads.iter().map(|threads| format!("{threads} threads")));
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let row = |table: &FittedTable| {
        let before = table.steps.first().map_or(Duration::ZERO, |step| step.start);
        let mut row = vec![table.name.clone(), table.grows.to_owned(), table::time(before)];
        row.extend(threads.iter().map(|threads| {
            let step = table.steps.iter().find(|step| step.threads == *threads);
            step.map_or_else(|| "-".to_owned(), |step| table::time(step.cost))
        }));
        row
    };
    let rows: Vec<Vec<String>> = tables.iter().map(row).collect();
    table::plain(&header, 2, &rows, output::style())
}
