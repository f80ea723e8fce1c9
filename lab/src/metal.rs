//! Running an experiment on bare metal, under QEMU or on a PC, into a run directory.

use crate::{Control, LabError, MachineLack, Origin, Step, simulate};
use solo_hal::Able;
use solo_model::Experiment;
use solo_model::experiment::End;
use solo_model::text::counted;
use solo_qemu::placement::{self, Misplaced, Piece};
use solo_qemu::{
    BootOptions, BootReport, ColorSource, Found, Host, Killed, Machine, Medium, MemoryUser, Module,
    QemuError, pi,
};
use solo_report::{EndReason, EndedTask, FinishedRun, Manifest, RunEnd, RunWriter, Shortfalls};
use solo_store::{Folder, Kind, Replace, read};
use std::path::Path;

/// What a card has to hold beside what [`pack_for_pi`] writes.
pub use solo_qemu::pi::FIRMWARE;
/// What the kernel is built for, and what executes it.
pub use solo_qemu::{Accelerator, InstructionSet};

/// The most that a machine can have said: far above what the longest experiment sends.
const LARGEST_SERIAL: u64 = 1 << 30;

/// Memory of the emulated machine where pages are placed by color or bank: what one color holds is this by the number of colors.
const COLORED_MEMORY_MIB: u32 = 2048;

/// A nested hypervisor may emulate every instruction of ring 0.
const KVM_LIMIT: std::time::Duration = std::time::Duration::from_secs(240);

/// How often the image is booted where the host disturbs it.
const ATTEMPTS: u32 = 3;

/// What bare metal made of an experiment, before anything is written.
#[derive(Debug)]
pub struct MetalRun {
    report: BootReport,
    host: String,
}

/// A run of bare metal whose directory is complete.
#[derive(Debug)]
pub struct FinishedMetal {
    /// The run.
    pub run: FinishedRun,
    /// Where the pages of an experiment with colors or banks lie; checked against the page frames that the image reported.
    pub placed: Option<PlacedPages>,
}

/// Pages that lie in the colors and banks of their owners.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PlacedPages {
    /// Of buffers.
    pub buffers: u64,
    /// Of stacks.
    pub stacks: u64,
    /// Of heaps.
    pub heaps: u64,
    /// Of the kernel, its tables and the image.
    pub kernel: u64,
    /// Those of all that lie elsewhere, because their owner had to borrow.
    pub borrowed: u64,
}

impl MetalRun {
    /// Boots the kernel for `instruction_set` under QEMU with the experiment as its boot module. The platform of the scenario gives the number
    /// of cores and the colors of pages; its caches and memory mean nothing to an emulator, which has none.
    ///
    /// # Errors
    /// [`LabError::Lacks`] where bare metal can't do what the experiment needs, [`LabError::Metal`] where this host can't
    /// boot it or the run does not end well.
    pub fn boot(
        experiment: &Experiment,
        instruction_set: InstructionSet,
        accelerator: Accelerator,
        control: &Control<'_>,
    ) -> Result<Self, LabError> {
        let found = match accelerator {
            Accelerator::Kvm => Found::hosted(),
            Accelerator::InstructionClock | Accelerator::Parallel => Found::emulated(instruction_set),
        };
        let cores = able(experiment, found)?;
        let look = Host::look_for(instruction_set).map_err(QemuError::from)?;
        control.progress.step(Step::Boot { builds: !look.has_image() });
        let mut machine = Machine { accelerator, ..Machine::of(instruction_set).with_cores(cores) };
        if accelerator == Accelerator::Kvm {
            machine.limit = KVM_LIMIT;
        }
        machine.wires = u8::try_from(experiment.devices.len()).unwrap_or(u8::MAX);
        if experiment.isolation.memory.is_some() {
            machine.memory_mib = COLORED_MEMORY_MIB;
        }
        let image = look.build_image()?;
        let boot = || machine.run_unless(&image, experiment, &|| control.cancel.requested());
        let mut report = boot();
        for _ in 1..ATTEMPTS {
            // In real time a busy host may spoil the measuring of clocks with which the image begins.
            if report.as_ref().err().is_some_and(QemuError::is_disturbance) {
                report = boot();
            }
        }
        let report = report.map_err(|error| match error {
            QemuError::Interrupted => LabError::Interrupted,
            other => other.into(),
        })?;
        let executes = match accelerator {
            Accelerator::InstructionClock => String::new(),
            Accelerator::Parallel | Accelerator::Kvm => format!(" ({accelerator})"),
        };
        Ok(Self { report, host: format!("{}{executes}, {}", look.emulator, simulate::host()) })
    }

