//! `solo prove`: batch verdicts for scripts and studies.

mod peer;

use crate::cli::ProveArgs;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::output;
use solo_prove::catalogue;
use solo_prove::catalogue::Test;
use solo_prove::jsonl::{Options, judge_lines};
use std::io::{self, BufReader, BufWriter, Write};
use std::time::Duration;

/// Runs `solo prove`: 0 all lines answered, 1 verdicts differ from a peer's, 2 a line or option was wrong, or input or
/// output failed.
pub(crate) fn run(args: &ProveArgs) -> Result<Exit, Failure> {
    if args.list {
        return match args.json {
            true => output::list(Document::Tests, "tests", &catalogue::entries()),
            false => list().map_err(Failure::Output),
        }
        .map(|()| Exit::Held);
    }
    if args.json && args.peer.is_none() {
        let wrong = "--json goes with --list or --peer; verdicts of --jsonl are JSON anyway";
        return Err(Failure::Usage(wrong.to_owned()));
    }
    let tests = args.tests.as_deref().map(catalogue::select).transpose().map_err(|name| {
        let known: Vec<&str> = catalogue::TESTS.iter().map(|test| test.id).collect();
        Failure::Usage(format!("--tests: there is no test {name:?}; there are {}", known.join(", ")))
    })?;
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
    let outcome =
        judge_lines(input, BufWriter::new(io::stdout().lock()), &options).map_err(Failure::Lines)?;
    if outcome.refused > 0 {
        eprintln!("solo prove: {} of {} lines are no task set", outcome.refused, outcome.lines);
    }
    if outcome.out_of_time > 0 {
        eprintln!("solo prove: {} verdicts are null because their test ran out of time", outcome.out_of_time);
    }
    Ok(if outcome.refused > 0 { Exit::BadInput } else { Exit::Held })
}

fn list() -> io::Result<()> {
    let mut output = BufWriter::new(io::stdout().lock());
    for test in catalogue::TESTS {
        write_entry(&mut output, test)?;
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
