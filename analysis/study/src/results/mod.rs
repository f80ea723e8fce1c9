//! All rows of a study, and what they come to.

#[cfg(feature = "parquet")]
pub(crate) mod columns;
pub(crate) mod page;

use crate::error::StudyError;
use crate::journal::Done;
use crate::plan::{Block, StudyPlan};
use crate::sets::judge::{Found, Row};
use serde::Serialize;
use solo_model::units::Bytes;
use solo_prove::overhead::{Point, weighted_schedulability};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A whole study: every set of the plan exactly once, in order.
#[derive(Debug)]
pub struct Results {
    pub(crate) plan: StudyPlan,
    pub(crate) blocks: Vec<(Block, Done)>,
}

/// The version of `summary.json` and of the Parquet file of sets.
pub(crate) const SUMMARY_SCHEMA: u32 = 2;

/// What a study comes to.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Summary {
    /// What kind of document it is: `study`.
    pub format: &'static str,
    /// Its version, [`SUMMARY_SCHEMA`].
    pub schema: u32,
    /// The study's name.
    pub study: String,
    /// What tells it from others.
    pub hash: String,
    /// The seed.
    pub seed: u64,
    /// The number of cores.
    pub cores: u32,
    /// Sets judged.
    pub sets: u64,
    /// Verdicts left open by the work limit.
    pub undecided: u64,
    /// Each distribution.
    pub distributions: Vec<DistributionSummary>,
}

/// One distribution.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct DistributionSummary {
    /// Its name.
    pub name: String,
    /// Sets judged.
    pub sets: u64,
    /// The mean number of tasks, in thousandths.
    pub mean_tasks_per_mille: u64,
    /// The curves, in the order of the plan.
    pub curves: Vec<CurveSummary>,
}

/// One curve of one distribution.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CurveSummary {
    /// Its name.
    pub name: String,
    /// The working set whose loss is counted.
    #[serde(rename = "working_set_bytes", skip_serializing_if = "Option::is_none")]
    pub working_set: Option<Bytes>,
    /// Weighted schedulability (thesis equation 4) in thousandths.
    pub weighted_per_mille: u64,
    /// Verdicts left open by the work limit, counted as not schedulable.
    pub undecided: u64,
    /// One for each cap, from the lowest.
    pub points: Vec<CurvePoint>,
}

/// The sets of one cap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct CurvePoint {
    /// The cap in thousandths of a core.
    pub cap_per_mille: u64,
    /// How many of the sets are schedulable.
    pub schedulable: u64,
    /// How many sets there are.
    pub sets: u64,
}

impl CurveSummary {
    /// The share of schedulable sets at a cap in thousandths of a core.
    pub fn ratio(&self, cap: u64) -> Option<f64> {
        let point = self.points.iter().find(|point| point.cap_per_mille == cap)?;
        Some(point.schedulable as f64 / point.sets.max(1) as f64)
    }
}

impl Results {
    /// # Errors
    /// Where a block is not what the plan says.
    pub(crate) fn new(plan: &StudyPlan, done: BTreeMap<u64, Done>) -> Result<Self, StudyError> {
        let strange = |id: u64| StudyError::Contradiction { path: PathBuf::from("a journal"), block: id };
        let blocks = done.into_iter().map(|(id, done)| {
            let block = plan.block(id).ok_or_else(|| strange(id))?;
            let fits = done.rows.len() as u64 == block.sets
                && done.rows.iter().all(|row| row.found.len() == plan.curves.len());
            if fits { Ok((block, done)) } else { Err(strange(id)) }
        });
        Ok(Self { plan: plan.clone(), blocks: blocks.collect::<Result<_, _>>()? })
    }

    /// The plan.
    pub fn plan(&self) -> &StudyPlan {
        &self.plan
    }

    /// All rows with their distribution, cap and number.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (usize, u64, u64, &Row)> {
        self.blocks.iter().flat_map(|(block, done)| {
            done.rows
                .iter()
                .zip(block.first..)
                .map(|(row, index)| (block.distribution, block.cap, index, row))
        })
    }

    /// CPU microseconds of each distribution.
    pub fn cpu_us(&self) -> Vec<u64> {
        let mut spent = vec![0_u64; self.plan.distributions.len()];
        for (block, done) in &self.blocks {
            if let Some(spent) = spent.get_mut(block.distribution) {
                *spent = done.cpu_us.saturating_add(*spent);
            }
        }
        spent
    }

    /// What it comes to.
    pub fn summary(&self) -> Summary {
        let (plan, curves) = (&self.plan, self.plan.curves.len());
        // For each distribution, curve and cap: schedulable, undecided, sets.
        let mut counts: Vec<Vec<BTreeMap<u64, [u64; 3]>>> =
            vec![vec![BTreeMap::new(); curves]; plan.distributions.len()];
        let mut tasks = vec![(0u64, 0u64); plan.distributions.len()];
        for (distribution, cap, _, row) in self.rows() {
            tasks[distribution].0 += u64::from(row.tasks);
            tasks[distribution].1 += 1;
            for (curve, found) in row.found.iter().enumerate() {
                let count = counts[distribution][curve].entry(cap).or_default();
                count[0] += u64::from(*found == Found::Schedulable);
                count[1] += u64::from(*found == Found::Undecided);
                count[2] += 1;
            }
        }
        let of_distribution = |at: usize| DistributionSummary {
            name: plan.distributions[at].0.clone(),
            sets: tasks[at].1,
            mean_tasks_per_mille: tasks[at].0 * 1000 / tasks[at].1.max(1),
            curves: (0..curves).map(|curve| self.curve(curve, &counts[at][curve])).collect(),
        };
        let distributions: Vec<_> = (0..plan.distributions.len()).map(of_distribution).collect();
        let undecided = distributions.iter().flat_map(|one| &one.curves).map(|curve| curve.undecided).sum();
        Summary {
            format: "study",
            schema: SUMMARY_SCHEMA,
            study: plan.name.clone(),
            hash: plan.hash(),
            seed: plan.seed,
            cores: plan.cores,
            sets: plan.total_sets(),
            undecided,
            distributions,
        }
    }

    fn curve(&self, curve: usize, counts: &BTreeMap<u64, [u64; 3]>) -> CurveSummary {
        let points: Vec<Point> =
            counts.iter().map(|(&cap, &[schedulable, _, sets])| Point { cap, schedulable, sets }).collect();
        CurveSummary {
            name: self.plan.curves[curve].name.clone(),
            working_set: self.plan.curves[curve].working_set,
            weighted_per_mille: weighted_schedulability(&points).unwrap_or(0),
            undecided: counts.values().map(|count| count[1]).sum(),
            points: points
                .into_iter()
                .map(|Point { cap, schedulable, sets }| CurvePoint { cap_per_mille: cap, schedulable, sets })
                .collect(),
        }
    }
}
