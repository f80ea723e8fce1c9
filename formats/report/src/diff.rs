//! Two runs side by side: how much response times differ, how sure that is, and where the kernels first decided
//! differently.
//!
//! The effect is the difference of mean response times. Its interval is the percentile bootstrap's (Efron &
//! Tibshirani 1993, section 13.3) with a fixed seed: the same runs give the same
//! interval. It supposes jobs that do not depend on each other; jobs that queue behind one another do, and then the truth
//! is less sure than the interval says.

use crate::distribution::Distribution;
use crate::run::{Run, RunError};
use serde::Serialize;
use solo_model::record::SwitchRecord;
use solo_model::{CoreId, Duration, Instant, Record, SplitMix64};

/// Jobs of a task that an interval is computed from; the first of each run.
const JOBS: usize = 10_000;
/// How often jobs are drawn anew.
const DRAWS: usize = 1_000;
/// Of so many jobs at least an interval is told.
const FEWEST: usize = 10;
/// The seed of the draws.
const SEED: u64 = 1993;

/// What differs between two runs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Difference {
    /// What was asked for otherwise.
    pub settings: Vec<Setting>,
    /// The tasks that both runs have, in the order of the first.
    pub tasks: Vec<TaskDifference>,
    /// Tasks of one run only.
    pub only: Vec<String>,
    /// The first switch in which the runs are not the same; `None` where all are.
    pub first_decision: Option<Divergence>,
}

/// Something that was asked for otherwise.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Setting {
    /// What.
    pub name: &'static str,
    /// In the first run; empty where it says nothing.
    pub a: String,
    /// In the second.
    pub b: String,
}

/// From where to where an effect lies, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Interval {
    /// Its lower end.
    pub from_ns: i64,
    /// Its upper end.
    pub to_ns: i64,
}

/// One task in two runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TaskDifference {
    /// Its name.
    pub name: String,
    /// The first run.
    pub a: Side,
    /// The second run.
    pub b: Side,
    /// How much longer the second run's mean response time is, in nanoseconds; `None` without jobs on a side.
    pub effect_ns: Option<i64>,
    /// The 95 % confidence interval of the effect; `None` of fewer than ten jobs on a side.
    pub interval: Option<Interval>,
}

/// A task in one run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Side {
    /// Finished jobs.
    pub jobs: u64,
    /// Their mean response time.
    pub mean_ns: Option<Duration>,
    /// The 99th percentile of their response times.
    pub p99_ns: Option<Duration>,
    /// Those that missed their deadline.
    pub misses: u64,
}

/// What the kernels decided where they first differ; a run that ended before has none.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Divergence {
    /// How many decisions were the same before.
    pub after: u64,
    /// In the first run.
    pub a: Option<Decision>,
    /// In the second run.
    pub b: Option<Decision>,
}

/// A switch, with names instead of numbers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Decision {
    /// When.
    pub at_ns: Instant,
    /// On which core.
    pub core: CoreId,
    /// What ran.
    pub from: Option<String>,
    /// What runs next.
    pub to: Option<String>,
}

/// Compares two runs.
///
/// # Errors
/// What is wrong with the records of either.
pub fn diff(a: &Run, b: &Run) -> Result<Difference, RunError> {
    let (left, right) = (Gathered::from(a)?, Gathered::from(b)?);
    let names = |run: &Run| run.experiment().tasks.iter().map(|task| task.name.clone()).collect::<Vec<_>>();
    let (names_a, names_b) = (names(a), names(b));
    let tasks = names_a.iter().enumerate().filter_map(|(index, name)| {
        let other = names_b.iter().position(|other| other == name)?;
        Some(compare(name, &left.tasks[index], &right.tasks[other]))
    });
    let alone = |of: &[String], other: &[String]| {
        of.iter().filter(|name| !other.contains(name)).cloned().collect::<Vec<_>>()
    };
    Ok(Difference {
        settings: settings(a, b),
        tasks: tasks.collect(),
        only: [alone(&names_a, &names_b), alone(&names_b, &names_a)].concat(),
        first_decision: divergence(a, b)?,
    })
}

fn settings(a: &Run, b: &Run) -> Vec<Setting> {
    let facts = |run: &Run| {
        let (manifest, experiment) = (run.manifest(), run.experiment());
        [
            ("scenario", manifest.scenario_path.clone()),
            ("variant", manifest.variant.clone()),
            ("policy", experiment.policy.to_string()),
            ("platform", manifest.platform.clone()),
            ("machine", manifest.machine.clone()),
            ("seed", manifest.seed.to_string()),
            ("version", manifest.version.clone()),
            ("commit", manifest.commit.clone().unwrap_or_default()),
        ]
    };
    let both = facts(a).into_iter().zip(facts(b));
    both.filter(|(a, b)| a != b).map(|((name, a), (_, b))| Setting { name, a, b }).collect()
}

