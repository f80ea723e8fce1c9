//! Running an experiment on the simulated machine.

use crate::error::Named;
use crate::once::{Aside, Heard, Take, once};
use crate::{Control, LabError, Recordings, bounds, diagnosis, replicate};
use solo_model::text::counted;
use solo_model::{Experiment, JobRecord, Record};
use solo_report::{
    EndReason, EndedTask, FinishedRun, Manifest, RecordHasher, Report, RunEnd, RunError, RunWriter,
    Shortfalls, StopOn, StopWatch, Summary, System,
};
use solo_sim::{SimError, Stop};
use solo_store::Folder;
use solo_workload::TraceImage;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// An experiment that is to run on the simulated machine.
#[derive(Clone, Copy)]
pub struct Simulation<'s> {
    /// What is to run.
    pub experiment: &'s Experiment,
    /// The recorded programs that it replays; what is missing is read from the files that the experiment names.
    pub recordings: &'s Recordings,
    /// What progress calls it.
    pub name: &'s str,
    /// Who hears of it and who may stop it.
    pub control: &'s Control<'s>,
    /// What stops it as soon as it happens.
    pub stop_on: Option<StopOn>,
}

/// How a run ended, for its callers.
struct Ended {
    outcome: solo_sim::SimulationEnd,
    /// Why; nothing where the caller stopped it.
    reason: Option<EndReason>,
}

/// Where an experiment comes from, for the manifest of its run.
#[derive(Clone, Debug)]
pub struct Origin<'o> {
    /// The scenario file.
    pub path: &'o Path,
    /// Its text.
    pub source: &'o str,
    /// The command that asked for the run.
    pub command: Vec<String>,
    /// System and processor of the host.
    pub host: String,
    /// The commit that the program was built from, where it knows.
    pub commit: Option<String>,
    /// When it was asked for.
    pub started: Option<jiff::Timestamp>,
}

impl Origin<'_> {
    /// The manifest of a run of this experiment.
    pub(crate) fn manifest(&self, experiment: &Experiment) -> Manifest {
        Manifest {
            command: self.command.clone(),
            host: self.host.clone(),
            system: System::here(),
            commit: self.commit.clone(),
            started: self.started,
            ..Manifest::new(experiment, &self.path.to_string_lossy(), self.source)
        }
    }
}

/// Runs an experiment on the simulated machine, in memory: no file is written, and none read but the recordings that the
/// experiment replays.
///
/// # Errors
/// As [`Simulation::report`].
pub fn run(experiment: &Experiment, control: &Control<'_>) -> Result<Report, LabError> {
    let (recordings, name) = (&Recordings::default(), experiment.name.as_str());
    Simulation { experiment, recordings, name, control, stop_on: None }.report()
}

