//! Recordings of `solo watch --out` as the stream that they were.

use super::{Begin, Message, Name, RowLine, SCHEMA, Tick};
use crate::watching::{Manifest, RECORDING_SCHEMA, Summary};
use serde_json::{Map, Value};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;

/// The period of ticks where a recording had none.
const PERIOD_NS: u64 = 100_000_000;

/// A recording's beginning, and how it ended where it is complete.
pub(crate) struct Recording {
    begin: Begin,
    end: Option<Summary>,
    names: Vec<Name>,
    rows: BufReader<File>,
}

impl Recording {
    /// Opens a recording.
    ///
    /// # Errors
    /// What is missing or not understood, and where.
    pub(crate) fn open(folder: &Path) -> Result<Self, String> {
        let at = |name: &str| folder.join(name);
        let text = fs::read_to_string(at("watch.json")).map_err(|error| {
            format!("{} is no recording of solo watch --out: watch.json: {error}", folder.display())
        })?;
        let manifest: Manifest = serde_json::from_str(&text)
            .map_err(|error| format!("{}: {error}", at("watch.json").display()))?;
        if manifest.schema != RECORDING_SCHEMA {
            return Err(format!(
                "{}: expected schema {RECORDING_SCHEMA}, found {} of version {}",
                at("watch.json").display(),
                manifest.schema,
                manifest.version
            ));
        }
        let rows = File::open(at("rows.jsonl"))
            .map_err(|error| format!("cannot read {}: {error}", at("rows.jsonl").display()))?;
        let names = fs::read_to_string(at("names.jsonl")).unwrap_or_default();
        let columns = manifest.columns();
        let begin = Begin {
            schema: SCHEMA.to_owned(),
            version: manifest.version,
            host: manifest.host,
            per: manifest.per,
            target: manifest.target,
            period_ns: manifest.period_ns,
            counts: columns.counts,
            sets: columns.sets,
            virtuals: columns.virtuals,
            metrics: manifest.metrics,
        };
        // A name that was cut off by a full disk is no name.
        let names = names.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok(Self { begin, end: manifest.summary, names, rows: BufReader::new(rows) })
    }

    /// How long it took, in nanoseconds; 0 where it was cut off.
    pub(crate) fn elapsed(&self) -> u64 {
        self.end.as_ref().map_or(0, |end| end.elapsed().get())
    }

    /// Gives the stream. Ticks are where the period says, or every 100 ms.
    ///
    /// # Errors
    /// The first line that is no row.
    pub(crate) fn read(mut self, give: &mut dyn FnMut(Message)) -> Result<(), String> {
        let period = self.begin.period_ns.unwrap_or(PERIOD_NS).max(1);
        let doubts = self.end.as_ref().map_or_else(Default::default, |end| end.doubts().clone());
        let tick = |at_ns| Message::Tick(Tick { at_ns, doubts: doubts.clone() });
        let begin = self.begin.clone();
        give(Message::Begin(self.begin));
        self.names.drain(..).for_each(|name| give(Message::Name(name)));
        // Rows of a tick come shortly after it was due.
        let mut due = period + period / 2;
        let (mut line, mut number, mut last) = (String::new(), 0, 0);
        loop {
            line.clear();
            number += 1;
            let got = self.rows.read_line(&mut line).map_err(|error| format!("rows.jsonl: {error}"))?;
            if got == 0 {
                break;
            }
            let Some(row) = serde_json::from_str(&line).ok().and_then(|row| row_line(&row, &begin)) else {
                if line.ends_with('\n') {
                    return Err(format!("rows.jsonl:{number}: expected a row, found `{}`", line.trim()));
                }
                break; // The last row of a recording that was cut off.
            };
            // A tick at which nobody had run has no row, and was one all the same.
            while row.at_ns >= due {
                give(tick(due - period / 2));
                due += period;
            }
            last = last.max(row.at_ns);
            give(Message::Row(row));
        }
        give(tick(last));
        if let Some(end) = self.end {
            give(Message::End(end));
        }
        Ok(())
    }
}

/// A row by the names of its columns.
fn row_line(row: &Map<String, Value>, begin: &Begin) -> Option<RowLine> {
    let number = |name: &str| row.get(name).and_then(Value::as_u64);
    let text = |name: &str| row.get(name).and_then(Value::as_str).map(str::to_owned);
    let metric = |text: &String| row.get(super::name_of(text)).and_then(Value::as_f64);
    Some(RowLine {
        row: number("row")?,
        at_ns: number("at_ns")?,
        span_ns: number("span_ns")?,
        subject: text("subject")?,
        process: number("process").and_then(|process| u32::try_from(process).ok()),
        id: number("id").and_then(|id| u32::try_from(id).ok()),
        event: text("event")?,
        set: usize::try_from(number("set")?).ok()?,
        counts: begin.counts.iter().map(|name| number(name)).collect(),
        virtuals: begin.virtuals.iter().map(|name| row.get(name).and_then(Value::as_i64)).collect(),
        metrics: begin.metrics.iter().map(metric).collect(),
    })
}
