//! `solo run FOLDER`: a program that stands on solo-app.

use crate::cli::{On, Run};
use crate::control::{command, commit, control};
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::folders;
use crate::output;
use crate::pages;
use crate::progress::Bars;
use solo_lab::Origin;
use solo_lab::metal::InstructionSet;
use solo_lab::program::{NOTES, NoteSummary, ProgramMachine, ProgramRun};
use solo_model::text::{Printable, counted};
use solo_report::{table, verdict};
use solo_store::{Kind, read};

/// The most of a program's text that is kept with its run.
const LARGEST_SOURCE: u64 = 1 << 20;

/// Builds the program, runs it and reports.
pub(crate) fn run(options: &Run) -> Result<Exit, Failure> {
    let machine = machine(options)?;
    let bars = Bars::new(options.show.quiet);
    let run = ProgramRun::run(&options.scenario, machine, &control(&bars))?;
    let folder = folders::prepare(&options.keep, &run.experiment().name, Kind::Run)?;
    let dir = folder.path();
    let main = options.scenario.join("src/main.rs");
    let source = read::text(&main, LARGEST_SOURCE).unwrap_or_default();
    let origin = Origin {
        path: &main,
        source: &source,
        command: command(),
        host: solo_lab::host(),
        commit: commit(),
        started: Some(jiff::Timestamp::now()),
    };
    let (notes, notes_dropped, dropped) = (run.notes(), run.notes_dropped, run.dropped);
    let all_live = run.ended.is_empty();
    let finished = run.into_directory(&origin, &folder)?;
    let place = folder.clone().into();
    let page = pages::write_run(&place, dir, &finished.summary, &finished.manifest, &source)?;
    let judgement = verdict(&finished.summary, None);
    if dropped > 0 {
        eprintln!("warning: no place for {}: lost; run fewer jobs", counted(dropped, "record"));
    }
    if notes_dropped > 0 {
        eprintln!("warning: no place for {}: lost; record less", counted(notes_dropped, "note"));
    }
    if options.show.json {
        let shown = super::run::Shown::new(dir, &finished.manifest, &judgement, &finished.summary);
        output::json(Document::Run, &shown)?;
    } else {
        output::text(&table::report(&finished.summary, &judgement, None, output::style()))?;
        output::text(&told(&notes))?;
        if !options.show.quiet {
            let (records, notes) = (Printable(dir.display()), Printable(NOTES));
            eprintln!("records in {records}, notes in its {notes}, report in {}", Printable(page.display()));
        }
    }
    let held = judgement.held && all_live;
    Ok(if held { Exit::Held } else { Exit::NotHeld })
}

/// What is to run it; programs know no variants.
fn machine(options: &Run) -> Result<ProgramMachine, Failure> {
    let usage = |text: &str| Failure::Usage(text.to_owned());
    let Run { variant, serial, stop_on, accel, scheduler, count, instead, .. } = options;
    let texts = [variant, stop_on, count].into_iter().any(Option::is_some);
    if texts || serial.is_some() || accel.is_some() || scheduler.is_some() {
        return Err(usage(
            "--variant, --serial, --stop-on, --accel, --scheduler and --count are for scenarios; this is the folder of a program",
        ));
    }
    if instead.seed.is_some() || instead.jobs.is_some() {
        return Err(usage(
            "--seed and --jobs are for scenarios; a program says by program.jobs(...) how long it runs",
        ));
    }
    match options.on {
        On::Rtos => Ok(ProgramMachine::Metal(InstructionSet::X86_64)),
        On::RtosArm64 => Ok(ProgramMachine::Metal(InstructionSet::Arm64)),
        On::Linux => Ok(ProgramMachine::Linux),
        On::Sim => Ok(ProgramMachine::Simulated),
    }
}

/// What threads noted, a line for each name.
fn told(notes: &[NoteSummary]) -> String {
    let line = |note: &NoteSummary| {
        let NoteSummary { thread, name, count, least, median, greatest } = note;
        format!(
            "note: {} of {}: {}, least {least}, median {median}, greatest {greatest}\n",
            Printable(name),
            Printable(thread),
            counted(*count, "value")
        )
    };
    notes.iter().map(line).collect()
}
