//! The command line of Solocore.
//!
//! Results go to standard output, progress and messages to standard error. The exit code says how it went:
//! 0 held, 1 a deadline or bound did not hold, 2 bad input, 3 this machine cannot, 130 interrupted.
#![forbid(unsafe_code)]

/// Standard error may lie on a full disk, which is no reason to end a run: unlike the standard library's, this one goes
/// on. Everything in this program uses it.
macro_rules! eprintln {
    ($($words:tt)*) => {
        crate::output::message(format_args!("{}\n", format_args!($($words)*)))
    };
}

/// The same without a line break.
macro_rules! eprint {
    ($($words:tt)*) => {
        crate::output::message(format_args!($($words)*))
    };
}

mod cli;
mod commands;
mod control;
mod document;
mod exit;
mod folders;
mod interrupt;
mod itself;
mod output;
mod pages;
mod progress;
mod rights;
mod serve;
mod service;
mod stream;
mod top;
mod watching;

use cli::{Cli, Command};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli: Cli = cli::read();
    interrupt::install();
    // Where it fails, a limit of file sizes ends the program as before.
    let _ = solo_watch::limits::full_files_are_errors();
    // Where it fails, programs are waited for as whoever started this one has left it.
    let _ = solo_watch::limits::children_are_waited_for();
    if cli.command.only_reads() {
        interrupt::end_at_once();
    }
    let inputs = cli.command.inputs();
    let result = match cli.command {
        Command::Run(options) if options.scenario.is_dir() => commands::program::run(&options),
        Command::Run(options) => commands::run::run(&options),
        Command::New(options) => commands::new::run(&options),
        Command::Demo(options) => commands::demo::run(&options),
        Command::Compare(options) => commands::compare::run(&options),
        Command::Sweep(options) => commands::sweep::run(&options),
        Command::Evaluate(options) => commands::evaluate::run(&options),
        Command::Plot(options) => commands::plot::run(&options),
        Command::Check(options) => commands::check::run(&options),
        Command::Plan(options) => commands::plan::run(&options),
        Command::Pack(options) => commands::pack::run(&options),
        Command::Report(options) => commands::report::run(&options),
        Command::Io(options) => commands::io::run(&options),
        Command::Diff(options) => commands::diff::run(&options),
        Command::Replay(options) => commands::replay::run(&options),
        Command::List(options) => commands::list::run(&options),
        Command::Trace(options) => commands::trace::run(&options),
        Command::Study(options) => commands::study::run(&options),
        Command::Prove(options) => commands::prove::run(&options),
        Command::Events(options) => commands::events::run(&options),
        Command::Watch(options) => commands::watch::run(&options),
        Command::Color(options) => commands::color::run(&options),
        Command::Guard(options) => commands::guard::run(&options),
        Command::Place(options) => commands::place::run(&options),
        Command::Top(options) => commands::top::run(&options),
        Command::Serve(options) => commands::serve::run(&options),
        Command::Record(options) => commands::record::run(&options),
        Command::Import(options) => commands::foreign::import(&options),
        Command::Export(options) => commands::foreign::export(&options),
        Command::Measure(options) => commands::measure::run(&options),
        Command::Platforms(options) => commands::platforms::run(&options),
        Command::Doctor(options) => commands::doctor::run(&options),
        Command::Explain(options) => commands::explain::run(&options),
        Command::Schema(options) => commands::schema::run(&options),
        Command::Completions(options) => commands::generate::completions(&options),
        Command::Man(options) => commands::generate::man(&options),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => {
            let failure = failure.or_other_kind(&inputs);
            failure.print();
            failure.exit().into()
        }
    }
}
