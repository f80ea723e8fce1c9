//! Factors estimated: a trained model over the counters of the core that a task is on.

use super::{Derived, Followed, Monitor, MonitorError, Registered, Turns};
use crate::expr::Expression;
use crate::formula::{Formula, FormulaError};
use crate::rounds::Phase;
use alloc::vec::Vec;
use solo_model::estimate::{Model, Side};
use solo_model::listening::Observed;
use solo_model::sample::{Sample, Why};
use solo_model::{EventId, EventSet, EventTable, Fixed, KindId, MetricId};

/// What a model says of a task, by the kind of core that it is on (PMCTrack 4.1.2, 4.2.2), in integers.
///
/// Where a kind has more events than counters, its sets take turns, a period each. A sudden change of instructions per cycle is
/// another phase: what the round had so far is thrown away (Fig. 7). So is a round that a change of kind has cut off.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Estimate {
    metric: MetricId,
    wants: EventSet,
    sides: Vec<Half>,
    /// All sets of all kinds, one kind after the other; empty where all are counted all the time.
    sets: Vec<EventSet>,
    /// The kind that the task was on last, and the set of it that is to be counted next.
    side: usize,
    next: usize,
    /// The metrics of the round so far.
    values: Vec<Fixed>,
}

/// What is made of the counters of one kind of core.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Half {
    model: Side,
    /// By metric, the set that has its events, and how it is computed.
    metrics: Vec<(usize, Formula)>,
    /// Where its sets begin among all.
    first: usize,
    phase: Phase,
}

impl Estimate {
    /// The monitor that fills `metric` by a model over events of `table`.
    ///
    /// # Errors
    /// If there are no sets, a metric can't be computed, or its events are in none of the sets of its kind.
    pub fn new(metric: MetricId, model: &Model, table: &EventTable) -> Result<Self, MonitorError> {
        let in_turns = model.sides.iter().any(|side| side.sets.len() > 1);
        let mut sides = Vec::new();
        let mut sets: Vec<EventSet> = Vec::new();
        for side in &model.sides {
            if side.sets.is_empty() {
                return Err(MonitorError::NoSets);
            }
            let metrics = side.metrics.iter().map(|text| computed(text, &side.sets, table));
            let metrics = metrics.collect::<Result<_, _>>()?;
            sides.push(Half { model: side.clone(), metrics, first: sets.len(), phase: Phase::default() });
            sets.extend(&side.sets);
        }
        let most = sides.iter().map(|half| half.metrics.len()).max().ok_or(MonitorError::NoModel)?;
        let wants = sets.iter().flat_map(EventSet::iter).collect();
        let sets = if in_turns { sets } else { Vec::new() };
        Ok(Self { metric, wants, sides, sets, side: 0, next: 0, values: alloc::vec![Fixed::ZERO; most] })
    }

    /// Takes in a sample of the set whose turn it is; the estimate at the end of a round.
    fn take(&mut self, sample: &Sample) -> Option<Fixed> {
        let half = self.sides.get_mut(self.side)?;
        let set = core::mem::take(&mut self.next);
        if per_mille(sample).is_some_and(|ipc| half.phase.changes(ipc)) && !self.sets.is_empty() {
            return None;
        }
        for ((of, formula), value) in half.metrics.iter().zip(&mut self.values) {
            if *of == set || self.sets.is_empty() {
                // What can't be computed, for nothing was counted that it divides by, is none of it.
                *value = formula.value(sample).unwrap_or(Fixed::ZERO);
            }
        }
        if self.sets.is_empty() || set + 1 == half.model.sets.len() {
            return half.model.estimate(self.values.get(..half.metrics.len())?);
        }
        self.next = set + 1;
        None
    }
}

/// The set that has all events of an expression, and the expression made ready.
fn computed(text: &str, sets: &[EventSet], table: &EventTable) -> Result<(usize, Formula), MonitorError> {
    let expression = Expression::parse(text).map_err(MonitorError::Expression)?;
    let formula = Formula::new(&expression, table).map_err(MonitorError::Formula)?;
    let events = formula.events();
    let set = sets.iter().position(|set| events.is_within(set));
    let missing = || match events.iter().find(|event| !sets.iter().any(|set| set.contains(*event))) {
        Some(event) => MonitorError::InNoSet { name: table.name(event).into() },
        None => MonitorError::Formula(FormulaError::Unknown { name: text.into() }),
    };
    Ok((set.ok_or_else(missing)?, formula))
}

/// Instructions in a thousand cycles, where both were counted.
fn per_mille(sample: &Sample) -> Option<u64> {
    let (instructions, cycles) = (sample.counts.get(EventId::INSTRUCTIONS)?, sample.counts.get(EventId::CYCLES)?);
    let ipc = (u128::from(instructions) * 1000).checked_div(cycles.into())?;
    Some(u64::try_from(ipc).unwrap_or(u64::MAX))
}

impl Monitor for Estimate {
    fn wants(&self) -> &EventSet {
        &self.wants
    }

