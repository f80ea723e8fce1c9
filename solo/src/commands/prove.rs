//! `solo prove`: batch verdicts for scripts and studies.

mod peer;

use clap::Args;
use solo_prove::catalogue;
use solo_prove::jsonl::{Options, judge_lines};
use solo_prove::{Budget, catalogue::Test};
use std::io::{self, BufReader, BufWriter, ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Judges task sets, one a line of JSON in and one out.
#[derive(Args, Debug)]
pub(crate) struct ProveArgs {
    /// Reads task sets from standard input: {"m":8,"tasks":[{"c":1000,"t":10000,"d":10000}]}, in microseconds,
    /// optionally with "cluster"; writes {"verdicts":{...}}, null for not applicable or out of time
    #[arg(long, required_unless_present = "list", conflicts_with = "list")]
    jsonl: bool,
    /// Lists the tests with what exactly each accepts
    #[arg(long)]
    list: bool,
    /// With --list or --peer: as JSON
    #[arg(long)]
    json: bool,
    /// Compares with another program instead, verdict by verdict: the shell runs COMMAND --tests TEST,... with the
    /// sets on its standard input, and it answers in the form of this command
    #[arg(long, value_name = "COMMAND", requires = "jsonl", conflicts_with = "explain")]
    peer: Option<String>,
    /// With --peer: writes the sets whose verdicts differ into this file, one a line
    #[arg(long, value_name = "FILE", requires = "peer")]
    differences: Option<PathBuf>,
    /// Judges these tests only, separated by commas; "all" for every one
    #[arg(long, value_name = "TEST,...")]
    tests: Option<String>,
    /// Adds why there is no answer, what accepted, and which necessary condition fails
    #[arg(long)]
    explain: bool,
    /// Threads; 0 for one a core
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
    /// Work that a test may do for a set before it answers null, the same on every machine
    #[arg(long, value_name = "STEPS", default_value_t = Budget::DEFAULT_STEPS)]
    work_limit: u64,
    /// Time that a test may take for a set before it answers null; verdicts then depend on the machine
    #[arg(long, value_name = "MILLISECONDS")]
    time_limit: Option<u64>,
}

/// Runs `solo prove`: 0 all lines answered, 1 verdicts differ from a peer's, or input or output failed, 2 a line or
/// option was wrong.
pub(crate) fn run(args: &ProveArgs) -> ExitCode {
    match attempt(args) {
        Ok(code) => ExitCode::from(code),
        // Whoever reads has seen enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("solo prove: {error}");
            ExitCode::FAILURE
        }
    }
}

fn attempt(args: &ProveArgs) -> io::Result<u8> {
    if args.list {
        return list(args.json).map(|()| 0);
    }
    if args.json && args.peer.is_none() {
        eprintln!("solo prove: --json goes with --list or --peer; verdicts of --jsonl are JSON anyway");
        return Ok(2);
    }
    let tests = match args.tests.as_deref().map(catalogue::select).transpose() {
        Ok(tests) => tests,
        Err(name) => {
            let known: Vec<&str> = catalogue::TESTS.iter().map(|test| test.id).collect();
            eprintln!("solo prove: --tests: there is no test {name:?}; there are {}", known.join(", "));
            return Ok(2);
        }
    };
    let input = BufReader::with_capacity(1 << 16, io::stdin().lock());
    let mut options = Options {
        tests: None,
        explain: args.explain,
        threads: args.threads,
        steps: args.work_limit,
        time: args.time_limit.map(Duration::from_millis),
    };
    if let Some(command) = &args.peer {
        return peer::run(command, input, args, tests, &options);
    }
    options.tests = tests;
    let outcome = judge_lines(input, BufWriter::new(io::stdout().lock()), &options)?;
    if outcome.refused > 0 {
        eprintln!("solo prove: {} of {} lines are no task set", outcome.refused, outcome.lines);
    }
    if outcome.out_of_time > 0 {
        eprintln!("solo prove: {} verdicts are null because their test ran out of time", outcome.out_of_time);
    }
    Ok(outcome.exit_code())
}

fn list(json: bool) -> io::Result<()> {
    let mut output = BufWriter::new(io::stdout().lock());
    if json {
        writeln!(output, "{}", catalogue::json())?;
    } else {
        for test in catalogue::TESTS {
            write_entry(&mut output, test)?;
        }
    }
    output.flush()
}

fn write_entry(output: &mut impl Write, test: &Test) -> io::Result<()> {
    let exact = if test.exact { ", exact" } else { "" };
    writeln!(
        output,
        "{:<11} {}, {}, {}{exact}\n            accepts iff {}\n            {}",
        test.id,
        test.policy,
        test.deadlines.name(),
        test.cores.name(),
        test.semantics,
        test.source
    )
}
