//! What the kernel's paths cost (thesis chapter 5): on this machine, or in instructions on bare metal.

use crate::error::Named;
use crate::{Control, LabError, Step};
use solo_model::experiment::End;
use solo_model::{CoreId, Duration, Experiment, Instant, Overhead, Platform, Policy};
use solo_overheads::{Clock, Environment, Measurement, MeasurementPlan, Row, Summary, sets};
use solo_qemu::{BootOptions, BootReport, Host, InstructionSet, Machine, Module, QemuError};
use solo_scenario::Platforms;
use std::path::Path;

/// Cores of bare metal: as many as fit the clusters of the documented table.
const CORES: u8 = 4;
const HORIZON: Duration = Duration::from_millis(40);
/// What happens before is the start, where all tasks are released at once on behalf of all cores.
const SETTLED: Instant = Instant::new(1_000_000);

/// Measures in a process of this machine, and Linux's own paths beside them where the plan says so.
///
/// # Errors
/// [`LabError::Refused`] where the kernel refuses a task set.
pub fn on_this_machine(plan: &MeasurementPlan, control: &Control<'_>) -> Result<Measurement, LabError> {
    let mut tell = |next: &str| control.progress.step(Step::Paths(next));
    solo_overheads::measure(plan, &mut tell).map_err(|refusal| LabError::Refused(Named::nameless(refusal)))
}

/// Measures path lengths on bare metal under the instruction clock, where one nanosecond is one instruction: boots the
/// image once for each policy and number of threads.
///
/// # Errors
/// [`LabError::Metal`] where this host can't boot it.
pub fn on_bare_metal(
    plan: &MeasurementPlan,
    instruction_set: InstructionSet,
    control: &Control<'_>,
) -> Result<Measurement, LabError> {
    let host = Host::look_for(instruction_set).map_err(QemuError::from)?;
    let image = host.build_image()?;
    let machine = Machine { limit: std::time::Duration::from_secs(300), ..Machine::of(instruction_set) }
        .with_cores(CORES);
    let mut rows = Vec::new();
    let platform = platform()?;
    for policy in sets::policies(CORES.into()) {
        control.progress.step(Step::PathLengths(&policy));
        for &threads in &plan.threads {
            if control.cancel.requested() {
                return Err(LabError::Interrupted);
            }
            let options = BootOptions { instruction_clock: true, probes: true, ..BootOptions::default() };
            let experiment = Some(experiment(policy.clone(), threads, plan.seed, &platform));
            let report = machine.run_module(&image, &Module { options, experiment })?;
            rows.extend(paths(&report, &policy.to_string(), threads));
        }
    }
    let clock = Clock { ticks_per_us: 1000.0, resolution_ticks: 1, empty_ticks: 0 };
    let environment = Environment {
        processor: format!(
            "bare metal ({instruction_set}) under the instruction clock (1 instruction = 1 ns)"
        ),
        kernel: host.emulator,
        cpus: CORES.into(),
        guest: true,
        load: "0".to_owned(),
        disturbed: None,
        clock,
    };
    let left_out = vec!["Linux: it does not run there".to_owned()];
    Ok(Measurement { environment, rows, left_out })
}

/// The thesis's machine, as far as the image cares: so many cores.
fn platform() -> Result<Platform, LabError> {
    let found = Platforms::builtin().load("i7-2600", Path::new("."));
    let mut platform = found.map_err(|report| LabError::Platform(Box::new(report)))?;
    platform.cores.truncate(CORES.into());
    Ok(platform)
}
/// A set of thesis 5.1 whose jobs hardly compute, so that the kernel is all there is to see.
fn experiment(policy: Policy, threads: u32, seed: u64, platform: &Platform) -> Experiment {
    let drawn = sets::draw(threads, CORES.into(), seed);
    let placed =
        drawn.iter().map(|task| (task.release.period().unwrap_or(HORIZON), task.core.unwrap_or(CoreId(0))));
    let tasks = sets::computing(placed, Duration::new(200));
    let end = End::At(HORIZON);
    Experiment { seed, ..Experiment::new("path lengths", platform.clone(), policy, tasks, end) }
}

fn paths(report: &BootReport, policy: &str, threads: u32) -> Vec<Row> {
    let row = |source: Overhead| {
        let lengths = report.path_lengths(source, SETTLED).into_iter().map(Duration::get);
        let summary = Summary::of_ns(lengths.collect())?;
        Some(Row::of_kernel(source.words(), policy, threads, summary))
    };
    Overhead::ALL.into_iter().filter_map(row).collect()
}
