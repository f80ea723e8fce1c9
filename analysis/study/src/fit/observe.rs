//! Curves of studies under tables that are tried: sets are drawn once and judged again.

use super::{CurveAt, FitPlan};
use crate::error::StudyError;
use crate::plan::{Curve, Inflation, StudyPlan};
use crate::sets::draw::{Stream, draw};
use crate::sets::judge::{Found, Judge};
use rayon::prelude::*;
use solo_model::units::Duration;
use solo_prove::Task;
use solo_prove::overhead::{Point, weighted_schedulability};
use std::collections::BTreeMap;

/// A share of sets below which a curve has begun to fall, and above which it has not ended. Nobody reads less from a figure.
const VISIBLE: f64 = 0.01;

/// The sets of each cap of a distribution.
type Drawn = Vec<(u64, Vec<Vec<Task>>)>;

/// Draws and judges.
pub(super) struct Curves<'p> {
    plan: &'p FitPlan,
    drawn: BTreeMap<(usize, usize), Drawn>,
    /// Sets judged.
    pub(super) judged: u64,
}

/// The schedulable sets of each cap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Shares(pub(super) Vec<Point>);

impl Shares {
    fn share(point: &Point) -> f64 {
        point.schedulable as f64 / point.sets.max(1) as f64
    }

    /// The cap at which the curve has come below a share, between the caps of the study; one step behind the last where it has not.
    fn below(&self, level: f64) -> f64 {
        let points = &self.0;
        let Some(at) = points.iter().position(|point| Self::share(point) < level) else {
            let step = match points.as_slice() {
                [.., before, last] => last.cap - before.cap,
                _ => 0,
            };
            return points.last().map_or(0.0, |last| (last.cap + step) as f64);
        };
        let (here, cap) = (Self::share(&points[at]), points[at].cap as f64);
        let Some(before) = at.checked_sub(1).map(|before| &points[before]) else { return cap };
        let (high, from) = (Self::share(before), before.cap as f64);
        from + (cap - from) * (high - level) / (high - here)
    }

    /// Where it begins to fall, in thousandths of a core.
    pub(super) fn drops(&self) -> f64 {
        self.below(1.0 - VISIBLE)
    }

    /// Where it ends, in thousandths of a core.
    pub(super) fn ends(&self) -> f64 {
        self.below(VISIBLE)
    }

    /// Weighted schedulability in thousandths.
    pub(super) fn weighted(&self) -> f64 {
        weighted_schedulability(&self.0).unwrap_or(0) as f64
    }
}

impl<'p> Curves<'p> {
    pub(super) fn new(plan: &'p FitPlan) -> Self {
        Self { plan, drawn: BTreeMap::new(), judged: 0 }
    }

    /// The curve at a place, if the sources that grow cost so much.
    pub(super) fn shares(&mut self, place: &CurveAt, costs: &[Vec<Duration>]) -> Result<Shares, StudyError> {
        let study = &self.plan.studies[place.study];
        let key = (place.study, place.distribution);
        if !self.drawn.contains_key(&key) {
            self.drawn.insert(key, all_sets(study, place.distribution, self.plan.sets)?);
        }
        let only = self.only(study, place, costs);
        let judge = Judge::new(&only);
        let point = |(cap, sets): &(u64, Vec<Vec<Task>>)| {
            let found = sets.iter().filter(|set| judge.judge(0, set).contains(&Found::Schedulable));
            Point { cap: *cap, schedulable: found.count() as u64, sets: sets.len() as u64 }
        };
        let points: Vec<Point> = self.drawn[&key].par_iter().map(point).collect();
        self.judged += points.iter().map(|point| point.sets).sum::<u64>();
        Ok(Shares(points))
    }

    /// The study with one distribution and one curve, inflated by what is tried.
    fn only(&self, study: &StudyPlan, place: &CurveAt, costs: &[Vec<Duration>]) -> StudyPlan {
        let is_it = |curve: &&Curve| curve.name == place.curve && curve.working_set == place.size;
        let curve = study.curves.iter().find(is_it);
        let mut inflation: Inflation = curve
            .and_then(|curve| study.inflations.get(curve.inflation))
            .map_or_else(Inflation::default, Clone::clone);
        if let Some(table) = self.plan.table_of(place) {
            inflation.overheads = Some(self.plan.tables[table].with(&self.plan.threads, &costs[table]));
        }
        StudyPlan {
            distributions: vec![study.distributions[place.distribution].clone()],
            skips: vec![study.skips[place.distribution].clone()],
            inflations: vec![inflation],
            curves: curve.map(|curve| Curve { inflation: 0, ..curve.clone() }).into_iter().collect(),
            ..study.clone()
        }
    }
}

/// The first sets of each cap.
fn all_sets(study: &StudyPlan, distribution: usize, count: u64) -> Result<Drawn, StudyError> {
    let (name, distribution) = &study.distributions[distribution];
    let key = distribution.key();
    let at = |&cap: &u64| {
        let share = cap as f64 / 1000.0;
        let one = |index| {
            let mut stream = Stream::of(study.seed, &key, cap, index);
            draw(distribution, share, &mut stream).map(|drawn| drawn.tasks).ok_or_else(|| {
                StudyError::Unreachable { distribution: name.clone(), cap: format!("{share}") }
            })
        };
        Ok((cap, (0..count).map(one).collect::<Result<_, _>>()?))
    };
    study.caps.par_iter().map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_falls_and_ends_between_caps() {
        let points = [(2000, 100), (2500, 100), (3000, 50), (3500, 2), (4000, 0)];
        let shares =
            Shares(points.iter().map(|&(cap, schedulable)| Point { cap, schedulable, sets: 100 }).collect());
        // From 1 to 0.5 within 500: 0.99 after 10.
        assert!((shares.drops() - 2510.0).abs() < 1e-6, "{}", shares.drops());
        assert!((shares.ends() - 3750.0).abs() < 1e-6, "{}", shares.ends());
        let never = Shares(shares.0[..2].to_vec());
        assert_eq!((never.drops(), never.ends()), (3000.0, 3000.0));
        let at_once = Shares(shares.0[4..].to_vec());
        assert_eq!((at_once.drops(), at_once.ends()), (4000.0, 4000.0));
    }
}
