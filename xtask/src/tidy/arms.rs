//! A `match` over something that people add to has an arm for each: what was added and forgotten does not compile.

use super::Finding;
use super::tree::Tree;

/// What people add to.
const OPEN: &[&str] =
    &["Criterion", "MonitorKind", "Theory", "Overhead", "Replacement", "Protocol", "Scope", "TimePart"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.is_product()) {
        // The arms of such matches that are open, by their indentation.
        let mut open: Vec<(usize, &str)> = Vec::new();
        for (number, line) in file.product().lines().enumerate() {
            let arm = line.trim_start();
            let indent = line.len() - arm.len();
            if arm.is_empty() {
                continue;
            }
            open.retain(|(at, _)| *at <= indent);
            let name = OPEN.iter().find(|name| names_variant(arm, name));
            if let Some(name) = name
                && !open.contains(&(indent, name))
            {
                open.push((indent, name));
            }
            if let Some((_, name)) = open.iter().find(|(at, _)| *at == indent).filter(|_| is_wildcard(arm)) {
                findings.push(Finding {
                    file: file.name.clone(),
                    line: number + 1,
                    rule: "arms",
                    what: (*name).to_owned(),
                    text: format!("the last arm swallows what is added to {name}: name each"),
                });
            }
        }
    }
    findings
}

/// True for an arm that begins with a variant of `name`.
fn names_variant(arm: &str, name: &str) -> bool {
    let pattern = arm.strip_prefix("| ").unwrap_or(arm);
    let pattern = pattern.strip_prefix("solo_model::").unwrap_or(pattern);
    pattern.strip_prefix(name).and_then(|rest| rest.strip_prefix("::")).is_some_and(|rest| {
        rest.starts_with(char::is_uppercase)
            && (arm.contains("=>") || arm.ends_with('|') || !arm.ends_with([';', ',']))
    })
}

/// True for an arm that takes whatever is left.
fn is_wildcard(arm: &str) -> bool {
    let Some((pattern, _)) = arm.split_once(" =>") else { return false };
    pattern == "_" || pattern.chars().all(|c| c.is_ascii_lowercase() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> usize {
        check(&Tree::of(&[("a/src/x.rs", text)])).len()
    }

    #[test]
    fn an_arm_that_takes_the_rest_is_found_where_something_may_be_added() {
        let by = |last: &str| {
            format!(
                "match c {{\n    Criterion::Edf => 1,\n    Criterion::Rm | Criterion::Dm => {{\n        2\n    }}\n    {last} => 3,\n}}\n"
            )
        };
        assert_eq!((found(&by("_")), found(&by("other")), found(&by("Criterion::Sjf"))), (1, 1, 0));
        assert_eq!(found("match m {\n    MonitorKind::Rate => 1,\n    other => 3,\n}\n"), 1, "monitors");
        assert_eq!(found("match c {\n    Other::Edf => 1,\n    _ => 3,\n}\n"), 0);
        // The wildcard of another match, inside and after.
        let inner = "match c {\n    Criterion::Edf => match x {\n        1 => 2,\n        _ => 3,\n    },\n    Criterion::Rm => 1,\n}\nmatch y {\n    _ => 1,\n}\n";
        assert_eq!(found(inner), 0);
    }
}
