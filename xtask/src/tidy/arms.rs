//! A `match` over something that people add to has an arm for each, and what a line registers is not asked which one it is: what
//! was added and forgotten does not compile, and what it has to say for itself stands on its line.

use super::Finding;
use super::tree::Tree;

/// What people add to with a line that registers it for the whole house. Outside of that line nobody compares with one of them;
/// who has to know something of it reads it from the line (`facts`, `path`, `takes`).
const REGISTERED: [&str; 5] = ["Criterion", "Reaction", "MonitorKind", "Overhead", "Replacement"];

/// What else people add to. Hardware events are not among them: platform files add to these while the program runs, so that
/// their ids are numbers, of which each reader names those that it knows.
const MATCHED: [&str; 6] = ["Theory", "Path", "Protocol", "Scope", "Shown", "TimePart"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let product = || tree.files.iter().filter(|file| file.is_product());
    let mut findings = Vec::new();
    for file in product() {
        let mut find = |line: usize, name: &str, text: String| {
            let (file, what) = (file.name.clone(), name.to_owned());
            findings.push(Finding { file, line, rule: "arms", what, text });
        };
        for (line, name) in swallowing(file.product()) {
            find(line, name, format!("this arm swallows what is added to {name}: name each"));
        }
        for (line, name) in compared(file.product()) {
            find(line, name, format!("what is added to {name} is not asked here: read it from its line"));
        }
    }
    findings
}

