//! `solo run`: one experiment, one report.

mod count;

use crate::cli::{Accel, Instead, LinuxScheduler, On, Run};
use crate::control::{control, origin};
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::folders;
use crate::output;
use crate::pages;
use crate::progress::Bars;
use solo_lab::linux::{LinuxRun, Scheduler};
use solo_lab::metal::{Accelerator, FinishedMetal, InstructionSet, MetalRun, PlacedPages};
use solo_lab::{Recordings, Simulation};
use solo_model::text::{Printable, counted};
use solo_model::{Duration, Experiment, TaskId};
use solo_report::classes::{ClassShare, classes};
use solo_report::run::{CarriedOut, Tier};
use solo_report::{FinishedRun, Manifest, RefusedVariant, Report, StopOn, Verdict, table, verdict};
use solo_scenario::units::TIME;
use solo_scenario::{Choice, Overrides, Platforms, Refused, Scenario};
use solo_store::{Folder, Kind};
use std::path::Path;

/// Runs the scenario, or one of its variants.
pub(crate) fn run(options: &Run) -> Result<Exit, Failure> {
    let on_rtos = matches!(options.on, On::Rtos | On::RtosArm64);
    if options.serial.is_some() && !on_rtos {
        return Err(Failure::Usage(
            "--serial takes what bare metal said: it needs --on rtos or rtos-arm64".to_owned(),
        ));
    }
    if options.accel.is_some() && (!on_rtos || options.serial.is_some()) {
        return Err(Failure::Usage(
            "--accel says what executes the kernel: it needs --on rtos, and no --serial".to_owned(),
        ));
    }
    if options.accel == Some(Accel::Kvm) && options.on == On::RtosArm64 {
        return Err(Failure::Usage(
            "--accel kvm executes this machine's own instructions: it needs --on rtos, for x86-64".to_owned(),
        ));
    }
    if options.scheduler.is_some() && options.on != On::Linux {
        return Err(Failure::Usage(
            "--scheduler says who schedules threads of this machine: it needs --on linux".to_owned(),
        ));
    }
    if options.count.is_some() && options.on != On::Linux {
        return Err(Failure::Usage(
            "--count says what this machine's counters count: it needs --on linux; other machines count what the platform has"
                .to_owned(),
        ));
    }
    if options.stop_on.is_some() && options.on != On::Sim {
        return Err(Failure::Usage(
            "--stop-on needs --on sim: other machines tell their records at the end".to_owned(),
        ));
    }
    let (scenario, experiment) =
        chosen(&options.scenario, options.variant.as_deref(), &options.instead, options.show.quiet)?;
    let stop_on = options.stop_on.as_deref().map(|text| stop_on(text, &experiment)).transpose()?;
    let folder = folders::prepare(&options.keep, &experiment.name, Kind::Run)?;
    let dir = folder.path();
    let finished = match options.on {
        On::Sim => simulated(&scenario, &experiment, &folder, stop_on, options.show.quiet)?,
        On::Linux => on_linux(&scenario, &experiment, &folder, options)?,
        On::Rtos => on_metal(&scenario, &experiment, &folder, InstructionSet::X86_64, options)?,
        On::RtosArm64 => on_metal(&scenario, &experiment, &folder, InstructionSet::Arm64, options)?,
    };
    let page = {
        let (place, source) = (folder.clone().into(), &scenario.source);
        pages::write_run(&place, dir, &finished.summary, &finished.manifest, source)?
    };
    let judgement = verdict(&finished.summary, None);
    if options.show.json {
        output::json(Document::Run, &Shown::new(dir, &finished.manifest, &judgement, &finished.summary))?;
    } else {
        output::text(&table::report(&finished.summary, &judgement, None, output::style()))?;
        if !options.show.quiet {
            eprintln!("records in {}, report in {}", Printable(dir.display()), Printable(page.display()));
        }
    }
    Ok(if judgement.held { Exit::Held } else { Exit::NotHeld })
}

fn simulated(
    scenario: &Scenario,
    experiment: &Experiment,
    folder: &Folder,
    stop_on: Option<StopOn>,
    quiet: bool,
) -> Result<FinishedRun, Failure> {
    let (bars, recordings) = (Bars::new(quiet), Recordings::of_scenario(scenario));
    let (name, control) = (experiment.name.as_str(), control(&bars));
    let simulation = Simulation { experiment, recordings: &recordings, name, control: &control, stop_on };
    Ok(simulation.into_directory(&origin(scenario), folder)?)
}

