//! `solo explain`: what a diagnostic code means, with an example and what mends it; of a scenario, what it leaves open and how
//! that is decided.

use super::run::load;
use crate::cli::Explain;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::output;
use serde::Serialize;
use solo_model::{Experiment, Explain as _};
use solo_plan::Reason;
use solo_scenario::{Code, Entry, Overrides, Scenario};
use std::path::Path;

/// A code as it is written in JSON.
#[derive(Serialize, Debug)]
struct Shown {
    code: Code,
    meaning: &'static str,
    explanation: &'static str,
    wrong: &'static str,
    right: &'static str,
}

impl Shown {
    fn of(code: Code) -> Self {
        let Entry { meaning, explanation, wrong, right } = *code.entry();
        Self { code, meaning, explanation, wrong, right }
    }

    /// The entry for a terminal of 80 columns.
    fn text(&self) -> String {
        let Self { code, meaning, explanation, wrong, right } = self;
        let example = |text: &str| text.lines().map(|line| format!("    {line}\n")).collect::<String>();
        format!(
            "{}\n{}\nwrong:\n{}right:\n{}",
            wrapped(&format!("{code}: {meaning}"), 80),
            wrapped(explanation, 80),
            example(wrong),
            example(right)
        )
    }
}

/// Explains one code or a scenario, or lists all codes.
pub(crate) fn run(options: &Explain) -> Result<Exit, Failure> {
    let Some(name) = &options.code else {
        list(options.json)?;
        return Ok(Exit::Held);
    };
    if Path::new(name).extension().is_some_and(|extension| extension == "toml") {
        if options.json {
            return Err(Failure::Usage("what a scenario leaves open is told as text only".to_owned()));
        }
        let scenario = load(Path::new(name), &Overrides::default(), false)?;
        output::text(&decisions(&scenario))?;
        return Ok(Exit::Held);
    }
    let Some(code) = Code::named(name) else {
        let instead = match Code::nearest(name) {
            Some(near) => format!("did you mean {near}?"),
            None => "`solo explain` lists all".to_owned(),
        };
        return Err(Failure::Usage(format!("there is no code `{}`; {instead}", name.escape_debug())));
    };
    let shown = Shown::of(code);
    if options.json {
        output::list(Document::Codes, "codes", &[shown])?
    } else {
        output::text(&shown.text())?
    }
    Ok(Exit::Held)
}

/// What the scenario and each of its variants leave open, and how that is decided.
fn decisions(scenario: &Scenario) -> String {
    let experiments = std::iter::once(&scenario.base).chain(&scenario.variants);
    let told = |(experiment, reasons): (&Experiment, &Vec<Reason>)| {
        let title = match experiment.variant.as_str() {
            "" => experiment.name.clone(),
            variant => format!("{}, variant {variant}", experiment.name),
        };
        let line = |reason: &Reason| wrapped_behind("-", &reason.with(&experiment.tasks).to_string());
        let lines: String = reasons.iter().map(line).collect();
        let lines = if lines.is_empty() { "nothing is left open\n".to_owned() } else { lines };
        format!("{title}\n{lines}")
    };
    experiments.zip(&scenario.rationales).map(told).collect::<Vec<_>>().join("\n")
}

fn list(json: bool) -> Result<(), Failure> {
    let all: Vec<Shown> = Code::ALL.into_iter().map(Shown::of).collect();
    if json {
        return output::list(Document::Codes, "codes", &all);
    }
    let width = Code::ALL.iter().map(|code| code.name().len()).max().unwrap_or(0);
    let line = |shown: &Shown| wrapped_behind(&format!("{:width$}", shown.code.name()), shown.meaning);
    output::text(&all.iter().map(line).collect::<String>())
}

/// A text behind a word, both together at most 80 columns wide.
fn wrapped_behind(word: &str, text: &str) -> String {
    let indent = word.len() + 2;
    let mut lines = wrapped(text, 80 - indent);
    lines = lines.trim_end().replace('\n', &format!("\n{}", " ".repeat(indent)));
    format!("{word}  {lines}\n")
}

/// A text in lines of at most `width` columns, each with its end.
fn wrapped(text: &str, width: usize) -> String {
    let (mut lines, mut column) = (String::new(), 0);
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            lines.push('\n');
            column = 0;
        }
        if column > 0 {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += length;
    }
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_fits_a_terminal() {
        for code in Code::ALL {
            let shown = Shown::of(code).text();
            assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
            assert!(shown.contains("wrong:") && shown.contains("right:"));
            let line = wrapped_behind(code.name(), code.entry().meaning);
            assert!(line.lines().all(|line| line.chars().count() <= 80), "{line}");
        }
    }
}
