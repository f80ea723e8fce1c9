//! Thesis chapter 8, Figs. 100 to 105: deadlines missed, tardiness and total time where best-effort tasks share memory with
//! groups of soft tasks, under best-fit decreasing, CAP-GS, and CAP-GS with a scheduler that listens to counters.

mod draw;
mod memory;
mod rows;
mod seen;

use super::drawn::{Drawn, Pace, at_random, buffers, coloring, fitted};
use super::{Machine, Sharing, Size, hash, set_by_set, simulate, thousandths};
use crate::error::Named;
use crate::points::Points;
use crate::{Cancel, Control, LabError};
use draw::{COLORS, CORES, Member, Set, draw};
use memory::Memory;
pub use rows::{BestEffort, Core, Jobs, Paper, Row};
use seen::Seen;
use serde::{Deserialize, Serialize};
use solo_model::experiment::{End, Experiment};
use solo_model::listening::{Observed, Reaction};
use solo_model::policy::{Criterion, Policy, Scope};
use solo_model::task::{Release, Task, TaskClass};
use solo_model::{Bytes, Color, CoreId, Duration, EventId, Fixed, Instant, Listening, PerMille};
use solo_sim::Stop;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The shares of accesses that write: a third and a fifth (thesis 8.3.1).
const WRITES_PER_MILLE: [u16; 2] = [330, 200];
/// The array that a best-effort task sweeps, line by line (Fig. 99).
const ARRAY: Bytes = Bytes::from_kib(512);
/// A best-effort task alone takes so long for a job (8.3.1: 46.29 ms on average).
const BEST_EFFORT_JOB: Duration = Duration::from_micros(46_290);
/// The sampling period, QUANTUM in 8.3.1, in ms, and the threshold.
const QUANTUM_MS: u64 = 10;
const THRESHOLD: u64 = 4;

/// Who decides on which core a task is, and who on which it may not stay.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Approach {
    /// Best-fit decreasing, without regard to colors.
    Bfd,
    /// CAP-GS.
    CapGs,
    /// CAP-GS with the dynamic phase: CA-P-RM (8.2.3).
    Yield,
    /// The same by interrupt (8.4).
    Overflow,
    /// CAP-GS without best-effort tasks: what is left when all of them are kept off for ever.
    NoBestEffort,
}

impl Approach {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Bfd, Self::CapGs, Self::Yield, Self::Overflow, Self::NoBestEffort];
    /// Those of the thesis.
    pub const THESIS: [Self; 3] = [Self::Bfd, Self::CapGs, Self::Yield];

    /// The name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bfd => "bfd",
            Self::CapGs => "cap-gs",
            Self::Yield => "yield",
            Self::Overflow => "overflow",
            Self::NoBestEffort => "no-best-effort",
        }
    }

    const fn reaction(self) -> Option<Reaction> {
        match self {
            Self::Bfd | Self::CapGs | Self::NoBestEffort => None,
            Self::Yield => Some(Reaction::Yield),
            Self::Overflow => Some(Reaction::Overflow),
        }
    }
}

/// A set in a setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Point {
    /// Which, from 0.
    pub set: u64,
    /// What a group's tasks share, its best-effort task included, beside the color.
    pub sharing: Sharing,
    /// The working set of each hard and soft task.
    pub working_set_kib: u64,
    /// The share of its accesses that write.
    pub writes_per_mille: u16,
    /// How it is scheduled.
    pub approach: Approach,
}

/// What a set came to under an approach.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Done {
    /// The number of the point.
    pub point: u64,
    /// What was run.
    pub of: Point,
    /// Jobs of hard tasks.
    pub hard: DoneJobs,
    /// Jobs of soft tasks.
    pub soft: DoneJobs,
    /// Jobs of best-effort tasks.
    pub best_effort: DoneJobs,
    /// Each hard task's longest job by its execution time, in thousandths; the largest. Jobs that take longer than 1000 may
    /// miss deadlines that a schedulability test guarantees.
    pub hard_longest_per_mille: u64,
    /// The same of soft tasks.
    pub soft_longest_per_mille: u64,
    /// The sum over hard and soft tasks of the longest response less the deadline (8.3.3).
    pub tardiness_ns: i64,
    /// When each hard and soft task had done its jobs; the run is cut off at twice the time that this should take.
    pub end_ns: Duration,
    /// How long this should take.
    pub expected_ns: Duration,
    /// What happened on each core.
    pub cores: Vec<DoneCore>,
}

