//! One run of the simulated machine, heard by whoever asked for it.

use crate::error::Named;
use crate::{Control, LabError};
use solo_model::{Experiment, Instant, PerMille, Record};
use solo_sim::Observer;
use solo_workload::TraceImage;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// Where records wait until those before them have been told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Aside<'d> {
    /// In memory.
    Memory,
    /// In files without a name on the disk of this folder.
    Disk(&'d Path),
}

/// Takes a record, and says whether it wants more.
pub(crate) type Take<'t> = dyn FnMut(Record) -> ControlFlow<()> + 't;

/// An observer that hands records on, tells how far the run has come, and stops where the caller asked for it.
pub(crate) struct Heard<'h, 't> {
    pub(crate) take: &'h mut Take<'t>,
    /// Hears simulated time and share.
    pub(crate) share: &'h dyn Fn(Instant, PerMille),
    pub(crate) control: &'h Control<'h>,
}

impl Heard<'_, '_> {
    fn go_on(&self) -> ControlFlow<()> {
        if self.control.cancel.requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Observer for Heard<'_, '_> {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        (self.take)(record)?;
        self.go_on()
    }

    fn progress(&mut self, now: Instant, done: PerMille) -> ControlFlow<()> {
        (self.share)(now, done);
        self.go_on()
    }
}

/// Runs one replication.
pub(crate) fn once(
    experiment: &Experiment,
    images: &[Arc<TraceImage>],
    observer: &mut dyn Observer,
) -> Result<solo_sim::SimulationEnd, LabError> {
    let failed = |error| LabError::Simulation(Named::new(error, experiment));
    solo_sim::run(experiment, images, observer).map_err(failed)
}
