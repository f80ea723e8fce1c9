//! A metric by expression.

use super::{Derived, Monitor, MonitorError, Registered};
use crate::expr::{Expression, Metric};
use crate::formula::{Formula, FormulaError, NoValue};
use solo_model::listening::Observed;
use solo_model::sample::Sample;
use solo_model::{EventSet, EventTable, Fixed, MetricId};

/// A metric by expression: instructions per cycle, a miss rate, whatever can be written down.
#[derive(Clone, PartialEq, Debug)]
pub struct Rate {
    metric: MetricId,
    formula: Formula,
    /// What is told where nothing happened of what the formula divides by.
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

    /// The same, and `value` where nothing was counted that it divides by. Without it the metric keeps its last value, which is
    /// then an older sample's, as it does where a number leaves the range of [`Fixed`]: that is not quiet, it is not known.
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
        let value = match self.formula.value(sample) {
            Ok(value) => Some(value),
            Err(NoValue::NothingToDivideBy) => self.otherwise,
            Err(NoValue::NotCounted | NoValue::OutOfRange) => None,
        };
        Derived::one(self.metric, value)
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
