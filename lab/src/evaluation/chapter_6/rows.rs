//! The bars of Figs. 72 to 74: what all sets of a setting come to, and what the thesis prints.

use super::{Done, DoneTask, Repetitions, Scheduler};
use crate::evaluation::{Sharing, Spread, thousandths};
use serde::Serialize;
use solo_model::Duration;
use std::collections::BTreeMap;

/// What the sets of a scheduler come to with a working set.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Row {
    /// What tasks of one color share, in S3 all.
    pub sharing: Sharing,
    /// How many accesses fill an execution time.
    pub repetitions: Repetitions,
    /// The working set of each task.
    pub working_set_kib: u64,
    /// How cores share queues.
    pub scheduler: Scheduler,
    /// Sets.
    pub sets: u64,
    /// Tasks of all sets.
    pub tasks: u64,
    /// Of these, those of which no job was finished before the end, in S1, S2 and S3; they are in no factor.
    pub unfinished: [u64; 3],
    /// Each task's longest job in S1 by its execution time, in thousandths, the mean of a set; of all sets.
    pub filled_per_mille: Spread,
    /// Each task's longest job in S2 over that in S1, in thousandths; of all tasks.
    pub s2_worst_per_mille: Spread,
    /// The same of S3 (Fig. 72).
    pub s3_worst_per_mille: Spread,
    /// Each task's mean job in S3 over that in S1 (Fig. 72).
    pub s3_mean_per_mille: Spread,
    /// The mean of a set's worst factors in S3; of all sets.
    pub s3_worst_of_sets_per_mille: Spread,
    /// Of all tasks, those that missed a deadline in S1, S2 and S3 (Fig. 73).
    pub missed_per_mille: [u64; 3],
    /// Time until all jobs of a set were done, in S1, S2 and S3 (Fig. 74), in nanoseconds.
    pub total_ns: [Spread; 3],
}

/// What the thesis prints of a bar: the share of tasks that miss in S1 and S3, in thousandths (Fig. 73).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Paper {
    /// The working set.
    pub working_set_kib: u64,
    /// How cores share queues.
    pub scheduler: Scheduler,
    /// In S1, where the text has a number.
    pub missed_s1_per_mille: Option<u64>,
    /// In S3.
    pub missed_s3_per_mille: u64,
}

const fn paper(scheduler: Scheduler, working_set_kib: u64, s1: Option<u64>, s3: u64) -> Paper {
    Paper { working_set_kib, scheduler, missed_s1_per_mille: s1, missed_s3_per_mille: s3 }
}

/// Fig. 73, by the numbers of the text.
const PAPER: [Paper; 12] = [
    paper(Scheduler::Partitioned, 32, Some(0), 578),
    paper(Scheduler::Partitioned, 64, Some(0), 704),
    paper(Scheduler::Partitioned, 128, Some(0), 747),
    paper(Scheduler::Partitioned, 256, Some(549), 930),
    paper(Scheduler::Clustered, 32, Some(0), 806),
    paper(Scheduler::Clustered, 64, Some(0), 833),
    paper(Scheduler::Clustered, 128, Some(0), 889),
    paper(Scheduler::Clustered, 256, Some(722), 917),
    paper(Scheduler::Global, 32, Some(0), 930),
    paper(Scheduler::Global, 64, Some(0), 930),
    paper(Scheduler::Global, 128, Some(180), 939),
    paper(Scheduler::Global, 256, Some(920), 977),
];

/// A task's longest jobs.
const fn worst(task: &DoneTask) -> [Duration; 3] {
    task.worst_ns
}

/// What each task of a set takes in a memory over what it takes in S1, in thousandths, where jobs were finished in both.
fn factors(set: &Done, memory: usize, of: fn(&DoneTask) -> [Duration; 3]) -> impl Iterator<Item = u64> {
    let both = set.tasks.iter().filter(move |task| task.finished(0) && task.finished(memory));
    both.map(move |task| thousandths(of(task)[memory].get(), of(task)[0].get()))
}

impl Row {
    /// The bars of these sets, in the order of what is shared, working sets, repetitions and schedulers.
    pub fn all(done: &[Done]) -> Vec<Self> {
        let mut settings: BTreeMap<_, Vec<&Done>> = BTreeMap::new();
        for one in done {
            let of = one.of;
            let setting = (of.sharing, of.working_set_kib, of.repetitions, of.scheduler);
            settings.entry(setting).or_default().push(one);
        }
        settings.into_values().filter_map(|sets| Self::of(&sets)).collect()
    }

    /// The bar of sets in one setting; `None` of no set.
    fn of(sets: &[&Done]) -> Option<Self> {
        let of = sets.first()?.of;
        let tasks = || sets.iter().flat_map(|set| &set.tasks);
        let count = tasks().count() as u64;
        let all = |memory, of| Spread::of(sets.iter().flat_map(|set| factors(set, memory, of)));
        let unfinished = |memory: usize| tasks().filter(|task| !task.finished(memory)).count() as u64;
        let missed =
            |memory: usize| thousandths(tasks().filter(|task| task.missed[memory]).count() as u64, count);
        Some(Self {
            sharing: of.sharing,
            repetitions: of.repetitions,
            working_set_kib: of.working_set_kib,
            scheduler: of.scheduler,
            sets: sets.len() as u64,
            tasks: count,
            unfinished: [0, 1, 2].map(unfinished),
            filled_per_mille: Spread::of(sets.iter().map(|set| set.filled_per_mille)),
            s2_worst_per_mille: all(1, worst),
            s3_worst_per_mille: all(2, worst),
            s3_mean_per_mille: all(2, |task| task.mean_ns),
            s3_worst_of_sets_per_mille: Spread::of(
                sets.iter().map(|set| Spread::of(factors(set, 2, worst)).mean),
            ),
            missed_per_mille: [0, 1, 2].map(missed),
            total_ns: [0, 1, 2].map(|memory| Spread::of(sets.iter().map(|set| set.end_ns[memory].get()))),
        })
    }

    /// What the thesis prints of it.
    pub fn paper(&self) -> Option<Paper> {
        let same = |paper: &&Paper| {
            paper.scheduler == self.scheduler && paper.working_set_kib == self.working_set_kib
        };
        PAPER.iter().find(same).copied()
    }
}
