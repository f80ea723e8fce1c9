//! Thesis chapter 6, Figs. 72 to 74: P-EDF, C-EDF and G-EDF with task sets drawn up to the bound of each scheduler, where
//! tasks and kernel have colors of their own (S1), the kernel has not (S2), and all tasks share one color (S3).

mod draw;
mod rows;

use super::drawn::{Drawn, Pace, Touched, at_random, buffers, coloring, fitted};
use super::{Machine, Sharing, Size, Spread, hash, set_by_set, simulate, thousandths};
use crate::points::Points;
use crate::{Cancel, Control, LabError};
use draw::{Placed, draw, scope};
pub use rows::{Paper, Row};
use serde::{Deserialize, Serialize};
use solo_model::experiment::{End, Experiment};
use solo_model::policy::{Criterion, Policy};
use solo_model::work::{Pattern, Step, Touch};
use solo_model::{BufferId, Bytes, Color, CoreId, Duration, PerMille};
use std::collections::{BTreeMap, BTreeSet};

/// How the cores share queues.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Scheduler {
    /// One queue a core; sets drawn until worst-fit decreasing fails.
    #[serde(rename = "P-EDF")]
    Partitioned,
    /// One queue for the two logical cores that share a second level; GFB in each.
    #[serde(rename = "C-EDF")]
    Clustered,
    /// One queue; sets drawn until GFB fails.
    #[serde(rename = "G-EDF")]
    Global,
}

impl Scheduler {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Partitioned, Self::Clustered, Self::Global];

    /// The name in the thesis.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Partitioned => "P-EDF",
            Self::Clustered => "C-EDF",
            Self::Global => "G-EDF",
        }
    }
}

/// Which memory tasks and kernel have (thesis 6.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Memory {
    /// A color for each task and one for the kernel.
    S1,
    /// A color for each task; the kernel's data lie anywhere.
    S2,
    /// The same color for all tasks, another for the kernel.
    S3,
}

impl Memory {
    const ALL: [Self; 3] = [Self::S1, Self::S2, Self::S3];
}

/// How many accesses fill an execution time: so many that no task of the set exceeds its own in S1 (thesis 6.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Repetitions {
    /// Found with the smallest working set, as in the thesis: larger ones take longer for the same number.
    Kept,
    /// Found anew for each working set.
    Fitted,
}

impl Repetitions {
    /// The name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Fitted => "fitted",
        }
    }
}

/// A set in a setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Point {
    /// Which, from 0.
    pub set: u64,
    /// What tasks of one color share, in S3 all.
    pub sharing: Sharing,
    /// How many accesses.
    pub repetitions: Repetitions,
    /// The working set of each task.
    pub working_set_kib: u64,
    /// How cores share queues.
    pub scheduler: Scheduler,
}

/// What a set came to. Arrays are of S1, S2 and S3.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Done {
    /// The number of the point.
    pub point: u64,
    /// What was run.
    pub of: Point,
    /// The tasks of the set.
    pub tasks: Vec<DoneTask>,
    /// When all jobs were done.
    pub end_ns: [Duration; 3],
    /// Each task's longest job in S1 by its execution time, in thousandths; the mean. Above 1000 jobs take longer than they
    /// should.
    pub filled_per_mille: u64,
}

/// What a task came to, in S1, S2 and S3.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DoneTask {
    /// Its longest job, by the time on a core; zero where none was finished before the end.
    pub worst_ns: [Duration; 3],
    /// The mean of its jobs, rounded down.
    pub mean_ns: [Duration; 3],
    /// Whether a deadline was missed.
    pub missed: [bool; 3],
}

impl DoneTask {
    /// Whether a job was finished in this memory.
    const fn finished(&self, memory: usize) -> bool {
        self.worst_ns[memory].get() > 0
    }
}

/// The evaluation.
#[derive(Clone, Debug)]
pub struct Evaluation {
    size: Size,
    /// What each set is run in; all of set 0.
    settings: Vec<Point>,
    machine: Machine,
    /// By what is shared, and by working set.
    paces: BTreeMap<(Sharing, u64), Pace>,
}

