//! From readings to rows, totals and doubts.

use crate::outcome::{Sink, Total};
use crate::row::{Columns, Row, RowKind, WatchDoubts};
use solo_model::Instant;
use solo_observe::{Fixed, Metric, Subject};
use solo_perf::group::GroupReading;
use std::io;

impl Counts {
    /// What the column of this name has counted.
    pub(super) fn of(&self, columns: &Columns, name: &str) -> Option<u64> {
        let column = columns.counts.iter().position(|column| column == name)?;
        self.counts.get(column).copied().flatten()
    }
}

/// Numbers rows, sums them up and hands them on.
pub(super) struct Recorder<'a> {
    pub(super) columns: Columns,
    metrics: &'a [Metric],
    sink: &'a mut dyn Sink,
    pub(super) totals: Vec<Total>,
    pub(super) doubts: WatchDoubts,
    /// What all subjects counted since the last tick.
    pub(super) tick: Vec<Option<u64>>,
    /// Set when the output refuses; nothing is written any more.
    pub(super) output_error: Option<io::Error>,
}

/// The counts of a row in the making.
pub(super) struct Counts {
    set: usize,
    counts: Vec<Option<u64>>,
    /// True where the subject ran at all.
    pub(super) ran: bool,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(columns: Columns, metrics: &'a [Metric], sink: &'a mut dyn Sink) -> Self {
        let total = |name: &String| Total { name: name.clone(), count: None, enabled: 0, running: 0 };
        let totals = columns.counts.iter().map(total).collect();
        let tick = vec![None; columns.counts.len()];
        Self { columns, metrics, sink, totals, doubts: WatchDoubts::NONE, tick, output_error: None }
    }

    /// Tells the sink what rows will mean, once it is certain that there will be some.
    pub(super) fn begin(&mut self) {
        self.output_error = self.sink.begin(&self.columns).err();
    }

    /// A row's counts, none yet.
    pub(super) fn counts(&self, set: usize) -> Counts {
        Counts { set, counts: vec![None; self.columns.counts.len()], ran: false }
    }

    /// Takes a group's growth into a row's counts, into the totals and into the doubts.
    pub(super) fn take(&mut self, counts: &mut Counts, events: &[usize], growth: &GroupReading) {
        if growth.enabled > 0 {
            counts.ran = true;
            self.judge(growth);
        }
        let counted = growth.running > 0 || growth.enabled == 0;
        for (event, count) in events.iter().zip(&growth.counts) {
            let Some(column) = self.columns.sets.get(counts.set).and_then(|set| set.get(*event)) else {
                continue;
            };
            let total = &mut self.totals[*column];
            total.enabled += growth.enabled;
            total.running += growth.running;
            if counted {
                *counts.counts[*column].get_or_insert(0) += count;
                *total.count.get_or_insert(0) += count;
                *self.tick[*column].get_or_insert(0) += count;
            }
        }
    }

    /// Was the group on the counters whenever it should have been?
    fn judge(&mut self, growth: &GroupReading) {
        if growth.running >= growth.enabled {
            return;
        }
        if growth.running == 0 {
            self.doubts.never_counted += 1;
            return;
        }
        let share = (u128::from(growth.running) * 1000 / u128::from(growth.enabled)) as u16;
        // Times are read one after the other: a thousandth is no multiplexing.
        if share < 999 {
            self.doubts.multiplexed += 1;
            self.doubts.least_counted_per_mille = self.doubts.least_counted_per_mille.min(share);
        }
    }

    /// Completes a row and hands it on.
    pub(super) fn emit(
        &mut self,
        subject: Subject,
        kind: RowKind,
        from: Instant,
        at: Instant,
        counts: Counts,
        virtuals: Vec<Option<i64>>,
    ) {
        self.hand_on(subject, kind, from, at, counts.set, counts.counts, virtuals);
    }

    /// The machine's row of a tick: virtual counters beside the sums over all subjects.
    pub(super) fn emit_machine(
        &mut self,
        set: usize,
        from: Instant,
        at: Instant,
        virtuals: Vec<Option<i64>>,
    ) {
        let counts = self.tick.clone();
        self.hand_on(Subject::Machine, RowKind::Tick, from, at, set, counts, virtuals);
    }

    /// A tick is over.
    pub(super) fn end_tick(&mut self) {
        self.tick.fill(None);
        if self.output_error.is_none() {
            self.output_error = self.sink.tick(&self.doubts).err();
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a row, in its order")]
    fn hand_on(
        &mut self,
        subject: Subject,
        kind: RowKind,
        from: Instant,
        at: Instant,
        set: usize,
        counts: Vec<Option<u64>>,
        virtuals: Vec<Option<i64>>,
    ) {
        if self.output_error.is_some() {
            return;
        }
        self.doubts.rows += 1;
        let mut row = Row {
            number: self.doubts.rows,
            at,
            span: at.since(from),
            subject,
            kind,
            set,
            counts,
            virtuals,
            metrics: Vec::new(),
        };
        row.metrics = self
            .metrics
            .iter()
            .map(|metric| metric.expression.value(&|name| row.value(&self.columns, name)).map(real))
            .collect();
        if let Err(error) = self.sink.row(&row) {
            self.doubts.rows -= 1;
            self.output_error = Some(error);
        }
    }
}

/// A metric as the real number that files and terminals show.
pub fn real(value: Fixed) -> f64 {
    value.units() as f64 / Fixed::SCALE as f64
}

/// The names that a metric uses and no column has.
pub(super) fn unknown_names(metric: &Metric, columns: &Columns) -> Vec<String> {
    let numbered = |name: &str, prefix: &str, count: usize| {
        name.strip_prefix(prefix).and_then(|digits| digits.parse::<usize>().ok()).is_some_and(|i| i < count)
    };
    let widest = columns.sets.iter().map(Vec::len).max().unwrap_or(0);
    let known = |name: &&str| {
        *name == "seconds"
            || columns.counts.iter().chain(&columns.virtuals).any(|column| column == name)
            || numbered(name, "pmc", widest)
            || numbered(name, "virt", columns.virtuals.len())
    };
    metric.expression.columns().into_iter().filter(|name| !known(name)).map(str::to_owned).collect()
}