/// What became of the jobs of a class.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DoneJobs {
    /// Jobs that were finished, or should have been.
    pub jobs: u64,
    /// Of these, late ones.
    pub late: u64,
    /// The time that all jobs occupied a core, unfinished ones included.
    pub executed_ns: Duration,
}

/// What happened on a core.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DoneCore {
    /// How often the scheduler looked at its counter.
    pub samples: u64,
    /// How often a task was made to give it away.
    pub held: u64,
    /// Lines that were read or written on it while another core had modified them.
    pub hitm: u64,
}

/// What the machine does with a working set, found once for all sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Paced {
    /// Of hard and soft tasks.
    pace: Pace,
    /// How often a best-effort job sweeps its array.
    sweeps: u32,
}

/// What a setting is told by, apart from the approach.
type Key = (Sharing, u64, u16);

/// The evaluation.
#[derive(Clone, Debug)]
pub struct Evaluation {
    size: Size,
    /// How often hard tasks touch memory, in thousandths of what their execution time has room for.
    hard_accesses_per_mille: u64,
    /// What each set is run in; all of set 0.
    settings: Vec<Point>,
    machine: Machine,
    /// Each is drawn when it is first run, for most draws are of no use.
    sets: Vec<OnceLock<Set>>,
    paces: BTreeMap<Key, Paced>,
    /// How often the tasks of a set touch memory in a setting, found where it is first asked for.
    fits: Arc<Mutex<BTreeMap<(u64, Key), Fit>>>,
}

/// Repetitions of a set's tasks, as soon as they are known.
type Fit = Arc<Mutex<Option<Arc<[u64]>>>>;

impl Evaluation {
    /// Task sets of this size in every combination of these, with both shares of writes. Hard tasks make so many thousandths of
    /// the accesses that their execution times have room for; 1000 as in the thesis.
    ///
    /// # Errors
    /// [`LabError::Platform`] or [`LabError::Simulation`] where the modelled processor can't be had.
    pub fn new(
        size: Size,
        working_sets_kib: &[u64],
        sharing: &[Sharing],
        approaches: &[Approach],
        hard_accesses_per_mille: u64,
    ) -> Result<Self, LabError> {
        let machine = Machine::of_the_thesis()?;
        let sets = (0..size.sets).map(|_| OnceLock::new()).collect();
        let (settings, paces) = (Vec::new(), BTreeMap::new());
        let fits = Arc::default();
        let mut evaluation = Self { size, hard_accesses_per_mille, settings, machine, sets, paces, fits };
        for &sharing in sharing {
            for &kib in working_sets_kib {
                for writes in WRITES_PER_MILLE {
                    evaluation.paces.insert((sharing, kib, writes), evaluation.paced(sharing, kib, writes)?);
                }
            }
        }
        let approaches: Vec<_> = Approach::ALL.into_iter().filter(|one| approaches.contains(one)).collect();
        let point = |&(sharing, working_set_kib, writes_per_mille): &Key, approach| Point {
            set: 0,
            sharing,
            working_set_kib,
            writes_per_mille,
            approach,
        };
        let each = |key| approaches.iter().map(move |&approach| point(key, approach));
        evaluation.settings = evaluation.paces.keys().flat_map(each).collect();
        Ok(evaluation)
    }

