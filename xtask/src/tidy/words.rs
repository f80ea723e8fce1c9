//! Words with a better one in their place.

use super::Finding;
use super::code::words;
use super::tree::{File, Tree};

/// A word in code and comments, and what to write. American spelling, as the identifiers have it.
const SPELLING: &[(&str, &str)] = &[
    ("colour", "color"),
    ("colours", "colors"),
    ("coloured", "colored"),
    ("colouring", "coloring"),
    ("licence", "license"),
];

/// Phrases of documents that say nothing to a reader who has not read the sources, and what to write.
const PHRASES: &[(&str, &str)] = &[
    ("whole-number ratio", "exact ratio"),
    ("hangs on kernel paths", "depends on what kernel paths cost"),
    ("has no say", "is ignored"),
    ("a line each tRC", "one line in each row cycle (tRC)"),
    ("is none; of up to", "say which measurements count"),
    ("Locks go before way masks", "page locks take precedence over way masks"),
];

/// Names of public items that are private words of this house, and the field's words for them.
const NAMES: &[(&str, &str)] = &[
    ("Ledger", "Direction"),
    ("Book", "PeriodAccount"),
    ("Laggards", "LateCores"),
    ("Occupant", "RunningTask"),
    ("Surroundings", "Context"),
    ("Seats", "Holders"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    // The lists of these rules, and what a user may misspell.
    let quotes = ["xtask/src/tidy/", "formats/scenario/src/nearest.rs"];
    let ours = |file: &&File| !quotes.iter().any(|place| file.name.starts_with(place));
    tree.files.iter().filter(ours).flat_map(in_file).collect()
}

fn in_file(file: &File) -> Vec<Finding> {
    let document = file.name.ends_with(".md");
    if !document && !file.is_rust() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (number, line) in file.text.lines().enumerate() {
        let mut found = |what: &str, better: &str| {
            let (file, what) = (file.name.clone(), what.to_owned());
            let text = format!("{what}: write {better:?}");
            findings.push(Finding { file, line: number + 1, rule: "words", what, text });
        };
        for &(word, better) in SPELLING {
            if line.to_lowercase().contains(word) && words(&line.to_lowercase()).any(|other| other == word) {
                found(word, better);
            }
        }
        for &(phrase, better) in PHRASES.iter().filter(|(phrase, _)| document && line.contains(phrase)) {
            found(phrase, better);
        }
        if file.is_product()
            && let Some(item) = line.trim_start().strip_prefix("pub ")
        {
            for &(name, better) in NAMES {
                if words(item).nth(1) == Some(name) {
                    found(name, better);
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, text: &str) -> Vec<String> {
        check(&Tree::of(&[(name, text)])).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn a_word_with_a_better_one_is_found() {
        assert_eq!(found("a/src/x.rs", "/// Page Colours.\n"), ["colours"]);
        assert_eq!(found("a.md", "a discoloured thing\n"), Vec::<String>::new());
        assert_eq!(found("a.md", "`writes` has no say\n"), ["has no say"]);
        assert_eq!(found("a/src/x.rs", "pub struct Ledger;\npub(crate) struct Book;\n"), ["Ledger"]);
    }
}
