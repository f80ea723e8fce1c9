//! The examples of additions fit the tree, and the table "Where to add" says of each how many files it takes, and where.

use super::Finding;
use super::tree::Tree;
use crate::additions::{Addition, FOLDER, count};
use std::collections::BTreeMap;

/// The document with the table.
const TABLE: &str = "ARCHITECTURE.md";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let read = |path: &str| tree.file(path).map(|file| file.text.clone());
    for file in &tree.files {
        let Some(name) = file.name.strip_prefix(FOLDER).and_then(|name| name.strip_suffix(".md")) else {
            continue;
        };
        let mut found = |text: String| {
            let (file, what) = (file.name.clone(), name.to_owned());
            findings.push(Finding { file, line: 0, rule: "additions", what, text });
        };
        let addition = match Addition::read(&file.text) {
            Ok(addition) => addition,
            Err(error) => {
                found(format!("it can't be read: {error:#}"));
                continue;
            }
        };
        if let Err(error) = addition.apply(&mut BTreeMap::new(), &read) {
            found(format!("it does not fit any more: {error:#}"));
        }
        let (new, lines) = addition.files();
        let link = format!("[{}]({})", count(&new, &lines), file.name);
        let table = read(TABLE).unwrap_or_default();
        let Some(row) = table.lines().find(|row| row.starts_with('|') && row.contains(&link)) else {
            found(format!("no row of the table in {TABLE} says {link}"));
            continue;
        };
        let folders = new.iter().map(|path| &path[..=path.rfind('/').unwrap_or(0)]);
        for place in folders.chain(lines.iter().copied()).filter(|place| !row.contains(&format!("`{place}`")))
        {
            found(format!("its row of the table in {TABLE} does not name {place}"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(lib: &str, row: &str) -> Vec<String> {
        let example = "# A thing\nNew file `a/src/b.rs`:\n```rust\n```\nIn `a/src/lib.rs` after `mod x;`:\n```rust\nmod b;\n```\n\
                       Run `cargo test`.\n";
        let files = [("tests/additions/thing.md", example), ("a/src/lib.rs", lib), (TABLE, row)];
        check(&Tree::of(&files)).into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn an_example_fits_and_the_table_says_what_it_takes() {
        let row = "| a thing | `a/src/`, `a/src/lib.rs` | [1 + 1](tests/additions/thing.md) |\n";
        assert_eq!(found("mod x;\n", row), Vec::<String>::new());
        assert!(found("mod y;\n", row)[0].contains("does not fit"));
        assert!(
            found("mod x;\n", "| a thing | [1 + 2](tests/additions/thing.md) |\n")[0]
                .contains("says [1 + 1]")
        );
        let short = found("mod x;\n", "| a thing | `a/src/` | [1 + 1](tests/additions/thing.md) |\n");
        assert!(short.len() == 1 && short[0].contains("does not name a/src/lib.rs"), "{short:?}");
    }
}
