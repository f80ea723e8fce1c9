//! Tables of documents that a person can read: no cell is a paragraph.

use super::Finding;
use super::tree::Tree;

/// The most characters of a cell.
const CELL_MAX: usize = 200;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.name.ends_with(".md")) {
        let rows = file.text.lines().enumerate().filter(|(_, line)| line.starts_with('|'));
        for (number, row) in rows {
            let longest = row.split(" | ").map(|cell| cell.trim_matches([' ', '|']).chars().count()).max();
            if longest.is_some_and(|longest| longest > CELL_MAX) {
                findings.push(Finding {
                    file: file.name.clone(),
                    line: number + 1,
                    rule: "tables",
                    what: "cell".to_owned(),
                    text: format!(
                        "a cell of {} characters; the limit is {CELL_MAX}: write a paragraph",
                        longest.unwrap_or(0)
                    ),
                });
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_is_a_paragraph_is_found() {
        let table = |length| format!("| a | b |\n|---|---|\n| x | {} |\n", "y".repeat(length));
        assert_eq!(check(&Tree::of(&[("a.md", &table(CELL_MAX))])), []);
        let found = check(&Tree::of(&[("a.md", &table(CELL_MAX + 1)), ("b.rs", &table(900))]));
        assert_eq!((found.len(), found[0].line), (1, 3));
    }
}
