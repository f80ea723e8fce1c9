//! Running an experiment on bare metal, under QEMU, into a run directory.

use crate::exit::Failure;
use crate::simulate::{Origin, host};
use solo_model::Experiment;
use solo_model::experiment::End;
use solo_qemu::{Host, Machine};
use solo_report::{EndReason, FinishedRun, Manifest, Outcome, RunWriter};
use std::path::Path;

/// The most cores that the image takes.
const MOST_CORES: usize = 16;

/// Boots the kernel with the experiment as its boot module and keeps the records in `dir`. The platform of the
/// scenario gives the number of cores; its caches and memory mean nothing to an emulator, which has none.
pub(crate) fn into_directory(
    experiment: &Experiment,
    origin: &Origin<'_>,
    dir: &Path,
    quiet: bool,
) -> Result<FinishedRun, Failure> {
    let cores = able(experiment)?;
    if !quiet {
        eprintln!(
            "note: building the image and booting it under QEMU; one instruction is one nanosecond there"
        );
    }
    let machine = Machine::default().with_cores(cores);
    let look = Host::look().map_err(solo_qemu::QemuError::from)?;
    let image = look.build_image()?;
    let report = machine.run(&image, experiment)?;
    if report.end.dropped > 0 {
        eprintln!("warning: {} records found no place and are lost; run fewer jobs", report.end.dropped);
    }
    for killed in &report.killed {
        eprintln!("warning: {killed:?}");
    }
    let manifest = Manifest {
        command: std::env::args().collect(),
        host: format!("{}, {}", look.emulator, host()),
        started: Some(jiff::Timestamp::now()),
        machine: "rtos".into(),
        ..Manifest::new(experiment, &origin.path.to_string_lossy(), origin.source)
    };
    let mut records = report.records;
    records.sort_by_key(solo_model::Record::at);
    let mut writer = RunWriter::create(dir, manifest, experiment, origin.source)?;
    records.iter().try_for_each(|record| writer.write(record))?;
    let reason = match experiment.end {
        End::At(_) => EndReason::TimeOver,
        End::Jobs(_) => EndReason::JobsDone,
    };
    Ok(writer.finish(Outcome { end: report.end.at, reason })?)
}

/// The cores to start, if bare metal has what the experiment needs.
fn able(experiment: &Experiment) -> Result<u8, Failure> {
    let lacks = |lacks: String| Failure::Lacks {
        machine: "bare metal under QEMU",
        scenario: experiment.name.clone(),
        lacks,
    };
    let cores = experiment.platform.cores.len();
    if cores > MOST_CORES {
        return Err(lacks(format!("{cores} cores asked for, at most {MOST_CORES} can be started")));
    }
    if !experiment.traces.is_empty() {
        return Err(lacks("recorded programs can't be replayed there; use --on sim".to_owned()));
    }
    if !experiment.isolation.is_off() {
        let text = "isolation needs counters and caches, which the emulator has not; take a variant without, or --on sim";
        return Err(lacks(text.to_owned()));
    }
    Ok(cores as u8)
}
