//! What applications gain and lose under a scheduler for big and small cores (PMCTrack 4.1.3).
//!
//! ```text
//!   ASP        = sum over applications of (CT_slow / CT - 1)                               equation 1
//!   unfairness = the greatest by the least of the slowdowns W / W_def x CT / CT_fast       equation 2
//! ```
//! `CT` is the geometric mean of the times that an application's runs took beside the others, `CT_slow` the same alone on small cores
//! only, `CT_fast` alone with all big cores. Means hide when somebody fell behind: the unfairness of the runs that ended last
//! is told over time as well.

use crate::alone::alone;
use crate::factors::factors;
use crate::{Control, LabError, Recordings, Simulation, name_of};
use rayon::prelude::*;
use solo_model::{Application, CoreId, Duration, Experiment, Instant};
use solo_report::gains::{Factors, Gain, Gains, UnfairnessAt};
use solo_report::series::Series;

/// Points of a series.
const POINTS: usize = 512;
/// The first width of a bin.
const FIRST: Duration = Duration::from_micros(10);

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
    let which = 0..experiment.applications.len();
    let alone = |which: usize, cores: &[CoreId]| alone(experiment, which, cores);
    let small: Vec<CoreId> =
        experiment.platform.core_set().iter().filter(|core| !big.contains(*core)).collect();
    let all: Vec<CoreId> = big.iter().chain(small.iter().copied()).collect();
    let runs: Vec<Experiment> = core::iter::once(experiment.clone())
        .chain(which.clone().map(|which| alone(which, &small)))
        .chain(which.map(|which| alone(which, &all)))
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
    let Some(applications) = applications else { return Ok(None) };
    let factors = factors(experiment, recordings, control)?;
    Ok(Some(judged(name_of(experiment), applications, together, factors)))
}

/// All of them together.
fn judged(variant: &str, applications: Vec<Gain>, together: &[Completions], factors: Vec<Factors>) -> Gains {
    let unfairness = spread(applications.iter().map(|gain| gain.weighted(gain.completion)));
    let aggregate_speedup = applications.iter().map(Gain::speedup).sum();
    let moments = moments(&applications, together);
    let most =
        |most: UnfairnessAt, next: UnfairnessAt| if next.unfairness > most.unfairness { next } else { most };
    let most_unfair = moments.iter().copied().reduce(most);
    let mut over_time = Series::new(FIRST, POINTS);
    for moment in &moments {
        over_time.add(moment.at, (moment.unfairness * 1e3).round() as u64, 1);
    }
    let variant = variant.to_owned();
    Gains { variant, applications, aggregate_speedup, unfairness, most_unfair, over_time, factors }
}

/// The greatest by the least.
fn spread(slowdowns: impl Iterator<Item = f64>) -> f64 {
    let (most, least) =
        slowdowns.fold((f64::MIN, f64::MAX), |(most, least), next| (most.max(next), least.min(next)));
    most / least
}

/// The unfairness of last runs at the end of each.
fn moments(applications: &[Gain], together: &[Completions]) -> Vec<UnfairnessAt> {
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
            let applications = vec![gain("one", Application::WEIGHT), gain("two", weight)];
            let moments = moments(&applications, &both);
            let moments = moments.iter().map(|moment| (moment.at.get(), moment.unfairness));
            (moments.collect::<Vec<_>>(), judged("v", applications, &both, Vec::new()))
        };
        let (moments, gains) = told(Application::WEIGHT);
        assert_eq!(moments, [(20, 2.0), (30, 2.0), (40, 1.0)]);
        assert_eq!(gains.most_unfair.map(|moment| moment.at.get()), Some(20));
        let bins = &gains.over_time.bins;
        assert_eq!(bins.iter().map(|bin| (bin.weight, bin.max)).collect::<Vec<_>>(), [(3, 2_000)]);
        assert_eq!(gains.applications[0].small_by_big(), 3.0);
        // The second counts twice: 2 x 2 by 1, then 2 x 1 by 2, then 2 x 1 by 1.
        assert_eq!(told(2 * Application::WEIGHT).0, [(20, 4.0), (30, 1.0), (40, 2.0)]);
    }

    #[test]
    fn before_all_were_done_once_nothing_is_said() {
        let applications = vec![gain("one", Application::WEIGHT), gain("two", Application::WEIGHT)];
        let gains = judged("v", applications, &[runs(&[(10, 10)]), runs(&[])], Vec::new());
        assert!(gains.over_time.bins.is_empty() && gains.most_unfair.is_none());
    }
}