impl Evaluation {
    /// Task sets of this size in every combination of these; of the smallest working set, both kinds of repetitions are
    /// the same.
    ///
    /// # Errors
    /// [`LabError::Platform`] or [`LabError::Simulation`] where the modelled processor can't be had.
    pub fn new(
        size: Size,
        working_sets_kib: &[u64],
        sharing: &[Sharing],
        repetitions: &[Repetitions],
    ) -> Result<Self, LabError> {
        let machine = Machine::of_the_thesis()?;
        let mut evaluation = Self { size, settings: Vec::new(), machine, paces: BTreeMap::new() };
        let smallest = working_sets_kib.iter().copied().min().unwrap_or(0);
        let mut settings = BTreeSet::new();
        for &sharing in sharing {
            for &kib in working_sets_kib {
                evaluation.paces.insert((sharing, kib), evaluation.pace(sharing, kib)?);
                for &repetitions in repetitions {
                    let repetitions = if kib == smallest { Repetitions::Fitted } else { repetitions };
                    let all = Scheduler::ALL.map(|scheduler| (sharing, repetitions, kib, scheduler));
                    settings.extend(all);
                }
            }
        }
        let point = |(sharing, repetitions, working_set_kib, scheduler)| Point {
            set: 0,
            sharing,
            repetitions,
            working_set_kib,
            scheduler,
        };
        evaluation.settings = settings.into_iter().map(point).collect();
        Ok(evaluation)
    }

    /// What tells it from others, in hexadecimal digits. How many sets there are does not: more go on from fewer.
    pub fn hash(&self) -> String {
        let size = Size { sets: 0, ..self.size };
        hash(&("chapter 6", size, &self.settings, &self.machine, &self.paces))
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
        let tasks = draw(&self.machine.platform, of.scheduler, of.set, self.size);
        let accesses = self.accesses(of, &tasks, cancel)?;
        let none =
            DoneTask { worst_ns: [Duration::ZERO; 3], mean_ns: [Duration::ZERO; 3], missed: [false; 3] };
        let (found, end_ns) = (vec![none; tasks.len()], [Duration::ZERO; 3]);
        let mut done = Done { point: number, of, tasks: found, end_ns, filled_per_mille: 0 };
        for (at, memory) in Memory::ALL.into_iter().enumerate() {
            let jobs = simulate(&self.experiment(of, memory, &tasks, &accesses, self.size.jobs), cancel)?;
            for (task, found) in done.tasks.iter_mut().enumerate() {
                let own = jobs.finished.iter().filter(|job| job.task.index() == task);
                let times: Vec<u64> = own.map(|job| job.executed.get()).collect();
                let mean = times.iter().sum::<u64>().checked_div(times.len() as u64).unwrap_or(0);
                found.worst_ns[at] = Duration::new(times.iter().copied().max().unwrap_or(0));
                found.mean_ns[at] = Duration::new(mean);
                found.missed[at] = jobs.late.iter().any(|late| late.index() == task);
            }
            done.end_ns[at] = jobs.end;
        }
        let finished = done.tasks.iter().zip(&tasks).filter(|(found, _)| found.finished(0));
        let filled =
            finished.map(|(found, task)| thousandths(found.worst_ns[0].get(), task.drawn.wcet.get()));
        done.filled_per_mille = Spread::of(filled).mean;
        Ok(done)
    }

    /// How often each task of a set touches memory.
    ///
    /// The pace of a fully loaded machine is a first guess; from it each task's number goes on until its longest job in S1
    /// has a reserve of about a twentieth.
    fn accesses(&self, of: Point, tasks: &[Placed], cancel: &Cancel) -> Result<Vec<u64>, LabError> {
        let smallest = self.paces.range((of.sharing, 0)..).next().map_or(0, |(&(_, kib), _)| kib);
        let kib = if of.repetitions == Repetitions::Kept { smallest } else { of.working_set_kib };
        let Some(pace) = self.paces.get(&(of.sharing, kib)) else { return Err(LabError::Interrupted) };
        let of = Point { working_set_kib: kib, ..of };
        let first = tasks.iter().map(|task| pace.accesses(task.drawn.wcet, 1)).collect();
        let drawn: Vec<Drawn> = tasks.iter().map(|task| task.drawn).collect();
        fitted(&drawn, first, |accesses| {
            simulate(&self.experiment(of, Memory::S1, tasks, accesses, self.size.jobs), cancel)
        })
    }

