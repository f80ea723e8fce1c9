//! Recordings of `solo watch --out` as the stream that they were.

use super::check::{self, Fault, TIME_MAX_NS};
use super::feed::Said;
use super::{Begin, Message, Name, RowLine, SCHEMA, Tick};
use crate::watching::{Manifest, RECORDING_SCHEMA, Summary};
use serde_json::{Map, Value};
use solo_model::text::Printable;
use solo_observe::Metric;
use solo_store::read;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// The period of ticks where a recording had none.
const PERIOD_NS: u64 = 100_000_000;
/// The largest `watch.json`.
const MANIFEST_MAX: u64 = 16 << 20;
/// The longest line: a row of a thousand columns takes a tenth of it.
const LINE_MAX: u64 = 1 << 20;
/// Ticks without rows between two rows are more than any view keeps.
const IDLE_TICKS: u64 = 4096;
/// All of them together; where the recording has more, those of the later gaps stand further apart.
const IDLE_TICKS_ALL: u64 = 1_000_000;
/// How long after its last tick a watch may write rows. It ends within seconds.
const SLACK_NS: u64 = 60 * 1_000_000_000;

/// A recording's beginning, and how it ended where it is complete.
pub(crate) struct Recording {
    begin: Begin,
    end: Option<Summary>,
    names: Option<File>,
    rows: File,
}

impl Recording {
    /// Opens a recording.
    ///
    /// # Errors
    /// What is missing or not understood, and where.
    pub(crate) fn open(folder: &Path) -> Result<Self, String> {
        let place = folder.join("watch.json");
        let at = |error: &dyn std::fmt::Display| format!("{}: {error}", Printable(place.display()));
        let text = read::text(&place, MANIFEST_MAX).map_err(|error| {
            format!("{} is no recording of solo watch --out: {error}", Printable(folder.display()))
        })?;
        let manifest: Manifest = serde_json::from_str(&text).map_err(|error| at(&error))?;
        if manifest.schema != RECORDING_SCHEMA {
            let (schema, version) = (Printable(&manifest.schema), Printable(&manifest.version));
            return Err(at(&format!(
                "expected schema {RECORDING_SCHEMA}, found {schema} of version {version}"
            )));
        }
        let rows = read::open(&folder.join("rows.jsonl")).map_err(|error| error.to_string())?;
        let names = read::open(&folder.join("names.jsonl")).ok();
        let (begin, end) = understand(manifest).map_err(|error| at(&error))?;
        Ok(Self { begin, end, names, rows })
    }

    /// How long it took, in nanoseconds; 0 where it was cut off.
    pub(crate) fn elapsed(&self) -> u64 {
        self.end.as_ref().map_or(0, |end| end.elapsed().get())
    }

    /// False where its watch did not come to its end.
    pub(crate) fn is_complete(&self) -> bool {
        self.end.is_some()
    }

    /// What was watched, and what came of it: nothing where the watch did not come to its end.
    pub(crate) fn summary(&self) -> (&Begin, Option<&Summary>) {
        (&self.begin, self.end.as_ref())
    }

    /// Gives the stream. Ticks are where the period says, or every 100 ms. Where the recording was cut off, that is its
    /// last word.
    ///
    /// # Errors
    /// The first line that is no row, or none of this recording.
    pub(crate) fn read(self, give: &mut dyn FnMut(Said)) -> Result<(), String> {
        let doubts = self.end.as_ref().map_or_else(Default::default, |end| end.doubts().clone());
        let mut ticks = Ticks::new(self.begin.period_ns.unwrap_or(PERIOD_NS), self.begin.sets.len());
        let end = self.end.as_ref().map_or(TIME_MAX_NS, |end| end.elapsed().get().saturating_add(SLACK_NS));
        let begin = self.begin;
        let mut tell = |message| give(Said::Message(message));
        let tick = |at_ns| Message::Tick(Tick { at_ns, doubts: doubts.clone() });
        tell(Message::Begin(begin.clone()));
        if let Some(names) = self.names {
            told(names, &mut tell)?;
        }
        let mut last = 0;
        let whole = lines(self.rows, "rows.jsonl", &mut |place, line| {
            let row: Option<Map<String, Value>> = serde_json::from_slice(line).ok();
            if let Some(version) = row.as_ref().and_then(|row| row.get("schema")) {
                return rows_known(place, version);
            }
            let row = row.as_ref().and_then(|row| row_line(row, &begin));
            let row = row.ok_or_else(|| {
                let start: String = String::from_utf8_lossy(line).trim().chars().take(80).collect();
                format!("{place}: expected a row, found `{}`", Printable(&start))
            })?;
            begin.check_row(&row).map_err(|fault| format!("{place}: {fault}"))?;
            if row.at_ns > end {
                let fault = Fault::Range { field: "at_ns", least: 0, most: end, found: row.at_ns };
                return Err(format!("{place}: {fault} (a minute after the end of the recording)"));
            }
            ticks.before(row.at_ns, &mut |at| tell(tick(at)));
            last = last.max(row.at_ns);
            tell(Message::Row(row));
            Ok(())
        })?;
        tell(tick(last));
        match self.end {
            Some(end) if whole => give(Said::Message(Message::End(end))),
            _ => give(Said::Broken(format!(
                "the recording was cut off after {:.3} s: its watch did not come to its end, so totals and doubts are not known",
                last as f64 / 1e9
            ))),
        }
        Ok(())
    }
}

