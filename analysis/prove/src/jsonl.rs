//! Task sets as lines of JSON in, verdicts as lines of JSON out.
//!
//! One set a line, times in microseconds:
//! `{"m":8,"tasks":[{"c":1000,"t":10000,"d":10000}]}`; `d` may be left out where it equals `t`, `"cluster"` names
//! the cores of each cluster, `"id"` and `"name"` (of a set or a task) are passed over. One line comes out for
//! each that went in, in the same order: `{"verdicts":{"gfb":true,...},"schema":1}`, where null means not applicable or out
//! of time, or `{"error":...,"schema":1}`. Memory is bounded by the longest line and the batch, whatever the input.

use crate::catalogue::{DEFAULT_COUNT, TESTS, Test};
use crate::effort::Effort;
use crate::explain;
use crate::global::any;
use crate::task::{SetError, Task, TaskSet, Ticks};
use crate::verdict::{Infeasible, TestAnswer};
use rayon::prelude::*;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::fmt::Write as _;
use std::io::{self, BufRead, Read, Write};
use std::time::{Duration, Instant};

/// The version of the lines that come out; each says it.
pub const SCHEMA: u32 = 1;

/// The longest line that is read; longer ones are refused without being held.
pub const LINE_LIMIT: usize = 32 << 20;

/// So many bytes of lines are judged together.
const BATCH_BYTES: usize = 4 << 20;
/// So many lines are judged together.
const BATCH_LINES: usize = 1024;

/// How lines are judged.
#[derive(Clone, Debug)]
pub struct BatchOptions {
    /// The tests, in the order of the output. `None` judges the default ones, and the clustered ones too for
    /// sets with clusters.
    pub tests: Option<Vec<&'static Test>>,
    /// Adds what lies behind the verdicts.
    pub explain: bool,
    /// Threads to judge with; 0 uses every core, 1 judges in the calling thread.
    pub threads: usize,
    /// How much work each test may do for a set; see [`Effort::steps`].
    pub steps: u64,
    /// How long each test may take for a set. Verdicts then depend on the machine.
    pub time: Option<Duration>,
}

impl Default for BatchOptions {
    fn default() -> Self {
        Self { tests: None, explain: false, threads: 0, steps: Effort::DEFAULT_STEPS, time: None }
    }
}

/// What came of the lines.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct BatchTotals {
    /// Lines read.
    pub lines: u64,
    /// Lines that are no task set; their output is an error.
    pub refused: u64,
    /// Verdicts that ran out of time.
    pub out_of_time: u64,
}

impl BatchTotals {
    /// The exit code of `solo prove --jsonl`: 2 where a line was refused, else 0.
    pub const fn exit_code(&self) -> u8 {
        if self.refused > 0 { 2 } else { 0 }
    }
}

/// Judges every line of `input` and writes a line to `output` for each.
///
/// # Errors
/// Reading or writing failed, or the threads could not be started.
pub fn judge_lines(
    mut input: impl BufRead,
    mut output: impl Write,
    options: &BatchOptions,
) -> io::Result<BatchTotals> {
    let pool = match options.threads {
        1 => None,
        threads => {
            Some(rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(io::Error::other)?)
        }
    };
    let mut outcome = BatchTotals::default();
    let mut batch = Batch::default();
    while batch.read(&mut input)? {
        let first = outcome.lines + 1;
        let judge = |(index, line): (usize, &Line)| answer(first + index as u64, line, options);
        let answers: Vec<Answer> = match &pool {
            None => batch.lines.iter().enumerate().map(judge).collect(),
            Some(pool) => pool.install(|| batch.lines.par_iter().enumerate().map(judge).collect()),
        };
        for answer in &answers {
            output.write_all(answer.text.as_bytes())?;
            outcome.lines += 1;
            outcome.refused += u64::from(answer.refused);
            outcome.out_of_time += u64::from(answer.out_of_time);
        }
        // Someone who pipes sets in and waits for verdicts gets them as soon as the input pauses.
        output.flush()?;
    }
    Ok(outcome)
}

pub(crate) enum Line {
    Read(Vec<u8>),
    TooLong,
}

#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) lines: Vec<Line>,
}

impl Batch {
    /// Reads lines until the batch is full, the reader has no more at hand, or the input ends; false at its end.
    pub(crate) fn read(&mut self, input: &mut impl BufRead) -> io::Result<bool> {
        self.lines.clear();
        let mut bytes = 0;
        while self.lines.len() < BATCH_LINES && bytes < BATCH_BYTES {
            let Some(line) = read_line(input)? else {
                break;
            };
            if let Line::Read(text) = &line {
                bytes += text.len();
            }
            self.lines.push(line);
        }
        Ok(!self.lines.is_empty())
    }
}

