//! Work in numbered points that is shared out, journalled and gone on with: sweeps and evaluations.
//!
//! What a point comes to depends on the work and the point alone: interruptions, threads and parts leave no trace.

use crate::error::JournalFault;
use crate::{Control, LabError};
use rayon::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use solo_model::{Instant, PerMille};
use solo_store::{Journal, StoreError, read};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The largest journal that is read.
const LARGEST_JOURNAL: u64 = 1 << 30;
/// The version of journals.
pub(crate) const SCHEMA: u32 = 1;

/// A part of all points: the `index`-th of `of`, from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Which.
    pub index: u64,
    /// Of how many.
    pub of: u64,
}

impl Part {
    /// All points.
    pub const WHOLE: Self = Self { index: 1, of: 1 };

    fn journal(self) -> String {
        match self {
            Self::WHOLE => "journal.jsonl".to_owned(),
            Self { index, of } => format!("journal-{index}-of-{of}.jsonl"),
        }
    }
}

/// What is done point by point: a sweep, an evaluation.
pub trait Points: Sync {
    /// What a point came to.
    type Done: Serialize + DeserializeOwned + Send;

    /// What tells this work from other work, in hexadecimal digits.
    fn hash(&self) -> String;

    /// How many points there are.
    fn count(&self) -> u64;

    /// Which point this is; `None` where what was read is none of this work.
    fn number(&self, done: &Self::Done) -> Option<u64>;

    /// Does one.
    ///
    /// # Errors
    /// [`LabError::Interrupted`], and whatever the point meets.
    fn compute(&self, point: u64, control: &Control<'_>) -> Result<Self::Done, LabError>;

    /// Does the points of a part that the journals in `dir` and `more` do not hold; with those that they hold, by number.
    ///
    /// # Errors
    /// [`LabError::Journal`] and [`LabError::Store`] where a journal is damaged, of other work, or can't be written;
    /// [`LabError::Interrupted`]; and whatever a point meets.
    fn run(
        &self,
        dir: &Path,
        part: Part,
        more: &[PathBuf],
        control: &Control<'_>,
    ) -> Result<Vec<Self::Done>, LabError>
    where
        Self: Sized,
    {
        run(self, dir, part, more, control)
    }

    /// Does one point for whoever keeps the journal: its line, which follows from the work and the point alone.
    ///
    /// # Errors
    /// [`LabError::Interrupted`], and whatever the point meets.
    fn line(&self, point: u64, control: &Control<'_>) -> Result<String, LabError> {
        let done = self.compute(point, control)?;
        let line = Line { blake3: checksum(&done), done };
        // Numbers and texts: nothing that JSON can't say.
        Ok(serde_json::to_string(&line).unwrap_or_default())
    }

    /// Goes on with what is kept in `dir` of points that others do.
    ///
    /// # Errors
    /// [`LabError::Journal`] and [`LabError::Store`] where the journal is damaged, of other work, or can't be written.
    fn collect(&self, dir: &Path) -> Result<Collection, LabError>
    where
        Self: Clone + Send + Sized + 'static,
    {
        Collection::open(self, dir)
    }
}

/// The first line of a journal.
#[derive(Serialize, Deserialize)]
struct Header {
    /// The hash of the work.
    #[serde(alias = "sweep")]
    work: String,
    schema: u32,
}

/// A further line: a point, and a checksum of it.
#[derive(Serialize, Deserialize)]
struct Line<D> {
    done: D,
    blake3: String,
}

fn run<P: Points>(
    points: &P,
    dir: &Path,
    part: Part,
    more: &[PathBuf],
    control: &Control<'_>,
) -> Result<Vec<P::Done>, LabError> {
    let count = points.count();
    let mut done = BTreeMap::new();
    let (mut journal, text) = Journal::open(dir, &part.journal())?;
    let own = dir.join(part.journal());
    read_lines(points, &own, &text, &mut done)?;
    if part == Part::WHOLE {
        for dir in std::iter::once(dir).chain(more.iter().map(PathBuf::as_path)) {
            read_all(points, dir, &own, &mut done)?;
        }
    }
    // A journal may hold more points than are asked for.
    done.retain(|&point, _| point < count);
    if text.is_empty() {
        journal.add(&Header { work: points.hash(), schema: SCHEMA })?;
    }
    let mine = |point: &u64| point % part.of == part.index - 1;
    let left: Vec<u64> = (0..count).filter(mine).filter(|point| !done.contains_key(point)).collect();
    let (journal, finished) = (Mutex::new(journal), AtomicU64::new(count - left.len() as u64));
    let one = |&point: &u64| {
        if control.cancel.requested() {
            return Err(LabError::Interrupted);
        }
        // Whoever watches hears of points, not of the time inside each.
        let inside = Control { progress: &(), cancel: control.cancel.clone() };
        let found = points.compute(point, &inside)?;
        let line = Line { blake3: checksum(&found), done: found };
        journal.lock().unwrap_or_else(PoisonError::into_inner).add(&line)?;
        let share = (finished.fetch_add(1, Ordering::Relaxed) + 1) * 1000 / count.max(1);
        let share = PerMille::new(share.min(1000) as u16).unwrap_or_default();
        control.progress.reached("points", Instant::ZERO, share);
        Ok((point, line.done))
    };
    // Neighboring points may cost alike, and the last ones most: whoever is free takes the next.
    let fresh = left.par_iter().with_max_len(1).map(one).collect::<Result<Vec<_>, LabError>>()?;
    journal.lock().unwrap_or_else(PoisonError::into_inner).sync()?;
    control.progress.ended("points");
    done.extend(fresh);
    Ok(done.into_values().collect())
}

/// Work whose points others do: which are left, and the journal of those that have come.
pub struct Collection {
    journal: Journal,
    count: u64,
    done: BTreeSet<u64>,
    read: Box<Read>,
}

/// The number of the point that a line tells of, and what keeps it; nothing for a line of other work.
type Read = dyn Fn(&str) -> Option<(u64, Box<Keep>)> + Send;
type Keep = dyn FnOnce(&mut Journal) -> Result<(), StoreError>;

impl Collection {
    /// Goes on with what is kept in `dir`, or begins it. Nobody else writes its journal meanwhile.
    fn open<P: Points + Clone + Send + 'static>(points: &P, dir: &Path) -> Result<Self, LabError> {
        let (mut journal, text) = Journal::open(dir, &Part::WHOLE.journal())?;
        let mut done = BTreeMap::new();
        read_lines(points, &dir.join(Part::WHOLE.journal()), &text, &mut done)?;
        if text.is_empty() {
            journal.add(&Header { work: points.hash(), schema: SCHEMA })?;
        }
        let of = points.clone();
        let read = move |text: &str| {
            let line: Line<P::Done> = serde_json::from_str(text).ok()?;
            let point = of.number(&line.done).filter(|_| line.blake3 == checksum(&line.done))?;
            let keep: Box<Keep> = Box::new(move |journal| journal.add(&line));
            Some((point, keep))
        };
        let count = points.count();
        let done = done.into_keys().filter(|&point| point < count).collect();
        Ok(Self { journal, count, done, read: Box::new(read) })
    }

