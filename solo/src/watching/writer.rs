//! The sink of a watch: one form, one place.

use super::pmctrack::Layout;
use super::recording::{Recording, io_error as store_error};
use super::sums::Sums;
use super::trace::Trace;
use super::{Form, Output, sheet, summary};
use crate::stream::{Begin, Name, StreamWriter};
use solo_model::text::Printable;
use solo_observe::Metric;
use solo_report::export::{ExportError, Format, Sheet};
use solo_store::Output as WholeOutput;
use solo_watch::{Columns, Row, WatchDoubts};
use solo_watch::{Sink, WatchOutcome};
use std::io::{self, BufWriter, Write};
use std::path::Path;

type Out = Box<dyn Write + Send>;

enum State {
    /// Before the columns are known.
    Waiting(Out),
    Table(Out, Layout),
    Sheet(Sheet<'static>),
    Trace(Trace<Out>),
    Stream(StreamWriter<Out>),
    /// Nothing is wanted, or nothing is left to write to.
    Nothing,
}

/// Writes rows as they come.
pub(crate) struct Writer {
    form: Form,
    state: State,
    etime: bool,
    legacy: bool,
    times: bool,
    /// Rows that are summed up until the end.
    sums: Option<Sums>,
    begin: Begin,
    /// A file that appears when it is whole.
    file: Option<WholeOutput>,
    recording: Option<Recording>,
    /// The table and its summary go the same way.
    summary_to_stdout: bool,
    silent: bool,
    elsewhere: bool,
}

impl Writer {
    /// Opens the place, before anything is started.
    pub(crate) fn create(output: &Output, begin: Begin) -> Result<Self, String> {
        let said = |path: &Path, error: io::Error| {
            format!("cannot write {}: {}", Printable(path.display()), solo_store::system_reason(&error))
        };
        let (mut file, mut recording, mut form) = (None, None, output.form);
        let state = match (&output.file, &output.folder) {
            (Some(path), _) => {
                let made = WholeOutput::create(path).map_err(|error| error.to_string())?;
                let out = made.handle().map_err(|error| error.to_string())?;
                file = Some(made);
                State::Waiting(Box::new(BufWriter::new(out)))
            }
            (None, Some(folder)) => {
                let (made, rows) = Recording::create(folder, &begin, output.elsewhere)
                    .map_err(|error| said(folder, error))?;
                recording = Some(made);
                form = Form::Jsonl;
                State::Waiting(Box::new(BufWriter::new(rows)))
            }
            (None, None) if output.silent => State::Nothing,
            (None, None) if form == Form::Stream => {
                let out =
                    super::detach::streams().map_err(|error| said(Path::new("standard output"), error))?;
                State::Waiting(Box::new(BufWriter::new(out)))
            }
            (None, None) => State::Waiting(Box::new(BufWriter::new(io::stdout()))),
        };
        let to_stdout = output.file.is_none() && output.folder.is_none();
        Ok(Self {
            form,
            state,
            etime: output.etime,
            legacy: output.legacy,
            times: output.times,
            sums: None,
            begin,
            file,
            recording,
            summary_to_stdout: to_stdout && form == Form::Pmctrack,
            silent: output.silent,
            elsewhere: output.elsewhere,
        })
    }

    /// Writes sums of rows at the end instead of rows; of virtual counters that are `levels` the last value.
    pub(crate) fn aggregate(&mut self, metrics: Vec<Metric>, levels: Vec<bool>) {
        self.sums = Some(Sums::new(metrics, levels));
    }

