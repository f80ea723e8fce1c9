//! Thesis chapter 7, Figs. 79 to 82: deadlines missed by eight groups of tasks, each group of one color, partitioned with
//! regard to colors (CAP) and without (worst-fit decreasing).

mod draw;
mod rows;

use super::drawn::{Pace, Touched, at_random, buffers, coloring};
use super::{Machine, Sharing, Size, hash, set_by_set, simulate};
use crate::points::Points;
use crate::{Cancel, Control, LabError};
use draw::{COLORS, Colored, GROUPS, Set, draw};
pub use rows::{Paper, Row};
use serde::{Deserialize, Serialize};
use solo_model::experiment::{End, Experiment};
use solo_model::policy::{Criterion, Policy, Scope};
use solo_model::{Bytes, Color, CoreId, Duration, PerMille};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The shares of accesses that write: a third and a fifth (thesis 7.3.1).
const WRITES_PER_MILLE: [u16; 2] = [330, 200];

/// A set in a setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Point {
    /// Which, from 0.
    pub set: u64,
    /// What the tasks of a group share.
    pub sharing: Sharing,
    /// The working set of each task.
    pub working_set_kib: u64,
    /// The share of its accesses that write.
    pub writes_per_mille: u16,
}

/// What a set came to under both partitionings.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Done {
    /// The number of the point.
    pub point: u64,
    /// What was run.
    pub of: Point,
    /// With regard to colors: whole groups, by worst-fit decreasing.
    pub cap: DoneJobs,
    /// Single tasks, by worst-fit decreasing.
    pub wfd: DoneJobs,
}

/// What became of the jobs of a set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DoneJobs {
    /// Jobs that were finished, or should have been.
    pub jobs: u64,
    /// Of these, late ones.
    pub late: u64,
    /// Those that were finished.
    pub finished: u64,
    /// Their execution times together.
    pub executed_ns: Duration,
    /// Lines that they read or wrote while another core had modified them.
    pub hitm: u64,
}

/// The evaluation.
#[derive(Clone, Debug)]
pub struct Evaluation {
    size: Size,
    /// What each set is run in; all of set 0.
    settings: Vec<Point>,
    machine: Machine,
    /// Each is drawn when it is first run, for most draws are of no use.
    sets: Vec<OnceLock<Set>>,
    /// By what is shared, working set and share of writes.
    paces: BTreeMap<(Sharing, u64, u16), Pace>,
}

impl Evaluation {
    /// Task sets of this size in every combination of these, with both shares of writes.
    ///
    /// # Errors
    /// [`LabError::Platform`] or [`LabError::Simulation`] where the modelled processor can't be had.
    pub fn new(size: Size, working_sets_kib: &[u64], sharing: &[Sharing]) -> Result<Self, LabError> {
        let machine = Machine::of_the_thesis()?;
        let sets = (0..size.sets).map(|_| OnceLock::new()).collect();
        let mut evaluation = Self { size, settings: Vec::new(), machine, sets, paces: BTreeMap::new() };
        for &sharing in sharing {
            for &kib in working_sets_kib {
                for writes in WRITES_PER_MILLE {
                    evaluation.paces.insert((sharing, kib, writes), evaluation.pace(sharing, kib, writes)?);
                }
            }
        }
        let point = |&(sharing, working_set_kib, writes_per_mille): &(Sharing, u64, u16)| Point {
            set: 0,
            sharing,
            working_set_kib,
            writes_per_mille,
        };
        evaluation.settings = evaluation.paces.keys().map(point).collect();
        Ok(evaluation)
    }

    /// What tells it from others, in hexadecimal digits. How many sets there are does not: more go on from fewer.
    pub fn hash(&self) -> String {
        let size = Size { sets: 0, ..self.size };
        hash(&("chapter 7", size, &self.settings, &self.machine, &self.paces))
    }

    /// How many points it has.
    pub const fn len(&self) -> u64 {
        self.size.sets.saturating_mul(self.settings.len() as u64)
    }

    /// True where there is nothing to run.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The point of a number, set by set.
    fn of(&self, number: u64) -> Option<Point> {
        let (set, setting) = set_by_set(&self.settings, number)?;
        Some(Point { set, ..setting })
    }