    /// The points that nobody has done, ascending.
    pub fn left(&self) -> Vec<u64> {
        (0..self.count).filter(|point| !self.done.contains(point)).collect()
    }

    /// Keeps the line of a point; false for one of a point that is kept already.
    ///
    /// # Errors
    /// [`LabError::Journal`] where the line is of other work or not as it was written, and would be this line of the journal;
    /// [`LabError::Store`] where it can't be kept.
    pub fn add(&mut self, line: &str) -> Result<bool, LabError> {
        let strange = || LabError::Journal {
            path: self.journal.path().to_owned(),
            line: self.done.len() + 2,
            fault: JournalFault::Damaged,
        };
        let (point, keep) = (self.read)(line).filter(|(point, _)| *point < self.count).ok_or_else(strange)?;
        if self.done.contains(&point) {
            return Ok(false);
        }
        keep(&mut self.journal)?;
        Ok(self.done.insert(point))
    }

    /// Brings what is kept to the disk.
    ///
    /// # Errors
    /// [`LabError::Store`] where the system refuses.
    pub fn sync(&self) -> Result<(), LabError> {
        Ok(self.journal.sync()?)
    }
}

/// Every journal in a folder but one's own, which is open.
fn read_all<P: Points>(
    points: &P,
    dir: &Path,
    own: &Path,
    done: &mut BTreeMap<u64, P::Done>,
) -> Result<(), LabError> {
    let folder = solo_store::Dir::open(dir)?;
    let journals = folder.names()?;
    for name in journals.iter().filter(|name| name.starts_with("journal") && name.ends_with(".jsonl")) {
        let path = dir.join(name);
        if path != own {
            read_lines(points, &path, &read::bytes(&path, LARGEST_JOURNAL)?, done)?;
        }
    }
    Ok(())
}

fn read_lines<P: Points>(
    points: &P,
    path: &Path,
    text: &[u8],
    done: &mut BTreeMap<u64, P::Done>,
) -> Result<(), LabError> {
    let wrong = |line: usize, fault| LabError::Journal { path: path.to_owned(), line, fault };
    let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let mut lines = text[..whole].split(|&byte| byte == b'\n').zip(1..).filter(|(line, _)| !line.is_empty());
    let Some((header, _)) = lines.next() else { return Ok(()) };
    let header: Header = serde_json::from_slice(header).map_err(|_| wrong(1, JournalFault::Form))?;
    if header.schema != SCHEMA {
        return Err(wrong(1, JournalFault::Version { found: header.schema, known: SCHEMA }));
    }
    if header.work != points.hash() {
        return Err(wrong(1, JournalFault::OtherWork));
    }
    for (line, number) in lines {
        let line: Line<P::Done> =
            serde_json::from_slice(line).map_err(|_| wrong(number, JournalFault::Damaged))?;
        let point = points.number(&line.done).filter(|_| line.blake3 == checksum(&line.done));
        done.insert(point.ok_or_else(|| wrong(number, JournalFault::Damaged))?, line.done);
    }
    Ok(())
}

fn checksum(done: &impl Serialize) -> String {
    let text = serde_json::to_vec(done).unwrap_or_default();
    blake3::hash(&text).to_hex().as_str()[..16].to_owned()
}
