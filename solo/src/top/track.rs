//! What one watch has said, gathered into frames.
//!
//! ```text
//! rows ──▶ growing ── tick, every set had its turn ──▶ frame ──▶ history (the oldest go)
//! ```

use super::totals::Totals;
use crate::stream::feed::Said;
use crate::stream::{Begin, Message, Name, RowLine};
use crate::watching::{DoubtsSummary, Summary};
use solo_model::{Duration, Instant};
use solo_observe::{Metric, Subject};
use solo_watch::{Columns, Row, RowKind};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};

/// Lines of program output that are kept.
const LINES_MAX: usize = 100;
/// Names that are kept; the dead can't be told from the idle, so the oldest numbers go first.
const NAMES_MAX: usize = 20_000;

/// Counts that are kept of all frames together, and of the one that grows: some hundred MiB. A stream may name a new
/// thread in each row.
const COUNTS_MAX: usize = 8 << 20;
const GROWING_MAX: usize = COUNTS_MAX / 2;
/// What a subject takes beside its counts, in counts.
const SUBJECT: usize = 8;

/// What was counted while every event set had at least one turn.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Frame {
    /// Its end, since the watch began.
    pub(crate) at: Instant,
    /// For each set, how long it was in force.
    pub(crate) spans: Vec<Duration>,
    /// For each subject and set, the counts.
    pub(crate) counts: BTreeMap<(Subject, usize), Vec<Option<u64>>>,
    /// The last values of virtual counters.
    pub(crate) virtuals: Vec<Option<i64>>,
    /// The doubts so far.
    pub(crate) doubts: DoubtsSummary,
}

impl Frame {
    /// A row with the sum of counts over some subjects of a set; its metrics are computed anew.
    pub(crate) fn value(
        &self,
        columns: &Columns,
        set: usize,
        counts: Vec<Option<u64>>,
        metric: &Metric,
    ) -> Option<f64> {
        let row = self.row(set, counts);
        metric.expression.value(&|name| row.value(columns, name)).map(solo_watch::real)
    }

    /// How many counts it keeps.
    fn held(&self) -> usize {
        self.counts.values().map(|counts| SUBJECT + counts.len()).sum()
    }

    fn row(&self, set: usize, counts: Vec<Option<u64>>) -> Row {
        Row {
            number: 0,
            at: self.at,
            span: self.spans.get(set).copied().unwrap_or(Duration::ZERO),
            subject: Subject::Machine,
            kind: RowKind::Tick,
            set,
            counts,
            virtuals: self.virtuals.clone(),
            metrics: Vec::new(),
        }
    }
}

/// One watch.
#[derive(Debug)]
pub(crate) struct Track {
    /// What it is called until it says so itself.
    pub(crate) label: String,
    /// Its header, once it came.
    pub(crate) begin: Option<Begin>,
    pub(crate) columns: Columns,
    pub(crate) metrics: Vec<Metric>,
    pub(crate) names: BTreeMap<u32, Name>,
    /// Processes by number, whichever thread told their names.
    pub(crate) processes: BTreeMap<u32, String>,
    pub(crate) frames: VecDeque<Frame>,
    /// How many frames there have been, those that are gone included.
    pub(crate) pushed: u64,
    /// What all of them counted.
    pub(crate) totals: Totals,
    /// How it ended, once it did.
    pub(crate) end: Option<Summary>,
    /// Why there is nothing, or no more.
    pub(crate) fault: Option<String>,
    /// What the program printed last.
    pub(crate) lines: VecDeque<String>,
    growing: Frame,
    turns: usize,
    /// The set of the rows since the last tick.
    seen: Option<usize>,
    last_set: usize,
    last_tick: Instant,
    frames_max: usize,
    frame_min: Duration,
    /// Counts of all frames, and of the one that grows.
    held: usize,
    growing_held: usize,
}

impl Track {
    /// Nothing yet. Keeps `frames_max` frames of `frame_min` or more.
    pub(crate) fn new(label: impl Into<String>, frames_max: usize, frame_min: Duration) -> Self {
        Self {
            label: label.into(),
            begin: None,
            columns: Columns::default(),
            metrics: Vec::new(),
            names: BTreeMap::new(),
            processes: BTreeMap::new(),
            frames: VecDeque::new(),
            pushed: 0,
            totals: Totals::default(),
            end: None,
            fault: None,
            lines: VecDeque::new(),
            growing: Frame::default(),
            turns: 0,
            seen: None,
            last_set: 0,
            last_tick: Instant::ZERO,
            frames_max: frames_max.max(1),
            frame_min,
            held: 0,
            growing_held: 0,
        }
    }