/// The arms that take whatever is left of something open: line and name.
fn swallowing(code: &str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    // The matches that are open, by the indentation of their arms.
    let mut open: Vec<(usize, &'static str)> = Vec::new();
    // Whose `impl` the line is in: there `Self` is its name.
    let mut owner = None;
    for (number, line) in code.lines().enumerate() {
        let arm = line.trim_start();
        let indent = line.len() - arm.len();
        if arm.is_empty() {
            continue;
        }
        if indent == 0 {
            owner = arm.strip_prefix("impl").and_then(|rest| known(rest.trim_end_matches(" {")));
        }
        open.retain(|(at, _)| *at <= indent);
        let Some(pattern) = pattern_of(arm) else { continue };
        let own = owner.filter(|_| names(pattern, "Self"));
        let named = REGISTERED.iter().chain(&MATCHED).copied().find(|name| names(pattern, name));
        if let Some(name) = named.or(own) {
            open.push((indent, name));
        } else if let Some((_, name)) = open.iter().find(|(at, _)| *at == indent)
            && takes_the_rest(pattern)
        {
            found.push((number + 1, *name));
        }
    }
    found
}

/// Where something registered is compared with one of its kind: line and name.
fn compared(code: &str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    for name in REGISTERED {
        for (at, _) in code.match_indices(&format!("{name}::")).filter(|(at, _)| is_variant(code, *at, name))
        {
            let before = code[..at].trim_end_matches(|c: char| c.is_alphanumeric() || "_:".contains(c));
            let before = before.trim_end();
            let after = code[at..].trim_start_matches(|c: char| c.is_alphanumeric() || "_:".contains(c));
            let asks = ["==", "!=", "let", "let Some("].iter().any(|sign| before.ends_with(sign))
                || ["==", "!="].iter().any(|sign| after.trim_start().starts_with(sign))
                || in_matches(before);
            if asks {
                found.push((code[..at].matches('\n').count() + 1, name));
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// True where the text ends within the pattern of a `matches!`.
fn in_matches(before: &str) -> bool {
    let Some((_, within)) = before.rsplit_once("matches!(") else { return false };
    let mut open = 1;
    let closed = within.chars().any(|c| {
        open += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        open == 0
    });
    !closed && within.contains(',')
}

/// The pattern of an arm, or of a line of one that has several; its guard is no part of it.
fn pattern_of(arm: &str) -> Option<&str> {
    let pattern = match arm.split_once(" =>") {
        Some((pattern, _)) => pattern,
        None if arm.starts_with("| ") || !arm.ends_with([';', ',', '{', ')', '}']) => arm,
        None => return None,
    };
    Some(pattern.split(" if ").next().unwrap_or(pattern).trim_start_matches("| "))
}

/// The name that stands at the end of the head of an `impl`, where it is one of ours.
fn known(head: &str) -> Option<&'static str> {
    REGISTERED.iter().chain(&MATCHED).copied().find(|name| head.ends_with(&format!(" {name}")))
}

/// True where the pattern names a variant of `name`.
fn names(pattern: &str, name: &str) -> bool {
    pattern.match_indices(&format!("{name}::")).any(|(at, _)| is_variant(pattern, at, name))
}

/// True where a variant of `name` stands at `at`, and not a constant or a function of it, or of something whose name ends so.
fn is_variant(text: &str, at: usize, name: &str) -> bool {
    let whole = !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let mut rest = text[at..].chars().skip(name.len() + 2);
    whole && rest.next().is_some_and(char::is_uppercase) && rest.next().is_some_and(char::is_lowercase)
}

/// True for a pattern that takes whatever is left.
fn takes_the_rest(pattern: &str) -> bool {
    let pattern = pattern.trim();
    let inner = ["Some(", "Ok(", "("].iter().find_map(|open| pattern.strip_prefix(open)?.strip_suffix(')'));
    match inner {
        Some(parts) => parts.split(", ").all(takes_the_rest),
        None if pattern.contains(" | ") => pattern.split(" | ").any(takes_the_rest),
        None => {
            let name = pattern.trim_start_matches('&');
            name == ".." || (!name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> usize {
        check(&Tree::of(&[("a/src/x.rs", text)])).len()
    }

    #[test]
    fn an_arm_that_takes_the_rest_is_found_where_something_may_be_added() {
        for name in REGISTERED.into_iter().chain(MATCHED) {
            let by = |last: &str| {
                format!(
                    "match c {{\n    {name}::Edf => 1,\n    {name}::Rm | {name}::Dm => {{\n        2\n    }}\n    {last} => 3,\n}}\n"
                )
            };
            let counts =
                [by("_"), by("other"), by("&other"), by(&format!("{name}::Sjf"))].map(|text| found(&text));
            assert_eq!(counts, [1, 1, 1, 0], "{name}");
            let within = |last: &str| {
                format!("match c {{\n    Some({name}::Edf) => 1,\n    None => 2,\n    {last} => 3,\n}}\n")
            };
            assert_eq!(
                (found(&within("Some(_)")), found(&within("None | Some(_)"))),
                (1, 1),
                "{name} in an option"
            );
            let pair = format!("match c {{\n    ({name}::Edf, true) => 1,\n    (_, _) => 3,\n}}\n");
            assert_eq!(found(&pair), 1, "{name} in a pair");
            let own = format!(
                "impl fmt::Display for {name} {{\n    fn f(self) {{\n        match self {{\n            Self::Edf => 1,\n            _ => 2,\n        }}\n    }}\n}}\n"
            );
            assert_eq!(found(&own), 1, "{name} as Self");
        }
        assert_eq!(found("match c {\n    Other::Edf => 1,\n    _ => 3,\n}\n"), 0);
        assert_eq!(
            found("match c {\n    LockProtocol::Plain => 1,\n    _ => 3,\n}\n"),
            0,
            "another name that ends so"
        );
        // The wildcard of another match, inside and after.
        let inner = "match c {\n    Criterion::Edf => match x {\n        1 => 2,\n        _ => 3,\n    },\n    Criterion::Rm => 1,\n}\nmatch y {\n    _ => 1,\n}\n";
        assert_eq!(found(inner), 0);
    }

    #[test]
    fn whoever_asks_which_one_it_is_instead_of_reading_its_line_is_found() {
        for name in REGISTERED {
            let faults = [
                format!("let a = c == {name}::Edf;"),
                format!("if {name}::Edf != c {{}}"),
                format!("if c.d != solo_model::{name}::Edf {{}}"),
                format!("if matches!(c, {name}::Edf) {{}}"),
                format!("matches!(\n    c.of(1),\n    {name}::Edf | {name}::Rm\n)"),
                format!("let {name}::Edf = c else {{ return }};"),
                format!("if let Some({name}::Edf) = c {{}}"),
            ];
            for fault in faults {
                assert!(found(&fault) >= 1, "{fault}");
            }
            let sound = [
                format!("probe(core, {name}::Edf, edge);"),
                format!("let all = {name}::ALL == b;"),
                format!("let c = {name}::Edf;"),
                format!("(matches!(a, B), {name}::Edf)"),
                format!("if !matches!(a, Some(B)) {{ return (); }}\nprobe({name}::Edf);"),
            ];
            for text in sound {
                assert_eq!(found(&text), 0, "{text}");
            }
        }
    }
}