/// The response times of a task.
struct Responses {
    all: Distribution,
    first: Vec<u64>,
    misses: u64,
}

struct Gathered {
    tasks: Vec<Responses>,
}

impl Gathered {
    fn from(run: &Run) -> Result<Self, RunError> {
        let none = || Responses { all: Distribution::new(3), first: Vec::new(), misses: 0 };
        let mut tasks: Vec<Responses> = run.experiment().tasks.iter().map(|_| none()).collect();
        for record in run.records() {
            let Record::Job(job) = record? else { continue };
            let Some(task) = tasks.get_mut(job.task.index()) else { continue };
            task.all.add(job.response());
            task.misses += u64::from(job.missed());
            if task.first.len() < JOBS {
                task.first.push(job.response().get());
            }
        }
        Ok(Self { tasks })
    }
}

fn compare(name: &str, a: &Responses, b: &Responses) -> TaskDifference {
    let side = |of: &Responses| Side {
        jobs: of.all.count(),
        mean_ns: of.all.mean(),
        p99_ns: of.all.p99(),
        misses: of.misses,
    };
    let effect = a.all.mean().zip(b.all.mean()).map(|(a, b)| signed(b.get()) - signed(a.get()));
    TaskDifference {
        name: name.to_owned(),
        a: side(a),
        b: side(b),
        effect_ns: effect,
        interval: interval(&a.first, &b.first),
    }
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The 95 % interval of the difference of means.
fn interval(a: &[u64], b: &[u64]) -> Option<Interval> {
    if a.len().min(b.len()) < FEWEST {
        return None;
    }
    let mut random = SplitMix64::new(SEED);
    let mut mean = |of: &[u64]| {
        let drawn = (0..of.len()).map(|_| {
            // The high half of the product: the bias is below one part in 2^50.
            let at = (u128::from(random.next_u64()) * of.len() as u128) >> 64;
            u128::from(of[at as usize])
        });
        signed((drawn.sum::<u128>() / of.len() as u128) as u64)
    };
    let mut effects: Vec<i64> = (0..DRAWS).map(|_| -mean(a) + mean(b)).collect();
    effects.sort_unstable();
    Some(Interval { from_ns: effects[DRAWS * 25 / 1000], to_ns: effects[DRAWS * 975 / 1000 - 1] })
}

/// The first switch that is not the same in both.
fn divergence(a: &Run, b: &Run) -> Result<Option<Divergence>, RunError> {
    let (mut left, mut right) = (decisions(a), decisions(b));
    for after in 0.. {
        let (a, b) = (left.next().transpose()?, right.next().transpose()?);
        match (a, b) {
            (None, None) => break,
            (a, b) if a == b => {}
            (a, b) => return Ok(Some(Divergence { after, a, b })),
        }
    }
    Ok(None)
}

fn decisions(run: &Run) -> impl Iterator<Item = Result<Decision, RunError>> {
    let tasks = &run.experiment().tasks;
    let named = |switch: &SwitchRecord| {
        let name = |task: Option<solo_model::TaskId>| {
            task.map(|task| {
                tasks.get(task.index()).map_or_else(|| task.to_string(), |task| task.name.clone())
            })
        };
        Decision { at_ns: switch.at, core: switch.core, from: name(switch.from), to: name(switch.to) }
    };
    run.records().filter_map(move |record| match record {
        Ok(Record::Switch(switch)) => Some(Ok(named(&switch))),
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The normal approximation is the reference: for 400 values of one spread the two agree within a tenth.
    #[test]
    fn an_interval_is_as_wide_as_theory_says() {
        let mut random = SplitMix64::new(7);
        let mut values = |shift: u64| -> Vec<u64> {
            (0..400).map(|_| 1_000_000 + shift + random.next_u64() % 100_000).collect()
        };
        let (a, b) = (values(0), values(20_000));
        let found = interval(&a, &b).unwrap();
        let (low, high) = (found.from_ns, found.to_ns);
        // A uniform distribution over w has the deviation w/sqrt(12); two means of 400 each.
        let half = 1.96 * (100_000.0 / 12_f64.sqrt()) * (2.0 / 400_f64).sqrt();
        let width = (high - low) as f64 / 2.0;
        assert!((width / half - 1.0).abs() < 0.1, "{width} against {half}");
        assert!(low > 0 && low < 20_000 && high > 20_000 - 10_000, "{low}..{high}");
        assert_eq!(interval(&a, &b), Some(found), "the same runs give the same interval");
        assert_eq!(interval(&a[..9], &b), None);
    }
}