    /// It has neither ended nor broken off.
    pub(crate) fn is_running(&self) -> bool {
        self.end.is_none() && self.fault.is_none()
    }

    /// Takes what the watch said.
    pub(crate) fn take(&mut self, said: Said) {
        match said {
            Said::Message(message) => self.message(message),
            Said::Line(line) => {
                self.lines.push_back(line);
                if self.lines.len() > LINES_MAX {
                    self.lines.pop_front();
                }
            }
            Said::Broken(why) => self.fault = Some(why),
        }
    }

    fn message(&mut self, message: Message) {
        match message {
            Message::Begin(begin) => {
                self.columns = begin.columns();
                self.metrics = begin.expressions();
                self.growing = self.empty();
                self.begin = Some(begin);
            }
            Message::Name(name) => {
                self.processes.insert(name.process, name.process_name.clone());
                if self.processes.len() > NAMES_MAX {
                    self.processes.pop_first();
                }
                self.names.insert(name.thread, name);
                if self.names.len() > NAMES_MAX {
                    self.names.pop_first();
                }
            }
            Message::Row(row) => self.row(row),
            Message::Tick(tick) => self.tick(Instant::new(tick.at_ns), tick.doubts),
            Message::End(summary) => {
                self.tick(Instant::ZERO + summary.elapsed(), summary.doubts().clone());
                self.end = Some(summary);
            }
            Message::Refused(refused) => self.fault = Some(refused.message),
        }
    }

    fn empty(&self) -> Frame {
        Frame { spans: vec![Duration::ZERO; self.columns.sets.len()], ..Frame::default() }
    }

    fn row(&mut self, row: RowLine) {
        let Some(row) = row.read(&self.columns) else { return };
        if row.subject == Subject::Machine {
            self.growing.virtuals = row.virtuals;
            return;
        }
        self.seen = Some(row.set);
        match self.growing.counts.entry((row.subject, row.set)) {
            Entry::Occupied(mut sums) => add(sums.get_mut(), &row.counts),
            Entry::Vacant(_) if self.growing_held > GROWING_MAX => {
                self.fault.get_or_insert_with(|| {
                    let known = self.growing.counts.len();
                    format!("more than {known} threads within one frame: the others are left out")
                });
            }
            Entry::Vacant(place) => {
                self.growing_held += SUBJECT + row.counts.len();
                place.insert(row.counts);
            }
        }
    }

    fn tick(&mut self, at: Instant, doubts: DoubtsSummary) {
        // Rows of a tick are all of one set; where nobody ran, it was the next one's turn all the same.
        let set = self.seen.take().unwrap_or((self.last_set + 1) % self.columns.sets.len().max(1));
        self.last_set = set;
        let grown = at.since(self.last_tick);
        if let Some(span) = self.growing.spans.get_mut(set) {
            *span += grown;
        }
        self.last_tick = at.max(self.last_tick);
        self.turns += 1;
        self.growing.at = self.last_tick;
        self.growing.doubts = doubts;
        let began = self.frames.back().map_or(Instant::ZERO, |frame| frame.at);
        if self.turns >= self.columns.sets.len().max(1) && self.last_tick.since(began) >= self.frame_min {
            let empty = self.empty();
            let frame = std::mem::replace(&mut self.growing, empty);
            self.growing.virtuals.clone_from(&frame.virtuals);
            let held = std::mem::take(&mut self.growing_held);
            if frame.spans.iter().any(|span| *span > Duration::ZERO) {
                self.totals.add(&frame.counts, &frame.spans, &self.columns);
                self.frames.push_back(frame);
                self.pushed += 1;
                self.held += held;
            }
            self.turns = 0;
            while self.frames.len() > self.frames_max || (self.held > COUNTS_MAX && self.frames.len() > 1) {
                let gone = self.frames.pop_front().map_or(0, |frame| frame.held());
                self.held = self.held.saturating_sub(gone);
            }
        }
    }
}

/// Adds counts; absent and something is something.
pub(crate) fn add(sums: &mut [Option<u64>], counts: &[Option<u64>]) {
    for (sum, count) in sums.iter_mut().zip(counts) {
        if let Some(count) = count {
            *sum = Some(sum.unwrap_or(0).saturating_add(*count));
        }
    }
}
