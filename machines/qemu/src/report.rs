//! What a run reported.

use crate::error::QemuError;
use solo_bare::frame::{Decoder, End, Entries, Hello, ImageMessage, Killed, Note, Refusal};
use solo_bare::placement::{Memory, Pages};
use solo_bare::serial::take_apart;
use solo_model::{Duration, Experiment, Instant, Overhead, Record};

/// Everything that a run which went to its end reported.
#[derive(Clone, PartialEq, Debug)]
pub struct BootReport {
    /// What the image found.
    pub hello: Hello,
    /// The records, in the order of the stream.
    pub records: Vec<Record>,
    /// Threads that were ended because of a fault.
    pub killed: Vec<Killed>,
    /// The memory of the run; `None` where nothing was run but the machine's own test.
    pub memory: Option<Memory>,
    /// Which page frames hold what, where pages were placed by color or bank.
    pub pages: Vec<Pages>,
    /// How often cores entered the kernel, and waited; `None` where nothing was run but the machine's own test.
    pub entries: Option<Entries>,
    /// What was run, where the image is a program and not the experiment of a module.
    pub program: Option<Experiment>,
    /// What threads of a program noted.
    pub notes: Vec<Note>,
    /// Notes that found no place.
    pub notes_dropped: u64,
    /// How it ended.
    pub end: End,
    /// What was printed for people.
    pub console: String,
    /// BLAKE3 of the stream in hex: two runs with the same digest reported the same, byte for byte.
    pub digest: String,
}

impl BootReport {
    /// What a path of the kernel took each time it began at `from` or later, ascending: for runs with probes. Under the
    /// instruction clock a nanosecond is an instruction.
    pub fn path_lengths(&self, path: Overhead, from: Instant) -> Vec<Duration> {
        let length = |record: &Record| match record {
            Record::Overhead(record) if record.overhead == path && record.at >= from => Some(record.cost),
            _ => None,
        };
        let mut lengths: Vec<Duration> = self.records.iter().filter_map(length).collect();
        lengths.sort_unstable();
        lengths
    }

    /// What a PC said on its serial line during a whole boot: a report for each run of it.
    ///
    /// # Errors
    /// If something of the record stream is missing or damaged: then the run did not go well, or the line lost something.
    pub fn heard(serial: &str) -> Result<Vec<Self>, QemuError> {
        let (stream, text) = take_apart(serial);
        Self::read_all(&stream, &text)
    }

    /// Takes the stream of a whole boot apart: a report for each run of it. The first run's digest covers what the image
    /// found, too; text is the last one's.
    pub(crate) fn read_all(stream: &[u8], console: &str) -> Result<Vec<Self>, QemuError> {
        let mut decoder = Decoder::default();
        decoder.feed(stream);
        let (mut hello, mut records, mut killed) = (None, Vec::new(), Vec::new());
        let (mut memory, mut pages, mut entries) = (None, Vec::new(), None);
        let (mut program, mut notes, mut notes_dropped) = (None, Vec::new(), 0);
        let (mut reports, mut begin) = (Vec::new(), 0);
        let mut frames = 0;
        let missing = |frame, frames| QemuError::Incomplete { frame, frames, bytes: stream.len() };
        while let Some(frame) = decoder.next_frame()? {
            frames += 1;
            match frame {
                ImageMessage::Hello(frame) => hello = Some(frame),
                ImageMessage::Record(record) => records.push(record),
                ImageMessage::Killed(frame) => killed.push(frame),
                ImageMessage::Memory(frame) => memory = Some(frame),
                ImageMessage::Pages(frame) => pages.push(frame),
                ImageMessage::Entries(frame) => entries = Some(frame),
                ImageMessage::Program(experiment) => program = Some(*experiment),
                ImageMessage::Note(note) => notes.push(note),
                ImageMessage::NotesDropped(count) => notes_dropped = count,
                // Whoever ended with it has no run.
                ImageMessage::Refused(_) => {}
                ImageMessage::End(end) => {
                    let part = &stream[begin..decoder.taken()];
                    begin = decoder.taken();
                    if records.len() as u64 != end.records {
                        return Err(QemuError::Lost { sent: end.records, heard: records.len() as u64 });
                    }
                    reports.push(Self {
                        hello: hello.clone().ok_or_else(|| missing("first", frames))?,
                        records: std::mem::take(&mut records),
                        killed: std::mem::take(&mut killed),
                        memory: memory.take(),
                        pages: std::mem::take(&mut pages),
                        entries: entries.take(),
                        program: program.take(),
                        notes: std::mem::take(&mut notes),
                        notes_dropped: std::mem::take(&mut notes_dropped),
                        end,
                        console: String::new(),
                        digest: blake3::hash(part).to_hex().to_string(),
                    });
                }
            }
        }
        decoder.finish()?;
        let rest = !(records.is_empty() && killed.is_empty() && pages.is_empty() && memory.is_none());
        let last = reports.last_mut().filter(|_| !rest).ok_or_else(|| missing("last", frames))?;
        console.clone_into(&mut last.console);
        Ok(reports)
    }
}

/// The only report of a stream, or the last one of several.
///
/// # Errors
/// As for [`BootReport::heard`].
pub(crate) fn last(reports: Vec<BootReport>) -> Result<BootReport, QemuError> {
    reports.into_iter().next_back().ok_or(QemuError::Incomplete { frame: "last", frames: 0, bytes: 0 })
}

/// Why a program has no run, in what it sent; `None` where it says no such thing.
pub fn refusal(stream: &[u8]) -> Option<Refusal> {
    let mut decoder = Decoder::default();
    decoder.feed(stream);
    std::iter::from_fn(|| decoder.next_frame().ok().flatten()).find_map(|message| match message {
        ImageMessage::Refused(reason) => Some(reason),
        _ => None,
    })
}
