//! What a fit says.

use super::observe::{Curves, Shares};
use super::{CurveAt, FitPlan, LIKE, Relation, Sentence, search};
use crate::error::StudyError;
use crate::run::Progress;
use serde::Serialize;
use solo_model::overhead::OverheadTable;
use solo_model::units::Duration;
use std::collections::BTreeMap;

/// What came out of a fit.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FitReport {
    /// The fit's name.
    pub fit: String,
    /// Sets of each cap of each distribution.
    pub sets: u64,
    /// Sets judged in all, each under every table that was tried.
    pub judged: u64,
    /// The root of the mean of the squares of what is left of published numbers, in thousandths of them.
    pub left_per_mille: u64,
    /// The tables.
    pub tables: Vec<FittedTable>,
    /// The published numbers.
    pub targets: Vec<TargetReport>,
    /// The published sentences.
    pub sentences: Vec<SentenceReport>,
}

/// A table with the source that grows.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FittedTable {
    /// Its name.
    pub name: String,
    /// The source that grows.
    pub grows: &'static str,
    /// What it costs from so many threads on.
    pub steps: Vec<StepReport>,
    /// The whole table.
    #[serde(skip)]
    pub table: OverheadTable,
}

/// A step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct StepReport {
    /// From so many threads on.
    pub threads: u32,
    /// The cost before anything was fitted.
    #[serde(rename = "start_ns")]
    pub start: Duration,
    /// The fitted cost.
    #[serde(rename = "cost_ns")]
    pub cost: Duration,
}

/// A published number and ours.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TargetReport {
    /// Where it stands, and what it is of.
    pub text: String,
    /// The published one in thousandths: of a core, or of a ratio.
    pub published_per_mille: u64,
    /// Ours before anything was fitted.
    pub start_per_mille: u64,
    /// Ours.
    pub ours_per_mille: u64,
}

/// A published sentence and whether it holds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SentenceReport {
    /// The sentence.
    pub text: String,
    /// Whether it holds for all its pairs.
    pub holds: bool,
    /// Whether it holds before anything is fitted.
    pub held_before: bool,
    /// For each pair the weighted schedulability of both curves, in thousandths.
    pub pairs_per_mille: Vec<(u64, u64)>,
}

impl FitReport {
    /// The sentences that do not hold.
    pub fn broken(&self) -> impl Iterator<Item = &SentenceReport> {
        self.sentences.iter().filter(|sentence| !sentence.holds)
    }
}

/// Judges the sentences, and says everything.
pub(super) fn of(
    plan: &FitPlan,
    costs: &[Vec<Duration>],
    shares: &BTreeMap<CurveAt, Shares>,
    curves: &mut Curves<'_>,
    progress: &dyn Progress,
) -> Result<FitReport, StudyError> {
    let flat: Vec<Vec<Duration>> = plan.tables.iter().map(|table| table.flat(&plan.threads)).collect();
    let mut before = BTreeMap::new();
    for place in shares.keys() {
        before.insert(place.clone(), curves.shares(place, &flat)?);
    }
    let mut all = shares.clone();
    let mut sentences = Vec::new();
    for sentence in &plan.sentences {
        if progress.stop() {
            return Err(StudyError::Interrupted);
        }
        sentences.push(judged(sentence, (costs, &mut all), (&flat, &mut before), curves)?);
    }
    let targets = plan.targets.iter().map(|target| TargetReport {
        text: target.text.clone(),
        published_per_mille: target.published,
        start_per_mille: target.measure.of(&before).round() as u64,
        ours_per_mille: target.measure.of(shares).round() as u64,
    });
    let tables = plan.tables.iter().zip(costs).zip(&flat).map(|((table, costs), flat)| {
        let step =
            |((&threads, &cost), &start): ((&u32, &Duration), &Duration)| StepReport { threads, start, cost };
        let mut whole = table.with(&plan.threads, costs);
        let (name, grows) = (table.name.clone(), table.grows.name());
        whole.source =
            format!("{}; {grows} fitted to published curves ({}), not measured", whole.source, plan.name);
        FittedTable {
            name,
            grows,
            steps: plan.threads.iter().zip(costs).zip(flat).map(step).collect(),
            table: whole,
        }
    });
    let mean = search::left(plan, shares) / plan.targets.len().max(1) as f64;
    Ok(FitReport {
        fit: plan.name.clone(),
        sets: plan.sets,
        judged: curves.judged,
        left_per_mille: (mean.sqrt() * 1000.0).round() as u64,
        tables: tables.collect(),
        targets: targets.collect(),
        sentences,
    })
}

type Known<'k> = (&'k [Vec<Duration>], &'k mut BTreeMap<CurveAt, Shares>);

fn judged(
    sentence: &Sentence,
    (costs, now): Known<'_>,
    (flat, before): Known<'_>,
    curves: &mut Curves<'_>,
) -> Result<SentenceReport, StudyError> {
    let mut weighted = |place: &CurveAt, costs: &[Vec<Duration>], known: &mut BTreeMap<CurveAt, Shares>| {
        if !known.contains_key(place) {
            known.insert(place.clone(), curves.shares(place, costs)?);
        }
        Ok::<u64, StudyError>(known.get(place).map_or(0.0, Shares::weighted) as u64)
    };
    let (mut pairs, mut earlier) = (Vec::new(), Vec::new());
    for (one, other) in &sentence.pairs {
        pairs.push((weighted(one, costs, now)?, weighted(other, costs, now)?));
        earlier.push((weighted(one, flat, before)?, weighted(other, flat, before)?));
    }
    let holds = |&(one, other): &(u64, u64)| match sentence.relation {
        Relation::Above => one > other,
        Relation::Like => one.abs_diff(other) <= LIKE,
    };
    Ok(SentenceReport {
        text: sentence.text.clone(),
        holds: pairs.iter().all(holds),
        held_before: earlier.iter().all(holds),
        pairs_per_mille: pairs,
    })
}
