//! `solo prove`: batch verdicts for scripts and studies.

mod peer;

use crate::cli::ProveArgs;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::output;
use solo_model::text::counted;
use solo_prove::assign_lines::{Assigner, assign_lines};
use solo_prove::catalogue;
use solo_prove::catalogue::Test;
use solo_prove::jsonl::{BatchOptions, judge_lines};
use solo_report::table;
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
    if let Some(name) = &args.assign {
        return assign(input, name);
    }
    let mut options = BatchOptions {
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
    if args.table {
        return as_table(input, &options);
    }
    let outcome =
        judge_lines(input, BufWriter::new(io::stdout().lock()), &options).map_err(Failure::Lines)?;
    if outcome.refused > 0 {
        eprintln!("solo prove: no task set: {} of {}", outcome.refused, counted(outcome.lines, "line"));
    }
    if outcome.out_of_time > 0 {
        eprintln!(
            "solo prove: null because their test ran out of time: {}",
            counted(outcome.out_of_time, "verdict")
        );
    }
    Ok(if outcome.refused > 0 { Exit::BadInput } else { Exit::Held })
}

/// Gives cores to the tasks of each line.
fn assign(input: impl io::BufRead, name: &str) -> Result<Exit, Failure> {
    let Some(assigner) = Assigner::named(name) else {
        let known: Vec<&str> = Assigner::names().collect();
        let wrong = format!("--assign: there is no heuristic {name:?}; there are {}", known.join(", "));
        return Err(Failure::Usage(wrong));
    };
    let output = BufWriter::new(io::stdout().lock());
    let outcome = assign_lines(input, output, assigner).map_err(Failure::Lines)?;
    if outcome.refused > 0 {
        eprintln!("solo prove: no task set: {} of {}", outcome.refused, counted(outcome.lines, "line"));
    }
    Ok(if outcome.refused > 0 { Exit::BadInput } else { Exit::Held })
}

/// So many sets are shown; --jsonl tells of all.
const ROWS: usize = 200;

/// An answer, read again.
#[derive(serde::Deserialize)]
struct Answer {
    /// In the order of the tests.
    #[serde(default)]
    verdicts: serde_json::Map<String, serde_json::Value>,
    error: Option<serde_json::Value>,
}

/// A row a set, a column a test.
fn as_table(input: impl io::BufRead, options: &BatchOptions) -> Result<Exit, Failure> {
    let mut answers = Vec::new();
    let outcome = judge_lines(input, &mut answers, options).map_err(Failure::Lines)?;
    let (mut tests, mut rows, mut wrong): (Vec<String>, Vec<Vec<String>>, Vec<String>) = Default::default();
    for (number, line) in answers.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).enumerate() {
        let Answer { verdicts, error } = serde_json::from_slice(line)?;
        if let Some(error) = error {
            wrong.push(format!("line {}: {error}", number + 1));
            continue;
        }
        // Sets with clusters are asked more: their columns stand behind.
        let fresh: Vec<String> = verdicts.keys().filter(|test| !tests.contains(test)).cloned().collect();
        tests.extend(fresh);
        let mut row = vec![(number + 1).to_string()];
        row.extend(tests.iter().map(|test| match verdicts.get(test).and_then(serde_json::Value::as_bool) {
            Some(true) => "yes".to_owned(),
            Some(false) => "no".to_owned(),
            None => "-".to_owned(),
        }));
        rows.push(row);
    }
    let catalogue = |name: &String| catalogue::TESTS.iter().position(|test| test.id == name.as_str());
    let mut order: Vec<usize> = (0..tests.len()).collect();
    order.sort_by_key(|&at| catalogue(&tests[at]));
    let sorted = |row: &Vec<String>| {
        let cells = order.iter().map(|&at| row.get(at + 1).cloned().unwrap_or_else(|| "-".to_owned()));
        std::iter::once(row[0].clone()).chain(cells).collect::<Vec<_>>()
    };
    let left_out = rows.len().saturating_sub(ROWS);
    let rows: Vec<Vec<String>> = rows.iter().take(ROWS).map(sorted).collect();
    let header: Vec<&str> =
        std::iter::once("set").chain(order.iter().map(|&at| tests[at].as_str())).collect();
    let style = output::style();
    let mut text = table::plain(&header, 1, &rows, style);
    if left_out > 0 {
        text += &format!("and {}\n", counted(left_out, "more set"));
    }
    for wrong in &wrong {
        text += &table::sentence(wrong, style);
    }
    let doubts = format!(
        "doubts: no task set in {} of {}, {} ran out of time; `-` is not applicable or out of time; \
         `no` of a test that is not exact says nothing (solo prove --list)",
        outcome.refused,
        counted(outcome.lines, "line"),
        counted(outcome.out_of_time, "verdict")
    );
    output::text(&(text + &table::sentence(&doubts, style)))?;
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