/// The first line of the rows says their version; recordings of earlier programs begin with a row.
fn rows_known(place: &str, version: &serde_json::Value) -> Result<(), String> {
    match version.as_u64() {
        Some(found) if found == u64::from(solo_report::export::SCHEMA) => Ok(()),
        _ => {
            let found = Printable(&version.to_string()).to_string();
            Err(format!(
                "{place}: rows of version {found}; this program reads {}",
                solo_report::export::SCHEMA
            ))
        }
    }
}

/// What `watch.json` says, once it was checked. A recording that says that it is not complete has no end.
fn understand(manifest: Manifest) -> Result<(Begin, Option<Summary>), String> {
    check::sets(&manifest.sets).map_err(|fault| fault.to_string())?;
    for (i, text) in manifest.metrics.iter().enumerate() {
        Metric::parse(text).map_err(|error| format!("metrics[{i}]: {error}"))?;
    }
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
    let end = manifest.summary.filter(|_| manifest.complete).map(check::summary_checked).transpose();
    let end = end.map_err(|fault| format!("summary: {fault}"))?;
    Ok((begin.checked().map_err(|fault| fault.to_string())?, end))
}

/// Gives the names. One that was cut off by a full disk is no name.
fn told(names: File, tell: &mut dyn FnMut(Message)) -> Result<(), String> {
    lines(names, "names.jsonl", &mut |_, line| {
        if let Ok(name) = serde_json::from_slice::<Name>(line) {
            tell(Message::Name(name.checked()));
        }
        Ok(())
    })
    .map(drop)
}

/// Takes a line and its place.
type Take<'a> = dyn FnMut(&str, &[u8]) -> Result<(), String> + 'a;

