//! Runs every test and closes with one line: passed, failed, skipped.
//!
//! A test that can't run here prints `skipped: REASON` and passes; those lines are counted and repeated at
//! the end, so that nothing is silently green.

use crate::{cargo, check, guest, setup};
use anyhow::{Context, Result};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

#[derive(Default)]
struct Tally {
    passed: u64,
    failed: u64,
    skips: Vec<String>,
}

impl Tally {
    /// Reads one line of the test runner's output.
    fn read(&mut self, line: &str) {
        if let Some(reason) = line.trim_start().strip_prefix("skipped: ") {
            self.skips.push(reason.to_owned());
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
    setup::prepare()?;
    let mut tally = Tally::default();
    match check(&mut |reason| tally.skips.push(reason)) {
        Ok(0) => tally.passed += 1,
        Ok(_) => tally.failed += 1,
        Err(error) => {
            eprintln!("check failed: {error:#}");
            tally.failed += 1;
        }
    }
    // End-to-end tests drive the optimised program, as users do.
    let built = stream(&mut cargo(&["build", "--release", "--package", "solo"]), &mut tally)?;
    tally.failed += u64::from(!built);
    let mut arguments = vec!["test", "--workspace"];
    if !fail_fast {
        arguments.push("--no-fail-fast");
    }
    arguments.extend(["--", "--show-output"]);
    let mut tests = cargo(&arguments);
    // Generated cases are the same ones each time: what fails here fails again. Other seeds are tried by hand.
    tests.env("PROPTEST_RNG_SEED", "1");
    let clean = stream(&mut tests, &mut tally)?;
    if !clean && tally.failed == 0 {
        eprintln!("the tests did not build or a test program died");
        tally.failed += 1;
    }
    if guest::prepared() {
        let held = guest::arm64()
            .inspect_err(|error| eprintln!("arm64 guest: {error:#}"))
            .is_ok_and(|code| code == 0);
        tally.passed += u64::from(held);
        tally.failed += u64::from(!held);
    } else {
        tally.skips.push("the arm64 guest with counters: `./x guest arm64` fetches what it takes".to_owned());
    }
    // A test's output is its own and its summary's: the same reason twice is one skip.
    tally.skips.sort();
    tally.skips.dedup();
    for reason in &tally.skips {
        println!("skipped: {reason}");
    }
    println!("{} passed, {} failed, {} skipped", tally.passed, tally.failed, tally.skips.len());
    Ok(i32::from(tally.failed > 0))
}

/// Passes the output on, line by line, while reading it.
fn stream(command: &mut Command, tally: &mut Tally) -> Result<bool> {
    let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start cargo")?;
    let output = child.stdout.take().context("no output")?;
    for line in BufReader::new(output).split(b'\n') {
        let line = line.context("cannot read the output of cargo")?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        tally.read(&line);
    }
    Ok(child.wait()?.success())
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn the_tally_reads_results_and_skips() {
        let mut tally = Tally::default();
        tally.read("test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out");
        tally.read("test result: FAILED. 1 passed; 2 failed; 0 ignored");
        tally.read("skipped: no valgrind");
        tally.read("test a_test_named_skipped ... ok");
        assert_eq!((tally.passed, tally.failed), (13, 2));
        assert_eq!(tally.skips, ["no valgrind"]);
    }
}
