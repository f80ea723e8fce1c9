//! `solo prove --jsonl --peer`: another program's verdicts beside ours.

use crate::cli::ProveArgs;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::output;
use solo_model::text::counted;
use solo_prove::catalogue::{self, Test};
use solo_prove::jsonl::BatchOptions;
use solo_prove::peer::{Comparison, Peer, Tally, compare_lines};
use solo_report::table;
use solo_store::Output;
use std::io::{self, BufRead, BufWriter, Write};

/// Compares every line of `input`: 0 all verdicts agree, 1 some differ, 2 a line was wrong or the peer did not answer.
pub(super) fn run(
    command: &str,
    input: impl BufRead,
    args: &ProveArgs,
    tests: Option<Vec<&'static Test>>,
    options: &BatchOptions,
) -> Result<Exit, Failure> {
    let tests = tests.unwrap_or_else(|| catalogue::TESTS[..catalogue::DEFAULT_COUNT].iter().collect());
    let peer = Peer { command: command.to_owned() };
    let kept = args.differences.as_deref().map(Output::create).transpose()?;
    let differences: Box<dyn Write> = match &kept {
        Some(output) => Box::new(BufWriter::new(output.handle()?)),
        None => Box::new(io::sink()),
    };
    let found = compare_lines(input, differences, &peer, &tests, options).map_err(Failure::Lines)?;
    kept.map(Output::commit).transpose()?;
    if args.json {
        output::json(Document::Peer, &as_json(&found))?;
    } else {
        output::text(&shown(&found))?;
    }
    let Comparison { outcome, unanswered, .. } = found;
    if outcome.refused > 0 {
        eprintln!("solo prove: no task set: {} of {}", outcome.refused, counted(outcome.lines, "line"));
    }
    if unanswered > 0 {
        eprintln!(
            "solo prove: --peer: {command:?} left {unanswered} of {} unanswered",
            counted(outcome.lines, "set")
        );
    }
    Ok(match found.tallies.iter().any(|(_, tally)| tally.differ() > 0) {
        _ if outcome.refused > 0 || unanswered > 0 => Exit::BadInput,
        true => Exit::NotHeld,
        false => Exit::Held,
    })
}

fn as_json(found: &Comparison) -> serde_json::Value {
    let tallies: serde_json::Map<String, serde_json::Value> =
        found.tallies.iter().map(|(id, tally)| ((*id).to_owned(), serde_json::json!(tally))).collect();
    serde_json::json!({
        "sets": found.outcome.lines - found.outcome.refused,
        "refused": found.outcome.refused,
        "unanswered": found.unanswered,
        "differing_sets": found.differing_sets,
        "tests": tallies,
    })
}

fn shown(found: &Comparison) -> String {
    let header = ["test", "both accept", "neither", "only here", "only peer", "null here", "null there"];
    let row = |(id, tally): &(&str, Tally)| {
        let counts = [
            tally.both_accept,
            tally.neither,
            tally.only_here,
            tally.only_peer,
            tally.null_here,
            tally.null_peer,
        ];
        std::iter::once((*id).to_owned()).chain(counts.map(|count| count.to_string())).collect()
    };
    let rows: Vec<Vec<String>> = found.tallies.iter().map(row).collect();
    let sets = found.outcome.lines - found.outcome.refused;
    format!(
        "{}\n{}; verdicts differ on {}\n",
        table::plain(&header, 1, &rows, output::style()),
        counted(sets, "set"),
        found.differing_sets
    )
}
