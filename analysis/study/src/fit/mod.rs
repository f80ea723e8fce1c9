//! Overhead tables that explain published curves: a source grows with the number of threads, in steps that never fall, so that the
//! squares of what is left between a study's curves and the published numbers are least.
//!
//! The thesis prints its measured overheads as figures, and what follows from them as numbers (5.9.1, 5.10): where a curve begins to
//! fall, where it ends, by how much one kernel is better than another. What comes out here is **fitted, not measured**: it says which
//! growth the published numbers ask for, and which of the published sentences hold with it.

mod file;
mod observe;
mod report;
mod search;

pub use file::load;
pub use report::{FitReport, FittedTable, SentenceReport, TargetReport};

use crate::error::StudyError;
use crate::plan::StudyPlan;
use crate::run::Progress;
use observe::{Curves, Shares};
use solo_model::overhead::{Overhead, OverheadTable};
use solo_model::units::{Bytes, Duration};
use std::collections::BTreeMap;

/// A fit with nothing left to decide.
#[derive(Clone, Debug)]
pub struct FitPlan {
    name: String,
    sets: u64,
    threads: Vec<u32>,
    studies: Vec<StudyPlan>,
    tables: Vec<Table>,
    targets: Vec<Target>,
    sentences: Vec<Sentence>,
}

/// A table of which one source grows.
#[derive(Clone, PartialEq, Debug)]
struct Table {
    name: String,
    /// What does not grow, and what the source costs at least.
    start: OverheadTable,
    grows: Overhead,
    /// Curves that are inflated by it, in all studies.
    curves: Vec<String>,
    /// What the source costs at some of the numbers of threads, as published.
    fixed: BTreeMap<u32, Duration>,
}

/// A curve of a distribution of a study.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct CurveAt {
    study: usize,
    distribution: usize,
    curve: String,
    /// The working set whose loss is counted.
    size: Option<Bytes>,
}

/// What a published number says of curves.
#[derive(Clone, PartialEq, Debug)]
enum Measure {
    /// The cap at which fewer than all sets are schedulable.
    Drops(CurveAt),
    /// The cap at which no set is schedulable.
    Ends(CurveAt),
    /// Where the first curve ends, divided by where the second does.
    Gain(CurveAt, CurveAt),
    /// Weighted schedulability (thesis equation 4).
    Weighted(CurveAt),
}

/// A published number.
#[derive(Clone, PartialEq, Debug)]
struct Target {
    /// Where it stands, and what it is of.
    text: String,
    measure: Measure,
    /// In thousandths.
    published: u64,
}

/// A published sentence: how two curves lie to each other.
#[derive(Clone, PartialEq, Debug)]
struct Sentence {
    text: String,
    /// Pairs for which it has to hold.
    pairs: Vec<(CurveAt, CurveAt)>,
    relation: Relation,
}

/// How the weighted schedulability of one curve is to another's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Relation {
    /// Higher.
    Above,
    /// No further from it than [`LIKE`].
    Like,
}

/// Thousandths by which weighted schedulability may differ where a sentence says "similar", "equal" or "close".
const LIKE: u64 = 50;
/// Rounds over all tables: what one explains, another need not.
const ROUNDS: usize = 2;

impl Measure {
    fn places(&self) -> Vec<&CurveAt> {
        match self {
            Self::Drops(place) | Self::Ends(place) | Self::Weighted(place) => vec![place],
            Self::Gain(place, other) => vec![place, other],
        }
    }

    /// In thousandths.
    fn of(&self, shares: &BTreeMap<CurveAt, Shares>) -> f64 {
        let found = |place: &CurveAt, measure: fn(&Shares) -> f64| shares.get(place).map_or(0.0, measure);
        match self {
            Self::Drops(place) => found(place, Shares::drops),
            Self::Ends(place) => found(place, Shares::ends),
            Self::Weighted(place) => found(place, Shares::weighted),
            Self::Gain(place, other) => {
                1000.0 * found(place, Shares::ends) / found(other, Shares::ends).max(1.0)
            }
        }
    }
}

impl FitPlan {
    /// Which table inflates a curve.
    fn table_of(&self, place: &CurveAt) -> Option<usize> {
        self.tables.iter().position(|table| table.curves.contains(&place.curve))
    }

    /// Fits all tables, and judges the sentences with them.
    ///
    /// # Errors
    /// [`StudyError::Interrupted`] once `progress` wants to stop, [`StudyError::Unreachable`] for a cap without sets.
    pub fn fit(&self, progress: &dyn Progress) -> Result<FitReport, StudyError> {
        let mut curves = Curves::new(self);
        let mut costs: Vec<Vec<Duration>> =
            self.tables.iter().map(|table| table.flat(&self.threads)).collect();
        let mut shares = BTreeMap::new();
        for place in self.targets.iter().flat_map(|target| target.measure.places()) {
            if !shares.contains_key(place) {
                shares.insert(place.clone(), curves.shares(place, &costs)?);
            }
        }
        let of = (ROUNDS * self.tables.len()) as u64;
        for round in 0..ROUNDS {
            for table in 0..self.tables.len() {
                search::fit(self, table, &mut costs, &mut shares, &mut curves, progress)?;
                progress.done((round * self.tables.len() + table + 1) as u64, of);
            }
        }
        report::of(self, &costs, &shares, &mut curves, progress)
    }
}

impl Table {
    /// The source's cost with any number of threads, before anything is fitted.
    fn flat(&self, threads: &[u32]) -> Vec<Duration> {
        let mut costs: Vec<Duration> =
            threads.iter().map(|&count| self.start.cost(self.grows, count)).collect();
        for (cost, count) in costs.iter_mut().zip(threads) {
            if let Some(&fixed) = self.fixed.get(count) {
                *cost = fixed;
            }
        }
        // What is fixed holds those before it down, and those behind it up.
        let mut least = Duration::ZERO;
        for cost in &mut costs {
            least = least.max(*cost);
            *cost = least;
        }
        costs
    }

    /// The whole table with these costs of the source.
    fn with(&self, threads: &[u32], costs: &[Duration]) -> OverheadTable {
        let mut table = self.start.clone();
        if let Some(row) = Overhead::ALL.iter().position(|&overhead| overhead == self.grows) {
            table.steps[row] = threads.iter().copied().zip(costs.iter().copied()).collect();
            // Fewer threads than were measured cost no less than the first step says.
            if let Some(first) = table.steps[row].first_mut() {
                first.0 = 0;
            }
        }
        table
    }
}
