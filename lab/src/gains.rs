//! What applications gain and lose under a scheduler for big and small cores (PMCTrack 4.1.3).
//!
//! ```text
//!   ASP        = sum over applications of (CT_slow / CT - 1)                               equation 1
//!   unfairness = the greatest by the least of the slowdowns W / W_def x CT / CT_fast       equation 2
//! ```
//! `CT` is the geometric mean of the times that an application's runs took beside the others, `CT_slow` the same alone on small cores
//! only, `CT_fast` alone with all big cores. Means hide when somebody fell behind: the unfairness of the runs that ended last
//! is told over time as well.

use crate::{Control, LabError, Recordings, Simulation, name_of};
use rayon::prelude::*;
use solo_model::{Application, CoreId, Duration, Experiment, Instant};

/// What became of all applications of an experiment.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Gains {
    /// One for each application, in their order.
    pub applications: Vec<Gain>,
    /// Aggregate speedup (ASP) over small cores: what the applications get out of the big ones, all together.
    pub aggregate_speedup: f64,
    /// The greatest weighted slowdown by the least; 1 where all are slowed down equally.
    pub unfairness: f64,
    /// The same of each application's last run, each time that one ends; it begins when all were done once.
    pub over_time: Vec<UnfairnessAt>,
}

/// How unfair a scheduler had been lately.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct UnfairnessAt {
    /// When a run of an application ended.
    #[serde(rename = "at_ns")]
    pub at: Instant,
    /// The greatest weighted slowdown of the last runs of all applications by the least.
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

    /// How much longer it takes alone on small cores than alone with the big ones. With one thread that is its speedup factor over a
    /// whole run; with several it is less, where not all of them find a big core.
    pub fn small_by_big(&self) -> f64 {
        ratio(self.alone_on_small, self.alone_with_big)
    }

    /// How much it gained over small cores alone; zero for nothing.
    pub fn speedup(&self) -> f64 {
        ratio(self.alone_on_small, self.completion) - 1.0
    }

    /// The slowdown of a run by the weight.
    fn weighted(&self, completion: Duration) -> f64 {
        ratio(completion, self.alone_with_big) * f64::from(self.weight) / f64::from(Application::WEIGHT)
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
    let times: Vec<Vec<Completions>> =
        runs.par_iter().map(|one| completions(one, recordings, control)).collect::<Result<_, LabError>>()?;
    let Some((together, rest)) = times.split_first() else { return Ok(None) };
    let (slow, fast) = rest.split_at(experiment.applications.len());
    let gain = |(at, application): (usize, &Application)| {
        let own = together.get(at)?;
        let mean = |found: &[Vec<Completions>]| found.get(at)?.first()?.mean();
        Some(Gain {
            name: application.name.clone(),
            weight: application.weight,
            runs: own.runs.len() as u64,
            completion: own.mean()?,
            alone_on_small: mean(slow)?,
            alone_with_big: mean(fast)?,
        })
    };
    let applications: Option<Vec<Gain>> = experiment.applications.iter().enumerate().map(gain).collect();
    Ok(applications.map(|applications| Gains::of(applications, together)))
}

impl Gains {
    fn of(applications: Vec<Gain>, together: &[Completions]) -> Self {
        let slowdowns = applications.iter().map(|gain| gain.weighted(gain.completion));
        let unfairness = spread(slowdowns);
        let aggregate_speedup = applications.iter().map(Gain::speedup).sum();
        let over_time = over_time(&applications, together);
        Self { applications, aggregate_speedup, unfairness, over_time }
    }

    /// The moment at which it was most unfair; `None` before all applications were done once.
    pub fn most_unfair(&self) -> Option<UnfairnessAt> {
        self.over_time
            .iter()
            .copied()
            .reduce(|most, next| if next.unfairness > most.unfairness { next } else { most })
    }
}

/// The greatest by the least.
fn spread(slowdowns: impl Iterator<Item = f64>) -> f64 {
    let (most, least) =
        slowdowns.fold((f64::MIN, f64::MAX), |(most, least), next| (most.max(next), least.min(next)));
    most / least
}

