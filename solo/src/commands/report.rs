//! `solo report`: a finished run again, as a table, a page or data.

use super::compare;
use super::run::Shown;
use crate::cli::{Format, Report};
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::pages;
use crate::stream::Message;
use crate::stream::feed::Said;
use crate::stream::recording::Recording;
use crate::watching::{MANIFEST, ROWS, Trace, summary_text};
use solo_lab::Compared;
use solo_model::Instant;
use solo_model::text::{Printable, counted};
use solo_report::export::{self, ExportError, Exporter};
use solo_report::gains::Gains;
use solo_report::perfetto::TraceWriter;
use solo_report::{ComparisonRun, Opened, Part, RefusedVariant, Run, table, verdict};
use solo_scenario::units::TIME;
use solo_store::TargetFolder;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

/// Shows or exports the records of a run directory, or of all runs of a comparison.
pub(crate) fn run(options: &Report) -> Result<Exit, Failure> {
    // Said before anything is written.
    if options.format == Format::Parquet && !export::Format::Parquet.is_built() {
        return Err(ExportError::NotBuilt(export::Format::Parquet).into());
    }
    if options.run.join(MANIFEST).exists() {
        return recording(options);
    }
    match Opened::open(&options.run)? {
        Opened::Run(run) => one(&run, options),
        Opened::Comparison { runs, refused, gains } => several(&runs, (refused, &gains), options),
    }
}

/// What a watch came to. Its rows are in the recording; they are looked at by `solo top` and `solo serve`.
fn recording(options: &Report) -> Result<Exit, Failure> {
    let failed = |message| Failure::watch((Exit::BadInput, message));
    let recording = Recording::open(&options.run).map_err(failed)?;
    let (begin, summary) = recording.summary();
    match options.format {
        Format::Table => {
            let mut text = format!("{}, watched per {} on {}\n", begin.target, begin.per, begin.host);
            text += &match summary {
                Some(summary) => summary_text(&summary.outcome(begin.columns())),
                None => "Its watch did not come to its end: totals and doubts are not known.\n".to_owned(),
            };
            text +=
                &format!("\nsolo top --recording {} shows it over time.\n", Printable(options.run.display()));
            output::text(&text)?;
        }
        Format::Json => {
            let shown = serde_json::json!({ "dir": options.run, "complete": summary.is_some(),
                "target": begin.target, "per": begin.per, "host": begin.host, "summary": summary });
            output::json(Document::Recording, &shown)?;
        }
        Format::Perfetto => {
            let place = TargetFolder::at(options.to.as_deref().unwrap_or(&options.run))?;
            announce(&[sampled(recording, &place)?])?;
        }
        Format::Html | Format::Csv | Format::Jsonl | Format::Parquet => {
            let rows = options.run.join(ROWS);
            return Err(Failure::Usage(format!(
                "{} is a recording of solo watch: its rows are JSON lines in {}, and solo watch --format csv or parquet \
                 writes others; --format table or json tells what it came to, --format perfetto draws it",
                Printable(options.run.display()),
                Printable(rows.display())
            )));
        }
    }
    Ok(Exit::Held)
}

/// Writes a recording's rows as a trace for the Perfetto viewer.
fn sampled(recording: Recording, place: &TargetFolder) -> Result<PathBuf, Failure> {
    let whole = place.create("trace.perfetto")?;
    let path = whole.path();
    let failed = |source| Failure::File { action: "write", path: path.clone(), source };
    let columns = recording.summary().0.columns();
    let mut trace = Trace::new(BufWriter::new(whole.handle()?), &columns, true);
    let mut written = Ok(());
    let read = recording.read(&mut |said| match said {
        Said::Message(Message::Name(name)) => trace.told(&name),
        Said::Message(Message::Row(row)) => {
            if let (Ok(()), Some(row)) = (&written, row.read(&columns)) {
                written = trace.row(&row);
            }
        }
        Said::Message(_) | Said::Line(_) => {}
        Said::Broken(why) => eprintln!("note: {}", Printable(&why)),
    });
    read.map_err(|message| Failure::watch((Exit::BadInput, message)))?;
    written.map_err(failed)?;
    trace.finish().map_err(failed)?;
    Ok(whole.commit()?)
}

/// The report of a run, with bounds and warnings as it was first shown.
fn summary(run: &Run, options: &Report) -> Result<solo_report::Report, Failure> {
    let (from, to) = options.window.as_deref().map_or(Ok((Instant::ZERO, Instant::MAX)), window)?;
    let summary = run.report_between(from, to)?.with_bounds(&solo_lab::bounds(run.experiment()));
    let warnings = solo_lab::diagnosis::warnings(run.experiment(), &summary);
    Ok(summary.with_warnings(warnings))
}