fn read_line(input: &mut impl BufRead) -> io::Result<Option<Line>> {
    let mut text = Vec::new();
    let count = input.by_ref().take(LINE_LIMIT as u64 + 1).read_until(b'\n', &mut text)?;
    if count == 0 {
        return Ok(None);
    }
    if text.last() == Some(&b'\n') {
        text.pop();
    } else if count > LINE_LIMIT {
        skip_line(input)?;
        return Ok(Some(Line::TooLong));
    }
    Ok(Some(Line::Read(text)))
}

fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let held = input.fill_buf()?;
        if held.is_empty() {
            return Ok(());
        }
        let end = held.iter().position(|&byte| byte == b'\n');
        let used = end.map_or(held.len(), |end| end + 1);
        input.consume(used);
        if end.is_some() {
            return Ok(());
        }
    }
}

struct Answer {
    text: String,
    refused: bool,
    out_of_time: u32,
}

fn answer(number: u64, line: &Line, options: &BatchOptions) -> Answer {
    let parsed = match line {
        Line::Read(text) => read(text),
        Line::TooLong => Err(NotATaskSet::whole(format!("longer than {LINE_LIMIT} bytes"))),
    };
    match parsed {
        Ok(Input { set, overlong }) => judged(&set, overlong, options),
        Err(refusal) => Answer { text: refusal.line(number), refused: true, out_of_time: 0 },
    }
}

/// Why a line is no task set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotATaskSet {
    /// The place in the line, as in `tasks[3].c`; empty for the line as a whole.
    pub field: String,
    /// What is wrong there.
    pub problem: String,
}

impl NotATaskSet {
    fn whole(problem: String) -> Self {
        Self { field: String::new(), problem }
    }

    fn line(&self, number: u64) -> String {
        let place = if self.field.is_empty() { String::new() } else { format!("{}: ", self.field) };
        let error = serde_json::Value::from(format!("line {number}: {place}{}", self.problem));
        let field = if self.field.is_empty() {
            serde_json::Value::Null
        } else {
            serde_json::Value::from(self.field.as_str())
        };
        format!("{{\"error\":{error},\"line\":{number},\"field\":{field},\"schema\":{SCHEMA}}}\n")
    }
}

