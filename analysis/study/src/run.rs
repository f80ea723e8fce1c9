//! Running a study on all local cores, going on after a kill, and putting shards together.

use crate::error::StudyError;
use crate::journal::{self, Done, Journal};
use crate::plan::{Block, Shard, StudyPlan};
use crate::results::Results;
use crate::sets::judge::{Judge, Row};
use rayon::prelude::*;
use rustix::time::{ClockId, clock_gettime};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Who is told how far a run has come, and asked whether to stop.
pub trait Progress: Sync {
    /// So many of so many sets are done; those of earlier runs are among them.
    fn done(&self, sets: u64, of: u64);
    /// True once the user wants to stop.
    fn stop(&self) -> bool;
}

/// How a run of a shard ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ended {
    /// Sets that had been judged before.
    pub before: u64,
    /// Sets judged now.
    pub now: u64,
    /// CPU microseconds that those took.
    pub cpu_us: u64,
}

/// Judges what is left of a shard and keeps it in `dir`.
///
/// # Errors
/// [`StudyError::Interrupted`] after a request to stop, with everything done until then kept; and whatever else is
/// wrong.
pub fn run(plan: &StudyPlan, dir: &Path, shard: Shard, progress: &dyn Progress) -> Result<Ended, StudyError> {
    let (journal, done) = Journal::open(dir, &plan.hash(), shard)?;
    let mine = (0..plan.blocks()).filter(|&block| shard.has(block));
    let sets = |block: u64| plan.block(block).map_or(0, |block| block.sets);
    let (mut before, mut total) = (0_u64, 0_u64);
    let mut left = Vec::new();
    for block in mine {
        total = sets(block).saturating_add(total);
        if done.contains_key(&block) { before = sets(block).saturating_add(before) } else { left.push(block) }
    }
    progress.done(before, total);
    let judge = Judge::new(plan);
    let journal = Mutex::new(journal);
    let (judged, spent) = (AtomicU64::new(0), AtomicU64::new(0));
    let one = |id: u64| -> Result<(), StudyError> {
        if progress.stop() {
            return Err(StudyError::Interrupted);
        }
        let Some(block) = plan.block(id) else { return Ok(()) };
        let done = judged_block(&judge, &block)?;
        // A thread that failed while it wrote has told so already.
        journal.lock().map_err(|_| StudyError::Interrupted)?.add(id, &done)?;
        spent.fetch_add(done.cpu_us, Ordering::Relaxed);
        let now = judged.fetch_add(block.sets, Ordering::Relaxed).saturating_add(block.sets);
        progress.done(before.saturating_add(now), total);
        Ok(())
    };
    // In order, so that a stopped study has whole distributions first.
    left.into_par_iter().with_max_len(1).try_for_each(one)?;
    journal.into_inner().map_err(|_| StudyError::Interrupted)?.sync()?;
    Ok(Ended { before, now: judged.into_inner(), cpu_us: spent.into_inner() })
}

fn judged_block(judge: &Judge<'_>, block: &Block) -> Result<Done, StudyError> {
    let started = cpu_us();
    let rows = judge.block(block)?;
    Ok(Done { cpu_us: cpu_us().saturating_sub(started), rows })
}

/// Judges blocks for whoever keeps the journal: a line for each, in their order. A number beyond the last is passed over.
///
/// What a line says of its sets follows from the plan and the block alone.
///
/// # Errors
/// [`StudyError::Interrupted`] once `stop` says so.
pub fn judge(plan: &StudyPlan, blocks: &[u64], stop: &dyn Fn() -> bool) -> Result<Vec<String>, StudyError> {
    let judge = Judge::new(plan);
    let mut lines = Vec::with_capacity(blocks.len());
    for block in blocks.iter().filter_map(|&id| plan.block(id)) {
        if stop() {
            return Err(StudyError::Interrupted);
        }
        lines.push(journal::line(block.id, &judged_block(&judge, &block)?)?);
    }
    Ok(lines)
}

