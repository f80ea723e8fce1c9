//! Files broken by a seeded generator: whatever stands in a file, the answer is an experiment that could run
//! or a report that points into the file, and never a panic. The fuzz targets in `fuzz/` do the same without
//! an end.

use crate::sound::assert_sound;
use solo_scenario::{Diagnostics, Platforms, Style, parse, parse_overheads, parse_platform};
use solo_workload::SplitMix64;
use std::path::PathBuf;

/// Words that mean something somewhere, to be put where they mean something else.
const WORDS: [&str; 32] = [
    "0",
    "-1",
    "\"\"",
    "\"0ns\"",
    "\"18446744073709551615ns\"",
    "9223372036854775807",
    "\"1.5.2ms\"",
    "[]",
    "{}",
    "[[]]",
    "true",
    "1.5",
    "1979-05-27",
    "\"L2\"",
    "\"C-EDF\"",
    "\"G-LLF\"",
    "\"P-FP\"",
    "{ repeat = 2, steps = [] }",
    "\"best-effort\"",
    "\"once\"",
    "\"µs\"",
    "\"150%\"",
    "\"host\"",
    "\"5GiB\"",
    "[[variant]]\nname = \"x\"\n",
    "[[task]]\n",
    "task = 1\n",
    "[scheduler]\n",
    "copies = 3\n",
    "clusters = 2\n",
    "'''",
    "\u{feff}",
];

struct Mutator(SplitMix64);

impl Mutator {
    fn below(&mut self, bound: usize) -> usize {
        self.0.below(bound.max(1) as u64) as usize
    }

    /// A text with one to four things changed.
    fn mutate(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for _ in 0..=self.below(4) {
            text = match self.below(7) {
                0 => self.without_a_line(&text),
                1 => self.with_a_line_twice(&text),
                2 => self.with_another_value(&text),
                3 => self.with_a_word(&text),
                4 => self.without_some_characters(&text),
                5 => self.cut_off(&text),
                _ => self.with_lines_swapped(&text),
            };
        }
        text
    }

    fn without_a_line(&mut self, text: &str) -> String {
        let lines: Vec<&str> = text.lines().collect();
        let out = self.below(lines.len());
        let kept = lines.iter().enumerate().filter(|&(at, _)| at != out);
        kept.map(|(_, line)| format!("{line}\n")).collect()
    }

    fn with_a_line_twice(&mut self, text: &str) -> String {
        let mut lines: Vec<&str> = text.lines().collect();
        if let Some(&line) = lines.get(self.below(lines.len())) {
            lines.insert(self.below(lines.len()), line);
        }
        lines.join("\n")
    }

    fn with_lines_swapped(&mut self, text: &str) -> String {
        let mut lines: Vec<&str> = text.lines().collect();
        if !lines.is_empty() {
            let (a, b) = (self.below(lines.len()), self.below(lines.len()));
            lines.swap(a, b);
        }
        lines.join("\n")
    }

    /// Another word behind the `=` of some line.
    fn with_another_value(&mut self, text: &str) -> String {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let at = self.below(lines.len());
        if let Some(line) = lines.get_mut(at)
            && let Some((key, _)) = line.split_once('=')
        {
            *line = format!("{key}= {}", WORDS[self.below(WORDS.len())]);
        }
        lines.join("\n")
    }

    fn boundary(&mut self, text: &str) -> usize {
        let mut at = self.below(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }

    fn with_a_word(&mut self, text: &str) -> String {
        let at = self.boundary(text);
        let word = WORDS[self.below(WORDS.len())];
        format!("{}{word}{}", &text[..at], &text[at..])
    }

    fn without_some_characters(&mut self, text: &str) -> String {
        let at = self.boundary(text);
        let few = self.below(8) + 1;
        text[..at].chars().chain(text[at..].chars().skip(few)).collect()
    }

    fn cut_off(&mut self, text: &str) -> String {
        let at = self.boundary(text);
        text[..at].to_owned()
    }
}

fn texts(folder: &str) -> Vec<(PathBuf, String)> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("readable").path())
        .collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    files.into_iter().map(|path| (path.clone(), std::fs::read_to_string(&path).expect("a text"))).collect()
}

fn assert_report(report: &Diagnostics, round: usize) {
    assert!(!report.problems().is_empty());
    for problem in report.problems() {
        assert!(problem.file().text().get(problem.span()).is_some(), "{:?}", problem.span());
    }
    if round.is_multiple_of(16) {
        assert!(!report.render(Style::Plain, 80).is_empty());
        assert!(!report.to_json().is_null());
    }
}

#[test]
fn broken_scenarios_are_refused_or_sound() {
    let platforms = Platforms::builtin();
    let mut mutator = Mutator(SplitMix64::derived(1, &[]));
    let folders = [texts("../../scenarios"), texts("tests/wrong")];
    let (mut refused, mut accepted) = (0, 0);
    for round in 0..4_000 {
        let files = &folders[round % 2];
        let (path, text) = &files[mutator.below(files.len())];
        match parse(&mutator.mutate(text), path, &platforms) {
            Ok(scenario) => {
                assert_sound(&scenario);
                accepted += 1;
            }
            Err(report) => {
                assert_report(&report, round);
                refused += 1;
            }
        }
    }
    // Both sides of the reader are reached.
    assert!(refused > 1_000 && accepted > 100, "{refused} refused, {accepted} accepted");
}

#[test]
fn broken_platforms_are_refused_or_have_derived_values() {
    let mut mutator = Mutator(SplitMix64::derived(2, &[]));
    let folders = [texts("../../platforms"), texts("tests/wrong/platforms")];
    let (mut refused, mut accepted) = (0, 0);
    for round in 0..3_000 {
        let files = &folders[round % 2];
        let (_, text) = &files[mutator.below(files.len())];
        match parse_platform(&mutator.mutate(text), "broken.toml") {
            Ok(platform) => {
                assert!(!solo_scenario::derived(&platform).is_empty());
                accepted += 1;
            }
            Err(report) => {
                assert_report(&report, round);
                refused += 1;
            }
        }
    }
    assert!(refused > 500 && accepted > 50, "{refused} refused, {accepted} accepted");
}

#[test]
fn broken_overheads_never_panic() {
    let mut mutator = Mutator(SplitMix64::derived(3, &[]));
    for (_, text) in texts("../../platforms/overheads") {
        assert!(parse_overheads(&text, "shipped.toml").is_ok());
        for round in 0..500 {
            if let Err(report) = parse_overheads(&mutator.mutate(&text), "x.toml") {
                assert_report(&report, round);
            }
        }
    }
}
