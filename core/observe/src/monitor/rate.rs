//! A metric by expression.

use super::{Derived, Monitor, MonitorError, Registered};
use crate::expr::{Expression, Metric};
use crate::formula::{Formula, FormulaError};
use solo_model::listening::Observed;
use solo_model::sample::Sample;
use solo_model::{EventSet, EventTable, Fixed, MetricId};

/// A metric by expression: instructions per cycle, a miss rate, whatever can be written down.
#[derive(Clone, PartialEq, Debug)]
pub struct Rate {
    metric: MetricId,
    formula: Formula,
    /// What is told where the formula has no value.
    otherwise: Option<Fixed>,
    wants: EventSet,
}

impl Rate {
    /// A monitor for an expression over events of `table`, `virtN` and `seconds`.
    ///
    /// # Errors
    /// If a name is no event's, or the expression needs more than the formula's stack.
    pub fn new(metric: MetricId, expression: &Expression, table: &EventTable) -> Result<Self, FormulaError> {
        let formula = Formula::new(expression, table)?;
        Ok(Self { metric, wants: formula.events(), formula, otherwise: None })
    }

    /// The same, and `value` where the expression has none: nothing was counted that it divides by. Without it the metric keeps
    /// its last value, which is then an older sample's.
    #[must_use]
    pub fn or(self, value: Fixed) -> Self {
        Self { otherwise: Some(value), ..self }
    }

    /// The same for an expression with a name.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn of(metric: MetricId, named: &Metric, table: &EventTable) -> Result<Self, FormulaError> {
        Self::new(metric, &named.expression, table)
    }
}

impl Monitor for Rate {
    fn wants(&self) -> &EventSet {
        &self.wants
    }

    fn sample(&mut self, sample: &Sample) -> Derived {
        Derived::one(self.metric, self.formula.value(sample).or(self.otherwise))
    }
}

impl Registered for Rate {
    fn of(metric: MetricId, observed: &Observed, table: &EventTable) -> Result<Self, MonitorError> {
        let expression = Expression::parse(&observed.expression).map_err(MonitorError::Expression)?;
        // A period in which nothing was counted that it divides by is a quiet one.
        let rate = Self::new(metric, &expression, table).map_err(MonitorError::Formula)?;
        Ok(rate.or(Fixed::ZERO))
    }
}