    /// The pace on cores that are scheduled apart, in S1.
    fn pace(&self, sharing: Sharing, working_set_kib: u64) -> Result<Pace, LabError> {
        let (repetitions, scheduler) = (Repetitions::Fitted, Scheduler::Partitioned);
        let apart = Point { set: 0, sharing, repetitions, working_set_kib, scheduler };
        Pace::measure(&self.machine, |drawn, pace| {
            let placed = drawn.iter().enumerate().map(|(core, &drawn)| Placed { drawn, core });
            let accesses: Vec<u64> = drawn.iter().map(|drawn| pace.accesses(drawn.wcet, 1)).collect();
            self.experiment(apart, Memory::S1, &placed.collect::<Vec<_>>(), &accesses, 3)
        })
    }

    fn experiment(
        &self,
        of: Point,
        memory: Memory,
        placed: &[Placed],
        accesses: &[u64],
        jobs: u64,
    ) -> Experiment {
        let Machine { platform, overheads } = &self.machine;
        let writes = PerMille::new(200).unwrap_or_default();
        // The task of the longest period stands for a server of best-effort work (thesis 6.1).
        let server = (0..placed.len()).max_by_key(|&at| placed[at].drawn.period).filter(|_| placed.len() > 1);
        // In S3 whatever a color's tasks share is everybody's; an array that all share is that of a task that is no server.
        let ours = memory == Memory::S3;
        let common = usize::from(server == Some(0));
        let touched = |at: usize| Touched {
            array: if ours && of.sharing == Sharing::Array { common } else { at },
            generator: (of.sharing == Sharing::Line).then_some(placed.len() + if ours { 0 } else { at }),
        };
        let task = |(at, task): (usize, &Placed)| {
            let accesses = accesses.get(at).copied().unwrap_or(1);
            let core = (of.scheduler != Scheduler::Global).then_some(CoreId(task.core as u16));
            let steps = if Some(at) == server {
                vec![Step::Touch(sweep(at, accesses, writes))]
            } else {
                at_random(touched(at), accesses, writes)
            };
            task.drawn.task(at, core, steps)
        };
        let colors = platform.caches.iter().map(|cache| cache.colors(platform.page)).max().unwrap_or(1);
        let groups = colors.clamp(2, 32);
        let color = |at: usize| if ours { 0 } else { at as u16 % (groups - 1) };
        let size = |at: usize| Bytes::from_kib(if Some(at) == server { 512 } else { of.working_set_kib });
        let lines = if of.sharing == Sharing::Line { placed.len() } else { 0 };
        let policy = Policy::new(scope(platform, of.scheduler), Criterion::Edf);
        let tasks = placed.iter().enumerate().map(task).collect();
        let kernel = (memory != Memory::S2).then_some(Color(groups - 1));
        Experiment {
            variant: format!("{} {memory:?}", of.scheduler.name()),
            overheads: overheads.clone(),
            buffers: buffers((0..placed.len()).map(size).chain((0..lines).map(|_| platform.line()))),
            isolation: coloring(groups, kernel, (0..placed.len()).map(color)),
            sample_every: Duration::from_millis(1000),
            ..Experiment::new("thesis chapter 6", platform.clone(), policy, tasks, End::Jobs(jobs))
        }
    }
}

/// A line after the other: the server of best-effort work.
fn sweep(buffer: usize, accesses: u64, writes: PerMille) -> Touch {
    let (pattern, stride) = (Pattern::Sweep, Bytes::new(64));
    Touch { pattern, buffer: BufferId(buffer as u32), accesses, stride, writes, think: Duration::ZERO }
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
