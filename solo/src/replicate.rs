//! Independent replications on all of the host's cores, told as one run.

use crate::exit::Failure;
use crate::interrupt;
use crate::progress::Bar;
use crate::simulate;
use rayon::prelude::*;
use solo_model::replication::Splice;
use solo_model::{Experiment, Instant, PerMille, Record};
use solo_report::{RunError, Spool};
use solo_sim::{Observer, Outcome, Stop};
use solo_workload::TraceImage;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// So many replications may wait on the disk to be told.
const WAVE: u64 = 64;

/// How far all replications together have come.
struct Together<'a> {
    bar: &'a Bar,
    replications: u64,
    /// Thousandths of a replication.
    done: AtomicU64,
}

/// Keeps the records of one replication until those before it have been told.
struct Keeper<'a> {
    spool: Spool,
    failure: Option<RunError>,
    together: &'a Together<'a>,
    /// What of `together` is this replication's.
    done: u64,
}

impl Observer for Keeper<'_> {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        if let Err(error) = self.spool.write(&record) {
            self.failure = Some(error);
            return ControlFlow::Break(());
        }
        if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn progress(&mut self, now: Instant, done: PerMille) -> ControlFlow<()> {
        let done = u64::from(done.get());
        let more = done.saturating_sub(self.done);
        self.done += more;
        let all = self.together.done.fetch_add(more, Ordering::Relaxed) + more;
        let share = PerMille::new((all / self.together.replications).min(1000) as u16);
        self.together.bar.show(now, share.unwrap_or_default());
        if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Runs all replications of an experiment, as many at once as there are cores, and tells `observer` their records in
/// the order of their numbers: the outcome does not depend on the host. What waits for its turn waits on the disk of
/// `dir`.
pub(crate) fn run(
    experiment: &Experiment,
    traces: &[Arc<TraceImage>],
    observer: &mut dyn Observer,
    dir: &Path,
    bar: &Bar,
) -> Result<Outcome, Failure> {
    let together = Together { bar, replications: experiment.replications(), done: AtomicU64::new(0) };
    let mut splice = Splice::new(experiment.tasks.len());
    let mut whole = Outcome { stop: Stop::JobsDone, end: Instant::ZERO, accesses: 0, unlocked_lines: 0 };
    for first in (0..together.replications).step_by(WAVE as usize) {
        let numbers = first..(first + WAVE).min(together.replications);
        let runs: Vec<(Outcome, Spool)> = numbers
            .into_par_iter()
            .map(|number| one(&experiment.replication(number), traces, dir, &together))
            .collect::<Result<_, _>>()?;
        for (outcome, spool) in runs {
            let mut stopped = outcome.stop == Stop::Interrupted;
            spool.read(|record| {
                stopped |= observer.record(splice.place(record)).is_break();
                !stopped
            })?;
            whole.end = splice.end(outcome.end);
            whole.accesses += outcome.accesses;
            whole.unlocked_lines = whole.unlocked_lines.max(outcome.unlocked_lines);
            if stopped {
                return Ok(Outcome { stop: Stop::Interrupted, ..whole });
            }
            if outcome.stop != Stop::JobsDone {
                whole.stop = outcome.stop;
            }
        }
    }
    Ok(whole)
}

fn one(
    experiment: &Experiment,
    traces: &[Arc<TraceImage>],
    dir: &Path,
    together: &Together<'_>,
) -> Result<(Outcome, Spool), Failure> {
    let mut keeper = Keeper { spool: Spool::new(dir)?, failure: None, together, done: 0 };
    let outcome = simulate::once(experiment, traces, &mut keeper)?;
    match keeper.failure {
        Some(error) => Err(error.into()),
        None => Ok((outcome, keeper.spool)),
    }
}
