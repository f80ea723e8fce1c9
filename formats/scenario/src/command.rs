//! `command = [...]`: a job that is a program of the host's.

use crate::code::Code;
use crate::fields::{At, Fields, wrong_type};
use crate::tree::Value;
use solo_model::work::{MOST_WORD_BYTES, MOST_WORDS, Step};
use solo_plan::Steps;

const EXAMPLE: &str = "command = [\"gzip\", \"-k\", \"frames.raw\"]";

/// Reads the program and its arguments, where there is one that could be started.
pub(crate) fn read(fields: &Fields<'_>) -> Option<Steps> {
    let problems = fields.problems;
    let list = fields.list("command", EXAMPLE)?;
    let mut words = Vec::with_capacity(list.len());
    for node in list {
        match &node.value {
            Value::String(text) => words.push(At { value: text.as_str(), span: node.span.clone() }),
            _ => wrong_type(problems, node, "command", "words in quotes", EXAMPLE),
        }
    }
    if words.len() < list.len() {
        return None;
    }
    let of_list = fields.span_of("command");
    let bytes = words.iter().map(|word| word.value.len()).fold(0, usize::saturating_add);
    let wrong = match words.first() {
        None => Some(("no program", of_list)),
        Some(name) if name.value.is_empty() => Some(("a program without a name", name.span.clone())),
        Some(_) if words.len() > MOST_WORDS || bytes > MOST_WORD_BYTES => {
            Some(("more words than are taken", of_list))
        }
        Some(_) => None,
    };
    if let Some((label, span)) = wrong {
        let headline = format!("{} has a `command` that nobody could start", fields.what);
        let expected = format!(
            "a program and its arguments, at most {MOST_WORDS} words of {MOST_WORD_BYTES} bytes together, for example `{EXAMPLE}`"
        );
        problems.push(problems.error(Code::Command, headline, &span).label(label).expected(expected));
        return None;
    }
    let words = words.into_iter().map(|word| word.value.to_owned()).collect();
    Some(Steps { steps: vec![Step::Command(words)], count: 1, ..Steps::default() })
}
