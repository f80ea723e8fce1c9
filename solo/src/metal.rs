//! Running an experiment on bare metal, under QEMU or on a PC, into a run directory.

use crate::exit::Failure;
use crate::simulate::{Origin, host};
use solo_model::Experiment;
use solo_model::experiment::End;
use solo_qemu::placement::{self, Piece};
use solo_qemu::{ColorSource, Host, Machine, Medium, Module, Options, Place, QemuError, Report};
use solo_report::{EndReason, FinishedRun, Manifest, Outcome, RunWriter};
use std::path::Path;

/// The most cores that the image takes.
const MOST_CORES: usize = 16;

/// Memory of the emulated machine where pages are placed by color or bank: what one color holds is this by the number of colors.
const COLORED_MEMORY_MIB: u32 = 2048;

/// Boots the kernel with the experiment as its boot module, or takes what a PC said that did (`serial`), and keeps the
/// records in `dir`. The platform of the scenario gives the number of cores and the colors of pages; its caches and memory mean
/// nothing to an emulator, which has none.
pub(crate) fn into_directory(
    experiment: &Experiment,
    origin: &Origin<'_>,
    dir: &Path,
    serial: Option<&Path>,
    quiet: bool,
) -> Result<FinishedRun, Failure> {
    let (report, host) = match serial {
        Some(path) => heard(experiment, path)?,
        None => boot(experiment, quiet)?,
    };
    if report.end.dropped > 0 {
        eprintln!("warning: {} records found no place and are lost; run fewer jobs", report.end.dropped);
    }
    for killed in &report.killed {
        let task = experiment.tasks.get(killed.task.index()).map_or("?", |task| &task.name);
        eprintln!(
            "warning: the thread of task {task} ended on {} at {}: {}",
            killed.core, killed.at, killed.fault
        );
    }
    say_placement(experiment, &report, quiet)?;
    let manifest = Manifest {
        command: std::env::args().collect(),
        host,
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

/// Boots under QEMU; what was reported, and by what.
fn boot(experiment: &Experiment, quiet: bool) -> Result<(Report, String), Failure> {
    let cores = able(experiment)?;
    if !quiet {
        eprintln!(
            "note: building the image and booting it under QEMU; one instruction is one nanosecond there"
        );
    }
    let mut machine = Machine::default().with_cores(cores);
    if experiment.isolation.memory.is_some() {
        machine.memory_mib = COLORED_MEMORY_MIB;
    }
    let look = Host::look().map_err(QemuError::from)?;
    let image = look.build_image()?;
    Ok((machine.run(&image, experiment)?, format!("{}, {}", look.emulator, host())))
}

/// What a PC reported on its serial line, and what it says of itself.
fn heard(experiment: &Experiment, path: &Path) -> Result<(Report, String), Failure> {
    let failed = |source| Failure::File { action: "read", path: path.to_owned(), source };
    let bytes = std::fs::read(path).map_err(failed)?;
    let report = Medium::heard(&packed(experiment), &String::from_utf8_lossy(&bytes))
        .map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?;
    let hello = &report.hello;
    let host = format!("a PC of {} cores, time stamps at {}", hello.apic_ids.len(), hello.tsc);
    Ok((report, host))
}

/// Writes a medium from which a PC boots the experiment.
pub(crate) fn pack(experiment: &Experiment, path: &Path) -> Result<(), Failure> {
    able(experiment)?;
    Medium::look().map_err(QemuError::from)?;
    let image = Host::look().map_err(QemuError::from)?.build_image()?;
    Medium::write(&image, &[packed(experiment)], path)?;
    Ok(())
}

/// The boot module of a PC, whose clocks are real.
fn packed(experiment: &Experiment) -> Module {
    Module { options: Options::default(), experiment: Some(experiment.clone()) }
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
    let isolation = &experiment.isolation;
    let locked = isolation.lockdown.as_ref().is_some_and(|lockdown| !lockdown.pages.is_empty());
    let missing = [
        (isolation.bandwidth.is_some(), "budgets need counters"),
        (!isolation.ways.is_empty(), "ways need a cache that can be divided"),
        (locked, "locked pages need a cache that can be locked"),
    ];
    if let Some((_, why)) = missing.into_iter().find(|(wanted, _)| *wanted) {
        return Err(lacks(format!("{why}, which the emulator has not; take a variant without, or --on sim")));
    }
    Ok(cores as u8)
}

/// Checks that pages lie in the colors and banks of their owners, by the page frames that the image reports.
fn say_placement(experiment: &Experiment, report: &Report, quiet: bool) -> Result<(), Failure> {
    if experiment.isolation.memory.is_none() {
        return Ok(());
    }
    let pieces = placement::check(experiment, ColorSource::Platform, report).map_err(QemuError::from)?;
    if quiet {
        return Ok(());
    }
    let pages = |wanted: fn(&Place) -> bool| -> u64 {
        pieces.iter().filter(|piece| wanted(&piece.place)).map(Piece::pages).sum()
    };
    let elsewhere: u64 = pieces.iter().map(|piece| piece.elsewhere).sum();
    eprintln!(
        "note: pages by color and bank: {} of buffers, {} of stacks, {} of heaps, {} of the kernel; {elsewhere} borrowed",
        pages(|place| matches!(place, Place::Buffer(_))),
        pages(|place| matches!(place, Place::Stack(_))),
        pages(|place| matches!(place, Place::Heap(_))),
        pages(|place| matches!(place, Place::Kernel | Place::Tables | Place::Image)),
    );
    Ok(())
}
