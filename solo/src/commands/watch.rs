//! `solo watch`: counters over time while a program runs.

use crate::exit::Exit;
use crate::watching::{self, Form, Output};
use crate::{interrupt, output};
use clap::{Args, ValueEnum, ValueHint};
use solo_linux::files::Host;
use solo_linux::watch::{Modules, Options, Outcome, Per, Reason, Target, WatchError};
use solo_model::Duration;
use solo_observe::{EventSet, Filter, Metric, parse_set};
use solo_scenario::units;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::ExitCode;

/// What rows are about.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum PerChoice {
    /// Each thread, followed through clone, fork and exec
    Thread,
    /// The process with all that comes out of it, not touched at all
    Process,
    /// Each CPU, whoever runs there
    Core,
}

/// Counts events over time while a program runs, of a process or of the whole machine. The program's exit
/// status is passed on.
#[derive(Args, Debug)]
pub(crate) struct WatchArgs {
    /// An event set: names, codes or PMCTrack strings (`solo events` explains them). Several sets take turns,
    /// one a period
    #[arg(short, long = "event", value_name = "EVENT,...", default_value = "page-faults,context-switches")]
    events: Vec<String>,
    /// The sampling period, 1ms or more; without it every 100ms, or none where an event has :ebs=N
    #[arg(long, value_name = "TIME")]
    every: Option<String>,
    /// What a row is about; threads of a program by default, CPUs with --all
    #[arg(long, value_enum)]
    per: Option<PerChoice>,
    /// A derived column: ipc=instructions/cycles, rate=page_faults/seconds
    #[arg(short, long = "metric", value_name = "NAME=EXPRESSION")]
    metrics: Vec<String>,
    /// Virtual counters of a monitoring module; `solo events --modules` lists those that there are
    #[arg(short = 'V', long = "with", value_name = "MODULE", value_delimiter = ',')]
    modules: Vec<String>,
    /// Watch this process instead of starting one
    #[arg(short, long, value_name = "PID", conflicts_with = "command")]
    pid: Option<u32>,
    /// Watch the whole machine, per CPU; until the program ends, where one is given
    #[arg(short, long, conflicts_with = "pid")]
    all: bool,
    /// Stop after this many rows; a program that was started is ended
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rows: Option<u64>,
    /// Stop after this time; a program that was started is ended
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    /// Count in user mode only, where an event does not say otherwise
    #[arg(long)]
    user: bool,
    /// Keep the program on these CPUs
    #[arg(long, value_name = "CPU,...", value_delimiter = ',')]
    cpus: Option<Vec<usize>>,
    /// How rows are written
    #[arg(long, value_enum, default_value_t = Form::Pmctrack)]
    format: Form,
    /// Write the rows into this file instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Keep rows, totals and doubts in this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "output")]
    out: Option<PathBuf>,
    /// Add the column etime_us, the length of each row's interval, to PMCTrack's columns
    #[arg(short = 'E', long)]
    etime: bool,
    /// Print totals and doubts as JSON; rows are written only with --output or --out
    #[arg(long)]
    json: bool,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, value_hint = ValueHint::CommandWithArguments)]
    command: Vec<OsString>,
}

/// Runs `solo watch`: the program's own status; 2 bad input, 3 this machine cannot, 130 interrupted.
pub(crate) fn run(args: &WatchArgs) -> ExitCode {
    match attempt(args) {
        Ok(code) => code.into(),
        Err((exit, message)) => {
            eprintln!("error: {message}");
            exit.into()
        }
    }
}

type Failed = (Exit, String);

fn bad(message: impl ToString) -> Failed {
    (Exit::BadInput, message.to_string())
}

fn attempt(args: &WatchArgs) -> Result<u8, Failed> {
    let host = Host::new();
    let (target, options) = understand(args, &host)?;
    let mut modules = Modules::none();
    for name in &args.modules {
        modules.add(watching::module(name, &host).map_err(bad)?);
    }
    let output = Output {
        form: args.format,
        file: args.output.clone(),
        folder: args.out.clone(),
        etime: args.etime,
        silent: args.json,
    };
    let mut writer = watching::Writer::create(&output, &options).map_err(bad)?;
    let watched =
        solo_linux::watch::watch(&target, &options, modules, &host, &interrupt::flag(), &mut writer);
    let outcome = match watched {
        Ok(outcome) => outcome,
        Err(error) => {
            writer.discard();
            return Err((exit_of(&error), error.to_string()));
        }
    };
    conclude(args, writer, outcome)
}