    /// What tells it from others, in hexadecimal digits. How many sets there are does not: more go on from fewer.
    pub fn hash(&self) -> String {
        let size = Size { sets: 0, ..self.size };
        let said = (size, self.hard_accesses_per_mille, &self.settings, &self.machine, &self.paces);
        hash(&("chapter 8, fitted", said))
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
        let fitted = self.fitted(of, set, cancel)?;
        let accesses = |(member, &fitted): (&Member, &u64)| match member.class {
            TaskClass::Hard => (fitted.saturating_mul(self.hard_accesses_per_mille) / 1000).max(1),
            TaskClass::Soft | TaskClass::BestEffort => fitted,
        };
        let accesses: Vec<u64> = set.tasks.iter().zip(&*fitted).map(accesses).collect();
        let experiment = self.set_in(of, set, &accesses).ok_or(LabError::Interrupted)?;
        let mut seen = Seen::new(&experiment.tasks, self.machine.platform.cores.len(), cancel);
        let ended = solo_sim::run(&experiment, &[], &mut seen)
            .map_err(|error| LabError::Simulation(Named::new(error, &experiment)))?;
        if ended.stop == Stop::Interrupted {
            return Err(LabError::Interrupted);
        }
        for (core, heard) in seen.cores.iter_mut().zip(&ended.heard) {
            (core.samples, core.held) = (heard.samples, heard.held);
        }
        let longest = |class| {
            let own = set.tasks.iter().zip(&seen.longest).filter(|(member, _)| member.class == class);
            let by_wcet = own.map(|(member, longest)| thousandths(longest.get(), member.drawn.wcet.get()));
            by_wcet.max().unwrap_or(0)
        };
        let period = set.tasks.iter().map(|member| member.drawn.period.get()).max().unwrap_or(0);
        let [hard, soft, best_effort] = seen.jobs;
        Ok(Done {
            point: number,
            of,
            hard,
            soft,
            best_effort,
            hard_longest_per_mille: longest(TaskClass::Hard),
            soft_longest_per_mille: longest(TaskClass::Soft),
            tardiness_ns: seen.tardiness_ns(),
            end_ns: ended.end.since(Instant::ZERO),
            expected_ns: Duration::new(period.saturating_mul(self.size.jobs)),
            cores: seen.cores,
        })
    }

    /// How long a best-effort job of a point's setting takes alone on the machine.
    ///
    /// # Errors
    /// [`LabError::Simulation`]; [`LabError::Interrupted`] where there is no such point.
    pub fn best_effort_job(&self, number: u64) -> Result<Duration, LabError> {
        let of = self.of(number).ok_or(LabError::Interrupted)?;
        let paced = self.paces.get(&(of.sharing, of.working_set_kib, of.writes_per_mille));
        self.alone(of, paced.ok_or(LabError::Interrupted)?.sweeps)
    }

    /// How long a best-effort job of so many sweeps takes alone on the machine.
    fn alone(&self, of: Point, sweeps: u32) -> Result<Duration, LabError> {
        let memory = Memory { of, tasks: 0, colors: 1, groups: 1 };
        let once = Release::Once { offset: Duration::ZERO };
        let task = Task { release: once, ..memory.best_effort(0, 0, (0, 0), sweeps) };
        let jobs = simulate(&self.with_memory(memory, vec![task], vec![0], 1), &Cancel::new())?;
        Ok(jobs.finished.first().map_or(Duration::ZERO, |job| job.executed))
    }

    /// The pace where each core has one task, of a color of its own; and how often a best-effort task sweeps its array so that
    /// it takes as long as the thesis's, alone on the machine.
    fn paced(
        &self,
        sharing: Sharing,
        working_set_kib: u64,
        writes_per_mille: u16,
    ) -> Result<Paced, LabError> {
        const SWEEPS: u32 = 8;
        let of = Point { set: 0, sharing, working_set_kib, writes_per_mille, approach: Approach::CapGs };
        let full = Memory { of, tasks: CORES, colors: CORES, groups: 0 };
        let pace = Pace::measure(&self.machine, |drawn, pace| {
            let task = |(at, &drawn): (usize, &Drawn)| {
                let member = Member { drawn, class: TaskClass::Hard, color: at as u16 };
                task(full, at, member, at, pace.accesses(drawn.wcet, 2))
            };
            let tasks = drawn.iter().enumerate().map(task).collect();
            self.with_memory(full, tasks, (0..CORES as u16).collect(), 3)
        })?;
        let executed = self.alone(of, SWEEPS)?.get().max(1);
        let wanted = BEST_EFFORT_JOB.get() / self.size.scale.max(1);
        let sweeps = (wanted * u64::from(SWEEPS) + executed / 2) / executed;
        Ok(Paced { pace, sweeps: u32::try_from(sweeps.max(1)).unwrap_or(u32::MAX) })
    }

