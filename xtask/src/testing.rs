//! Runs every test and closes with one line: passed, failed, skipped.
//!
//! A test that can't run here prints `skipped: REASON` and passes; those lines are counted and repeated at
//! the end, so that nothing is silently green.

use crate::guest::Guest;
use crate::{beat, cargo, check, dependencies, setup};
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Instant;

#[derive(Default)]
struct Tally {
    passed: u64,
    failed: u64,
    skips: BTreeSet<String>,
    /// What failed, by name.
    failures: Vec<String>,
    /// Cargo's own words on how to run what failed again.
    again: BTreeSet<String>,
}

impl Tally {
    /// A check that is no test program's.
    fn check(&mut self, name: &str, held: bool) {
        self.passed += u64::from(held);
        if !held {
            self.failed += 1;
            self.failures.push(name.to_owned());
        }
    }

    /// Reads one line of the test runner's output.
    fn read(&mut self, line: &str) {
        if let Some(reason) = line.trim_start().strip_prefix("skipped: ") {
            // A test's output is its own and its summary's: the same reason twice is one skip.
            self.skips.insert(reason.to_owned());
        } else if let Some(name) =
            line.strip_prefix("test ").and_then(|line| line.strip_suffix(" ... FAILED"))
        {
            self.failures.push(name.to_owned());
        } else if let Some(again) =
            line.split("to rerun pass `").nth(1).and_then(|rest| rest.split('`').next())
        {
            self.again.insert(again.to_owned());
        } else if let Some(counts) = line.strip_prefix("test result: ") {
            self.passed += count_before(counts, " passed");
            self.failed += count_before(counts, " failed");
        }
    }
}

/// The number right before `word`: 12 in `ok. 12 passed; 0 failed`.
fn count_before(text: &str, word: &str) -> u64 {
    let before = text.split(word).next().filter(|before| before.len() < text.len());
    before.and_then(|before| before.rsplit(' ').next()).and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Runs checks and tests; the code to exit with.
pub(crate) fn run(fail_fast: bool) -> Result<i32> {
    eprintln!(
        "every check and every test: up to half an hour on two cores the first time; target grows to about 7 GB"
    );
    setup::prepare()?;
    let mut tally = Tally::default();
    let checked = check(&mut |reason| {
        tally.skips.insert(reason);
    });
    let checked =
        checked.inspect_err(|error| eprintln!("check failed: {error:#}")).is_ok_and(|code| code == 0);
    tally.check("format, lints and house rules (./x check)", checked);
    let judged = dependencies::judge(&mut |reason| {
        tally.skips.insert(reason);
    });
    tally.check("licenses, origins and faults of dependencies (./x dependencies)", judged.unwrap_or(false));
    let mut arguments = vec!["test", "--workspace"];
    if !fail_fast {
        arguments.push("--no-fail-fast");
    }
    arguments.extend(["--", "--show-output"]);
    let mut tests = cargo(&arguments);
    // Generated cases are the same ones each time: what fails here fails again. Other seeds are tried by hand.
    tests.env("PROPTEST_RNG_SEED", "1");
    let clean = stream("tests", &mut tests, &mut tally)?;
    if !clean && tally.failed == 0 {
        tally.check("the tests did not build, or a test program died: see above", false);
    }
    for guest in Guest::ALL {
        let name = guest.name();
        if guest.prepared() {
            let checked = guest.check("").inspect_err(|error| eprintln!("{name} guest: {error:#}"));
            tally.check(&format!("the {name} guest (./x guest {name})"), checked.is_ok_and(|code| code == 0));
        } else {
            tally.skips.insert(format!("the {name} guest: `./x guest {name}` fetches what it takes"));
        }
    }
    tally.skips.insert(
        "a newcomer's first minutes in a minimal Debian: `./x newcomer` tries them, as root".to_owned(),
    );
    print!("{}", closing(&tally));
    Ok(i32::from(tally.failed > 0))
}

/// The last lines: what was skipped and why, what failed and how to try it again, the numbers.
fn closing(tally: &Tally) -> String {
    let mut text = String::new();
    for reason in &tally.skips {
        text += &format!("skipped: {reason}\n");
    }
    for name in &tally.failures {
        text += &format!("failed: {name}\n");
    }
    for again in &tally.again {
        text += &format!("    try again: cargo test {again}\n");
    }
    text + &format!("{} passed, {} failed, {} skipped\n", tally.passed, tally.failed, tally.skips.len())
}

/// Passes a command's words on, line by line, while reading them, and says that it goes on when it is silent.
fn stream(what: &str, command: &mut Command, tally: &mut Tally) -> Result<bool> {
    hear(what, command, &mut |line, of_errors| {
        if of_errors {
            eprintln!("{line}");
        } else {
            println!("{line}");
        }
        tally.read(line);
    })
}

/// Gives `each` line of both streams of a command, and where it was said: true for standard error. Whether the command
/// succeeded.
fn hear(what: &str, command: &mut Command, each: &mut dyn FnMut(&str, bool)) -> Result<bool> {
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().context("cannot start cargo")?;
    let (output, errors) =
        (child.stdout.take().context("no output")?, child.stderr.take().context("no errors")?);
    let (lines, heard) = mpsc::channel();
    let started = Instant::now();
    thread::scope(|scope| {
        let more = lines.clone();
        scope.spawn(move || pass_on(output, false, &more));
        scope.spawn(move || pass_on(errors, true, &lines));
        loop {
            match heard.recv_timeout(beat::SILENCE) {
                Ok((line, of_errors)) => each(&line, of_errors),
                Err(RecvTimeoutError::Timeout) => beat::say(what, started),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    });
    Ok(child.wait()?.success())
}

/// Sends each line and where it was said, to the end of the stream.
fn pass_on(stream: impl Read, of_errors: bool, lines: &Sender<(String, bool)>) {
    for line in BufReader::new(stream).split(b'\n') {
        let Ok(line) = line else { break };
        if lines.send((String::from_utf8_lossy(&line).into_owned(), of_errors)).is_err() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Tally, closing, hear};
    use std::process::Command;

    #[test]
    fn the_tally_reads_results_skips_and_what_failed() {
        let mut tally = Tally::default();
        for line in [
            "test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out",
            "test a_page_is_found ... FAILED",
            "test result: FAILED. 1 passed; 2 failed; 0 ignored",
            "skipped: no valgrind",
            "skipped: no valgrind",
            "test a_test_named_skipped ... ok",
            "error: test failed, to rerun pass `-p solo --test pages`",
        ] {
            tally.read(line);
        }
        assert_eq!((tally.passed, tally.failed), (13, 2));
        let text = closing(&tally);
        let expected = "skipped: no valgrind\nfailed: a_page_is_found\n    try again: cargo test -p solo --test pages\n\
                        13 passed, 2 failed, 1 skipped\n";
        assert_eq!(text, expected);
    }

    /// Nothing is printed: who runs this test reads what it prints as results.
    #[test]
    fn both_streams_of_a_command_are_read() {
        let (mut tally, mut said) = (Tally::default(), Vec::new());
        let script = "echo 'skipped: a'; echo 'skipped: b' >&2; exit 3";
        let held = hear("a script", Command::new("sh").args(["-c", script]), &mut |line, of_errors| {
            tally.read(line);
            said.push((line.to_owned(), of_errors));
        });
        assert!(!held.unwrap());
        said.sort();
        assert_eq!(said, [("skipped: a".to_owned(), false), ("skipped: b".to_owned(), true)]);
        assert_eq!(tally.skips.into_iter().collect::<Vec<_>>(), ["a", "b"]);
    }
}
