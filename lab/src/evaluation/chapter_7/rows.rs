//! The bars of Figs. 79 to 82: what all sets of a setting come to, and what the thesis prints.

use super::{Done, DoneJobs};
use crate::evaluation::{Sharing, Spread};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What the sets come to with a working set and a share of writes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Row {
    /// What the tasks of a group share.
    pub sharing: Sharing,
    /// The working set of each task.
    pub working_set_kib: u64,
    /// The share of its accesses that write.
    pub writes_per_mille: u16,
    /// Sets.
    pub sets: u64,
    /// With regard to colors.
    pub cap: Jobs,
    /// Without.
    pub wfd: Jobs,
}

/// What became of the jobs of all sets under a partitioning.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Jobs {
    /// Jobs that were finished, or should have been.
    pub jobs: u64,
    /// Late ones in millionths of these, by set.
    pub late_ppm: Spread,
    /// The mean execution time, in nanoseconds; of all finished jobs.
    pub mean_ns: u64,
    /// Lines taken from another core that had modified them, in thousandths a job.
    pub hitm_per_1000_jobs: u64,
}

/// What the thesis prints of WFD: late jobs of the best and of the worst set, in millionths. Under CAP there are none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Paper {
    /// The working set.
    pub working_set_kib: u64,
    /// The share of accesses that write.
    pub writes_per_mille: u16,
    /// Of the best set.
    pub least_ppm: u64,
    /// Of the worst set.
    pub most_ppm: u64,
}

const fn paper(working_set_kib: u64, writes_per_mille: u16, least_ppm: u64, most_ppm: u64) -> Paper {
    Paper { working_set_kib, writes_per_mille, least_ppm, most_ppm }
}

/// Figs. 79 to 82, by the numbers of the text.
const PAPER: [Paper; 8] = [
    paper(32, 330, 21_000, 92_200),
    paper(32, 200, 10_900, 31_600),
    paper(64, 330, 57_000, 342_700),
    paper(64, 200, 45_300, 294_200),
    paper(128, 330, 481_700, 788_400),
    paper(128, 200, 433_900, 726_000),
    paper(256, 330, 89_600, 249_400),
    paper(256, 200, 51_900, 247_300),
];

impl Row {
    /// The bars of these sets, in the order of what is shared, working sets, and shares of writes, the larger first.
    pub fn all(done: &[Done]) -> Vec<Self> {
        let mut settings: BTreeMap<_, Vec<&Done>> = BTreeMap::new();
        for one in done {
            let setting = (one.of.sharing, one.of.working_set_kib, Reverse(one.of.writes_per_mille));
            settings.entry(setting).or_default().push(one);
        }
        let row = |((sharing, working_set_kib, Reverse(writes_per_mille)), sets): (_, Vec<&Done>)| Self {
            sharing,
            working_set_kib,
            writes_per_mille,
            sets: sets.len() as u64,
            cap: Jobs::of(&sets, |set| &set.cap),
            wfd: Jobs::of(&sets, |set| &set.wfd),
        };
        settings.into_iter().map(row).collect()
    }

    /// What the thesis prints of it.
    pub fn paper(&self) -> Option<Paper> {
        let same = |paper: &&Paper| {
            paper.working_set_kib == self.working_set_kib && paper.writes_per_mille == self.writes_per_mille
        };
        PAPER.iter().find(same).copied()
    }
}

impl Jobs {
    fn of(sets: &[&Done], of: impl Fn(&Done) -> &DoneJobs) -> Self {
        let sum = |what: fn(&DoneJobs) -> u64| sets.iter().map(|set| what(of(set))).sum::<u64>();
        let finished = sum(|jobs| jobs.finished).max(1);
        let late = |jobs: &DoneJobs| jobs.late.saturating_mul(1_000_000).checked_div(jobs.jobs).unwrap_or(0);
        Self {
            jobs: sum(|jobs| jobs.jobs),
            late_ppm: Spread::of(sets.iter().map(|set| late(of(set)))),
            mean_ns: sum(|jobs| jobs.executed_ns.get()) / finished,
            hitm_per_1000_jobs: sum(|jobs| jobs.hitm).saturating_mul(1000) / finished,
        }
    }
}
