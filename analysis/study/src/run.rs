//! Running a study on all local cores, going on after a kill, and putting shards together.

use crate::error::StudyError;
use crate::journal::{self, Done, Journal};
use crate::plan::{Shard, StudyPlan};
use crate::results::Results;
use crate::sets::judge::Judge;
use rayon::prelude::*;
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
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
        let started = cpu_us();
        let rows = judge.block(&block)?;
        let done = Done { cpu_us: cpu_us().saturating_sub(started), rows };
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
