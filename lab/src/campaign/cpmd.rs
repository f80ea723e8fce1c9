//! What a job loses when it goes on after a preemption or a migration and finds caches cold (cache-related preemption and migration
//! delay, CPMD; thesis 5.8, Fig. 63).
//!
//! A task reads a working set, computes, and reads it again. Between the two reads somebody takes its core away; what the job takes longer
//! than one that nobody disturbed is the loss.
//!
//! ```text
//!   undisturbed   read ── compute ── read
//!   preempted     read ── comp ▒▒▒▒ ute ── read           ▒ another task reads as much on the same core
//!   flushed       read ── comp ▓▓▓▓ ute ── read           ▓ it writes all lines back and empties the caches (`wbinvd`)
//!   migrated      read ── comp ░░░░ ┐                     ░ another task computes there
//!                                   └ ute ── read         on another core; the others are kept busy by tasks that only compute
//! ```
//!
//! Kernel paths are free here: their own times are [`overheads`](super::overheads)'.

use crate::error::Named;
use crate::{Control, LabError};
use solo_model::experiment::End;
use solo_model::policy::{Policy, Scope};
use solo_model::task::{Release, Task, TaskClass};
use solo_model::work::{Buffer, Flush, Pattern, Span, Step, Touch, Work};
use solo_model::{
    BufferId, Bytes, CoreId, Criterion, Duration, Experiment, JobRecord, PerMille, Platform, Record, TaskId,
};
use solo_sim::Observer;
use solo_sim::measure::{self, Effort};
use std::ops::ControlFlow;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct CpmdRequest {
    /// The chip.
    pub platform: Platform,
    /// The working sets, each at least a line.
    pub working_sets: Vec<Bytes>,
    /// How often each is tried, with page frames drawn anew where the platform draws them.
    pub iterations: u64,
    /// Of the first draw.
    pub seed: u64,
}

/// What became of a core between two reads of a working set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Disturbance {
    /// Another task on it, which only computed.
    Computed,
    /// Another task on it read as much.
    Preempted,
    /// Another task on it emptied the caches.
    Flushed,
    /// The job went on on another core, which shares caches from this level on.
    MigratedBehind(u8),
    /// The job went on on another core, which shares no cache.
    Migrated,
}

/// Losses of one kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Losses {
    /// Of which kind.
    pub by: Disturbance,
    /// How many were measured.
    pub samples: u64,
    /// The mean.
    pub mean: Duration,
    /// The standard deviation.
    pub deviation: Duration,
    /// The most.
    pub worst: Duration,
}

/// The losses of a working set.
#[derive(Clone, Debug)]
pub struct CpmdRow {
    /// How much is read.
    pub working_set: Bytes,
    /// Every line from memory, each as slowly as a single access may be.
    pub bound: Duration,
    /// What reading it takes where caches hold nothing of it and nobody prefetches.
    pub cold: Duration,
    /// Kind by kind.
    pub losses: Vec<Losses>,
}

impl CpmdRow {
    /// The most that was lost.
    pub fn worst(&self) -> Duration {
        self.losses.iter().map(|losses| losses.worst).max().unwrap_or_default()
    }

    /// True where something was measured and no loss was above the bound.
    pub fn holds(&self) -> bool {
        !self.losses.is_empty() && self.worst() <= self.bound && self.cold <= self.bound
    }
}

/// How long the job computes between its reads.
const BETWEEN: Duration = Duration::from_micros(200);
/// From one release to the next where tasks fill cores: each takes the lowest core that is idle.
const STEP: Duration = Duration::from_micros(1);

/// The buffers of an experiment.
const OWN: BufferId = BufferId(0);
const OTHERS: BufferId = BufferId(1);
/// The task that is looked at.
const RESUMED: TaskId = TaskId(0);

/// Runs the jobs on the simulated platform.
///
/// # Errors
/// [`LabError::Simulation`] where the platform contradicts itself, [`LabError::Interrupted`] where somebody asked to stop.
pub fn cpmd(request: &CpmdRequest, control: &Control<'_>) -> Result<Vec<CpmdRow>, LabError> {
    let platform = &request.platform;
    let latency = measure::bandwidth(platform, Effort::default(), request.seed).map_err(named)?.latency.max;
    let row = |&working_set: &Bytes| row(request, working_set, latency, control);
    request.working_sets.iter().map(row).collect()
}