impl From<SetError> for NotATaskSet {
    fn from(error: SetError) -> Self {
        let text = error.to_string();
        match text.split_once(": ") {
            Some((field, problem)) => Self { field: field.to_owned(), problem: problem.to_owned() },
            None => Self::whole(text),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSet {
    m: u64,
    tasks: Vec<RawTask>,
    cluster: Option<u64>,
    #[serde(rename = "id")]
    _id: Option<IgnoredAny>,
    #[serde(rename = "name")]
    _name: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTask {
    c: u64,
    t: u64,
    d: Option<u64>,
    #[serde(rename = "id")]
    _id: Option<IgnoredAny>,
    #[serde(rename = "name")]
    _name: Option<IgnoredAny>,
}

/// A line of input.
struct Input {
    /// The tasks, none longer than its period.
    set: TaskSet,
    /// The first that was longer, and has been cut: no policy keeps up with it.
    overlong: Option<usize>,
}

/// Reads a task set from one line of JSON.
///
/// # Errors
/// The field and what is wrong with it; a task that executes for longer than its period is wrong too.
pub fn parse(line: &[u8]) -> Result<TaskSet, NotATaskSet> {
    let raw = raw(line)?;
    set_of(&raw, &|task| task.c)
}

/// Reads a line that is to be judged, where a task that is longer than its period has an answer: no.
fn read(line: &[u8]) -> Result<Input, NotATaskSet> {
    let raw = raw(line)?;
    let overlong = raw.tasks.iter().position(|task| task.c > task.t && task.t > 0);
    let set = set_of(&raw, &|task| task.c.min(task.t.max(1)))?;
    // What is longer than any time may be is an error as ever.
    match overlong.filter(|&task| raw.tasks[task].c > Ticks::LIMIT.get()) {
        Some(_) => set_of(&raw, &|task| task.c).map(|set| Input { set, overlong: None }),
        None => Ok(Input { set, overlong }),
    }
}

fn raw(line: &[u8]) -> Result<RawSet, NotATaskSet> {
    if line.trim_ascii_start().first() == Some(&b'[') {
        return Err(NotATaskSet::whole("expected {\"m\":8,\"tasks\":[...]}, found a list".to_owned()));
    }
    let raw: RawSet = serde_json::from_slice(line).map_err(|_| locate(line))?;
    if raw.tasks.is_empty() {
        return Err(NotATaskSet {
            field: "tasks".to_owned(),
            problem: "a set needs at least one task".to_owned(),
        });
    }
    Ok(raw)
}

fn set_of(raw: &RawSet, length: &dyn Fn(&RawTask) -> u64) -> Result<TaskSet, NotATaskSet> {
    let cores = u32::try_from(raw.m).map_err(|_| SetError::TooManyCores(raw.m))?;
    let task = |task: &RawTask| Task::new(length(task), task.t, task.d.unwrap_or(task.t));
    let tasks = raw.tasks.iter().map(task).collect();
    let set = TaskSet::new(cores, tasks)?;
    Ok(match raw.cluster {
        Some(size) => set.with_clusters(size)?,
        None => set,
    })
}

/// Reads a line again that is known to be wrong, slower, to find the place.
fn locate(line: &[u8]) -> NotATaskSet {
    let mut reader = serde_json::Deserializer::from_slice(line);
    let error = match serde_path_to_error::deserialize::<_, RawSet>(&mut reader) {
        Ok(_) => match reader.end() {
            Ok(()) => return NotATaskSet::whole("not a task set".to_owned()),
            Err(error) => return NotATaskSet::whole(describe(&error)),
        },
        Err(error) => error,
    };
    let path = error.path().to_string();
    let field = if path == "." { String::new() } else { path };
    NotATaskSet { field, problem: describe(error.inner()) }
}

/// The parser's message with the column only: a line of input is always its line 1.
fn describe(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    let text = text.replace(", expected u64", ", expected a whole number from 0");
    let kind = if error.is_data() { "" } else { "not JSON: " };
    format!("{kind}{text}, at column {}", error.column())
}

fn judged(set: &TaskSet, overlong: Option<usize>, options: &BatchOptions) -> Answer {
    let mut verdicts = judge(set, options);
    if let Some(task) = overlong {
        for (_, verdict) in &mut verdicts {
            if !matches!(verdict, TestAnswer::NotApplicable(_)) {
                *verdict = TestAnswer::Infeasible(Infeasible::LongerThanPeriod(task));
            }
        }
    }
    let mut text = String::with_capacity(32 + 16 * verdicts.len());
    text.push_str("{\"verdicts\":{");
    for (index, (test, verdict)) in verdicts.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let value = match verdict.decided() {
            Some(true) => "true",
            Some(false) => "false",
            None => "null",
        };
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma}\"{}\":{value}", test.id);
    }
    text.push('}');
    if options.explain {
        let explained = match overlong {
            Some(_) => explain::notes(&verdicts),
            None => explain::json(set, &verdicts, options.steps),
        };
        let _ = write!(text, ",\"explain\":{explained}");
    }
    let _ = writeln!(text, ",\"schema\":{SCHEMA}}}");
    let out_of_time = verdicts.iter().filter(|(_, verdict)| *verdict == TestAnswer::OutOfTime).count() as u32;
    Answer { text, refused: false, out_of_time }
}

/// The verdict of every test that the options name.
pub fn judge(set: &TaskSet, options: &BatchOptions) -> Vec<(&'static Test, TestAnswer)> {
    let mut verdicts: Vec<(&'static Test, TestAnswer)> = Vec::new();
    let mut run = |test: &'static Test| {
        let verdict = match any::from_parts(test.id, set, |id| {
            verdicts.iter().find(|(test, _)| test.id == id).map(|&(_, verdict)| verdict)
        }) {
            Some(verdict) => verdict,
            None => run_limited(test, set, options),
        };
        verdicts.push((test, verdict));
    };
    match &options.tests {
        Some(tests) => tests.iter().copied().for_each(&mut run),
        None => {
            TESTS[..DEFAULT_COUNT].iter().for_each(&mut run);
            if set.cluster().is_some() {
                TESTS
                    .iter()
                    .filter(|test| test.cores == crate::catalogue::Cores::Clusters && test.policy == "C-EDF")
                    .for_each(&mut run);
            }
        }
    }
    verdicts
}

fn run_limited(test: &Test, set: &TaskSet, options: &BatchOptions) -> TestAnswer {
    match options.time {
        None => (test.run)(set, &mut Effort::steps(options.steps)),
        Some(limit) => {
            let started = Instant::now();
            let expired = || started.elapsed() >= limit;
            (test.run)(set, &mut Effort::steps(options.steps).with_clock(&expired))
        }
    }
}
