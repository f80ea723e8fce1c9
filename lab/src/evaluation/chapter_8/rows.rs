//! The bars of Figs. 100 to 105: what all sets of a setting come to, and what the thesis prints.

use super::{Approach, Done, DoneCore, DoneJobs};
use crate::evaluation::{Sharing, Spread, thousandths};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What the sets come to under an approach, with a working set and a share of writes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Row {
    /// What a group's tasks share.
    pub sharing: Sharing,
    /// The working set of each hard and soft task.
    pub working_set_kib: u64,
    /// The share of its accesses that write.
    pub writes_per_mille: u16,
    /// How the sets were scheduled.
    pub approach: Approach,
    /// Sets.
    pub sets: u64,
    /// Jobs of hard tasks (Figs. 100 to 103).
    pub hard: Jobs,
    /// Jobs of soft tasks (Figs. 100 to 103).
    pub soft: Jobs,
    /// The sum over hard and soft tasks of the longest response less the deadline, the mean of all sets (Fig. 104).
    pub tardiness_ns: i64,
    /// The time until all hard and soft jobs were done, in thousandths of what it should take (Fig. 105); of all sets.
    pub total_per_mille: Spread,
    /// What is left for best-effort tasks.
    pub best_effort: BestEffort,
    /// What happened on each core, in all sets.
    pub cores: Vec<Core>,
}

/// What became of the jobs of a class.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Jobs {
    /// Jobs that were finished, or should have been.
    pub jobs: u64,
    /// Late ones in millionths of these, by set.
    pub late_ppm: Spread,
    /// The longest job by its task's execution time, in thousandths, by set.
    pub longest_per_mille: Spread,
}

/// What best-effort tasks did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct BestEffort {
    /// Jobs that they finished.
    pub jobs: u64,
    /// The time that they occupied cores, in thousandths of one core; the mean of all sets.
    pub on_core_per_mille: u64,
}

/// What happened on a core in all sets.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
pub struct Core {
    /// How often the scheduler looked at its counter.
    pub samples: u64,
    /// How often a task was made to give it away.
    pub held: u64,
    /// Lines that were read or written on it while another core had modified them.
    pub hitm: u64,
}

/// What the thesis prints of a bar, where its text has a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Paper {
    /// Late jobs of hard tasks, in millionths.
    pub hard_late_ppm: Option<u64>,
    /// Late jobs of soft tasks, in millionths.
    pub soft_late_ppm: Option<u64>,
    /// The time until all hard and soft jobs were done, in thousandths of 40 s.
    pub total_per_mille: Option<u64>,
}

impl Row {
    /// The bars of these sets, in the order of what is shared, working sets, shares of writes, the larger first, and approaches.
    pub fn all(done: &[Done]) -> Vec<Self> {
        let mut settings: BTreeMap<_, Vec<&Done>> = BTreeMap::new();
        for one in done {
            let of = one.of;
            let setting = (of.sharing, of.working_set_kib, Reverse(of.writes_per_mille), of.approach);
            settings.entry(setting).or_default().push(one);
        }
        let row =
            |((sharing, working_set_kib, Reverse(writes_per_mille), approach), sets): (_, Vec<&Done>)| {
                let count = sets.len() as u64;
                let on_core = |set: &&Done| thousandths(set.best_effort.executed_ns.get(), set.end_ns.get());
                let tardiness = sets.iter().map(|set| i128::from(set.tardiness_ns)).sum::<i128>();
                Self {
                    sharing,
                    working_set_kib,
                    writes_per_mille,
                    approach,
                    sets: count,
                    hard: Jobs::of(&sets, |set| (set.hard, set.hard_longest_per_mille)),
                    soft: Jobs::of(&sets, |set| (set.soft, set.soft_longest_per_mille)),
                    tardiness_ns: (tardiness / i128::from(count.max(1))) as i64,
                    total_per_mille: Spread::of(
                        sets.iter().map(|set| thousandths(set.end_ns.get(), set.expected_ns.get())),
                    ),
                    best_effort: BestEffort {
                        jobs: sets.iter().map(|set| set.best_effort.jobs).sum(),
                        on_core_per_mille: Spread::of(sets.iter().map(on_core)).mean,
                    },
                    cores: Core::of(&sets),
                }
            };
        settings.into_iter().map(row).collect()
    }

    /// What the thesis prints of it (8.3.2, 8.3.4).
    pub fn paper(&self) -> Option<Paper> {
        let (hard, soft, total) = match (self.approach, self.working_set_kib) {
            (Approach::Yield, 32 | 64 | 128 | 256) => (Some(0), Some(0), Some(1000)),
            (Approach::CapGs, 32) => (Some(0), Some(160_000), Some(1100)),
            (Approach::CapGs, 64) => (Some(0), Some(190_000), Some(1100)),
            (Approach::CapGs, 128 | 256) => (Some(0), None, Some(1000)),
            (Approach::Bfd, 32) => (Some(53_000), Some(220_000), None),
            (Approach::Bfd, 64) => (Some(50_000), Some(210_000), None),
            (Approach::Bfd, 128) => (None, None, (self.writes_per_mille == 330).then_some(4625)),
            _ => return None,
        };
        Some(Paper { hard_late_ppm: hard, soft_late_ppm: soft, total_per_mille: total })
    }

    /// What happened on all cores together.
    pub fn all_cores(&self) -> Core {
        self.cores.iter().fold(Core::default(), |mut sum, core| {
            sum.add(core.samples, core.held, core.hitm);
            sum
        })
    }
}

impl Core {
    fn add(&mut self, samples: u64, held: u64, hitm: u64) {
        (self.samples, self.held, self.hitm) = (self.samples + samples, self.held + held, self.hitm + hitm);
    }

    fn of(sets: &[&Done]) -> Vec<Self> {
        let cores = sets.iter().map(|set| set.cores.len()).max().unwrap_or(0);
        let mut sums = vec![Self::default(); cores];
        for set in sets {
            for (sum, DoneCore { samples, held, hitm }) in sums.iter_mut().zip(&set.cores) {
                sum.add(*samples, *held, *hitm);
            }
        }
        sums
    }
}

impl Jobs {
    fn of(sets: &[&Done], of: impl Fn(&Done) -> (DoneJobs, u64)) -> Self {
        let late = |jobs: DoneJobs| jobs.late.saturating_mul(1_000_000).checked_div(jobs.jobs).unwrap_or(0);
        Self {
            jobs: sets.iter().map(|set| of(set).0.jobs).sum(),
            late_ppm: Spread::of(sets.iter().map(|set| late(of(set).0))),
            longest_per_mille: Spread::of(sets.iter().map(|set| of(set).1)),
        }
    }
}