fn row(
    request: &CpmdRequest,
    working_set: Bytes,
    latency: Duration,
    control: &Control<'_>,
) -> Result<CpmdRow, LabError> {
    let lines = working_set.in_pieces_of(request.platform.line());
    let mut found: Vec<(Disturbance, Vec<Duration>)> = Vec::new();
    let mut cold = Duration::ZERO;
    for iteration in 0..request.iterations {
        let seed = request.seed.wrapping_add(iteration);
        if control.cancel.requested() {
            return Err(LabError::Interrupted);
        }
        let bench = Bench { platform: &request.platform, working_set, seed };
        cold = cold.max(bench.cold()?.unwrap_or_default());
        for (by, loss) in bench.losses()? {
            match found.iter_mut().find(|(known, _)| *known == by) {
                Some((_, losses)) => losses.push(loss),
                None => found.push((by, vec![loss])),
            }
        }
    }
    found.sort_by_key(|&(by, _)| by);
    let losses = found.iter().map(|(by, losses)| Losses::of(*by, losses)).collect();
    Ok(CpmdRow { working_set, bound: Duration::new(lines.saturating_mul(latency.get())), cold, losses })
}

impl Losses {
    fn of(by: Disturbance, losses: &[Duration]) -> Self {
        let count = losses.len().max(1) as f64;
        let mean = losses.iter().map(|loss| loss.get() as f64).sum::<f64>() / count;
        let variance = losses.iter().map(|loss| (loss.get() as f64 - mean).powi(2)).sum::<f64>() / count;
        Self {
            by,
            samples: losses.len() as u64,
            mean: Duration::new(mean.round() as u64),
            deviation: Duration::new(variance.sqrt().round() as u64),
            worst: losses.iter().copied().max().unwrap_or_default(),
        }
    }
}

/// One working set on one draw of page frames.
struct Bench<'p> {
    platform: &'p Platform,
    working_set: Bytes,
    seed: u64,
}

