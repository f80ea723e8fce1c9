//! What applications gain and lose under a scheduler for big and small cores (PMCTrack 4.1.3), as reports keep it.

use crate::series::Series;
use serde::{Deserialize, Serialize};
use solo_model::{Application, Duration, Instant};

/// What became of all applications of an experiment.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Gains {
    /// What the variant is called.
    pub variant: String,
    /// One for each application, in their order.
    pub applications: Vec<Gain>,
    /// Aggregate speedup (ASP) over small cores: what the applications get out of the big ones, all together (equation 1).
    pub aggregate_speedup: f64,
    /// The greatest weighted slowdown by the least; 1 where all are slowed down equally (equation 2).
    pub unfairness: f64,
    /// The same of each application's last run, when it was greatest; nothing before all were done once.
    pub most_unfair: Option<UnfairnessAt>,
    /// The same each time that a run ends, over time, in thousandths; it begins when all were done once.
    #[serde(rename = "unfairness_thousandths")]
    pub over_time: Series,
    /// What the scheduler's monitor said of each thread, held against the truth; empty where its metric is no speedup factor, or is
    /// not recorded.
    pub factors: Vec<Factors>,
}

/// How unfair a scheduler had been lately.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct UnfairnessAt {
    /// When a run of an application ended.
    #[serde(rename = "at_ns")]
    pub at: Instant,
    /// The greatest weighted slowdown of the last runs of all applications by the least.
    pub unfairness: f64,
}

/// What became of one application.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
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

    /// The slowdown of a run that took so long, by the weight.
    pub fn weighted(&self, completion: Duration) -> f64 {
        ratio(completion, self.alone_with_big) * f64::from(self.weight) / f64::from(Application::WEIGHT)
    }
}

fn ratio(of: Duration, by: Duration) -> f64 {
    of.get() as f64 / by.get().max(1) as f64
}

/// What the scheduler's monitor said of a thread beside the truth: how much longer the same instructions of it take alone on small cores
/// than alone on big ones.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Factors {
    /// The thread.
    pub thread: String,
    /// How often it was asked while a truth was known and something was said.
    pub samples: u64,
    /// The mean of how far off the monitor was, up or down, by the truth, per cent; nothing without samples.
    pub mean_error_per_cent: Option<f64>,
    /// What the monitor said, over time, in thousandths.
    #[serde(rename = "believed_thousandths")]
    pub believed: Series,
    /// The truth of what the thread did in the period before, over time, in thousandths.
    #[serde(rename = "true_thousandths")]
    pub truth: Series,
}