/// The unfairness of last runs at the end of each.
fn over_time(applications: &[Gain], together: &[Completions]) -> Vec<UnfairnessAt> {
    let mut ends: Vec<(Instant, usize, Duration)> = Vec::new();
    for (which, own) in together.iter().enumerate() {
        ends.extend(own.runs.iter().map(|run| (run.end, which, run.took)));
    }
    ends.sort_unstable();
    let mut last: Vec<Option<Duration>> = vec![None; applications.len()];
    let mut moments = Vec::new();
    for (place, &(at, which, took)) in ends.iter().enumerate() {
        last[which] = Some(took);
        // Runs that end together are one moment.
        if ends.get(place + 1).is_some_and(|(next, ..)| *next == at) {
            continue;
        }
        let known: Option<Vec<Duration>> = last.iter().copied().collect();
        if let Some(known) = known {
            let slowdowns = applications.iter().zip(known).map(|(gain, took)| gain.weighted(took));
            moments.push(UnfairnessAt { at, unfairness: spread(slowdowns) });
        }
    }
    moments
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

/// A run of an application.
#[derive(Clone, Copy, Debug)]
struct Run {
    end: Instant,
    took: Duration,
}

/// The runs of an application, in their order.
#[derive(Clone, Default, Debug)]
struct Completions {
    runs: Vec<Run>,
}

impl Completions {
    /// The geometric mean of the times they took; `None` where there was none.
    fn mean(&self) -> Option<Duration> {
        let logarithms: f64 = self.runs.iter().map(|run| (run.took.get().max(1) as f64).ln()).sum();
        let mean = (logarithms / self.runs.len() as f64).exp().round();
        (!self.runs.is_empty()).then(|| Duration::new(mean as u64))
    }
}

/// Of each application, the jobs of its first thread.
fn completions(
    experiment: &Experiment,
    recordings: &Recordings,
    control: &Control<'_>,
) -> Result<Vec<Completions>, LabError> {
    let mut found = vec![Completions::default(); experiment.applications.len()];
    let first = |application: &Application| application.threads.first().copied();
    let leaders: Vec<_> = experiment.applications.iter().map(first).collect();
    let name = name_of(experiment);
    let simulation = Simulation { experiment, recordings, name, control, stop_on: None };
    simulation.jobs(|job| {
        if let Some(at) = leaders.iter().position(|leader| *leader == Some(job.task)) {
            found[at].runs.push(Run { end: job.finish, took: job.response() });
        }
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gain(name: &str, weight: u32) -> Gain {
        let alone = Duration::new(10);
        let (completion, alone_on_small) = (alone, Duration::new(30));
        Gain { name: name.to_owned(), weight, runs: 3, completion, alone_on_small, alone_with_big: alone }
    }

    fn runs(of: &[(u64, u64)]) -> Completions {
        let run = |&(end, took): &(u64, u64)| Run { end: Instant::new(end), took: Duration::new(took) };
        Completions { runs: of.iter().map(run).collect() }
    }

    #[test]
    fn each_end_tells_of_the_last_runs_and_ends_at_once_are_one_moment() {
        let both = [runs(&[(10, 10), (30, 20), (40, 10)]), runs(&[(20, 20), (30, 10)])];
        let told = |weight| {
            let gains = Gains::of(vec![gain("one", Application::WEIGHT), gain("two", weight)], &both);
            (
                gains.over_time.iter().map(|moment| (moment.at.get(), moment.unfairness)).collect::<Vec<_>>(),
                gains,
            )
        };
        let (moments, gains) = told(Application::WEIGHT);
        assert_eq!(moments, [(20, 2.0), (30, 2.0), (40, 1.0)]);
        assert_eq!(gains.most_unfair().map(|moment| moment.at.get()), Some(20));
        assert_eq!(gains.applications[0].small_by_big(), 3.0);
        // The second counts twice: 2 x 2 by 1, then 2 x 1 by 2, then 2 x 1 by 1.
        assert_eq!(told(2 * Application::WEIGHT).0, [(20, 4.0), (30, 1.0), (40, 2.0)]);
    }

    #[test]
    fn before_all_were_done_once_nothing_is_said() {
        let gains = Gains::of(
            vec![gain("one", Application::WEIGHT), gain("two", Application::WEIGHT)],
            &[runs(&[(10, 10)]), runs(&[])],
        );
        assert!(gains.over_time.is_empty() && gains.most_unfair().is_none());
    }
}
