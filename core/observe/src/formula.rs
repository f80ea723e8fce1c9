//! Expressions made ready for a kernel: names have become ids, and evaluation takes no memory.

use crate::expr::{Expression, Operator};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use solo_model::Fixed;
use solo_model::sample::Sample;
use solo_model::{EventId, EventSet, EventTable};

/// The operands that may wait at the same time.
const STACK: usize = 32;

/// One step of the evaluation: operands first, then what is done to them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Number(Fixed),
    Count(EventId),
    Virtual(u16),
    Seconds,
    Negate,
    Combine(Operator),
}

/// An expression over the counts of a sample.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Formula {
    steps: Box<[Step]>,
}

/// Why an expression has no value for a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoValue {
    /// Something that it mentions was not counted.
    NotCounted,
    /// A divisor is zero: nothing happened of what it divides by.
    NothingToDivideBy,
    /// A number leaves the range of [`Fixed`]. Nobody knows how large the value is.
    OutOfRange,
}

/// Why an expression can't be made ready.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FormulaError {
    /// No event of the table has this name.
    Unknown {
        /// The name.
        name: String,
    },
    /// It needs more than so many operands at the same time.
    TooDeep {
        /// How many there may be.
        most: usize,
    },
}

impl fmt::Display for FormulaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name } => write!(f, "no event is called `{name}`"),
            Self::TooDeep { most } => write!(f, "more than {most} numbers wait for each other"),
        }
    }
}

impl core::error::Error for FormulaError {}

impl Formula {
    /// Makes `expression` ready: columns are events of `table` by name, `virtN` virtual counters by place, and `seconds`.
    ///
    /// # Errors
    /// If a name is unknown, or more operands wait at the same time than there is room for.
    pub fn new(expression: &Expression, table: &EventTable) -> Result<Self, FormulaError> {
        let mut steps = Vec::new();
        translate(expression, table, &mut steps)?;
        let mut waiting = 0_usize;
        for step in &steps {
            match step {
                Step::Negate => {}
                Step::Combine(_) => waiting -= 1,
                _ => waiting += 1,
            }
            if waiting > STACK {
                return Err(FormulaError::TooDeep { most: STACK });
            }
        }
        Ok(Self { steps: steps.into() })
    }

    /// The events that it mentions.
    pub fn events(&self) -> EventSet {
        let event = |step: &Step| match step {
            Step::Count(event) => Some(*event),
            _ => None,
        };
        self.steps.iter().filter_map(event).collect()
    }

    /// The value for a sample.
    ///
    /// # Errors
    /// Why it has none. Steps are tried from the left: the first one that has no value says so.
    pub fn value(&self, sample: &Sample) -> Result<Fixed, NoValue> {
        let mut stack = [Fixed::ZERO; STACK];
        let mut top = 0;
        for step in &self.steps {
            let value = match *step {
                Step::Number(number) => number,
                Step::Count(event) => Fixed::from(sample.counts.get(event).ok_or(NoValue::NotCounted)?),
                Step::Virtual(place) => {
                    let read = sample.virtuals.get(usize::from(place)).copied().flatten();
                    Fixed::from(read.ok_or(NoValue::NotCounted)?)
                }
                Step::Seconds => Fixed::seconds(sample.span.get()),
                Step::Negate => {
                    top -= 1;
                    stack[top].negative().ok_or(NoValue::OutOfRange)?
                }
                Step::Combine(operator) => {
                    top -= 2;
                    if operator == Operator::Divide && stack[top + 1] == Fixed::ZERO {
                        return Err(NoValue::NothingToDivideBy);
                    }
                    operator.apply(stack[top], stack[top + 1]).ok_or(NoValue::OutOfRange)?
                }
            };
            stack[top] = value;
            top += 1;
        }
        Ok(stack[0])
    }
}

fn translate(expression: &Expression, table: &EventTable, steps: &mut Vec<Step>) -> Result<(), FormulaError> {
    match expression {
        Expression::Number(number) => steps.push(Step::Number(*number)),
        Expression::Column(name) => steps.push(column(name, table)?),
        Expression::Negative(inner) => {
            translate(inner, table, steps)?;
            steps.push(Step::Negate);
        }
        Expression::Binary(operator, left, right) => {
            translate(left, table, steps)?;
            translate(right, table, steps)?;
            steps.push(Step::Combine(*operator));
        }
    }
    Ok(())
}

fn column(name: &str, table: &EventTable) -> Result<Step, FormulaError> {
    if name == "seconds" {
        return Ok(Step::Seconds);
    }
    if let Some(event) = table.find(name) {
        return Ok(Step::Count(event));
    }
    let place = name.strip_prefix("virt").and_then(|digits| digits.parse().ok());
    place.map(Step::Virtual).ok_or_else(|| FormulaError::Unknown { name: name.into() })
}