impl Simulation<'_> {
    /// Runs the experiment in memory: no file is written.
    ///
    /// The report holds the bounds that are proved beside what was seen, and warnings about mechanisms without effect.
    ///
    /// # Errors
    /// Where the experiment can't run, a recording can't be read, or the caller asked to stop.
    pub fn report(&self) -> Result<Report, LabError> {
        self.report_of(|_| {})
    }

    /// The same, while `each` hears every record, in the order of their times.
    ///
    /// # Errors
    /// As [`Simulation::report`].
    pub fn report_of(&self, mut each: impl FnMut(&Record)) -> Result<Report, LabError> {
        let bounds = bounds::bounds(self.experiment);
        let mut summary = Summary::new(self.experiment);
        let outcome = self.observe(Aside::Memory, &mut |record: Record| {
            each(&record);
            summary.add(&record);
        })?;
        let report = summary.finish(outcome.end).with_outcome(&outcome).with_bounds(&bounds);
        let warnings = diagnosis::warnings(self.experiment, &report);
        Ok(report.with_warnings(warnings))
    }

    /// Runs the experiment and keeps its records, its report and what it takes to repeat it in a folder that was taken
    /// for it.
    ///
    /// # Errors
    /// As [`Simulation::report`], and where the folder can't be written; it then stays incomplete.
    pub fn into_directory(&self, origin: &Origin<'_>, folder: &Folder) -> Result<FinishedRun, LabError> {
        // Before anything is written: a recording may have changed.
        let images = self.recordings.of(self.experiment)?;
        // Or the machine is not able to do it.
        let lacks = |lack| LabError::Simulation(Named::new(SimError::Lacks(lack), self.experiment));
        solo_hal::admit(self.experiment, &solo_sim::caps(self.experiment)).map_err(lacks)?;
        let manifest = origin.manifest(self.experiment);
        let writer = RunWriter::create_in(folder.clone(), manifest, self.experiment, origin.source)?;
        let examined = self.experiment.clone();
        let writer = writer
            .with_bounds(bounds::bounds(self.experiment))
            .with_warnings(move |report| diagnosis::warnings(&examined, report));
        let mut sink = Sink { writer, failure: None };
        let ended = self.drive(&images, Aside::Disk(folder.path()), &mut |record| sink.take(&record))?;
        if let Some(error) = sink.failure {
            return Err(error.into());
        }
        Ok(sink.writer.finish(self.outcome(&ended)?)?)
    }

    /// Runs the experiment for the hash of its records alone: BLAKE3 in hexadecimal digits.
    ///
    /// # Errors
    /// As [`Simulation::report`].
    pub fn record_hash(&self) -> Result<String, LabError> {
        let mut hasher = RecordHasher::new();
        self.observe(Aside::Disk(&std::env::temp_dir()), &mut |record: Record| hasher.add(&record))?;
        Ok(hasher.finish().to_string())
    }

    /// Runs the experiment for what its jobs were like.
    ///
    /// # Errors
    /// As [`Simulation::report`].
    pub fn jobs(&self, mut each: impl FnMut(&JobRecord)) -> Result<(), LabError> {
        self.records(|record| {
            if let Record::Job(job) = record {
                each(job);
            }
        })
    }

    /// Runs the experiment for its records, which are kept nowhere.
    ///
    /// # Errors
    /// As [`Simulation::report`].
    pub(crate) fn records(&self, mut each: impl FnMut(&Record)) -> Result<(), LabError> {
        self.observe(Aside::Disk(&std::env::temp_dir()), &mut |record| each(&record))?;
        Ok(())
    }

    /// Runs to the end and hands every record to `take`.
    fn observe(&self, aside: Aside<'_>, take: &mut dyn FnMut(Record)) -> Result<RunEnd, LabError> {
        let images = self.recordings.of(self.experiment)?;
        let ended = self.drive(&images, aside, &mut |record| {
            take(record);
            ControlFlow::Continue(())
        })?;
        self.outcome(&ended)
    }

    fn outcome(&self, ended: &Ended) -> Result<RunEnd, LabError> {
        let outcome = RunEnd { stop_on: self.stop_on, ..outcome_of(&ended.outcome, ended.reason)? };
        Ok(outcome)
    }

    /// Runs with all replications, until what is to stop it or the caller does.
    fn drive(
        &self,
        images: &[Arc<TraceImage>],
        aside: Aside<'_>,
        take: &mut Take<'_>,
    ) -> Result<Ended, LabError> {
        let mut watch = self.stop_on.map(StopWatch::new);
        let mut stopped = None;
        let heard: &mut Take<'_> = &mut |record: Record| {
            let at = record.at();
            let over = watch.as_mut().is_some_and(|watch| watch.is_over(&record));
            take(record)?;
            if over {
                stopped = Some(at);
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        let mut outcome = if self.experiment.replications() > 1 {
            replicate::run((self.experiment, self.name), self.control, images, aside, heard)?
        } else {
            let share = |now, done| self.control.progress.reached(self.name, now, done);
            once(self.experiment, images, &mut Heard { take: heard, share: &share, control: self.control })?
        };
        self.control.progress.ended(self.name);
        if let (Some(watch), Some(at)) = (&mut watch, stopped) {
            outcome.end = at;
            // One that takes no more says so itself.
            let _ = watch.unfinished(at).try_for_each(take);
        }
        let reason = if stopped.is_some() { Some(EndReason::Stopped) } else { end_reason(outcome.stop) };
        Ok(Ended { outcome, reason })
    }
}

/// How a run ended, for reports; `reason` where it is another than the machine's.
pub(crate) fn outcome_of(
    ended: &solo_sim::SimulationEnd,
    reason: Option<EndReason>,
) -> Result<RunEnd, LabError> {
    let solo_sim::SimulationEnd {
        stop,
        end,
        unlocked_lines,
        refused_counters,
        ref exhausted,
        ref heard,
        ref curves,
        ..
    } = *ended;
    let of = |end: &solo_sim::Exhausted| EndedTask { task: end.task, at: end.at, why: end.error.to_string() };
    Ok(RunEnd {
        end,
        reason: reason.or(end_reason(stop)).ok_or(LabError::Interrupted)?,
        stop_on: None,
        shortfalls: Shortfalls { unlocked_lines, refused_counters },
        ended: exhausted.iter().map(of).collect(),
        heard: heard.clone(),
        curves: curves.clone(),
    })
}

/// Why a run ended, for reports; nothing where its observer stopped it.
pub(crate) const fn end_reason(stop: Stop) -> Option<EndReason> {
    match stop {
        Stop::JobsDone => Some(EndReason::JobsDone),
        Stop::TimeOver => Some(EndReason::TimeOver),
        Stop::CutOff => Some(EndReason::CutOff),
        Stop::Interrupted => None,
    }
}

/// Passes records into the run directory; stops at the first that can't be written.
struct Sink {
    writer: RunWriter,
    failure: Option<RunError>,
}

impl Sink {
    fn take(&mut self, record: &Record) -> ControlFlow<()> {
        match self.writer.write(record) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failure = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

/// System and processor of this host, for manifests.
pub fn host() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{} {}, {}", std::env::consts::OS, std::env::consts::ARCH, counted(cores, "core"))
}
