//! Rows as a Perfetto trace: when threads ran, by the sampling period, and a counter track for each column of each subject.

use crate::stream::{Name, Names};
use solo_model::Instant;
use solo_observe::Subject;
use solo_perf::files::Host;
use solo_report::perfetto::{Owner, SampledTrace};
use solo_watch::{Columns, Row, RowKind};
use std::io::{self, Write};

/// Writes counts as rates over their intervals; virtual counters as they are.
pub(crate) struct Trace<W> {
    trace: SampledTrace<W>,
    columns: Columns,
    /// Who threads of this machine are; none where the rows come from elsewhere.
    names: Option<(Names, Host)>,
}

impl<W: Write> Trace<W> {
    /// A trace of rows as they come; where they come from `elsewhere`, names are told.
    pub(crate) fn new(out: W, columns: &Columns, elsewhere: bool) -> Self {
        let names = (!elsewhere).then(|| (Names::default(), Host::new()));
        Self { trace: SampledTrace::new(out), columns: columns.clone(), names }
    }

    /// Who a thread is, told before its first row.
    pub(crate) fn told(&mut self, name: &Name) {
        self.trace.name(Owner::Thread(name.thread), &name.name);
        if name.thread == name.process {
            self.trace.name(Owner::Process(name.process), &name.process_name);
        }
    }

    pub(crate) fn row(&mut self, row: &Row) -> io::Result<()> {
        if let Some((names, files)) = &mut self.names
            && let Some(name) = names.before(row, files)
        {
            self.told(&name);
        }
        let owner = match row.subject {
            Subject::Thread { thread, .. } => Owner::Thread(thread),
            Subject::Tree { process } => Owner::Process(process),
            Subject::Core(core) => Owner::Core(core),
            Subject::Machine => Owner::Machine,
            // Nobody watches tasks of a scenario on Linux.
            Subject::Task(_) => return Ok(()),
        };
        // A counter's value holds from its time stamp on, so it belongs at the beginning of the interval.
        let from = Instant::new(row.at.get().saturating_sub(row.span.get()));
        self.trace.ran(owner, from, row.at)?;
        let span = u128::from(row.span.get().max(1));
        for (name, count) in self.columns.counts.iter().zip(&row.counts) {
            if let Some(count) = count {
                let rate = u128::from(*count) * 1_000_000_000 / span;
                self.trace.value(owner, name, "1/s", from, i64::try_from(rate).unwrap_or(i64::MAX))?;
            }
        }
        for (name, value) in self.columns.virtuals.iter().zip(&row.virtuals) {
            if let Some(value) = value {
                self.trace.value(owner, name, "", from, *value)?;
            }
        }
        if row.kind == RowKind::Exit { self.trace.ended(owner, row.at) } else { Ok(()) }
    }

    pub(crate) fn finish(self) -> io::Result<W> {
        self.trace.finish()
    }
}