/// Hands on whole lines with their places; false where the last one was cut off.
fn lines(from: File, name: &str, give: &mut Take<'_>) -> Result<bool, String> {
    let mut reader = BufReader::new(from);
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        let place = format!("{name}:{number}");
        let failed = |error: io::Error| format!("{place}: {}", solo_store::system_reason(&error));
        match reader.by_ref().take(LINE_MAX).read_until(b'\n', &mut line).map_err(failed)? {
            0 => return Ok(true),
            _ if line.last() == Some(&b'\n') => give(&place, &line)?,
            _ if line.len() as u64 == LINE_MAX => {
                return Err(format!("{place}: expected a line of less than {LINE_MAX} bytes"));
            }
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// When ticks were. Rows of a tick come shortly after it was due; a tick at which nobody had run has no row, and was one
/// all the same.
struct Ticks {
    period: u64,
    sets: u64,
    /// When the next one is certainly over.
    due: u64,
    /// Ticks without rows that may still be told.
    idle: u64,
}

impl Ticks {
    fn new(period: u64, sets: usize) -> Self {
        Self {
            period,
            sets: (sets as u64).max(1),
            due: period.saturating_add(period / 2),
            idle: IDLE_TICKS_ALL,
        }
    }

    /// The ticks before a row. Where nobody ran for very long, they stand further apart, as many for each set.
    fn before(&mut self, at: u64, tell: &mut dyn FnMut(u64)) {
        if at < self.due {
            return;
        }
        let ticks = (at - self.due) / self.period + 1;
        // Each gap gets less than the one before where there are too many of them.
        let most = (self.idle / 16).clamp(1, IDLE_TICKS).max(self.sets);
        let stride = ticks.div_ceil(most);
        let (mut left, mut told) = (ticks, 0);
        while left > 0 {
            let step = stride.min(left);
            self.due = self.due.saturating_add((step - 1).saturating_mul(self.period));
            tell(self.due.saturating_sub(self.period / 2));
            self.due = self.due.saturating_add(self.period);
            (left, told) = (left - step, told + 1);
        }
        self.idle = self.idle.saturating_sub(told);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(ticks: &mut Ticks, at: u64) -> Vec<u64> {
        let mut told = Vec::new();
        ticks.before(at, &mut |at| told.push(at));
        told
    }

    #[test]
    fn ticks_without_rows_are_told_each() {
        let mut all = Ticks::new(10, 1);
        assert!(ticks(&mut all, 12).is_empty());
        assert_eq!(ticks(&mut all, 36), [10, 20, 30]);
        assert!(ticks(&mut all, 36).is_empty());
        assert_eq!(ticks(&mut all, 75), [40, 50, 60, 70]);
    }

    /// Ten years of silence, again and again, take as long as a moment does; where the silence ends does not move.
    #[test]
    fn silence_is_told_in_few_ticks() {
        let mut all = Ticks::new(1, 3);
        let mut count = 0;
        for round in 1..1000 {
            let told = ticks(&mut all, round * (TIME_MAX_NS / 1000));
            assert_eq!(told.last(), Some(&(round * (TIME_MAX_NS / 1000))));
            assert!(told.is_sorted() && told.len() >= 3, "each set has its turn");
            count += told.len() as u64;
        }
        assert!(count <= IDLE_TICKS_ALL + 3 * 1000, "{count}");
    }

    const MANIFEST: &str = r#"{"schema":"solo-watch/2","complete":true,"version":"0.1.0","host":"box","machine":null,"per":"thread","target":"t","sets":[["instructions","cycles"]],"virtuals":[],"metrics":["ipc=instructions/cycles"],"period_ns":50000000,"summary":{"elapsed_ns":2000000000,"ended_by":"end of the program","exit_status":0,"totals":[],"doubts":{"rows":3,"samples_lost":0,"sampling_throttled":0,"late_ticks":0,"latest_tick_ns":0,"readings_multiplexed":0,"least_counted_per_mille":1000,"readings_never_counted":0,"migrations":0,"threads":1,"threads_missed":0,"cores_gone":0,"stops_by_following":0},"notes":[]}}"#;

    fn rows() -> String {
        let row = |i: u64| {
            let at = i * 50_000_000;
            format!(
                r#"{{"row":{i},"at_ns":{at},"span_ns":50000000,"subject":"thread","process":7,"id":7,"event":"tick","set":0,"instructions":{i},"cycles":9,"ipc":1.0}}"#
            )
        };
        (1..=3).map(|i| row(i) + "\n").collect()
    }

    /// What comes of a recording: how much was said, or why nothing is.
    fn tried(folder: &Path, manifest: &[u8], rows: &[u8], names: &[u8]) -> Result<u64, String> {
        for (name, text) in [("watch.json", manifest), ("rows.jsonl", rows), ("names.jsonl", names)] {
            std::fs::write(folder.join(name), text).expect("a file can be written");
        }
        let mut said = 0;
        Recording::open(folder)?.read(&mut |_| said += 1)?;
        Ok(said)
    }

    /// One changed byte or piece of each file, thousands of times: a stream or a reason, never a panic, never without an end.
    #[test]
    fn broken_recordings_are_a_stream_or_a_reason() {
        const NAMES: &str = r#"{"process":7,"thread":7,"name":"t","process_name":"t","cgroup":"/"}"#;
        const PIECES: [&str; 8] =
            ["-1", "18446744073709551615", "1e400", "null", "[[[[", "\"", "{", "9223372036854775808"];
        let home = tempfile::tempdir().expect("a folder can be made");
        let sound = [MANIFEST.as_bytes().to_vec(), rows().into_bytes(), NAMES.as_bytes().to_vec()];
        let whole = tried(home.path(), &sound[0], &sound[1], &sound[2]).expect("it is sound");
        assert!(whole > 3, "{whole}");
        let mut random = solo_model::SplitMix64::new(9);
        let mut below = |bound: usize| random.below(bound as u64) as usize;
        let mut refused = 0;
        for round in 0..3000 {
            let mut files = sound.clone();
            let file = &mut files[round % 3];
            let at = below(file.len());
            match below(4) {
                0 => file[at] ^= 1 << below(8),
                1 => file.truncate(at),
                2 => drop(file.splice(at..at, PIECES[below(8)].bytes())),
                _ => {
                    let digits: Vec<usize> =
                        (0..file.len()).filter(|&at| file[at].is_ascii_digit()).collect();
                    let digit = digits[below(digits.len())];
                    file.splice(digit..=digit, PIECES[below(8)].bytes());
                }
            }
            match tried(home.path(), &files[0], &files[1], &files[2]) {
                Ok(said) => assert!(said < 4 * IDLE_TICKS_ALL, "round {round}: {said}"),
                Err(reason) => {
                    assert!(!reason.contains(solo_model::text::is_hidden), "round {round}: {reason:?}");
                    refused += 1;
                }
            }
        }
        assert!(refused > 500, "{refused}");
    }
}
