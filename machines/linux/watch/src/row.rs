//! What an observation yields: rows, and what to hold against them.

use solo_model::event::{Definition, TableError, Unit};
pub use solo_model::sample::Subject;
use solo_model::text::counted;
use solo_model::{Counts, Duration, EventId, EventTable, Instant, Sample};
use solo_observe::{EventGroup, Fixed};

/// Why there is a row; see [`Why`](solo_model::sample::Why).
pub use solo_model::sample::Why as RowKind;

/// A sample as it is written down: numbered, with the metrics that were asked for.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The row's number, from 1, over all subjects.
    pub number: u64,
    /// The end of the interval, since the observation began.
    pub at: Instant,
    /// The length of the interval.
    pub span: Duration,
    /// Whose counts these are.
    pub subject: Subject,
    /// Why there is a row.
    pub kind: RowKind,
    /// Which event set was counted, from 0.
    pub set: usize,
    /// One value for each of [`Columns::counts`]; `None` for events of other sets and for what could not be
    /// counted.
    pub counts: Vec<Option<u64>>,
    /// One value for each of [`Columns::virtuals`].
    pub virtuals: Vec<Option<i64>>,
    /// One value for each of [`Columns::metrics`].
    pub metrics: Vec<Option<f64>>,
}

impl Row {
    /// The value that an expression means by a name: a column, `pmcN` or `virtN` by its place in the row's set,
    /// or `seconds` for the row's length.
    pub fn value(&self, columns: &Columns, name: &str) -> Option<Fixed> {
        let place = |prefix| name.strip_prefix(prefix).and_then(|digits| digits.parse::<usize>().ok());
        let count = |column: usize| self.counts.get(column).copied().flatten().map(Fixed::from);
        let level = |column: usize| self.virtuals.get(column).copied().flatten().map(Fixed::from);
        if name == "seconds" {
            return Some(Fixed::seconds(self.span.get()));
        }
        if let Some(place) = place("pmc") {
            return count(*columns.sets.get(self.set)?.get(place)?);
        }
        if let Some(place) = place("virt") {
            return level(place);
        }
        if let Some(column) = columns.counts.iter().position(|column| column == name) {
            return count(column);
        }
        level(columns.virtuals.iter().position(|column| column == name)?)
    }

    /// The sample behind it; `ids` are those of [`Columns::events`]. What was not counted is absent from its counts.
    pub fn sample(&self, ids: &[EventId]) -> Sample {
        let counted = |(event, count): (&EventId, &Option<u64>)| Some((*event, (*count)?));
        let counts: Counts = ids.iter().zip(&self.counts).filter_map(counted).collect();
        Sample {
            at: self.at,
            span: self.span,
            subject: self.subject,
            why: self.kind,
            set: u16::try_from(self.set).unwrap_or(u16::MAX),
            counts,
            virtuals: self.virtuals.clone(),
        }
    }
}

/// What the values of rows mean.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Columns {
    /// Counted events over all sets, each name once.
    pub counts: Vec<String>,
    /// For each set, the columns of its events in order.
    pub sets: Vec<Vec<usize>>,
    /// Virtual counters.
    pub virtuals: Vec<String>,
    /// Metrics.
    pub metrics: Vec<String>,
}

impl Columns {
    /// The table of the counted events, and the id of each column: canonical events by their names, others as events of
    /// this observation's own.
    ///
    /// # Errors
    /// If there are more than a table holds, or a name is none.
    pub fn events(&self) -> Result<(EventTable, Vec<EventId>), TableError> {
        let mut table = EventTable::default();
        let mut ids = Vec::with_capacity(self.counts.len());
        for name in &self.counts {
            let own = || Definition {
                name: name.clone().into(),
                unit: Unit::Times,
                meaning: "As the watch was told to count it.".into(),
                signal: None,
                code: None,
            };
            ids.push(match table.find(name) {
                Some(event) => event,
                None => table.define(own())?,
            });
        }
        Ok((table, ids))
    }

    /// The columns of event sets: an event of several sets has one column.
    pub fn of<'a>(sets: impl IntoIterator<Item = &'a EventGroup>) -> Self {
        let mut columns = Self::default();
        for set in sets {
            let mut places = Vec::new();
            for event in &set.events {
                let known = columns.counts.iter().position(|name| *name == event.name);
                places.push(known.unwrap_or_else(|| {
                    columns.counts.push(event.name.clone());
                    columns.counts.len() - 1
                }));
            }
            columns.sets.push(places);
        }
        columns
    }
}

/// What to hold against the rows: everything that was lost, late or only partly counted.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct WatchDoubts {
    /// Rows that were given out.
    pub rows: u64,
    /// Samples that the kernel had no room for.
    pub lost: u64,
    /// Times that the kernel slowed sampling down because it took too much time.
    pub throttled: u64,
    /// Ticks that were missed: the one before came so late that they were due already.
    pub late_ticks: u64,
    /// How long a tick came after its time at worst: less than a period where none was missed.
    pub latest_tick: Duration,
    /// Readings in which a hardware counter was shared in time with others.
    pub multiplexed: u64,
    /// The smallest share of its time that an event was counted, in thousandths.
    pub least_counted_per_mille: u16,
    /// Readings in which an event had never been on a counter.
    pub never_counted: u64,
    /// Moves of observed threads from one CPU to another.
    pub migrations: u64,
    /// Threads that were observed.
    pub threads: u64,
    /// Threads that ended before they could be observed, or could not be.
    pub threads_missed: u64,
    /// CPUs that went away while they were observed.
    pub cores_gone: u64,
}

impl WatchDoubts {
    /// Nothing observed yet.
    pub const NONE: Self = Self {
        rows: 0,
        lost: 0,
        throttled: 0,
        late_ticks: 0,
        latest_tick: Duration::ZERO,
        multiplexed: 0,
        least_counted_per_mille: 1000,
        never_counted: 0,
        migrations: 0,
        threads: 0,
        threads_missed: 0,
        cores_gone: 0,
    };

    /// In one line, the zeros that matter included.
    pub fn line(&self) -> String {
        use std::fmt::Write;
        let mut line = format!(
            "doubts: {}, {} lost, {} missed (worst delay {}), {}",
            counted(self.rows, "row"),
            counted(self.lost, "sample"),
            counted(self.late_ticks, "tick"),
            self.latest_tick,
            counted(self.migrations, "migration")
        );
        let mut more = |text: core::fmt::Arguments<'_>| {
            let _ = line.write_fmt(text);
        };
        match self.multiplexed {
            0 => more(format_args!(", no multiplexing")),
            times => more(format_args!(
                ", {times} readings multiplexed (an event counted {}.{} % of its time at least; counts are not scaled)",
                self.least_counted_per_mille / 10,
                self.least_counted_per_mille % 10
            )),
        }
        if self.never_counted > 0 {
            more(format_args!(", {} readings of events that never got a counter", self.never_counted));
        }
        if self.throttled > 0 {
            more(format_args!(", sampling throttled {}", counted(self.throttled, "time")));
        }
        if self.threads_missed > 0 {
            more(format_args!(", {} not observed", counted(self.threads_missed, "thread")));
        }
        if self.cores_gone > 0 {
            more(format_args!(", {} went away", counted(self.cores_gone, "CPU")));
        }
        line
    }
}
