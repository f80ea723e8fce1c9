//! What applications gain and lose under a scheduler for big and small cores (PMCTrack 4.1.3).
//!
//! ```text
//!   ASP        = sum over applications of (CT_slow / CT - 1)                               equation 1
//!   unfairness = the greatest by the least of the slowdowns W / W_def x CT / CT_fast       equation 2
//! ```
//! `CT` is the geometric mean of the times that an application's runs took beside the others, `CT_slow` the same alone on small cores
//! only, `CT_fast` alone with all big cores.

use crate::{Control, LabError, Recordings, Simulation, name_of};
use rayon::prelude::*;
use solo_model::{Application, CoreId, Duration, Experiment};

/// What became of all applications of an experiment.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Gains {
    /// One for each application, in their order.
    pub applications: Vec<Gain>,
    /// Aggregate speedup (ASP) over small cores: what the applications get out of the big ones, all together.
    pub aggregate_speedup: f64,
    /// The greatest weighted slowdown by the least; 1 where all are slowed down equally.
    pub unfairness: f64,
}

/// What became of one application.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Gain {
    /// Its name.
    pub name: String,
    /// Its weight.
    pub weight: u32,
    /// How often it was done.
    pub runs: u64,
    /// The geometric mean of the times that its runs took.
    #[serde(rename = "completion_ns")]
    pub completion: Duration,
    /// The same alone on small cores.
    #[serde(rename = "alone_on_small_ns")]
    pub alone_on_small: Duration,
    /// The same alone with all big cores.
    #[serde(rename = "alone_with_big_ns")]
    pub alone_with_big: Duration,
}

impl Gain {
    /// How much longer it took than alone with all big cores.
    pub fn slowdown(&self) -> f64 {
        ratio(self.completion, self.alone_with_big)
    }

    /// How much it gained over small cores alone; zero for nothing.
    pub fn speedup(&self) -> f64 {
        ratio(self.alone_on_small, self.completion) - 1.0
    }

    /// The slowdown by its weight.
    fn weighted(&self) -> f64 {
        self.slowdown() * f64::from(self.weight) / f64::from(Application::WEIGHT)
    }
}

fn ratio(of: Duration, by: Duration) -> f64 {
    of.get() as f64 / by.get().max(1) as f64
}

/// Runs an experiment, and each of its applications alone on small cores and with the big ones. `None` without applications, on chips whose
/// cores are alike, and where some application was never done.
///
/// # Errors
/// Where one of the runs can't be had, or the caller asked to stop.
pub fn gains(
    experiment: &Experiment,
    recordings: &Recordings,
    control: &Control<'_>,
) -> Result<Option<Gains>, LabError> {
    let big = experiment.platform.big_cores();
    if experiment.applications.is_empty() || big == experiment.platform.core_set() {
        return Ok(None);
    }
    let threads = 0..experiment.applications.len();
    let alone = |which: usize, cores: &[CoreId]| alone(experiment, which, cores);
    let small: Vec<CoreId> =
        experiment.platform.core_set().iter().filter(|core| !big.contains(*core)).collect();
    let all: Vec<CoreId> = big.iter().chain(small.iter().copied()).collect();
    let runs: Vec<Experiment> = core::iter::once(experiment.clone())
        .chain(threads.clone().map(|which| alone(which, &small)))
        .chain(threads.map(|which| alone(which, &all)))
        .collect();
    let times: Vec<Vec<Completion>> =
        runs.par_iter().map(|one| completions(one, recordings, control)).collect::<Result<_, LabError>>()?;
    let Some((together, rest)) = times.split_first() else { return Ok(None) };
    let (slow, fast) = rest.split_at(experiment.applications.len());
    let gain = |(at, application): (usize, &Application)| {
        let own = together.get(at)?;
        let mean = |found: &[Vec<Completion>]| found.get(at)?.first()?.mean();
        Some(Gain {
            name: application.name.clone(),
            weight: application.weight,
            runs: own.runs,
            completion: own.mean()?,
            alone_on_small: mean(slow)?,
            alone_with_big: mean(fast)?,
        })
    };
    let applications: Option<Vec<Gain>> = experiment.applications.iter().enumerate().map(gain).collect();
    Ok(applications.map(Gains::of))
}

impl Gains {
    fn of(applications: Vec<Gain>) -> Self {
        let slowdowns = || applications.iter().map(Gain::weighted);
        let (most, least) = (slowdowns().fold(f64::MIN, f64::max), slowdowns().fold(f64::MAX, f64::min));
        let aggregate_speedup = applications.iter().map(Gain::speedup).sum();
        Self { applications, aggregate_speedup, unfairness: most / least }
    }
}

/// An application alone: its first thread on the first of `cores`, and so on from the beginning again. Nobody listens.
fn alone(experiment: &Experiment, which: usize, cores: &[CoreId]) -> Experiment {
    let application = &experiment.applications[which];
    let names: Vec<String> =
        application.threads.iter().map(|thread| experiment.tasks[thread.index()].name.clone()).collect();
    let mut alone = experiment.clone();
    alone.retain_tasks(|task| names.contains(&task.name));
    alone.listening = None;
    let threads = alone.applications.first().map_or_else(Vec::new, |application| application.threads.clone());
    for (thread, core) in threads.iter().zip(cores.iter().cycle()) {
        alone.tasks[thread.index()].core = Some(*core);
    }
    alone
}

/// How long the runs of an application took.
#[derive(Clone, Copy, Default, Debug)]
struct Completion {
    runs: u64,
    logarithms: f64,
}

impl Completion {
    fn mean(&self) -> Option<Duration> {
        let mean = (self.logarithms / self.runs as f64).exp().round();
        (self.runs > 0).then(|| Duration::new(mean as u64))
    }
}

/// Of each application, the jobs of its first thread.
fn completions(
    experiment: &Experiment,
    recordings: &Recordings,
    control: &Control<'_>,
) -> Result<Vec<Completion>, LabError> {
    let mut found = vec![Completion::default(); experiment.applications.len()];
    let first = |application: &Application| application.threads.first().copied();
    let leaders: Vec<_> = experiment.applications.iter().map(first).collect();
    let name = name_of(experiment);
    let simulation = Simulation { experiment, recordings, name, control, stop_on: None };
    simulation.jobs(|job| {
        if let Some(at) = leaders.iter().position(|leader| *leader == Some(job.task)) {
            found[at].runs += 1;
            found[at].logarithms += (job.response().get().max(1) as f64).ln();
        }
    })?;
    Ok(found)
}
