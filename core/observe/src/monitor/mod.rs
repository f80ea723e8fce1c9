//! Monitors: what turns samples into the metrics that policies ask for (PMCTrack 2.2, 4.1).
//!
//! ```text
//!            wants()                     sample(&Sample)                    metric(thread, id)
//!  monitor ─────────▶ machine counts ──────────────────▶ monitor ─▶ Board ◀──────────────────── policy
//! ```
//! A policy knows a metric by its [`MetricId`] alone, never the events behind it: the monitor can be exchanged without a
//! line of the policy. The same monitor runs in the kernel of the simulated machine, on bare metal and over rows of Linux.
//! It computes in fixed point and allocates nothing after its construction.
//!
//! A new one is a file here and a line in [`solo_model::monitors!`], which is what the list below is made of: scenarios of
//! all machines name it then, and `solo watch` has it as a module where it needs nothing but its events. A monitor outside
//! this crate needs neither: the kernel takes any value that implements [`Monitor`].

mod board;

pub use board::Board;

use crate::curve::Curve;
use crate::expr::ExpressionError;
use crate::formula::FormulaError;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt::{self, Debug};
use solo_model::estimate::Asymmetry;
use solo_model::listening::{MonitorKind, Observed};
use solo_model::sample::Sample;
use solo_model::{Bytes, EventId, EventSet, EventTable, Fixed, KindId, MetricId};

/// What a monitor makes of a sample: a few metrics. What a sample says nothing about is absent, not zero.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Derived {
    values: [Option<(MetricId, Fixed)>; Self::MOST],
}

impl Derived {
    /// The most metrics of one monitor.
    pub const MOST: usize = 4;
    /// Nothing.
    pub const NONE: Self = Self { values: [None; Self::MOST] };

    /// One metric, where it has a value.
    pub fn one(metric: MetricId, value: Option<Fixed>) -> Self {
        let mut derived = Self::NONE;
        derived.values[0] = value.map(|value| (metric, value));
        derived
    }

    /// Adds a metric; `None` where there are [`Self::MOST`] of them already.
    pub fn push(&mut self, metric: MetricId, value: Fixed) -> Option<()> {
        *self.values.iter_mut().find(|place| place.is_none())? = Some((metric, value));
        Some(())
    }

    /// The value of a metric, where the sample gave one.
    pub fn get(&self, metric: MetricId) -> Option<Fixed> {
        self.iter().find(|(known, _)| *known == metric).map(|(_, value)| value)
    }

    /// The metrics that have a value.
    pub fn iter(&self) -> impl Iterator<Item = (MetricId, Fixed)> + '_ {
        self.values.iter().flatten().copied()
    }
}

/// A state machine from samples to metrics.
pub trait Monitor: MonitorValue {
    /// The events that it makes its metrics of: without them in a sample's counts it has nothing to say.
    fn wants(&self) -> &EventSet;
    /// The sets that take turns, where it makes its metrics of more events than are counted at the same time. By default all
    /// that it wants is counted all the time.
    fn turns(&self) -> Option<Turns<'_>> {
        None
    }
    /// All its metrics have ids below that of its first and this number.
    fn metrics(&self) -> u16 {
        1
    }
    /// The curve, where it makes one: the points are metrics as well ([`solo_model::MissRateCurve::point`]).
    fn curve(&self) -> Option<&Curve> {
        None
    }
    /// Takes in a sample. `&mut`, for a monitor may remember: phases, averages, rounds of several sets.
    fn sample(&mut self, sample: &Sample) -> Derived;
    /// Takes in a sample that was counted on a core of this kind. Who does not tell kinds apart need not say anything.
    fn sample_on(&mut self, kind: KindId, sample: &Sample) -> Derived {
        let _ = kind;
        self.sample(sample)
    }
}

/// Whose counters the sets of a monitor take turns on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Followed {
    /// Each task has turns of its own, which go on where it goes on (PMCTrack's per-thread mode). Of cores the monitor hears
    /// nothing: what a core counts is of one task's set now and of another's then.
    Tasks,
    /// Each core has turns of its own, whoever is on it (system-wide mode). Of tasks the monitor hears nothing.
    Cores,
}

/// Sets of events that take turns, each for a sampling period, and where they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turns<'m> {
    /// Whose counters they are.
    pub of: Followed,
    /// What is counted together; at least one set, and never others.
    pub sets: &'m [EventSet],
    /// The set that is to be counted next: it is asked at the beginning and after each sample.
    pub next: u16,
}

/// What makes a monitor a value: it can be copied, for each thread has one of its own, and compared, as all that a kernel
/// keeps can. Every `Monitor` that is `Clone` and `PartialEq` has it.
pub trait MonitorValue: Any + Debug + Send + Sync {
    /// A copy.
    fn copied(&self) -> alloc::boxed::Box<dyn Monitor>;
    /// True where `other` is the same monitor in the same state.
    fn same(&self, other: &dyn Monitor) -> bool;
}