/// A study whose blocks others judge: which are left, and the journal of those that have come.
pub struct Collection {
    plan: StudyPlan,
    path: PathBuf,
    journal: Journal,
    done: BTreeSet<u64>,
}

impl Collection {
    /// Goes on with the study that is kept in `dir`, or begins it. Nobody else writes its journal meanwhile.
    ///
    /// # Errors
    /// Where the folder can't be written, holds another study, or its journal is damaged.
    pub fn open(plan: &StudyPlan, dir: &Path) -> Result<Self, StudyError> {
        let (journal, done) = Journal::open(dir, &plan.hash(), Shard::WHOLE)?;
        let path = dir.join(journal::name(Shard::WHOLE));
        Ok(Self { plan: plan.clone(), path, journal, done: done.into_keys().collect() })
    }

    /// The blocks that nobody has judged, ascending.
    pub fn left(&self) -> Vec<u64> {
        (0..self.plan.blocks()).filter(|block| !self.done.contains(block)).collect()
    }

    /// Keeps a line of [`judge`]; false for one of a block that is kept already.
    ///
    /// # Errors
    /// Where the line is not as it was written, is none of this study, or can't be kept.
    pub fn add(&mut self, line: &str) -> Result<bool, StudyError> {
        let strange = |what: String| StudyError::Strange { path: self.path.clone(), what };
        let (block, done) = journal::read_line(line.as_bytes()).map_err(strange)?;
        let sets = self.plan.block(block).map(|block| block.sets);
        let fits = |row: &Row| row.found.len() == self.plan.curves.len();
        if sets != Some(done.rows.len() as u64) || !done.rows.iter().all(fits) {
            return Err(strange(format!("block {block} of this study has other sets")));
        }
        if self.done.contains(&block) {
            return Ok(false);
        }
        self.journal.add(block, &done)?;
        Ok(self.done.insert(block))
    }

    /// Brings what is kept to the disk.
    ///
    /// # Errors
    /// Where the system refuses.
    pub fn sync(&self) -> Result<(), StudyError> {
        self.journal.sync()
    }
}

/// The CPU time of this thread in microseconds.
fn cpu_us() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    (time.tv_sec as u64).saturating_mul(1_000_000).saturating_add(time.tv_nsec as u64 / 1000)
}

/// Puts the journals of all `dirs` together: each block once.
///
/// # Errors
/// Where blocks are missing, journals disagree, or one is of another study.
pub fn merge(plan: &StudyPlan, dirs: &[PathBuf]) -> Result<Results, StudyError> {
    let study = plan.hash();
    let mut all: BTreeMap<u64, Done> = BTreeMap::new();
    let mut shard = Shard::WHOLE;
    for path in journals(dirs)? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let of = name.rsplit_once("-of-").and_then(|(_, of)| of.parse().ok());
        // A file may have any name; no shard is one of none.
        shard.of = of.filter(|&of| of > 0).unwrap_or(shard.of);
        for (block, done) in journal::read_file(&path, &study)? {
            match all.get(&block) {
                Some(known) if known.rows != done.rows => {
                    return Err(StudyError::Contradiction { path, block });
                }
                Some(_) => {}
                None => {
                    all.insert(block, done);
                }
            }
        }
    }
    let missing = plan.blocks().saturating_sub(all.len() as u64);
    if let Some(first) = (0..plan.blocks()).find(|block| !all.contains_key(block)) {
        shard.index = first.checked_rem(shard.of).unwrap_or(0).saturating_add(1);
        return Err(StudyError::Missing { missing, blocks: plan.blocks(), first, shard: shard.to_string() });
    }
    Results::new(plan, all)
}

/// The journals in the folders, in the order of their names.
fn journals(dirs: &[PathBuf]) -> Result<Vec<PathBuf>, StudyError> {
    let mut found = Vec::new();
    for dir in dirs {
        for entry in std::fs::read_dir(dir).map_err(StudyError::io("read", dir))? {
            let path = entry.map_err(StudyError::io("read", dir))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with("journal") && name.ends_with(".jsonl") {
                found.push(path);
            }
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}