    /// Runs one point.
    ///
    /// # Errors
    /// [`LabError::Simulation`], [`LabError::Interrupted`].
    pub fn point(&self, number: u64, cancel: &Cancel) -> Result<Done, LabError> {
        let of = self.of(number).ok_or(LabError::Interrupted)?;
        let set = self.sets.get(of.set as usize).ok_or(LabError::Interrupted)?;
        let set = set.get_or_init(|| draw(of.set, self.size));
        let pace = self.paces.get(&(of.sharing, of.working_set_kib, of.writes_per_mille));
        let pace = pace.copied().ok_or(LabError::Interrupted)?;
        let run = |cores: &[usize]| -> Result<DoneJobs, LabError> {
            let jobs = simulate(&self.experiment(of, &set.tasks, cores, pace, self.size.jobs), cancel)?;
            let finished = jobs.finished.len() as u64;
            let executed = jobs.finished.iter().map(|job| job.executed);
            Ok(DoneJobs {
                jobs: finished + jobs.overdue,
                late: jobs.late.len() as u64,
                finished,
                executed_ns: executed.fold(Duration::ZERO, Duration::saturating_add),
                hitm: jobs.finished.iter().map(|job| job.hitm).sum(),
            })
        };
        Ok(Done { point: number, of, cap: run(&set.cap)?, wfd: run(&set.wfd)? })
    }

    /// The pace where each core has one task, of a color of its own.
    fn pace(&self, sharing: Sharing, working_set_kib: u64, writes_per_mille: u16) -> Result<Pace, LabError> {
        let of = Point { set: 0, sharing, working_set_kib, writes_per_mille };
        let cores: Vec<usize> = (0..GROUPS.into()).collect();
        Pace::measure(&self.machine, |drawn, pace| {
            let colored = drawn.iter().zip(0..).map(|(&drawn, color)| Colored { drawn, color });
            self.experiment(of, &colored.collect::<Vec<_>>(), &cores, pace, 3)
        })
    }

    fn experiment(
        &self,
        of: Point,
        colored: &[Colored],
        cores: &[usize],
        pace: Pace,
        jobs: u64,
    ) -> Experiment {
        let Machine { platform, overheads } = &self.machine;
        let writes = PerMille::new(of.writes_per_mille).unwrap_or_default();
        let arrays = colored.len().max(GROUPS.into());
        let touched = |at: usize, color: u16| Touched {
            array: if of.sharing == Sharing::Array { usize::from(color) } else { at },
            generator: (of.sharing == Sharing::Line).then_some(arrays + usize::from(color)),
        };
        let task = |(at, task): (usize, &Colored)| {
            // A job finds its memory evicted by the others of its color, and evicts that of a job which it preempts.
            let accesses = pace.accesses(task.drawn.wcet, 2);
            let core = cores.get(at).map(|&core| CoreId(core as u16));
            task.drawn.task(at, core, at_random(touched(at, task.color), accesses, writes))
        };
        let longest = colored.iter().map(|task| task.drawn.period.get()).max().unwrap_or(0);
        let end = End::At(Duration::new(longest.saturating_mul(jobs)));
        let policy = Policy::new(Scope::Partitioned, Criterion::Edf);
        let tasks = colored.iter().enumerate().map(task).collect();
        let sizes = (0..arrays).map(|_| Bytes::from_kib(of.working_set_kib));
        let lines = (0..GROUPS).map(|_| platform.line());
        Experiment {
            overheads: overheads.clone(),
            buffers: buffers(sizes.chain(lines)),
            isolation: coloring(COLORS, Some(Color(COLORS - 1)), colored.iter().map(|task| task.color)),
            sample_every: Duration::from_millis(1000),
            ..Experiment::new("thesis chapter 7", platform.clone(), policy, tasks, end)
        }
    }
}

impl Points for Evaluation {
    type Done = Done;

    fn hash(&self) -> String {
        Self::hash(self)
    }

    fn count(&self) -> u64 {
        self.len()
    }

    fn number(&self, done: &Done) -> Option<u64> {
        (self.of(done.point) == Some(done.of)).then_some(done.point)
    }

    fn compute(&self, point: u64, control: &Control<'_>) -> Result<Done, LabError> {
        self.point(point, &control.cancel)
    }
}
