//! What all watches have said, for any number of readers at any time.

use crate::stream::feed::Said;
use crate::top::totals::Totals;
use crate::top::track::{Frame, Track};
use crate::watching::{DoubtsSummary, subject_kind, subject_number};
use serde::Serialize;
use solo_observe::catalog::{self, ConstCode};
use solo_observe::{Software, Subject};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The tracks of all watches.
pub(crate) struct Hub {
    tracks: Mutex<Vec<Track>>,
}

/// What is new of all watches.
#[derive(Serialize)]
pub(super) struct News {
    sources: Vec<SourceNews>,
}

#[derive(Serialize)]
struct SourceNews {
    label: String,
    begin: Option<crate::stream::Begin>,
    /// The unit of each of `begin.counts`, empty for plain counts.
    units: Vec<&'static str>,
    /// Frames from here on are still to come.
    next: u64,
    /// Frames that were gone before they were asked for.
    missed: u64,
    frames: Vec<FrameNews>,
    names: Vec<crate::stream::Name>,
    doubts: Option<String>,
    line: Option<String>,
    ended: Option<String>,
    fault: Option<String>,
}

/// What a watch came to so far.
pub(super) struct Sums {
    pub(super) label: String,
    /// The machine's name, once the watch said it.
    pub(super) host: Option<String>,
    pub(super) columns: solo_watch::Columns,
    pub(super) totals: Totals,
    /// The last values of virtual counters, in the order of the columns.
    pub(super) virtuals: Vec<Option<i64>>,
    /// When the last frame ended, since the watch began.
    pub(super) at: solo_model::Instant,
    pub(super) doubts: solo_watch::WatchDoubts,
    /// It is not over.
    pub(super) runs: bool,
}

#[derive(Serialize)]
struct FrameNews {
    at_ns: u64,
    spans_ns: Vec<u64>,
    rows: Vec<RowNews>,
    virtuals: Vec<Option<i64>>,
}

#[derive(Serialize)]
struct RowNews {
    subject: &'static str,
    process: Option<u32>,
    id: Option<u32>,
    set: usize,
    counts: Vec<Option<u64>>,
}

impl Hub {
    /// For these watches.
    pub(crate) fn new(tracks: Vec<Track>) -> Self {
        Self { tracks: Mutex::new(tracks) }
    }

    fn tracks(&self) -> MutexGuard<'_, Vec<Track>> {
        self.tracks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what a watch said.
    pub(crate) fn take(&self, source: usize, said: Said) {
        if let Some(track) = self.tracks().get_mut(source) {
            track.take(said);
        }
    }

    /// How many watches there are.
    pub(super) fn watches(&self) -> usize {
        self.tracks().len()
    }

    /// True when every watch is over.
    pub(crate) fn over(&self) -> bool {
        !self.tracks().iter().any(Track::is_running)
    }

    /// The frames since those that a reader has, for each watch.
    pub(super) fn news(&self, after: &[u64]) -> News {
        let tracks = self.tracks();
        let sources =
            tracks.iter().enumerate().map(|(i, track)| news(track, after.get(i).copied().unwrap_or(0)));
        News { sources: sources.collect() }
    }

    /// What each watch came to so far.
    pub(super) fn sums(&self) -> Vec<Sums> {
        self.tracks().iter().map(sums).collect()
    }

    /// The columns that any watch has.
    pub(super) fn columns(&self) -> Vec<String> {
        let tracks = self.tracks();
        let mut columns: Vec<String> = tracks
            .iter()
            .flat_map(|track| track.columns.counts.iter().chain(&track.columns.virtuals).cloned())
            .collect();
        columns.sort();
        columns.dedup();
        columns
    }
}

fn sums(track: &Track) -> Sums {
    let last = track.frames.back();
    let doubts = track.end.as_ref().map(|end| end.doubts()).or(last.map(|frame| &frame.doubts));
    Sums {
        label: track.label.clone(),
        host: track.begin.as_ref().map(|begin| begin.host.clone()),
        columns: track.columns.clone(),
        totals: track.totals.clone(),
        virtuals: last.map(|frame| frame.virtuals.clone()).unwrap_or_default(),
        at: last.map_or(solo_model::Instant::ZERO, |frame| frame.at),
        doubts: doubts.map(DoubtsSummary::doubts).unwrap_or_default(),
        runs: track.is_running(),
    }
}

fn news(track: &Track, after: u64) -> SourceNews {
    let oldest = track.pushed - track.frames.len() as u64;
    // A reader from before a restart has seen more than there is.
    let after = if after > track.pushed { 0 } else { after };
    let skip = after.saturating_sub(oldest) as usize;
    let fresh: Vec<&Frame> = track.frames.iter().skip(skip).collect();
    let mut threads: Vec<u32> =
        fresh.iter().flat_map(|frame| frame.counts.keys()).filter_map(thread).collect();
    threads.sort_unstable();
    threads.dedup();
    let doubts = track.frames.back().map(|frame| &frame.doubts);
    SourceNews {
        label: track.label.clone(),
        begin: track.begin.clone(),
        units: track.columns.counts.iter().map(|name| unit(name)).collect(),
        next: track.pushed,
        missed: oldest.saturating_sub(after),
        frames: fresh.into_iter().map(frame_news).collect(),
        names: threads.iter().filter_map(|thread| track.names.get(thread).cloned()).collect(),
        doubts: doubts.map(DoubtsSummary::doubts).map(|doubts| doubts.line()),
        line: track.lines.back().cloned(),
        ended: track.end.as_ref().map(|end| end.ended_by().to_owned()),
        fault: track.fault.clone(),
    }
}

/// Clocks count nanoseconds; everything else is a plain count.
fn unit(event: &str) -> &'static str {
    match catalog::find(event).and_then(catalog::perf) {
        Some(ConstCode::Software(Software::TaskClock | Software::CpuClock)) => "ns",
        _ => "",
    }
}

fn thread((subject, _): &(Subject, usize)) -> Option<u32> {
    match subject {
        Subject::Thread { thread, .. } => Some(*thread),
        Subject::Tree { process } => Some(*process),
        Subject::Core(_) | Subject::Machine | Subject::Task(_) => None,
    }
}

fn frame_news(frame: &Frame) -> FrameNews {
    let row = |((subject, set), counts): (&(Subject, usize), &Vec<Option<u64>>)| RowNews {
        subject: subject_kind(*subject),
        process: match subject {
            Subject::Thread { process, .. } | Subject::Tree { process } => Some(*process),
            Subject::Core(_) | Subject::Machine | Subject::Task(_) => None,
        },
        id: subject_number(*subject),
        set: *set,
        counts: counts.clone(),
    };
    FrameNews {
        at_ns: frame.at.since(solo_model::Instant::ZERO).get(),
        spans_ns: frame.spans.iter().map(|span| span.get()).collect(),
        rows: frame.counts.iter().map(row).collect(),
        virtuals: frame.virtuals.clone(),
    }
}
