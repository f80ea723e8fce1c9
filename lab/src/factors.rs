//! Speedup factors believed and true: what the monitor of a scheduler for big and small cores said of each thread while it ran beside the
//! others, held against how long the same instructions take alone on either kind of core.
//!
//! ```text
//!   together:  period ends ──▶ (believed, instructions of the job so far)
//!   alone on each kind:        (instructions of the job so far, time on the core so far)   two curves
//!   truth of a period = time of its instructions on the small curve by that on the big one
//! ```

use crate::{Control, LabError, Recordings, Simulation, name_of};
use rayon::prelude::*;
use solo_model::estimate::Factor;
use solo_model::listening::{Observed, Reaction};
use solo_model::{CoreId, Duration, EventId, Experiment, Fixed, JobIndex, Listening, Record, TaskId};
use solo_report::gains::Factors;
use solo_report::series::Series;
use std::collections::BTreeMap;

/// Points of a series.
const POINTS: usize = 512;
/// Looks at a thread alone in a period of the scheduler's monitor.
const FINER: u64 = 4;
/// Of fewer instructions the truth is not said: times are whole nanoseconds.
const LEAST: u64 = 1_000;

/// What the monitor of `experiment` said of each thread of an application beside the truth. Empty where it says no speedup factor or that
/// is not recorded, and where threads can't be looked at alone.
///
/// # Errors
/// Where the run itself can't be had, or the caller asked to stop.
pub(crate) fn factors(
    experiment: &Experiment,
    recordings: &Recordings,
    control: &Control<'_>,
) -> Result<Vec<Factors>, LabError> {
    let Some(listening) = experiment.listening.as_ref().filter(|own| says_speedups(own)) else {
        return Ok(Vec::new());
    };
    let big = experiment.platform.big_cores();
    let (fast, slow): (Vec<CoreId>, Vec<CoreId>) =
        experiment.platform.core_set().iter().partition(|core| big.contains(*core));
    let alone = (0..experiment.applications.len())
        .flat_map(|which| [&slow, &fast].map(|cores| looked_at(experiment, listening, which, cores)));
    let runs: Vec<Experiment> = core::iter::once(experiment.clone()).chain(alone).collect();
    let told = |one: &Experiment| told(one, recordings, control);
    let mut told: Vec<Vec<Told>> = match runs.par_iter().map(told).collect::<Result<_, LabError>>() {
        Ok(told) => told,
        // A core that can count nothing but what the scheduler listens to.
        Err(error) if error.refuses() => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut alone = told.split_off(1).into_iter();
    let mut found = Vec::new();
    for application in &experiment.applications {
        let (slow, fast) = (alone.next().unwrap_or_default(), alone.next().unwrap_or_default());
        for (place, thread) in application.threads.iter().enumerate() {
            let together = told.first().and_then(|all| all.get(thread.index()));
            let (Some(together), Some(slow), Some(fast)) = (together, slow.get(place), fast.get(place))
            else {
                continue;
            };
            let name = experiment.tasks[thread.index()].name.clone();
            found.push(held_against(name, listening.period, together, [slow, fast]));
        }
    }
    Ok(found)
}

fn says_speedups(listening: &Listening) -> bool {
    listening.recorded && listening.observed.factor() == Some(Factor::Speedup)
}

/// An application alone on `cores`, looked at more often than its scheduler does; nobody acts.
fn looked_at(experiment: &Experiment, listening: &Listening, which: usize, cores: &[CoreId]) -> Experiment {
    let mut alone = crate::alone::alone(experiment, which, cores);
    let period = Duration::new((listening.period.get() / FINER).max(1));
    let counted = Observed::count_of(EventId::INSTRUCTIONS);
    alone.listening = Some(Listening { recorded: true, ..Listening::new(counted, period, Reaction::Report) });
    alone
}

/// What was said of a thread at the end of a period.
#[derive(Clone, Copy, Debug)]
struct Said {
    at: solo_model::Instant,
    value: Option<Fixed>,
    job: JobIndex,
    retired: u64,
}

/// What a run told of a task.
#[derive(Clone, Default, Debug)]
struct Told {
    said: Vec<Said>,
    /// Of each job, its instructions and its time on a core at some moments, ascending; the last one is its end, where it finished.
    jobs: BTreeMap<JobIndex, Vec<(u64, u64)>>,
    /// The jobs that finished.
    finished: Vec<JobIndex>,
}

impl Told {
    fn take(&mut self, record: &Record) {
        let (job, point) = match record {
            Record::Metric(told) => {
                let (Some(job), Some(retired)) = (told.job, told.retired) else { return };
                self.said.push(Said { at: told.at, value: told.value, job, retired: retired.get() });
                (job, (retired.get(), told.executed.get()))
            }
            Record::Job(done) => {
                let Some(retired) = done.counts.get(EventId::INSTRUCTIONS) else { return };
                self.finished.push(done.job);
                (done.job, (retired, done.executed.get()))
            }
            _ => return,
        };
        self.jobs.entry(job).or_insert_with(|| vec![(0, 0)]).push(point);
    }

    /// How long instructions `from` to `to` of a job took on a core: of this very job where it finished, else of the last that did.
    fn time(&self, job: JobIndex, (from, to): (u64, u64)) -> Option<f64> {
        let own = self.finished.iter().find(|done| **done == job).or_else(|| self.finished.last())?;
        let curve = self.jobs.get(own)?;
        Some(at(curve, to)? - at(curve, from)?)
    }
}

/// The time at so many instructions, between two points in proportion; `None` beyond the last one.
fn at(curve: &[(u64, u64)], retired: u64) -> Option<f64> {
    let next = curve.iter().position(|(instructions, _)| *instructions >= retired)?;
    let (x1, y1) = curve[next];
    let (x0, y0) = curve[next.saturating_sub(1)];
    let share = if x1 > x0 { (retired - x0) as f64 / (x1 - x0) as f64 } else { 1.0 };
    Some(y0 as f64 + share * (y1 as f64 - y0 as f64))
}

/// Of each task, what a run told.
fn told(
    experiment: &Experiment,
    recordings: &Recordings,
    control: &Control<'_>,
) -> Result<Vec<Told>, LabError> {
    let mut found = vec![Told::default(); experiment.tasks.len()];
    let name = name_of(experiment);
    let simulation = Simulation { experiment, recordings, name, control, stop_on: None };
    simulation.records(|record| {
        let of = match record {
            Record::Metric(told) => told.task,
            Record::Job(job) => job.task,
            _ => return,
        };
        let TaskId(task) = of;
        found.get_mut(task as usize).into_iter().for_each(|told| told.take(record));
    })?;
    Ok(found)
}

/// What was said beside others, held against the curves alone on small and on big cores.
fn held_against(thread: String, period: Duration, together: &Told, [slow, fast]: [&Told; 2]) -> Factors {
    let series = || Series::new(period, POINTS);
    let (mut believed, mut truth) = (series(), series());
    let (mut samples, mut errors) = (0_u64, 0.0);
    let mut before: Option<Said> = None;
    for said in &together.said {
        let from = before.filter(|before| before.job == said.job).map_or(0, |before| before.retired);
        before = Some(*said);
        let own = said.value.map(|value| value.units() as f64 / Fixed::SCALE as f64);
        if let Some(own) = own.filter(|own| *own >= 0.0) {
            believed.add(said.at, (own * 1e3).round() as u64, 1);
        }
        let span = (from, said.retired);
        if said.retired < from.saturating_add(LEAST) {
            continue;
        }
        let (Some(slow), Some(fast)) = (slow.time(said.job, span), fast.time(said.job, span)) else {
            continue;
        };
        if fast <= 0.0 {
            continue;
        }
        let real = slow / fast;
        truth.add(said.at, (real * 1e3).round() as u64, 1);
        if let Some(own) = own {
            samples += 1;
            errors += (own / real - 1.0).abs();
        }
    }
    let mean = (samples > 0).then(|| 100.0 * errors / samples as f64);
    Factors { thread, samples, mean_error_per_cent: mean, believed, truth }
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::Instant;

    fn said(at: u64, value: Option<u64>, job: u64, retired: u64) -> Said {
        let value = value.map(|value| Fixed::from_units(i128::from(value) * Fixed::SCALE / 1000));
        Said { at: Instant::new(at), value, job: JobIndex(job), retired }
    }

    fn alone(curve: &[(u64, u64)]) -> Told {
        let jobs = BTreeMap::from([(JobIndex(0), curve.to_vec())]);
        Told { said: Vec::new(), jobs, finished: vec![JobIndex(0)] }
    }

    /// By hand: 10,000 instructions that take 10 us on a big core; on a small one the first half takes 10 us, the second 20.
    #[test]
    fn the_truth_is_that_of_the_instructions_of_the_period() {
        let fast = alone(&[(0, 0), (10_000, 10_000)]);
        let slow = alone(&[(0, 0), (5_000, 10_000), (10_000, 30_000)]);
        let together = Told {
            said: vec![
                said(1, None, 0, 2_500),
                said(2, Some(2_000), 0, 5_000),
                said(3, Some(2_000), 0, 7_500),
                // Of the next job, which nobody saw alone: as the last one that was.
                said(4, Some(3_000), 1, 10_000),
                // Too few to say, and more than it ever did alone.
                said(5, Some(3_000), 1, 10_100),
                said(6, Some(3_000), 2, 20_000),
            ],
            ..Told::default()
        };
        let found = held_against("t".to_owned(), Duration::new(1), &together, [&slow, &fast]);
        let means = |series: &Series| series.bins.iter().map(|bin| bin.mean()).collect::<Vec<_>>();
        assert_eq!(
            means(&found.truth),
            [None, Some(2_000), Some(2_000), Some(4_000), Some(3_000)],
            "{found:?}"
        );
        assert_eq!(means(&found.believed)[2..], [2_000, 2_000, 3_000, 3_000, 3_000].map(Some));
        // 0, 1/2 and 0 off.
        assert_eq!(found.samples, 3);
        assert!((found.mean_error_per_cent.unwrap() - 100.0 / 6.0).abs() < 1e-9);
    }

    #[test]
    fn without_a_job_that_finished_alone_there_is_no_truth() {
        let none = Told::default();
        let together = Told { said: vec![said(1, Some(2_000), 0, 5_000)], ..Told::default() };
        let found = held_against("t".to_owned(), Duration::new(1), &together, [&none, &none]);
        assert_eq!((found.samples, found.mean_error_per_cent, found.truth.bins.len()), (0, None, 0));
        assert_eq!(found.believed.bins.len(), 2);
    }
}