    /// How often each task of a set touches memory: so often that none exceeds its execution time under CAP-GS without best-effort
    /// tasks, and the same under all approaches (8.3.1 with 6.1).
    fn fitted(&self, of: Point, set: &Set, cancel: &Cancel) -> Result<Arc<[u64]>, LabError> {
        let key = (of.set, (of.sharing, of.working_set_kib, of.writes_per_mille));
        let Some(Paced { pace, .. }) = self.paces.get(&key.1) else { return Err(LabError::Interrupted) };
        let place = self.fits.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().clone();
        // Whoever comes meanwhile waits for it: it takes as long as a point.
        let mut known = place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*known {
            return Ok(known.clone());
        }
        let drawn: Vec<Drawn> = set.tasks.iter().map(|member| member.drawn).collect();
        // A first guess: a job finds its memory evicted by the others of its color, and evicts that of a job which it preempts.
        let first = drawn.iter().map(|drawn| pace.accesses(drawn.wcet, 2)).collect();
        let quiet = Point { approach: Approach::NoBestEffort, ..of };
        let all = fitted(&drawn, first, |accesses| {
            simulate(&self.set_in(quiet, set, accesses).ok_or(LabError::Interrupted)?, cancel)
        })?;
        Ok(known.insert(all.into()).clone())
    }

    /// The set, scheduled as the point says, whose tasks touch memory so often.
    fn set_in(&self, of: Point, set: &Set, accesses: &[u64]) -> Option<Experiment> {
        let Paced { sweeps, .. } = self.paces.get(&(of.sharing, of.working_set_kib, of.writes_per_mille))?;
        let cores = if of.approach == Approach::Bfd { &set.bfd } else { &set.cap_gs };
        let groups = if of.approach == Approach::NoBestEffort { 0 } else { set.best_effort.len() };
        let memory = Memory { of, tasks: set.tasks.len(), colors: set.colors(), groups };
        let placed = set.tasks.iter().zip(cores).zip(accesses).enumerate();
        let mut tasks: Vec<Task> = placed
            .map(|(at, ((&member, &core), &accesses))| task(memory, at, member, core, accesses))
            .collect();
        let mut colors: Vec<u16> = set.tasks.iter().map(|member| member.color).collect();
        for (group, &(color, core)) in set.best_effort.iter().enumerate().take(groups) {
            tasks.push(memory.best_effort(tasks.len(), core, (group, color), *sweeps));
            colors.push(color);
        }
        let period = Drawn::period(QUANTUM_MS, self.size.scale);
        let hitm = Observed::count_of(EventId::SNOOP_HITM);
        let listening = of.approach.reaction().map(|reaction| Listening {
            threshold: Fixed::from(THRESHOLD),
            ..Listening::new(hitm, period, reaction)
        });
        Some(Experiment { listening, ..self.with_memory(memory, tasks, colors, self.size.jobs) })
    }

    /// These tasks in these colors.
    fn with_memory(&self, memory: Memory, tasks: Vec<Task>, colors: Vec<u16>, jobs: u64) -> Experiment {
        let Machine { platform, overheads } = &self.machine;
        let policy = Policy::new(Scope::Partitioned, Criterion::Rm);
        Experiment {
            variant: memory.of.approach.name().to_owned(),
            overheads: overheads.clone(),
            buffers: buffers(memory.sizes(platform.line())),
            isolation: coloring(COLORS, Some(Color(COLORS - 1)), colors),
            sample_every: Duration::from_millis(1000),
            ..Experiment::new("thesis chapter 8", platform.clone(), policy, tasks, End::Jobs(jobs))
        }
    }
}

/// A hard or soft task that touches memory at random.
fn task(memory: Memory, at: usize, member: Member, core: usize, accesses: u64) -> Task {
    let writes = PerMille::new(memory.of.writes_per_mille).unwrap_or_default();
    let steps = at_random(memory.touched(at, member.color), accesses, writes);
    Task { class: member.class, ..member.drawn.task(at, Some(CoreId(core as u16)), steps) }
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
