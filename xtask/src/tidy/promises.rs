//! Promises name their tests: what `SPECIFICATION.md` and `CAVEATS.md` say holds a promise is there.

use super::Finding;
use super::tree::{File, Tree};

/// The documents whose every mention of a source file has to be true.
const DOCUMENTS: &[&str] = &["SPECIFICATION.md", "CAVEATS.md"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| DOCUMENTS.contains(&file.name.as_str())) {
        for (number, line) in file.text.lines().enumerate() {
            let mut found = |what: &str, text: String| {
                let (file, what) = (file.name.clone(), what.to_owned());
                findings.push(Finding { file, line: number + 1, rule: "promises", what, text });
            };
            for quoted in line.split('`').skip(1).step_by(2) {
                let (path, test) = quoted.split_once("::").unwrap_or((quoted, ""));
                if !path.ends_with(".rs") && !path.ends_with(".py") {
                    continue;
                }
                match tree.file(path) {
                    None => found(quoted, format!("there is no {path}")),
                    Some(source) if !test.is_empty() && !has(source, test) => {
                        found(quoted, format!("{path} has no test {test}"));
                    }
                    Some(_) => {}
                }
            }
            // A row of a table of promises: what, and what holds it.
            let is_row = file.name == DOCUMENTS[0] && line.starts_with("| ") && !line.contains("| held by |");
            let named = [".rs", ".py", "*pending*"].iter().any(|held| line.contains(held));
            if is_row && !named {
                found("held by", "a promise names its test or is *pending*".to_owned());
            }
        }
    }
    findings
}

/// True where a source of Rust or Python has this test.
fn has(source: &File, test: &str) -> bool {
    match source.is_rust() {
        true => source.split.code.contains(&format!("fn {test}(")),
        false => source.text.contains(&format!("\ndef {test}(")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(specification: &str) -> Vec<String> {
        let tests = ("a/tests/t.rs", "#[test]\nfn it_holds() {}\n");
        let python = ("b/test_t.py", "import t\n\n\ndef test_it():\n    pass\n");
        check(&Tree::of(&[("SPECIFICATION.md", specification), tests, python]))
            .into_iter()
            .map(|finding| finding.text)
            .collect()
    }

    #[test]
    fn a_promise_without_its_test_is_found() {
        let table = |held: &str| format!("| promise | held by |\n|---|---|\n| 100 % | {held} |\n");
        for sound in ["`a/tests/t.rs::it_holds`", "`a/tests/t.rs`", "`b/test_t.py::test_it`", "*pending*"] {
            assert_eq!(found(&table(sound)), Vec::<String>::new());
        }
        assert_eq!(found(&table("`a/tests/t.rs::it_held`")), ["a/tests/t.rs has no test it_held"]);
        assert_eq!(found(&table("`b/test_t.py::test_i`")), ["b/test_t.py has no test test_i"]);
        assert_eq!(found(&table("`a/tests/u.rs`")), ["there is no a/tests/u.rs"]);
        assert_eq!(found(&table("our word")), ["a promise names its test or is *pending*"]);
    }
}