/// Completes the output and says how it went.
fn conclude(args: &WatchArgs, writer: watching::Writer, outcome: Outcome) -> Result<u8, Failed> {
    let gone = |error: &std::io::Error| error.kind() == ErrorKind::BrokenPipe;
    if let Some(error) = &outcome.output_error {
        if !gone(error) {
            let left = writer.abandon();
            return Err(bad(format!(
                "cannot write the rows: {error}; {} rows were written{left}",
                outcome.doubts.rows
            )));
        }
        writer.discard();
        eprintln!("note: whoever read the rows is gone after {} of them", outcome.doubts.rows);
        return Ok(status(&outcome));
    }
    match writer.finish(&outcome) {
        Err(error) if !gone(&error) => return Err(bad(format!("cannot write the rows: {error}"))),
        _ => {}
    }
    if args.json {
        match output::json(&watching::Summary::of(&outcome)) {
            Err(crate::exit::Failure::Output(error)) if gone(&error) => {}
            other => other.map_err(bad)?,
        }
    }
    Ok(status(&outcome))
}

/// The program's own status where it ended by itself.
fn status(outcome: &Outcome) -> u8 {
    match outcome.reason {
        Reason::Interrupted => Exit::Interrupted as u8,
        Reason::Rows | Reason::Time => Exit::Held as u8,
        Reason::Ended | Reason::Output => outcome.program.map_or(0, solo_linux::follow::Ended::code),
    }
}

fn exit_of(error: &WatchError) -> Exit {
    match error {
        WatchError::Refused { .. } | WatchError::System { .. } => Exit::Cannot,
        _ => Exit::BadInput,
    }
}

fn understand(args: &WatchArgs, host: &Host) -> Result<(Target, Options), Failed> {
    let sets = args.events.iter().map(|text| event_set(text, host)).collect::<Result<Vec<_>, _>>()?;
    let metric =
        |text: &String| Metric::parse(text).map_err(|error| bad(format!("--metric {text}: {error}")));
    let metrics = args.metrics.iter().map(metric).collect::<Result<Vec<_>, _>>()?;
    let sampled = sets.iter().any(|set| set.sampled().is_some());
    let every = match &args.every {
        Some(text) => Some(time("--every", text)?),
        None if sampled => None,
        None => Some(Duration::from_millis(100)),
    };
    let target = match (args.pid, args.command.is_empty()) {
        (Some(process), _) => Target::Process(process),
        (None, false) => Target::Command(args.command.clone()),
        (None, true) if args.all => Target::Machine,
        (None, true) => {
            return Err(bad("expected a program, --pid or --all: solo watch -e page-faults -- make"));
        }
    };
    let per = match (args.per, args.all) {
        (Some(PerChoice::Core), _) | (None, true) => Per::Core,
        (Some(PerChoice::Process), false) => Per::Process,
        (Some(PerChoice::Thread) | None, false) => Per::Thread,
        (Some(_), true) => return Err(bad("--all is per core")),
    };
    let options = Options {
        sets,
        metrics,
        per,
        every,
        rows_max: args.rows,
        time_max: args.time.as_ref().map(|text| time("--time", text)).transpose()?,
        filter: if args.user { Filter::USER } else { Filter::ALL },
        cpus: args.cpus.clone(),
    };
    Ok((target, options))
}

/// Reads an event set with all names that this machine knows.
pub(crate) fn event_set(text: &str, host: &Host) -> Result<EventSet, Failed> {
    let resolver = solo_linux::resolve::Resolver::new(host);
    let names = solo_linux::resolve::SysfsNames(host);
    parse_set(text, &names, resolver.layout()).map_err(|error| bad(format!("-e {text}: {error}")))
}

fn time(option: &str, text: &str) -> Result<Duration, Failed> {
    let parsed = units::TIME.parse(text);
    parsed.map(Duration::new).map_err(|_| {
        bad(format!(
            "{option}: expected {} such as 100ms, found `{text}`; units: {}",
            units::TIME.name,
            units::TIME.known()
        ))
    })
}