fn one(run: &Run, options: &Report) -> Result<Exit, Failure> {
    let summary = summary(run, options)?;
    let judgement = verdict(&summary, None);
    let to = options.to.as_deref().unwrap_or(&options.run);
    match options.format {
        Format::Table => output::text(&table::report(&summary, &judgement, None, output::style()))?,
        Format::Json => {
            output::json(Document::Run, &Shown::new(&options.run, run.manifest(), &judgement, &summary))?
        }
        Format::Html => {
            let (place, manifest) = (TargetFolder::at(to)?, run.manifest());
            announce(&[pages::write_run(&place, &options.run, &summary, manifest, run.source())?])?;
        }
        Format::Perfetto | Format::Csv | Format::Jsonl | Format::Parquet => {
            announce(&exported(run, &TargetFolder::at(to)?, options.format)?)?;
        }
    }
    Ok(if judgement.held { Exit::Held } else { Exit::NotHeld })
}

fn several(
    runs: &[ComparisonRun],
    (refused, gains): (Vec<RefusedVariant>, &[Gains]),
    options: &Report,
) -> Result<Exit, Failure> {
    let reports = runs.iter().map(|run| Ok((run.part.variant.clone(), summary(&run.run, options)?)));
    let compared = Compared::new(reports.collect::<Result<_, Failure>>()?).with_refused(refused);
    let parts: Vec<Part> = runs.iter().map(|run| run.part.clone()).collect();
    let to = options.to.as_deref().unwrap_or(&options.run);
    match options.format {
        Format::Table => output::text(&(compare::as_text(&compared) + &super::gains::text(gains)))?,
        Format::Json => output::text(&compare::as_json(&compared, &options.run, &parts, gains)?)?,
        Format::Html => {
            if let Some(ComparisonRun { run, .. }) = runs.first() {
                let (place, manifest, source) = (TargetFolder::at(to)?, run.manifest(), run.source());
                let from = (options.run.as_path(), manifest);
                announce(&[pages::write_comparison(&place, from, &compared, gains, source)?])?;
            }
        }
        Format::Perfetto | Format::Csv | Format::Jsonl | Format::Parquet => {
            for run in runs {
                let place = TargetFolder::at(&to.join(&run.part.folder))?;
                announce(&exported(&run.run, &place, options.format)?)?;
            }
        }
    }
    Ok(compare::exit(&compared))
}

/// Writes the records in another form, into one file or several.
fn exported(run: &Run, place: &TargetFolder, format: Format) -> Result<Vec<PathBuf>, Failure> {
    match format {
        Format::Csv => tables(run, place, export::Format::Csv),
        Format::Jsonl => tables(run, place, export::Format::JsonLines),
        Format::Parquet => tables(run, place, export::Format::Parquet),
        Format::Perfetto | Format::Table | Format::Json | Format::Html => {
            Ok(vec![perfetto(run, place, end_of(run))?])
        }
    }
}

/// A stretch of the run: `3.2s..3.4s`.
fn window(text: &str) -> Result<(Instant, Instant), Failure> {
    let at = |text: &str| TIME.parse(text).ok().map(Instant::new);
    let both = text.split_once("..").and_then(|(from, to)| Some((at(from)?, at(to)?)));
    both.filter(|(from, to)| from < to).ok_or_else(|| {
        Failure::Usage(format!(
            "--window {}: expected two times, the earlier first, such as 3.2s..3.4s",
            Printable(text)
        ))
    })
}

fn announce(files: &[PathBuf]) -> Result<(), Failure> {
    let lines: Vec<String> = files.iter().map(|file| format!("{}\n", Printable(file.display()))).collect();
    output::text(&lines.concat())
}

/// The end of a complete run.
fn end_of(run: &Run) -> Instant {
    run.manifest().outcome.as_ref().map_or(Instant::ZERO, |outcome| outcome.end)
}

/// Writes a trace for the Perfetto viewer.
fn perfetto(run: &Run, place: &TargetFolder, end: Instant) -> Result<PathBuf, Failure> {
    let whole = place.create("trace.perfetto")?;
    let failed = |source| Failure::File { action: "write", path: whole.path(), source };
    let file = BufWriter::new(whole.handle()?);
    let mut writer = TraceWriter::new(file, run.experiment()).map_err(failed)?;
    for record in run.records() {
        writer.add(&record?).map_err(failed)?;
    }
    let (mut file, left_out) = writer.finish(end).map_err(failed)?;
    file.flush().map_err(failed)?;
    if left_out > 0 {
        eprintln!("note: too many jobs of one task overlap: {} not drawn", counted(left_out, "job"));
    }
    Ok(whole.commit()?)
}

/// Writes jobs, samples and switches, a file each.
fn tables(run: &Run, place: &TargetFolder, format: export::Format) -> Result<Vec<PathBuf>, Failure> {
    export::Table::ALL
        .into_iter()
        .map(|table| {
            let whole = place.create(&format!("{}.{}", table.name(), format.extension()))?;
            let failed = |error| Failure::Export { path: whole.path(), error };
            let file = BufWriter::new(whole.handle()?);
            let mut exporter = Exporter::new(table, format, file, run.experiment()).map_err(failed)?;
            for record in run.records() {
                exporter.add(&record?).map_err(failed)?;
            }
            exporter.finish().map_err(failed)?;
            Ok(whole.commit()?)
        })
        .collect()
}
