//! What was seen and decided, as lines that can be told again.
//!
//! The first line says what decides (`placing`), each other one what was seen and what followed. Offline a second agent is made of
//! the first line and told the others; where it decides otherwise, the record, the build or the policy is not what it was.

use crate::agent::{Agent, Decision, Placing};
use crate::observation::Observation;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Write};

/// The form of the lines, and what an agent makes of them.
const VERSION: u32 = 3;
/// A line's length at most, in bytes: 64 cores, and many tasks with many counts.
const LONGEST: u64 = 4 << 20;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Line {
    Placing { version: u32, placing: Box<Placing> },
    Told { seen: Observation, decided: Vec<Decision> },
}

/// Writes lines.
pub struct Writer<W: Write> {
    to: W,
}

impl<W: Write> Writer<W> {
    /// Begins a record.
    ///
    /// # Errors
    /// Where it can't be written.
    pub fn begin(to: W, placing: &Placing) -> io::Result<Self> {
        let mut writer = Self { to };
        writer.line(&Line::Placing { version: VERSION, placing: Box::new(placing.clone()) })?;
        Ok(writer)
    }

    /// Adds what was seen and what followed.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub fn add(&mut self, seen: &Observation, decided: &[Decision]) -> io::Result<()> {
        self.line(&Line::Told { seen: seen.clone(), decided: decided.to_vec() })
    }

    fn line(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.to.write_all(&text)
    }

    /// What was written to.
    pub fn into_inner(self) -> W {
        self.to
    }
}

/// What came of telling a record again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replayed {
    /// The policy.
    pub policy: &'static str,
    /// Observations that were told again.
    pub told: u64,
    /// Decisions among what followed.
    pub decisions: u64,
    /// The lines, from 1, after which the second agent decided otherwise.
    pub otherwise: Vec<u64>,
    /// Whether the last line was cut off: whoever wrote it was ended.
    pub cut_off: bool,
}

/// Why a record can't be told again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// It can't be read.
    #[error("cannot be read: {}", solo_model::text::Unnumbered(.0))]
    Read(#[from] io::Error),
    /// A line is none of a record.
    #[error("line {line} is no line of a record: {why}")]
    Line {
        /// The line, from 1.
        line: u64,
        /// What is wrong.
        why: String,
    },
    /// It was written in another form.
    #[error("it is of version {0}, and this program knows version {VERSION}")]
    Version(u32),
    /// What it listens to can't be made.
    #[error("{0}")]
    Monitor(#[from] solo_observe::MonitorError),
}

/// Tells a record to a second agent.
///
/// # Errors
/// [`RecordError`]. A last line that was cut off is no error.
pub fn replay(mut lines: impl BufRead) -> Result<Replayed, RecordError> {
    let mut number = 0;
    let (mut agent, mut replayed) = match next(&mut lines, &mut number)? {
        Read::Line(Line::Placing { version: VERSION, placing }) => {
            check(&placing).map_err(|why| RecordError::Line { line: 1, why: why.to_owned() })?;
            let policy = placing.listening.reaction.name();
            let replayed = Replayed { policy, told: 0, decisions: 0, otherwise: Vec::new(), cut_off: false };
            (Agent::new(&placing)?, replayed)
        }
        Read::Line(Line::Placing { version, .. }) => return Err(RecordError::Version(version)),
        Read::Line(Line::Told { .. }) => {
            return Err(RecordError::Line { line: 1, why: "it does not say what decides".to_owned() });
        }
        Read::CutOff | Read::End => {
            return Err(RecordError::Line { line: 1, why: "there is none".to_owned() });
        }
    };
    loop {
        match next(&mut lines, &mut number)? {
            Read::Line(Line::Told { seen, decided }) => {
                let again = agent.on(&seen);
                replayed.told += 1;
                replayed.decisions += decided.len() as u64;
                if again != decided {
                    replayed.otherwise.push(number);
                }
            }
            Read::Line(Line::Placing { .. }) => {
                let why = "it says again what decides".to_owned();
                return Err(RecordError::Line { line: number, why });
            }
            Read::CutOff => {
                replayed.cut_off = true;
                return Ok(replayed);
            }
            Read::End => return Ok(replayed),
        }
    }
}

/// What an agent is made of has to fit together, whoever wrote it down.
fn check(placing: &Placing) -> Result<(), &'static str> {
    let cores = placing.platform.cores.len();
    if cores > solo_model::CoreSet::CAPACITY {
        return Err("it has more than 64 cores");
    }
    if placing.tasks.len() > 4096 || placing.tasks.iter().any(|task| task.core.index() >= cores) {
        return Err("a task is on no core, or there are more than 4096");
    }
    if placing.listening.period.is_zero() {
        return Err("its period is empty");
    }
    Ok(())
}

enum Read {
    Line(Line),
    CutOff,
    End,
}

fn next(lines: &mut impl BufRead, number: &mut u64) -> Result<Read, RecordError> {
    let mut text = Vec::new();
    let mut limited = io::Read::take(&mut *lines, LONGEST);
    limited.read_until(b'\n', &mut text)?;
    if text.is_empty() {
        return Ok(Read::End);
    }
    *number += 1;
    let whole = text.last() == Some(&b'\n');
    match serde_json::from_slice(&text) {
        Ok(line) if whole => Ok(Read::Line(line)),
        _ if !whole && (text.len() as u64) < LONGEST => Ok(Read::CutOff),
        Ok(_) => Err(RecordError::Line { line: *number, why: "it is too long".to_owned() }),
        Err(error) => Err(RecordError::Line { line: *number, why: error.to_string() }),
    }
}