    /// Takes what a machine said on its serial line (`path`) after it booted what [`pack`] or [`pack_for_pi`] wrote.
    ///
    /// # Errors
    /// [`LabError::Store`] and [`LabError::Serial`] for a file that is no report of this experiment, by a machine of this instruction set.
    pub fn heard(
        experiment: &Experiment,
        instruction_set: InstructionSet,
        path: &Path,
    ) -> Result<Self, LabError> {
        let bytes = read::bytes(path, LARGEST_SERIAL)?;
        let report = Medium::heard(&packed(experiment), instruction_set, &String::from_utf8_lossy(&bytes))
            .map_err(|error| LabError::Serial { path: path.to_owned(), error })?;
        let hardware = &report.hello.hardware;
        let cores = counted(hardware.identities.len(), "core");
        let machine = match hardware.instruction_set {
            InstructionSet::X86_64 => "PC",
            InstructionSet::Arm64 => "board",
        };
        let host = format!("a {machine} of {cores}, time stamps at {}", hardware.clock);
        Ok(Self { report, host })
    }

    /// Records that found no place and are lost.
    pub fn dropped(&self) -> u64 {
        self.report.end.dropped
    }

    /// Threads that the processor's faults ended.
    pub fn killed(&self) -> &[Killed] {
        &self.report.killed
    }

    /// Keeps the records in a folder that was taken for them.
    ///
    /// # Errors
    /// Where pages lie in colors or banks that are not their owners', before anything is written; where the folder can't
    /// be written.
    pub fn into_directory(
        self,
        experiment: &Experiment,
        origin: &Origin<'_>,
        folder: &Folder,
    ) -> Result<FinishedMetal, LabError> {
        let placed = placed(experiment, &self.report).map_err(QemuError::from)?;
        let machine = match self.report.hello.hardware.instruction_set {
            InstructionSet::X86_64 => "rtos",
            InstructionSet::Arm64 => "rtos-arm64",
        };
        let manifest = Manifest { host: self.host, machine: machine.into(), ..origin.manifest(experiment) };
        let end = self.report.end.at;
        let mut records = self.report.records;
        records.sort_by_key(solo_model::Record::at);
        let mut writer = RunWriter::create_in(folder.clone(), manifest, experiment, origin.source)?;
        records.iter().try_for_each(|record| writer.write(record))?;
        let reason = match experiment.end {
            End::At(_) => EndReason::TimeOver,
            End::Jobs(_) => EndReason::JobsDone,
        };
        // The image reports neither; it refuses what it can't lock or count before it begins.
        // What a scheduler that listens has heard stays on the machine.
        let of = |killed: &Killed| EndedTask { task: killed.task, at: killed.at, why: killed.fault.clone() };
        let ended = self.report.killed.iter().map(of).collect();
        let (shortfalls, heard, curves) = (Shortfalls::default(), Vec::new(), Vec::new());
        let run = writer.finish(RunEnd { end, reason, stop_on: None, shortfalls, ended, heard, curves })?;
        Ok(FinishedMetal { run, placed })
    }
}

/// A medium that was written. PCs with BIOS boot it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packed {
    /// PCs with UEFI do, too.
    pub has_uefi: bool,
}