impl Bench<'_> {
    /// The losses by each disturbance, once; by a migration for each core that the job may go to.
    fn losses(&self) -> Result<Vec<(Disturbance, Duration)>, LabError> {
        let mut losses = Vec::new();
        let (Some(alone), Some(first)) = (self.job(&self.on_one_core(None))?, self.first_read()?) else {
            return Ok(losses);
        };
        for (by, does) in [
            (Disturbance::Computed, None),
            (Disturbance::Preempted, Some(self.read(OTHERS, self.working_set))),
            (Disturbance::Flushed, Some(Step::Flush(Flush::All))),
        ] {
            let other = Other { at: first + BETWEEN / 2, does };
            if let Some(job) = self.job(&self.on_one_core(Some(other)))? {
                losses.push((by, job.executed.saturating_sub(alone.executed)));
            }
        }
        let kind = |core: CoreId| self.platform.cores[core.index()].kind;
        let others = (1..self.platform.cores.len()).map(|core| CoreId(core as u16));
        for to in others.filter(|&to| kind(to) == kind(CoreId(0))) {
            // Beside as many busy cores, siblings among them.
            let stays = self.job(&self.among_busy_cores(to, first, false))?;
            let moved = self.job(&self.among_busy_cores(to, first, true))?;
            // Where a job went elsewhere, something else was measured.
            if let (Some(stays), Some(moved)) = (stays, moved)
                && (stays.migrations, moved.migrations, moved.core) == (0, 1, to)
            {
                losses.push((self.way(to), moved.executed.saturating_sub(stays.executed)));
            }
        }
        Ok(losses)
    }

    /// What core 0 and `to` share.
    fn way(&self, to: CoreId) -> Disturbance {
        let shared = |cache: &&solo_model::platform::Cache| {
            cache.cores.contains(CoreId(0)) && cache.cores.contains(to)
        };
        let level = self.platform.caches.iter().filter(shared).map(|cache| cache.level).min();
        level.map_or(Disturbance::Migrated, Disturbance::MigratedBehind)
    }

    /// What a read takes that finds nothing in caches and is not helped by a prefetcher.
    fn cold(&self) -> Result<Option<Duration>, LabError> {
        let mut experiment = self.experiment(Policy::new(Scope::Partitioned, Criterion::StaticPriority));
        experiment.platform.prefetcher = None;
        experiment.tasks.push(self.task("reads", 9, Duration::ZERO, vec![self.read(OWN, self.working_set)]));
        Ok(self.job(&experiment)?.map(|job| job.executed))
    }

    /// What the first read takes.
    fn first_read(&self) -> Result<Option<Duration>, LabError> {
        let mut experiment = self.experiment(Policy::new(Scope::Partitioned, Criterion::StaticPriority));
        experiment.tasks.push(self.task("reads", 9, Duration::ZERO, vec![self.read(OWN, self.working_set)]));
        Ok(self.job(&experiment)?.map(|job| job.executed))
    }

    /// The job on core 0, and another task there.
    fn on_one_core(&self, other: Option<Other>) -> Experiment {
        let mut experiment = self.experiment(Policy::new(Scope::Partitioned, Criterion::StaticPriority));
        experiment.tasks.push(self.resumed());
        if let Some(Other { at, does }) = other {
            let steps = std::iter::once(compute(STEP)).chain(does).collect();
            experiment.tasks.push(self.task("other", 0, at, steps));
            experiment.buffers.push(Buffer { name: "others".into(), size: self.working_set });
        }
        experiment
    }

    /// The job on core 0, all others busy; where it `moves`, its core is taken away after the first read, and `to` becomes idle.
    fn among_busy_cores(&self, to: CoreId, first: Duration, moves: bool) -> Experiment {
        let mut experiment = self.experiment(Policy::new(Scope::Global, Criterion::StaticPriority));
        experiment.tasks.push(self.resumed());
        let taken = first + BETWEEN / 2;
        // On a core whose sibling is busy too, everything may take twice as long.
        let long = (taken + BETWEEN) * 16;
        for core in 1..self.platform.cores.len() {
            let length = if moves && core == to.index() { taken + BETWEEN } else { long };
            let offset = Duration::new(core as u64 * STEP.get());
            experiment.tasks.push(self.task(&format!("busy{core}"), 1, offset, vec![compute(length)]));
        }
        if moves {
            experiment.tasks.push(self.task("other", 0, taken, vec![compute(long)]));
        }
        experiment
    }

    fn experiment(&self, policy: Policy) -> Experiment {
        let own = Buffer { name: "own".into(), size: self.working_set };
        let lines = self.working_set.in_pieces_of(self.platform.line());
        // Far beyond what the job takes; it ends the run.
        let latest = Duration::from_secs(1) + Duration::new(lines.saturating_mul(10_000));
        Experiment {
            seed: self.seed,
            buffers: vec![own],
            ..Experiment::new("cpmd", self.platform.clone(), policy, Vec::new(), End::At(latest))
        }
    }

    fn resumed(&self) -> Task {
        let read = || self.read(OWN, self.working_set);
        self.task("resumed", 9, Duration::ZERO, vec![read(), compute(BETWEEN), read()])
    }

    fn task(&self, name: &str, priority: u32, offset: Duration, steps: Vec<Step>) -> Task {
        Task {
            core: Some(CoreId(0)),
            priority: Some(priority),
            work: Work { steps },
            ..Task::new(name, TaskClass::Soft, Release::Once { offset })
        }
    }

    /// Each line once, one after the other.
    fn read(&self, buffer: BufferId, bytes: Bytes) -> Step {
        let stride = self.platform.line();
        let accesses = bytes.in_pieces_of(stride);
        let (pattern, writes, think) = (Pattern::Sweep, PerMille::default(), Duration::ZERO);
        Step::Touch(Touch { pattern, buffer, accesses, stride, writes, think })
    }

    /// The job that is looked at; `None` where it did not come to its end.
    fn job(&self, experiment: &Experiment) -> Result<Option<JobRecord>, LabError> {
        let mut seen = Seen(None);
        solo_sim::run(experiment, &[], &mut seen).map_err(named)?;
        Ok(seen.0)
    }
}

/// Another task, which comes at a time, computes and does this, if anything.
struct Other {
    at: Duration,
    does: Option<Step>,
}

/// The job, at which the run ends.
struct Seen(Option<JobRecord>);

impl Observer for Seen {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        match record {
            Record::Job(job) if job.task == RESUMED => {
                self.0 = Some(job);
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

fn compute(length: Duration) -> Step {
    Step::Compute(Span::exactly(length))
}

fn named(error: solo_sim::SimError) -> LabError {
    LabError::Simulation(Named::nameless(error))
}
