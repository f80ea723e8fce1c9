//! Independent replications on all of the host's cores, told as one run.

use crate::once::{Aside, Heard, Take, once};
use crate::{Control, LabError};
use rayon::prelude::*;
use solo_model::listening::CoreHeard;
use solo_model::replication::Splice;
use solo_model::{Experiment, Instant, PerMille, Record};
use solo_report::Spool;
use solo_sim::{SimulationEnd, Stop};
use solo_workload::TraceImage;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// So many replications may wait to be told.
const WAVE: u64 = 64;

/// How far all replications together have come.
struct Together<'t> {
    name: &'t str,
    control: &'t Control<'t>,
    replications: u64,
    /// Thousandths of a replication.
    done: AtomicU64,
}

impl Together<'_> {
    /// A replication has come `more` thousandths further.
    fn advance(&self, now: Instant, more: u64) {
        let all = self.done.fetch_add(more, Ordering::Relaxed) + more;
        let share = PerMille::new((all / self.replications).min(1000) as u16);
        self.control.progress.reached(self.name, now, share.unwrap_or_default());
    }
}

/// Runs all replications of an experiment, which progress calls `name`, as many at once as there are cores, and tells `take` their records in the
/// order of their numbers: the outcome does not depend on the host. What must wait for its turn is set aside.
pub(crate) fn run(
    (experiment, name): (&Experiment, &str),
    control: &Control<'_>,
    images: &[Arc<TraceImage>],
    aside: Aside<'_>,
    take: &mut Take<'_>,
) -> Result<SimulationEnd, LabError> {
    let together =
        Together { name, control, replications: experiment.replications(), done: AtomicU64::new(0) };
    let mut splice = Splice::new(experiment.tasks.len());
    let mut whole = SimulationEnd {
        stop: Stop::JobsDone,
        end: Instant::ZERO,
        accesses: 0,
        unlocked_lines: 0,
        exhausted: Vec::new(),
        refused_counters: 0,
        heard: Vec::new(),
        curves: Vec::new(),
    };
    for first in (0..together.replications).step_by(WAVE as usize) {
        let numbers = first..(first + WAVE).min(together.replications);
        let runs: Vec<(SimulationEnd, Spool)> = numbers
            .into_par_iter()
            .map(|number| one(&experiment.replication(number), images, aside, &together))
            .collect::<Result<_, _>>()?;
        for (outcome, spool) in runs {
            let mut stopped = outcome.stop == Stop::Interrupted;
            spool.read(|record| {
                stopped |= take(splice.place(record)).is_break() || control.cancel.requested();
                !stopped
            })?;
            whole.end = splice.end(outcome.end);
            whole.accesses += outcome.accesses;
            whole.exhausted.append(&mut outcome.exhausted.clone());
            whole.unlocked_lines = whole.unlocked_lines.max(outcome.unlocked_lines);
            whole.refused_counters += outcome.refused_counters;
            whole.heard.resize(outcome.heard.len(), CoreHeard::default());
            whole.heard.iter_mut().zip(outcome.heard).for_each(|(sum, heard)| *sum += heard);
            if stopped {
                return Ok(SimulationEnd { stop: Stop::Interrupted, ..whole });
            }
            if outcome.stop != Stop::JobsDone {
                whole.stop = outcome.stop;
            }
        }
    }
    Ok(whole)
}

/// Runs one replication and sets its records aside until those before it have been told.
fn one(
    experiment: &Experiment,
    images: &[Arc<TraceImage>],
    aside: Aside<'_>,
    together: &Together<'_>,
) -> Result<(SimulationEnd, Spool), LabError> {
    let mut spool = match aside {
        Aside::Memory => Spool::in_memory()?,
        Aside::Disk(dir) => Spool::new(dir)?,
    };
    let mut failure = None;
    let mut take = |record: Record| match spool.write(&record) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            failure = Some(error);
            ControlFlow::Break(())
        }
    };
    // What of the whole is this replication's.
    let own = AtomicU64::new(0);
    let share = |now, done: PerMille| {
        let done = u64::from(done.get());
        let more = done.saturating_sub(own.load(Ordering::Relaxed));
        own.fetch_add(more, Ordering::Relaxed);
        together.advance(now, more);
    };
    let mut heard = Heard { take: &mut take, share: &share, control: together.control };
    let outcome = once(experiment, images, &mut heard)?;
    match failure {
        Some(error) => Err(error.into()),
        None => Ok((outcome, spool)),
    }
}
