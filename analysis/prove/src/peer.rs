//! Another program's verdicts beside ours, set by set.
//!
//! The peer is a shell command. For each batch of sets it is started once as `COMMAND --tests gfb,bak,...`, gets the
//! sets as lines of `solo prove --jsonl` on its standard input (`d` always given, no other fields), and writes one
//! line for each, in the same order: `{"verdicts":{"gfb":true,"bak":false}}`. A test that is missing or null there
//! counts as no answer. It may add `"cpu_ns":{"gfb":1234}`, what the test itself took in nanoseconds; a bench then
//! compares these instead of whole processes.

use crate::catalogue::Test;
use crate::jsonl::{Batch, BatchOptions, BatchTotals, Line, judge, parse};
use crate::task::TaskSet;
use crate::verdict::TestAnswer;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, BufRead, Write};
use std::process::{Command, Stdio};

/// A program that judges task sets.
#[derive(Clone, Debug)]
pub struct Peer {
    /// What the shell runs, without `--tests`.
    pub command: String,
}

/// What a peer said of one set, in the order of the tests asked.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PeerAnswer {
    /// Its verdicts; `None` for no answer.
    pub verdicts: Vec<Option<bool>>,
    /// What each test took, where the peer tells.
    pub cpu_ns: Vec<Option<u64>>,
}

#[derive(Deserialize)]
struct RawAnswer {
    #[serde(default)]
    verdicts: BTreeMap<String, Option<bool>>,
    #[serde(default)]
    cpu_ns: BTreeMap<String, u64>,
}

impl Peer {
    /// The peer's answers for the sets, in their order; fewer where it stopped early. A line that is no answer counts
    /// as one without verdicts.
    ///
    /// # Errors
    /// The shell cannot be started, or its output cannot be read.
    pub fn ask(&self, tests: &[&Test], sets: &[&TaskSet]) -> io::Result<Vec<PeerAnswer>> {
        let ids: Vec<&str> = tests.iter().map(|test| test.id).collect();
        let mut child = Command::new("sh")
            .args(["-c", &format!("{} --tests {}", self.command, ids.join(","))])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input: String = sets.iter().map(|set| line(set)).collect();
        let writer = child.stdin.take().map(|mut stdin| {
            // A peer that stops early has closed its input; its missing answers tell.
            std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())))
        });
        let output = child.wait_with_output()?;
        if let Some(writer) = writer {
            drop(writer.join());
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let read = |line: &str| {
            let raw: RawAnswer = serde_json::from_str(line)
                .unwrap_or(RawAnswer { verdicts: BTreeMap::new(), cpu_ns: BTreeMap::new() });
            PeerAnswer {
                verdicts: ids.iter().map(|id| raw.verdicts.get(*id).copied().flatten()).collect(),
                cpu_ns: ids.iter().map(|id| raw.cpu_ns.get(*id).copied()).collect(),
            }
        };
        Ok(text.lines().take(sets.len()).map(read).collect())
    }
}

/// A set as a line of `solo prove --jsonl`, newline included.
pub fn line(set: &TaskSet) -> String {
    let mut text = format!("{{\"m\":{},", set.cores());
    if let Some(size) = set.cluster() {
        let _ = write!(text, "\"cluster\":{size},");
    }
    text.push_str("\"tasks\":[");
    for (index, task) in set.tasks().iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let _ = write!(text, "{comma}{{\"c\":{},\"t\":{},\"d\":{}}}", task.c, task.t, task.d);
    }
    text.push_str("]}\n");
    text
}

/// How often each pair of verdicts on one test occurred.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Tally {
    /// Both accept.
    pub both_accept: u64,
    /// Neither accepts.
    pub neither: u64,
    /// Accepted here only.
    pub only_here: u64,
    /// Accepted by the peer only.
    pub only_peer: u64,
    /// Null here, whatever the peer says.
    pub null_here: u64,
    /// Decided here; the peer gave no answer.
    pub null_peer: u64,
}

impl Tally {
    fn count(&mut self, ours: Option<bool>, theirs: Option<bool>) {
        let cell = match (ours, theirs) {
            (None, _) => &mut self.null_here,
            (Some(_), None) => &mut self.null_peer,
            (Some(true), Some(true)) => &mut self.both_accept,
            (Some(false), Some(false)) => &mut self.neither,
            (Some(true), Some(false)) => &mut self.only_here,
            (Some(false), Some(true)) => &mut self.only_peer,
        };
        *cell += 1;
    }
    /// Verdicts that differ where both decided.
    pub const fn differ(&self) -> u64 {
        self.only_here + self.only_peer
    }
}

/// What came of comparing lines with a peer.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Comparison {
    /// The tests compared, and how often they agree.
    pub tallies: Vec<(&'static str, Tally)>,
    /// Sets on which at least one verdict differs.
    pub differing_sets: u64,
    /// Sets for which the peer wrote no line.
    pub unanswered: u64,
    /// Lines, and those that are no task set.
    pub outcome: BatchTotals,
}