/// What `--stop-on` says.
fn stop_on(text: &str, experiment: &Experiment) -> Result<StopOn, Failure> {
    match text {
        "miss" => return Ok(StopOn::Miss),
        "throttle" => return Ok(StopOn::Throttle),
        _ => {}
    }
    let wrong = || {
        Failure::Usage(format!(
            "--stop-on {}: expected miss, throttle or TASK>TIME, for example control>3ms",
            Printable(text)
        ))
    };
    // Names may hold the sign; times do not.
    let (name, above) = text.rsplit_once('>').ok_or_else(wrong)?;
    let above = TIME.parse(above.trim()).map(Duration::new).map_err(|_| wrong())?;
    let name = name.trim();
    let task =
        experiment.tasks.iter().position(|task| task.name == name).ok_or_else(|| Failure::Unknown {
            what: "task",
            found: name.to_owned(),
            known: experiment.tasks.iter().map(|task| task.name.clone()).collect(),
        })?;
    Ok(StopOn::Response { task: TaskId(task as u32), above })
}

/// Runs the tasks as threads of this machine.
fn on_linux(
    scenario: &Scenario,
    experiment: &Experiment,
    folder: &Folder,
    options: &Run,
) -> Result<FinishedRun, Failure> {
    let bars = Bars::new(options.show.quiet);
    let scheduler = match options.scheduler {
        None | Some(LinuxScheduler::Fifo) => Scheduler::Fifo,
        Some(LinuxScheduler::Deadline) => Scheduler::Deadline,
        Some(LinuxScheduler::Ranks) => Scheduler::Ranks,
        Some(LinuxScheduler::Hosted) => Scheduler::Hosted,
        Some(LinuxScheduler::SchedExt) => Scheduler::SchedExt,
    };
    let of_jobs =
        options.count.as_deref().map(|text| count::counted_of_jobs(text, options.show.quiet)).transpose()?;
    let at = options.scenario.parent().filter(|at| !at.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let run = with_programs(experiment, || {
        LinuxRun::run(experiment, scheduler, of_jobs.as_ref(), at, &control(&bars))
    })?;
    let finished = run.into_directory(experiment, &origin(scenario), folder)?;
    let Manifest { tier, repeated, carried_out, .. } = &finished.manifest;
    if options.show.quiet {
        return Ok(finished);
    }
    match carried_out {
        Some(changes @ CarriedOut::Priorities { .. }) => {
            eprintln!("tier B: priorities followed the ranks of jobs; {changes}");
        }
        Some(threads @ CarriedOut::Threads { .. }) => {
            eprintln!("tier B: the kernel of the other machines decided, in this process; {threads}");
        }
        None => {}
    }
    match (tier, repeated) {
        (Tier::C, Some(repeated)) => eprintln!("tier C: sched_ext decided; {repeated}"),
        (_, Some(repeated)) => {
            eprintln!("tier B: the criterion decided again, from the records of the run: {repeated}")
        }
        (_, None) => {}
    }
    Ok(finished)
}

/// Runs what may start programs, and ends whatever these left behind in groups of their own: this process starts nothing else meanwhile.
fn with_programs<T>(experiment: &Experiment, run: impl FnOnce() -> T) -> T {
    if experiment.tasks.iter().all(|task| task.work.command().is_none()) {
        return run();
    }
    // Where the system adopts nobody, they are somebody else's.
    let adopts = solo_watch::follow::adopt().is_ok();
    let end_all = solo_watch::follow::killer();
    let came = run();
    if adopts {
        end_all();
    }
    came
}

/// Boots the kernel under QEMU, or takes what a PC said that did.
fn on_metal(
    scenario: &Scenario,
    experiment: &Experiment,
    folder: &Folder,
    instruction_set: InstructionSet,
    options: &Run,
) -> Result<FinishedRun, Failure> {
    let bars = Bars::new(options.show.quiet);
    let run = match &options.serial {
        Some(path) => MetalRun::heard(experiment, instruction_set, path)?,
        None => MetalRun::boot(experiment, instruction_set, accelerator(options), &control(&bars))?,
    };
    if run.dropped() > 0 {
        eprintln!("warning: no place for {}: lost; run fewer jobs", counted(run.dropped(), "record"));
    }
    for killed in run.killed() {
        let task = experiment.tasks.get(killed.task.index()).map_or("?", |task| &task.name);
        eprintln!(
            "warning: the thread of task {task} ended on {} at {}: {}",
            killed.core, killed.at, killed.fault
        );
    }
    let FinishedMetal { run, placed } = run.into_directory(experiment, &origin(scenario), folder)?;
    if let Some(PlacedPages { buffers, stacks, heaps, kernel, borrowed }) = placed
        && !options.show.quiet
    {
        eprintln!(
            "note: pages by color and bank: {buffers} of buffers, {stacks} of stacks, {heaps} of heaps, {kernel} of the kernel; {borrowed} borrowed"
        );
    }
    Ok(run)
}

/// What is to execute the kernel.
fn accelerator(options: &Run) -> Accelerator {
    match options.accel {
        None | Some(Accel::InstructionClock) => Accelerator::InstructionClock,
        Some(Accel::Parallel) => Accelerator::Parallel,
        Some(Accel::Kvm) => Accelerator::Kvm,
    }
}

/// A scenario, and the experiment of it that was asked for.
pub(crate) fn chosen(
    path: &Path,
    name: Option<&str>,
    instead: &Instead,
    quiet: bool,
) -> Result<(Scenario, Experiment), Failure> {
    let choice = name.map_or(Choice::Base, |name| Choice::Named(vec![name.to_owned()]));
    let scenario = load(path, &instead.overrides(choice), quiet)?;
    let experiment = match name {
        None => scenario.base.clone(),
        Some(name) => variant(&scenario, name)?.clone(),
    };
    Ok((scenario, experiment))
}

/// A finished run as JSON.
#[derive(serde::Serialize)]
pub(crate) struct Shown<'a> {
    /// The run's folder.
    pub(crate) dir: &'a Path,
    /// What it takes to know and repeat it.
    pub(crate) manifest: &'a Manifest,
    /// Who missed what, and why.
    pub(crate) verdict: &'a Verdict,
    /// The figures.
    pub(crate) report: &'a Report,
    /// What hard, soft and best-effort tasks got.
    pub(crate) classes: Vec<ClassShare>,
}