impl<T: Monitor + Clone + PartialEq + Debug + Send + Sync + 'static> MonitorValue for T {
    fn copied(&self) -> alloc::boxed::Box<dyn Monitor> {
        alloc::boxed::Box::new(self.clone())
    }

    fn same(&self, other: &dyn Monitor) -> bool {
        (other as &dyn Any).downcast_ref::<T>().is_some_and(|other| self == other)
    }
}

/// Any monitor, as a value that a kernel keeps.
#[derive(Debug)]
pub struct Heard(pub alloc::boxed::Box<dyn Monitor>);

impl Heard {
    /// `monitor`, whichever it is.
    pub fn new(monitor: impl Monitor) -> Self {
        Self(alloc::boxed::Box::new(monitor))
    }
}

impl Clone for Heard {
    fn clone(&self) -> Self {
        Self(self.0.copied())
    }
}

impl PartialEq for Heard {
    fn eq(&self, other: &Self) -> bool {
        self.0.same(other.0.as_ref())
    }
}

impl Eq for Heard {}

/// A monitor that scenarios name.
pub trait Registered: Monitor + Sized {
    /// The monitor that fills `metric` with what is observed, of events of `table`.
    ///
    /// # Errors
    /// If it can't be made of that.
    fn of(metric: MetricId, observed: &Observed, table: &EventTable) -> Result<Self, MonitorError>;
}

/// Why a monitor can't be made.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MonitorError {
    /// It counts an event, and none is said.
    NoEvent,
    /// Its text is no expression.
    Expression(ExpressionError),
    /// Its expression can't be computed from counts.
    Formula(FormulaError),
    /// It counts in turns, and no set is said, or more than 64.
    NoSets,
    /// It tells kinds of cores apart, and there is one kind only.
    OneKind,
    /// It estimates, and there is no model.
    NoModel,
    /// No set that takes a turn has an event of the expression.
    InNoSet {
        /// The event.
        name: String,
    },
}

impl fmt::Display for MonitorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoEvent => f.write_str("it counts an event, and none is said"),
            Self::Expression(error) => write!(f, "{error}"),
            Self::Formula(error) => write!(f, "{error}"),
            Self::OneKind => f.write_str("it tells kinds of cores apart, and all cores are of one kind"),
            Self::NoModel => f.write_str("it estimates, and no model is said"),
            Self::NoSets => f.write_str("it counts in turns, which takes 1 to 64 sets of events"),
            Self::InNoSet { name } => write!(f, "`{name}` is in none of the sets that take turns"),
        }
    }
}

impl core::error::Error for MonitorError {}

macro_rules! list {
    ($(#[doc = $doc:literal] $name:ident = $word:literal, $file:ident: $takes:expr;)+) => {
        $(mod $file; pub use $file::$name;)+

        /// The monitor that fills `metric` with what is observed, of events of `table`.
        ///
        /// # Errors
        /// If it can't be made of that.
        pub fn of(metric: MetricId, observed: &Observed, table: &EventTable) -> Result<Heard, MonitorError> {
            match observed.monitor {
                $(MonitorKind::$name => <$name as Registered>::of(metric, observed, table).map(Heard::new),)+
            }
        }
    };
}

solo_model::monitors!(list);

/// What is observed where `monitor` has to make its metric of `event`, of an expression, or of one over events of `sets` that
/// take turns: with all events that it wants.
///
/// # Errors
/// If the monitor can't be made of that.
pub fn observed(
    monitor: MonitorKind,
    event: Option<EventId>,
    expression: &str,
    sets: &[EventSet],
    table: &EventTable,
) -> Result<Observed, MonitorError> {
    let events = event.into_iter().collect::<Vec<_>>();
    let (sets, capacity) = (sets.to_vec(), Bytes::ZERO);
    let asked = Observed { monitor, events, expression: expression.into(), sets, asymmetry: None, capacity };
    completed(asked, table)
}

/// The same of a monitor that tells kinds of cores apart.
///
/// # Errors
/// If the monitor can't be made of that.
pub fn observed_of_kinds(
    monitor: MonitorKind,
    asymmetry: Asymmetry,
    table: &EventTable,
) -> Result<Observed, MonitorError> {
    let several = |asymmetry: &Asymmetry| {
        let sides = asymmetry.model.iter().flat_map(|model| &model.sides);
        sides
            .clone()
            .any(|side| side.sets.len() > 1)
            .then(|| sides.flat_map(|side| side.sets.clone()).collect())
    };
    let sets: Vec<EventSet> = several(&asymmetry).unwrap_or_default();
    let (events, expression) = (Vec::new(), String::new());
    let (asymmetry, capacity) = (Some(asymmetry), Bytes::ZERO);
    completed(Observed { monitor, events, expression, sets, asymmetry, capacity }, table)
}

fn completed(asked: Observed, table: &EventTable) -> Result<Observed, MonitorError> {
    let wants = of(MetricId(0), &asked, table)?.0.wants().iter().collect();
    Ok(Observed { events: wants, ..asked })
}