    fn turns(&self) -> Option<Turns<'_>> {
        let first = self.sides.get(self.side).map_or(0, |half| half.first);
        let next = u16::try_from(first + self.next).unwrap_or(0);
        (!self.sets.is_empty()).then_some(Turns { of: Followed::Tasks, sets: &self.sets, next })
    }

    fn sample(&mut self, _: &Sample) -> Derived {
        Derived::NONE
    }

    fn sample_on(&mut self, kind: KindId, sample: &Sample) -> Derived {
        let Some(side) = self.sides.iter().position(|half| half.model.kind == kind) else { return Derived::NONE };
        // What a switch has cut short is too little to go by; of a task that was on no core there is nothing to say.
        let counted = sample.counts.iter().any(|(_, count)| count > 0);
        if sample.why != Why::Tick || !counted {
            return Derived::NONE;
        }
        if side != self.side {
            (self.side, self.next) = (side, 0);
            if !self.sets.is_empty() {
                // It was counted by the other kind's set.
                return Derived::NONE;
            }
        }
        if !self.sets.is_empty() && usize::from(sample.set) != self.sides[side].first + self.next {
            return Derived::NONE;
        }
        let estimate = self.take(sample);
        Derived::one(self.metric, estimate)
    }
}

impl Registered for Estimate {
    fn of(metric: MetricId, observed: &Observed, table: &EventTable) -> Result<Self, MonitorError> {
        let asymmetry = observed.asymmetry.as_ref().ok_or(MonitorError::OneKind)?;
        Self::new(metric, asymmetry.model.as_ref().ok_or(MonitorError::NoModel)?, table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;
    use solo_model::estimate::{Factor, Node, Tree};
    use solo_model::{CoreId, Duration, Instant};

    fn set(event: EventId) -> EventSet {
        EventSet::EMPTY.with(EventId::INSTRUCTIONS).with(EventId::CYCLES).with(event)
    }

    /// On kind 0 by instructions per cycle; on kind 1 by two more metrics, in two turns.
    fn model() -> Model {
        let fixed = |text| Fixed::parse(text).expect("a number");
        let split = |metric, at_most| {
            let node = Node::Split { metric, at_most: fixed(at_most), low: 1, high: 2 };
            Tree::new(vec![node, Node::Leaf(fixed("1")), Node::Leaf(fixed("2"))], 3).expect("a tree")
        };
        let metrics = ["instructions / cycles", "1000 * l1_misses / instructions", "1000 * llc_misses / instructions"];
        let side = |kind, sets, metrics: &[&str], trees| Side {
            kind: KindId(kind),
            sets,
            metrics: metrics.iter().map(ToString::to_string).collect(),
            base: fixed("0.5"),
            trees,
        };
        let one = side(0, vec![set(EventId::L1_MISSES)], &metrics[..1], vec![split(0, "1")]);
        let sets = vec![set(EventId::L1_MISSES), set(EventId::LLC_MISSES)];
        let two = side(1, sets, &metrics, vec![split(0, "1"), split(1, "10"), split(2, "5")]);
        Model { factor: Factor::Speedup, sides: vec![one, two] }
    }

    fn sample(set: u16, event: EventId, ipc: u64, misses: u64) -> Sample {
        let counts = [(EventId::INSTRUCTIONS, ipc * 1000), (EventId::CYCLES, 1_000_000), (event, misses * ipc)];
        let counts = counts.into_iter().collect();
        Sample { set, ..Sample::of_core(CoreId(0), Instant::ZERO, Duration::from_millis(200), counts) }
    }

    #[test]
    fn each_kind_has_its_sets_and_its_trees_and_a_round_has_one_phase() {
        let mut monitor = Estimate::new(MetricId(0), &model(), &EventTable::default()).expect("a model");
        let mut take = |kind, set, event, ipc, misses| {
            let found = monitor.sample_on(KindId(kind), &sample(set, event, ipc, misses)).get(MetricId(0));
            let found = found.map(|factor| factor.units() / (Fixed::SCALE / 1000));
            (found, monitor.turns().expect("its sets take turns").next)
        };
        let (l1, llc) = (EventId::L1_MISSES, EventId::LLC_MISSES);
        assert_eq!(take(0, 0, l1, 900, 3), (Some(1500), 0), "0.5 + 1");
        assert_eq!(take(0, 0, l1, 1100, 3), (Some(2500), 0), "0.5 + 2, and no change of phase");
        assert_eq!(take(1, 0, l1, 1100, 3), (None, 1), "the set of the other kind");
        assert_eq!(take(1, 1, l1, 800, 11), (None, 2), "half a round");
        assert_eq!(take(1, 2, llc, 800, 6), (Some(5500), 1), "0.5 + 1 + 2 + 2");
        assert_eq!(take(1, 1, l1, 800, 9), (None, 2));
        assert_eq!(take(1, 2, llc, 2000, 6), (None, 1), "another phase: the round is thrown away");
        assert_eq!(take(1, 2, llc, 2000, 6), (None, 1), "not its turn");
        assert_eq!(take(1, 1, l1, 2000, 9), (None, 2));
        assert_eq!(take(1, 2, llc, 2000, 5), (Some(4500), 1), "0.5 + 2 + 1 + 1");
        assert_eq!(take(0, 1, l1, 900, 3), (None, 0), "back on the first kind");
        assert_eq!(take(9, 0, l1, 900, 3), (None, 0), "of a kind that the model does not know");
    }

    #[test]
    fn a_metric_that_no_set_has_is_refused() {
        let refused = |metric: &str| {
            let mut model = model();
            model.sides[0].metrics[0] = metric.to_string();
            Estimate::new(MetricId(0), &model, &EventTable::default())
        };
        assert_eq!(refused("dram_reads / cycles"), Err(MonitorError::InNoSet { name: "dram_reads".into() }));
        assert!(matches!(refused("nothing / cycles"), Err(MonitorError::Formula(_))));
        assert!(matches!(refused("1 +"), Err(MonitorError::Expression(_))));
        let none = Model { factor: Factor::Speedup, sides: Vec::new() };
        assert_eq!(Estimate::new(MetricId(0), &none, &EventTable::default()), Err(MonitorError::NoModel));
    }
}