impl<'a> Shown<'a> {
    pub(crate) fn new(
        dir: &'a Path,
        manifest: &'a Manifest,
        verdict: &'a Verdict,
        report: &'a Report,
    ) -> Self {
        Self { dir, manifest, verdict, report, classes: classes(report) }
    }
}

/// Reads a scenario with what is laid over it and prints its warnings.
pub(crate) fn load(path: &Path, overrides: &Overrides, quiet: bool) -> Result<Scenario, Failure> {
    let scenario = solo_scenario::load_with(path, &Platforms::builtin(), overrides)
        .map_err(|report| Failure::Scenario(Box::new(report)))?;
    output::warn(&scenario.warnings, quiet);
    Ok(scenario)
}

/// The variants that can't be had, each with why.
pub(super) fn refusals(scenario: &Scenario) -> Vec<RefusedVariant> {
    let reason = |refused: &Refused| {
        // The row says which variant it is.
        let of = format!(" (in variant `{}`)", refused.variant);
        let headlines = refused.report.problems().iter().map(|problem| problem.headline());
        headlines.map(|line| line.strip_suffix(&of).unwrap_or(line)).collect::<Vec<_>>().join("; ")
    };
    let one = |refused| RefusedVariant { variant: Refused::clone(refused).variant, reason: reason(refused) };
    scenario.refused.iter().map(one).collect()
}

/// The variant of that name.
pub(crate) fn variant<'s>(scenario: &'s Scenario, name: &str) -> Result<&'s Experiment, Failure> {
    if let Some(refused) = scenario.refused.iter().find(|refused| refused.variant == name) {
        return Err(Failure::Scenario(Box::new(refused.report.clone())));
    }
    scenario.variants.iter().find(|variant| variant.variant == name).ok_or_else(|| Failure::Unknown {
        what: "variant",
        found: name.to_owned(),
        known: scenario.variants.iter().map(|variant| variant.variant.clone()).collect(),
    })
}
