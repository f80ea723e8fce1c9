//! Running an experiment on the simulated machine into a run directory.

use crate::exit::Failure;
use crate::interrupt;
use crate::progress::Bar;
use crate::replicate;
use solo_model::{Experiment, Instant, JobRecord, PerMille, Record};
use solo_report::{EndReason, FinishedRun, Manifest, Outcome, RecordHasher, RunError, RunWriter};
use solo_sim::{Observer, SimError, Stop};
use solo_workload::TraceImage;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where an experiment comes from.
pub(crate) struct Origin<'a> {
    /// The scenario file.
    pub(crate) path: &'a Path,
    /// Its text.
    pub(crate) source: &'a str,
}

/// Loads the recorded programs that an experiment replays and makes sure that they are the right ones.
pub(crate) fn traces(experiment: &Experiment) -> Result<Vec<Arc<TraceImage>>, Failure> {
    experiment
        .traces
        .iter()
        .map(|trace| {
            let path = PathBuf::from(&trace.path);
            let bytes = std::fs::read(&path).map_err(|source| Failure::File {
                action: "read",
                path: path.clone(),
                source,
            })?;
            let found = blake3::hash(&bytes).to_hex().to_string();
            if found != trace.hash {
                return Err(Failure::TraceChanged { path, expected: trace.hash.clone(), found });
            }
            let (_, image) = solo_trace::load(&path)?;
            Ok(image)
        })
        .collect()
}

/// Runs an experiment and keeps its records in `dir`.
pub(crate) fn into_directory(
    experiment: &Experiment,
    origin: &Origin<'_>,
    dir: &Path,
    bar: &Bar,
) -> Result<FinishedRun, Failure> {
    let traces = traces(experiment)?;
    let manifest = Manifest {
        command: std::env::args().collect(),
        host: host(),
        started: Some(jiff::Timestamp::now()),
        ..Manifest::new(experiment, &origin.path.to_string_lossy(), origin.source)
    };
    let writer = RunWriter::create(dir, manifest, experiment, origin.source)?;
    let examined = experiment.clone();
    let writer = writer
        .with_bounds(crate::commands::check::bounds(experiment))
        .with_warnings(move |report| crate::diagnosis::warnings(&examined, report));
    let mut sink = Sink { writer, failure: None, bar };
    let outcome = simulate(experiment, &traces, &mut sink, dir, bar)?;
    bar.finish();
    if let Some(error) = sink.failure {
        return Err(error.into());
    }
    let reason = end_reason(outcome.stop).ok_or(Failure::Interrupted)?;
    Ok(sink.writer.finish(Outcome { end: outcome.end, reason })?)
}

/// Runs an experiment for the hash of its records alone.
pub(crate) fn hash(experiment: &Experiment, bar: &Bar) -> Result<String, Failure> {
    struct Hash<'a> {
        hasher: RecordHasher,
        bar: &'a Bar,
    }
    impl Observer for Hash<'_> {
        fn record(&mut self, record: Record) -> ControlFlow<()> {
            self.hasher.add(&record);
            go_on()
        }
        fn progress(&mut self, now: Instant, done: PerMille) -> ControlFlow<()> {
            self.bar.show(now, done);
            go_on()
        }
    }
    let mut hash = Hash { hasher: RecordHasher::new(), bar };
    let outcome = simulate(experiment, &traces(experiment)?, &mut hash, &std::env::temp_dir(), bar)?;
    bar.finish();
    end_reason(outcome.stop).ok_or(Failure::Interrupted)?;
    Ok(hash.hasher.finish().to_string())
}

/// Runs an experiment for what its jobs were like.
pub(crate) fn jobs(experiment: &Experiment, bar: &Bar, each: impl FnMut(&JobRecord)) -> Result<(), Failure> {
    struct Jobs<'a, F> {
        each: F,
        bar: &'a Bar,
    }
    impl<F: FnMut(&JobRecord)> Observer for Jobs<'_, F> {
        fn record(&mut self, record: Record) -> ControlFlow<()> {
            if let Record::Job(job) = &record {
                (self.each)(job);
            }
            go_on()
        }
        fn progress(&mut self, now: Instant, done: PerMille) -> ControlFlow<()> {
            self.bar.show(now, done);
            go_on()
        }
    }
    let outcome =
        simulate(experiment, &traces(experiment)?, &mut Jobs { each, bar }, &std::env::temp_dir(), bar)?;
    bar.finish();
    end_reason(outcome.stop).ok_or(Failure::Interrupted)?;
    Ok(())
}

/// Runs an experiment with all its replications.
fn simulate(
    experiment: &Experiment,
    traces: &[Arc<TraceImage>],
    observer: &mut dyn Observer,
    dir: &Path,
    bar: &Bar,
) -> Result<solo_sim::Outcome, Failure> {
    if experiment.replications() > 1 {
        return replicate::run(experiment, traces, observer, dir, bar);
    }
    once(experiment, traces, observer)
}

/// Runs one replication. Where the kernel refuses it, tasks are called by their names: it knows but their numbers.
pub(crate) fn once(
    experiment: &Experiment,
    traces: &[Arc<TraceImage>],
    observer: &mut dyn Observer,
) -> Result<solo_sim::Outcome, Failure> {
    solo_sim::run(experiment, traces, observer).map_err(|error| match error {
        SimError::Refused(refusal) => Failure::Refused(with_names(&refusal.to_string(), experiment)),
        other => other.into(),
    })
}

fn with_names(message: &str, experiment: &Experiment) -> String {
    let named = |word: &str| {
        let number = word.strip_prefix("task").and_then(|number| number.parse::<usize>().ok());
        match number.and_then(|number| experiment.tasks.get(number)) {
            Some(task) => format!("`{}`", task.name),
            None => word.to_owned(),
        }
    };
    message.split(' ').map(named).collect::<Vec<_>>().join(" ")
}

fn end_reason(stop: Stop) -> Option<EndReason> {
    match stop {
        Stop::JobsDone => Some(EndReason::JobsDone),
        Stop::TimeOver => Some(EndReason::TimeOver),
        Stop::CutOff => Some(EndReason::CutOff),
        Stop::Interrupted => None,
    }
}

fn go_on() -> ControlFlow<()> {
    if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// Passes records into the run directory; stops at the first that can't be written.
struct Sink<'a> {
    writer: RunWriter,
    failure: Option<RunError>,
    bar: &'a Bar,
}

impl Observer for Sink<'_> {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        if let Err(error) = self.writer.write(&record) {
            self.failure = Some(error);
            return ControlFlow::Break(());
        }
        go_on()
    }

    fn progress(&mut self, now: Instant, done: PerMille) -> ControlFlow<()> {
        self.bar.show(now, done);
        go_on()
    }
}

/// System and processor of this host, for the manifest.
pub(crate) fn host() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{} {}, {cores} cores", std::env::consts::OS, std::env::consts::ARCH)
}
