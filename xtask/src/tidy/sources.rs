//! Citations: whatever is cited stands in `docs/sources.md` with its full reference.
//!
//! Two forms are known. A word and a place (`thesis 4.2`, `SCE Fig. 11`, `hpc-invalidations, section 4`): the word opens an
//! entry of the list. A name and a year (`Baker 2003`, `RTSS 2007`): both stand in one entry. What only the authors have at
//! hand is never cited.

use super::Finding;
use super::tree::{File, Tree};

/// The list of sources.
const LIST: &str = "docs/sources.md";

/// What readers of this repository don't have.
const NOT_HERE: &[&str] = &[
    "DESIGN.md",
    "anchors-systems",
    "sched-analysis",
    "gracioli-thesis.txt",
    "pmctrack.txt",
    "hpc-invalidations.txt",
    "memguard-case-study.txt",
    "single-core-equivalence.txt",
    "../shared",
    "simulator notes",
    "simulator.md",
];

/// What follows the word of a source.
const PLACES: &[&str] =
    &["Fig.", "Figs.", "section", "sections", "chapter", "chapters", "eq.", "Table", "note"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let list = tree.file(LIST).map_or("", |file| file.text.as_str());
    let entries = entries(list);
    let cites = |file: &&File| {
        let in_house =
            file.name != LIST && !file.name.starts_with("xtask/src/tidy/") && !file.name.contains("/wrong/");
        in_house && [".rs", ".md", ".toml"].iter().any(|end| file.name.ends_with(end))
    };
    tree.files.iter().filter(cites).flat_map(|file| in_file(file, &entries)).collect()
}

/// The entries of the list, one a paragraph that begins with `- **`.
fn entries(list: &str) -> Vec<String> {
    let paragraphs = list.split("\n- ").skip(1);
    paragraphs.map(|entry| entry.split("\n\n").next().unwrap_or(entry).replace('\n', " ")).collect()
}

fn in_file(file: &File, entries: &[String]) -> Vec<Finding> {
    // Data in TOML tests and fixtures cites nothing.
    let text = if file.is_rust() { &file.split.comments } else { &file.text };
    let mut findings = Vec::new();
    let mut before: [String; 3] = Default::default();
    for (number, line) in text.lines().enumerate() {
        let mut found = |what: String, text: String| {
            let file = file.name.clone();
            findings.push(Finding { file, line: number + 1, rule: "sources", what, text });
        };
        for name in NOT_HERE.iter().filter(|name| line.contains(**name)) {
            found(
                (*name).to_owned(),
                format!("{name} is not part of this repository: cite what it stands for"),
            );
        }
        for word in line.split_whitespace() {
            let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
            let [last, _, before_et_al] = &before;
            if let Some(year) = year(word) {
                let name = if last == "al" { before_et_al } else { last };
                let known = |entry: &&String| entry.contains(name.as_str()) && entry.contains(year);
                if is_name(name) && !entries.iter().any(|entry| known(&entry)) {
                    found(format!("{name} {year}"), format!("{name} {year} is not in {LIST}"));
                }
            }
            if PLACES.contains(&word.trim_start_matches('(')) && is_source_word(last) {
                let key = format!("**{}**", last.trim_end_matches("'s"));
                let known = |entry: &&String| entry.to_lowercase().contains(&key.to_lowercase());
                if !entries.iter().any(|entry| known(&entry)) {
                    found(last.clone(), format!("{last} is cited and is no word of {LIST}"));
                }
            }
            before.rotate_right(1);
            bare.clone_into(&mut before[0]);
        }
    }
    findings
}

/// A year that someone may have published in.
fn year(word: &str) -> Option<&str> {
    let digits = word.trim_matches(|c: char| !c.is_alphanumeric());
    let digits = digits.strip_suffix(['a', 'b', 'c']).unwrap_or(digits);
    let number: u16 = digits.parse().ok()?;
    (digits.len() == 4 && (1960..=2030).contains(&number)).then_some(digits)
}

/// A word that may be an author or a conference: a capital and no digits.
fn is_name(word: &str) -> bool {
    let capital = word.chars().next().is_some_and(char::is_uppercase);
    let ordinary = [
        "The",
        "In",
        "Of",
        "Since",
        "From",
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
        "Linux",
        "Zen",
        "Westmere",
        "Nehalem",
        "Rapids",
        "Bridge",
        "Broadwell",
        "DRAM",
        "QX9650",
        "Systems",
        "RT",
        "Edition",
    ];
    capital && word.len() > 2 && !word.chars().any(|c| c.is_ascii_digit()) && !ordinary.contains(&word)
}

/// A word that stands for a source where a place follows: an abbreviation in capitals, a hyphenated name, or a word of the list
/// itself.
fn is_source_word(word: &str) -> bool {
    let word = word.trim_end_matches("'s");
    let letters = word.chars().all(|c| c.is_alphabetic() || c == '-');
    let capitals = word.len() > 2 && word.chars().all(char::is_uppercase);
    let known = ["thesis", "pmctrack", "memguard"].contains(&word.to_lowercase().as_str());
    letters && (capitals || known || word == "hpc-invalidations" || word == "memguard-case-study")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCES: &str =
        "# Sources\n\n- **the thesis**, **thesis**: G. Gracioli, 2014.\n\n- T. P. Baker,\n  RTSS 2003.\n";

    fn found(text: &str) -> Vec<String> {
        let tree = Tree::of(&[(LIST, SOURCES), ("a/src/x.rs", text)]);
        check(&tree).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn what_is_cited_stands_in_the_list() {
        assert_eq!(found("// thesis, section 4.2 and Baker (2003); RTSS 2003\n"), Vec::<String>::new());
        assert_eq!(
            found("// Thesis Figs. 3 and 4\nlet text = \"SCE Fig. 2, Liu 1973\";\n"),
            Vec::<String>::new()
        );
        assert_eq!(found("// SCE Fig. 2\n"), ["SCE"]);
        assert_eq!(found("/// Liu & Layland,\n/// 1973; Baker 2005\n"), ["Layland 1973", "Baker 2005"]);
        assert_eq!(found("// Bastoni et al. 2010\n"), ["Bastoni 2010"]);
        assert_eq!(found("// in 2013, 4096 bytes, at 2000 of May 2013\n"), Vec::<String>::new());
    }

    #[test]
    fn what_readers_don_t_have_is_not_cited() {
        assert_eq!(found("// see DESIGN.md\n"), ["DESIGN.md"]);
    }
}