/// Judges every line of `input` here and by the peer. Sets whose verdicts differ are written to `differences`, one a
/// line: `{"line":7,"differs":{"load":{"here":true,"peer":false}},"set":...}`.
///
/// # Errors
/// Reading, writing or starting the peer failed.
pub fn compare_lines(
    mut input: impl BufRead,
    mut differences: impl Write,
    peer: &Peer,
    tests: &[&'static Test],
    options: &BatchOptions,
) -> io::Result<Comparison> {
    let options = BatchOptions { tests: Some(tests.to_vec()), ..options.clone() };
    let mut found = Comparison {
        tallies: tests.iter().map(|test| (test.id, Tally::default())).collect(),
        ..Comparison::default()
    };
    let pool =
        rayon::ThreadPoolBuilder::new().num_threads(options.threads).build().map_err(io::Error::other)?;
    let mut batch = Batch::default();
    while batch.read(&mut input)? {
        let first = found.outcome.lines + 1;
        found.outcome.lines += batch.lines.len() as u64;
        let mut sets: Vec<(u64, TaskSet, &[u8])> = Vec::new();
        for (number, line) in (first..).zip(&batch.lines) {
            match line {
                Line::Read(text) if let Ok(set) = parse(text) => sets.push((number, set, text)),
                _ => found.outcome.refused += 1,
            }
        }
        let judge = |(_, set, _): &(u64, TaskSet, &[u8])| judge(set, &options);
        let ours: Vec<Vec<(&Test, TestAnswer)>> = pool.install(|| sets.par_iter().map(judge).collect());
        let asked: Vec<&TaskSet> = sets.iter().map(|(_, set, _)| set).collect();
        let mut theirs = peer.ask(tests, &asked)?;
        found.unanswered += (sets.len() - theirs.len()) as u64;
        theirs.resize(sets.len(), PeerAnswer { verdicts: vec![None; tests.len()], cpu_ns: Vec::new() });
        for (((number, _, text), ours), theirs) in sets.iter().zip(&ours).zip(&theirs) {
            found.add(*number, text, ours, theirs, &mut differences)?;
        }
    }
    differences.flush()?;
    Ok(found)
}

impl Comparison {
    fn add(
        &mut self,
        number: u64,
        set: &[u8],
        ours: &[(&Test, TestAnswer)],
        theirs: &PeerAnswer,
        differences: &mut impl Write,
    ) -> io::Result<()> {
        let mut differs = Vec::new();
        for ((&(test, ours), &theirs), (_, tally)) in ours.iter().zip(&theirs.verdicts).zip(&mut self.tallies)
        {
            let ours = ours.decided();
            tally.count(ours, theirs);
            if let (Some(ours), Some(theirs)) = (ours, theirs)
                && ours != theirs
            {
                differs.push(format!("\"{}\":{{\"here\":{ours},\"peer\":{theirs}}}", test.id));
            }
        }
        if differs.is_empty() {
            return Ok(());
        }
        self.differing_sets += 1;
        write!(differences, "{{\"line\":{number},\"differs\":{{{}}},\"set\":", differs.join(","))?;
        differences.write_all(set)?;
        differences.write_all(b"}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::select;
    use crate::task::Task;

    /// A peer that answers every line alike.
    fn stubborn(answer: &str) -> Peer {
        Peer { command: format!("f() {{ while read -r line; do echo '{answer}'; done; }}; f") }
    }

    const LINES: &str = concat!(
        r#"{"m":1,"tasks":[{"c":1,"t":10}]}"#,
        "\n{}\n",
        r#"{"name":"full","m":1,"tasks":[{"c":6,"t":10},{"c":6,"t":10}]}"#,
        "\n"
    );

    fn compare(peer: &Peer) -> (Comparison, String) {
        let mut differences = Vec::new();
        let tests = select("gfb,qpa,ffdbf").unwrap();
        let found = compare_lines(LINES.as_bytes(), &mut differences, peer, &tests, &BatchOptions::default())
            .unwrap();
        (found, String::from_utf8(differences).unwrap())
    }

    #[test]
    fn pairs_of_verdicts_are_counted_and_sets_that_differ_are_kept() {
        let (found, differences) = compare(&stubborn(r#"{"verdicts":{"gfb":true,"qpa":null}}"#));
        let gfb = Tally { both_accept: 1, only_peer: 1, ..Tally::default() };
        let qpa = Tally { null_peer: 2, ..Tally::default() };
        let ffdbf = Tally { null_here: 2, ..Tally::default() };
        assert_eq!(found.tallies, [("gfb", gfb), ("qpa", qpa), ("ffdbf", ffdbf)]);
        assert_eq!((found.differing_sets, found.unanswered), (1, 0));
        assert_eq!((found.outcome.lines, found.outcome.refused), (3, 1));
        let expected = concat!(
            r#"{"line":3,"differs":{"gfb":{"here":false,"peer":true}},"#,
            r#""set":{"name":"full","m":1,"tasks":[{"c":6,"t":10},{"c":6,"t":10}]}}"#,
            "\n"
        );
        assert_eq!(differences, expected);
    }

    #[test]
    fn a_peer_that_stops_early_leaves_sets_unanswered() {
        let (found, differences) = compare(&Peer { command: "true".into() });
        assert_eq!((found.unanswered, differences.as_str()), (2, ""));
        assert_eq!(found.tallies[0].1, Tally { null_peer: 2, ..Tally::default() });
    }

    #[test]
    fn a_set_is_written_as_the_line_that_it_is_read_from() {
        let set = TaskSet::new(4, vec![Task::new(1, 10, 20)]).unwrap().with_clusters(2).unwrap();
        assert_eq!(line(&set), "{\"m\":4,\"cluster\":2,\"tasks\":[{\"c\":1,\"t\":10,\"d\":20}]}\n");
        assert_eq!(parse(line(&set).trim_end().as_bytes()), Ok(set));
    }
}
