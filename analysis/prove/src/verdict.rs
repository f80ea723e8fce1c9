//! What a test can answer.

use crate::task::Ticks;
use core::fmt;

/// The answer of one test for one task set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum TestAnswer {
    /// No job of any task ever misses its deadline under the test's scheduling policy.
    Accepted,
    /// The test cannot tell: the set may or may not be schedulable.
    NotProved,
    /// No scheduler at all can meet every deadline, or, for an exact test, the test's policy misses one.
    Infeasible(Infeasible),
    /// The test says nothing about sets of this kind.
    NotApplicable(Reason),
    /// The effort ran out first.
    OutOfTime,
}

impl TestAnswer {
    /// True, false, or `None` where the test gave no answer: `true`, `false` and `null` in JSON.
    pub const fn decided(self) -> Option<bool> {
        match self {
            Self::Accepted => Some(true),
            Self::NotProved | Self::Infeasible(_) => Some(false),
            Self::NotApplicable(_) | Self::OutOfTime => None,
        }
    }
    /// True for [`TestAnswer::Accepted`].
    pub const fn accepts(self) -> bool {
        matches!(self, Self::Accepted)
    }
}

impl fmt::Display for TestAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted => f.write_str("accepted"),
            Self::NotProved => f.write_str("not proved"),
            Self::Infeasible(why) => write!(f, "infeasible: {why}"),
            Self::NotApplicable(why) => write!(f, "not applicable: {why}"),
            Self::OutOfTime => f.write_str("out of time"),
        }
    }
}

/// The necessary condition that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Infeasible {
    /// The utilisations sum up to more than the number of cores.
    Utilization,
    /// The task at this position cannot meet its deadline even alone.
    LongerThanDeadline(usize),
    /// The task at this position executes for longer than its period: its jobs fall behind for ever on any cores.
    LongerThanPeriod(usize),
    /// Jobs released together must execute for longer than all cores can within this time.
    Demand(Ticks),
    /// Under the test's own policy the task at this position misses a deadline.
    Misses(usize),
}

impl fmt::Display for Infeasible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Utilization => f.write_str("the utilisation exceeds the cores"),
            Self::LongerThanDeadline(task) => write!(f, "task {task} is longer than its deadline"),
            Self::LongerThanPeriod(task) => write!(f, "task {task} executes for longer than its period"),
            Self::Demand(at) => write!(f, "the work due within {at} exceeds what the cores can do"),
            Self::Misses(task) => write!(f, "task {task} misses its deadline"),
        }
    }
}

/// Why a test says nothing about a set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The theorem needs every deadline to be at most its period.
    DeadlineAbovePeriod,
    /// The theorem needs every deadline to be at least its period.
    DeadlineBelowPeriod,
    /// The theorem needs every deadline to equal its period.
    DeadlineNotPeriod,
    /// The test is for one core.
    ManyCores,
    /// The test is for two cores or more.
    OneCore,
    /// The set names no clusters.
    NoClusters,
    /// The numbers are so large that exact arithmetic would need more than 128 bits.
    NumbersTooLarge,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DeadlineAbovePeriod => "a deadline is longer than its period",
            Self::DeadlineBelowPeriod => "a deadline is shorter than its period",
            Self::DeadlineNotPeriod => "a deadline differs from its period",
            Self::ManyCores => "the set has more than one core",
            Self::OneCore => "the set has one core",
            Self::NoClusters => "the set names no clusters",
            Self::NumbersTooLarge => "the numbers are too large for exact arithmetic",
        })
    }
}

/// Why a computation stopped without a result; tests turn it into a [`TestAnswer`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// The effort ran out.
    OutOfTime,
    /// A product or sum does not fit into 128 bits.
    Overflow,
}

impl From<Stop> for TestAnswer {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::OutOfTime => Self::OutOfTime,
            Stop::Overflow => Self::NotApplicable(Reason::NumbersTooLarge),
        }
    }
}

/// The verdict inside a result of either kind.
pub(crate) fn settle(result: Result<TestAnswer, Stop>) -> TestAnswer {
    result.unwrap_or_else(TestAnswer::from)
}
