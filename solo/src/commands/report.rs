//! `solo report`: a finished run again, as a table, a page or data.

use super::run::Shown;
use crate::cli::{Format, Report};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::pages;
use solo_model::Instant;
use solo_report::export::{self, ExportError, Exporter};
use solo_report::perfetto::TraceWriter;
use solo_report::{Run, table, verdict};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Shows or exports the records of a run directory.
pub(crate) fn run(options: &Report) -> Result<Exit, Failure> {
    // Said before anything is written.
    if options.format == Format::Parquet && !export::Format::Parquet.is_built() {
        return Err(ExportError::NotBuilt(export::Format::Parquet).into());
    }
    let run = Run::open(&options.run)?;
    let summary = run.report()?.with_bounds(&solo_lab::bounds(run.experiment()));
    let warnings = solo_lab::diagnosis::warnings(run.experiment(), &summary);
    let summary = summary.with_warnings(warnings);
    let judgement = verdict(&summary, None);
    let to = options.to.as_deref().unwrap_or(&options.run);
    match options.format {
        Format::Table => output::text(&table::report(&summary, &judgement, None, output::style()))?,
        Format::Json => output::json(&Shown {
            dir: &options.run,
            manifest: run.manifest(),
            verdict: &judgement,
            report: &summary,
        })?,
        Format::Html => announce(&[pages::write_run(to, &summary, run.manifest())?])?,
        Format::Perfetto => announce(&[perfetto(&run, to, end_of(&run))?])?,
        Format::Csv => announce(&tables(&run, to, export::Format::Csv)?)?,
        Format::Jsonl => announce(&tables(&run, to, export::Format::JsonLines)?)?,
        Format::Parquet => announce(&tables(&run, to, export::Format::Parquet)?)?,
    }
    Ok(if judgement.held { Exit::Held } else { Exit::NotHeld })
}

fn announce(files: &[PathBuf]) -> Result<(), Failure> {
    let lines: Vec<String> = files.iter().map(|file| format!("{}\n", file.display())).collect();
    output::text(&lines.concat())
}

/// The end of a complete run.
fn end_of(run: &Run) -> Instant {
    run.manifest().outcome.map_or(Instant::ZERO, |outcome| outcome.end)
}

/// A file that is written beside its place and moved there when it is whole.
struct Whole {
    path: PathBuf,
    beside: PathBuf,
}

impl Whole {
    fn create(path: PathBuf) -> Result<(Self, BufWriter<File>), Failure> {
        let whole = Self { beside: path.with_extension("new"), path };
        let file = File::create(&whole.beside).map_err(|source| whole.failed(source))?;
        Ok((whole, BufWriter::new(file)))
    }

    fn failed(&self, source: std::io::Error) -> Failure {
        Failure::File { action: "write", path: self.path.clone(), source }
    }

    fn finish(self) -> Result<PathBuf, Failure> {
        std::fs::rename(&self.beside, &self.path).map_err(|source| self.failed(source))?;
        Ok(self.path)
    }
}

/// Writes a trace for the Perfetto viewer.
fn perfetto(run: &Run, to: &Path, end: Instant) -> Result<PathBuf, Failure> {
    let (whole, file) = Whole::create(to.join("trace.perfetto"))?;
    let mut writer = TraceWriter::new(file, run.experiment()).map_err(|source| whole.failed(source))?;
    for record in run.records() {
        writer.add(&record?).map_err(|source| whole.failed(source))?;
    }
    let (mut file, left_out) = writer.finish(end).map_err(|source| whole.failed(source))?;
    file.flush().map_err(|source| whole.failed(source))?;
    if left_out > 0 {
        eprintln!("note: {left_out} jobs are not drawn: too many of one task overlap");
    }
    whole.finish()
}

/// Writes jobs, samples and switches, a file each.
fn tables(run: &Run, to: &Path, format: export::Format) -> Result<Vec<PathBuf>, Failure> {
    export::Table::ALL
        .into_iter()
        .map(|table| {
            let path = to.join(format!("{}.{}", table.name(), format.extension()));
            let (whole, file) = Whole::create(path)?;
            let failed = |error| Failure::Export { path: whole.path.clone(), error };
            let mut exporter = Exporter::new(table, format, file, run.experiment()).map_err(failed)?;
            for record in run.records() {
                exporter.add(&record?).map_err(failed)?;
            }
            exporter.finish().map_err(failed)?;
            whole.finish()
        })
        .collect()
}