/// Writes a medium from which a PC boots the experiment; `small` builds an image that knows its criterion alone.
///
/// # Errors
/// [`LabError::Lacks`] where bare metal can't do what the experiment needs, [`LabError::Metal`] where this host can't make
/// the medium, [`LabError::Store`] where it can't be written to `path`.
pub fn pack(experiment: &Experiment, small: bool, path: &Path) -> Result<Packed, LabError> {
    bootable(experiment, "a PC", Found::emulated(InstructionSet::X86_64))?;
    Medium::look().map_err(QemuError::from)?;
    let image = match small {
        true => {
            let host = Host::look_for_programs(InstructionSet::X86_64).map_err(QemuError::from)?;
            host.build_image_of(&[experiment.policy.criterion])?
        }
        false => Host::look().map_err(QemuError::from)?.build_image()?,
    };
    Medium::write(&image, &[packed(experiment)], path).map_err(|error| match error {
        QemuError::Unwritable(error) => LabError::Store(error),
        error => error.into(),
    })?;
    Ok(Packed { has_uefi: Medium::has_uefi() })
}

/// Fills the folder at `path` with the files that a Raspberry Pi 4 boots the experiment from; `small` as for [`pack`].
///
/// # Errors
/// [`LabError::Lacks`] where bare metal can't do what the experiment needs, [`LabError::Metal`] where the image can't be built here,
/// [`LabError::Store`] where the folder holds what `replace` does not let go, or can't be written.
pub fn pack_for_pi(
    experiment: &Experiment,
    small: bool,
    path: &Path,
    replace: Replace,
) -> Result<(), LabError> {
    bootable(experiment, "a Raspberry Pi 4", Found::raspberry_pi_4())?;
    let host = Host::look_for_programs(InstructionSet::Arm64).map_err(QemuError::from)?;
    let folder = Folder::claim(path, Kind::Export, replace)?;
    let criteria = [experiment.policy.criterion];
    let image = host.build_image_for_pi(if small { &criteria } else { &[] })?;
    for (name, bytes) in pi::files(&image, &[packed(experiment)])? {
        folder.write(name, &bytes)?;
    }
    Ok(())
}

/// The boot module of a machine whose clocks are real.
fn packed(experiment: &Experiment) -> Module {
    Module { options: BootOptions::default(), experiment: Some(experiment.clone()) }
}

/// Whether a machine that boots a medium has what the experiment needs.
fn bootable(experiment: &Experiment, machine: &'static str, found: Found) -> Result<(), LabError> {
    solo_hal::admit(experiment, &found.caps()).map_err(|lack| LabError::Lacks {
        scenario: experiment.name.clone(),
        lack: MachineLack::Booted { machine, lack },
    })
}

/// The cores to start, if bare metal has what the experiment needs.
fn able(experiment: &Experiment, found: Found) -> Result<u8, LabError> {
    solo_hal::admit(experiment, &found.caps()).map_err(|lack| LabError::Lacks {
        scenario: experiment.name.clone(),
        lack: MachineLack::Metal(lack),
    })?;
    Ok(experiment.platform.cores.len() as u8)
}

/// Checks that pages lie in the colors and banks of their owners, by the page frames that the image reports.
fn placed(experiment: &Experiment, report: &BootReport) -> Result<Option<PlacedPages>, Misplaced> {
    if experiment.isolation.memory.is_none() {
        return Ok(None);
    }
    let pieces = placement::check(experiment, ColorSource::Platform, report)?;
    let pages = |wanted: fn(&MemoryUser) -> bool| -> u64 {
        pieces.iter().filter(|piece| wanted(&piece.place)).map(Piece::pages).sum()
    };
    Ok(Some(PlacedPages {
        buffers: pages(|place| matches!(place, MemoryUser::Buffer(_))),
        stacks: pages(|place| matches!(place, MemoryUser::Stack(_))),
        heaps: pages(|place| matches!(place, MemoryUser::Heap(_) | MemoryUser::HeapOfColor(_))),
        kernel: pages(|place| matches!(place, MemoryUser::Kernel | MemoryUser::Tables | MemoryUser::Image)),
        borrowed: pieces.iter().map(|piece| piece.elsewhere).sum(),
    }))
}