    /// Keeps a name that came with a stream from another machine.
    pub(crate) fn told(&mut self, name: &Name) -> io::Result<()> {
        if let Some(recording) = &mut self.recording {
            recording.told(name)?;
        }
        match &mut self.state {
            State::Stream(stream) => stream.told(name),
            State::Trace(trace) => {
                trace.told(name);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Completes what was written and moves it to its place; the summary follows the table.
    pub(crate) fn finish(mut self, outcome: &WatchOutcome) -> io::Result<()> {
        for row in self.sums.take().map_or_else(Vec::new, Sums::rows) {
            self.write(&row)?;
        }
        let mut summary = if self.times { summary::times(outcome) } else { String::new() };
        summary += &summary::text(outcome);
        match std::mem::replace(&mut self.state, State::Nothing) {
            State::Waiting(_) | State::Nothing => {}
            State::Table(mut out, _) => {
                out.write_all(summary.as_bytes())?;
                out.flush()?;
            }
            State::Sheet(sheet) => sheet.finish().map_err(io_error)?,
            State::Trace(trace) => drop(trace.finish()?),
            State::Stream(stream) => stream.finish(outcome)?,
        }
        if let Some(file) = self.file {
            file.commit().map_err(store_error)?;
        }
        if let Some(recording) = self.recording {
            recording.finish(outcome)?;
        }
        if !self.summary_to_stdout && !self.silent && self.form != Form::Stream {
            eprint!("{summary}");
        }
        Ok(())
    }

    /// Nothing came of it, which a stream's reader is told.
    pub(crate) fn refuse(mut self, exit: u8, message: &str) {
        let state = std::mem::replace(&mut self.state, State::Nothing);
        let stream = match (self.form, state) {
            (Form::Stream, State::Waiting(out)) => {
                Some(StreamWriter::new(out, self.begin.clone(), self.elsewhere))
            }
            (_, State::Stream(stream)) => Some(stream),
            _ => None,
        };
        // Whoever is gone needs no explanation.
        let _ = stream.map(|stream| stream.refuse(exit, message.to_owned()));
        self.discard();
    }

    /// Nothing came of it: leaves no half file.
    pub(crate) fn discard(mut self) {
        self.state = State::Nothing;
        self.file = None;
    }

    /// The output refused: keeps what there is, under its preliminary name, and says where.
    pub(crate) fn abandon(mut self) -> String {
        self.state = State::Nothing;
        let kept = self.file.and_then(|file| file.set_aside().ok().flatten());
        match (kept, &self.recording) {
            (Some(kept), _) => format!(", they are incomplete in {}", Printable(kept.display())),
            (None, Some(_)) => ", the recording is marked incomplete".to_owned(),
            (None, None) => String::new(),
        }
    }
}

impl Writer {
    fn write(&mut self, row: &Row) -> io::Result<()> {
        match &mut self.state {
            State::Waiting(_) | State::Nothing => Ok(()),
            State::Table(out, layout) => out.write_all(layout.row(row).as_bytes()),
            State::Sheet(rows) => rows.row(&sheet::values(row)).map_err(io_error),
            State::Trace(trace) => trace.row(row),
            State::Stream(stream) => stream.row(row),
        }
    }
}

impl Sink for Writer {
    fn begin(&mut self, columns: &Columns) -> io::Result<()> {
        if let Some(sums) = &mut self.sums {
            sums.begin(columns);
        }
        let State::Waiting(mut out) = std::mem::replace(&mut self.state, State::Nothing) else {
            return Ok(());
        };
        if let Some(recording) = &mut self.recording {
            recording.begin(&self.begin.clone().with(columns))?;
        }
        let sheet = |format, out| {
            Sheet::new("rows", sheet::columns(columns), format, out).map(State::Sheet).map_err(io_error)
        };
        self.state = match self.form {
            Form::Pmctrack => {
                let layout = Layout::new(columns, self.begin.per == "core", self.etime);
                let layout = if self.legacy { layout.without_mappings() } else { layout };
                out.write_all(layout.header().as_bytes())?;
                State::Table(out, layout)
            }
            Form::Csv => sheet(Format::Csv, out)?,
            Form::Jsonl => sheet(Format::JsonLines, out)?,
            Form::Parquet => sheet(Format::Parquet, out)?,
            Form::Perfetto => State::Trace(Trace::new(out, columns, self.elsewhere)),
            Form::Stream => {
                let mut stream = StreamWriter::new(out, self.begin.clone(), self.elsewhere);
                stream.begin(columns)?;
                State::Stream(stream)
            }
        };
        Ok(())
    }

    fn row(&mut self, row: &Row) -> io::Result<()> {
        if let Some(recording) = &mut self.recording {
            recording.name(row)?;
        }
        match &mut self.sums {
            Some(sums) => {
                sums.add(row);
                Ok(())
            }
            None => self.write(row),
        }
    }

    fn tick(&mut self, doubts: &WatchDoubts) -> io::Result<()> {
        if let Some(recording) = &mut self.recording {
            recording.flush()?;
        }
        match &mut self.state {
            State::Stream(stream) => stream.tick(doubts),
            State::Table(out, _) => out.flush(),
            State::Sheet(rows) => rows.flush().map_err(io_error),
            _ => Ok(()),
        }
    }
}

fn io_error(error: ExportError) -> io::Error {
    match error {
        ExportError::Io(error) => error,
        other => io::Error::other(other.to_string()),
    }
}
