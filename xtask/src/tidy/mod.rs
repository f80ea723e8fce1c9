//! House rules that a machine can check: `./x tidy`, a part of `./x check`.
//!
//! Each rule is a file of this folder and a function from the [`Tree`] to findings; its tests plant a fault and see it found.
//! What breaks a rule for now stands in [`exemptions`] with a date and a reason. An exemption that no longer excuses anything
//! is a finding itself, so that the list can only shrink with the faults.

mod absences;
mod additions;
mod arms;
mod bans;
mod circles;
mod code;
mod exemptions;
mod floors;
mod kinds;
mod lengths;
mod matter;
mod numbers;
mod paths;
mod promises;
mod public;
mod sources;
mod tables;
mod tree;
mod words;

use anyhow::Result;
use std::fmt;
use std::path::Path;
use tree::Tree;

/// Something that breaks a rule.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Finding {
    /// The file, from the root of the repository.
    file: String,
    /// The line, from 1; 0 where the whole file is meant.
    line: usize,
    /// The rule's name.
    rule: &'static str,
    /// What breaks it, in a word that does not change with the lines around it: exemptions name it.
    what: String,
    /// The same for people.
    text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, rule, what, text } = self;
        match line {
            0 => write!(f, "{file}: {text} [{rule}: {what}]"),
            _ => write!(f, "{file}:{line}: {text} [{rule}: {what}]"),
        }
    }
}

/// A rule: what in the tree breaks it.
type Rule = fn(&Tree) -> Vec<Finding>;

/// All rules.
const RULES: [Rule; 17] = [
    absences::check,
    additions::check,
    arms::check,
    bans::check,
    circles::check,
    floors::check,
    kinds::check,
    lengths::check,
    matter::check,
    numbers::check,
    paths::check,
    promises::check,
    public::check,
    sources::check,
    tables::check,
    words::check,
    documents,
];

/// All that breaks a rule, as lines that say where and what.
pub(crate) fn findings(root: &Path) -> Result<Vec<String>> {
    let tree = Tree::read(root)?;
    let found = RULES.iter().flat_map(|rule| rule(&tree)).collect();
    Ok(exemptions::excuse(found, exemptions::LIST).iter().map(Finding::to_string).collect())
}

/// How many lines of code the ports of bare metal have.
pub(crate) fn ports(root: &Path) -> Result<String> {
    Ok(lengths::ports(&Tree::read(root)?))
}

/// Documents that must be there.
fn documents(tree: &Tree) -> Vec<Finding> {
    let needed = [
        "ARCHITECTURE.md",
        "CAVEATS.md",
        "HACKING.md",
        "README.md",
        "SPECIFICATION.md",
        "docs/reproduction.md",
        "docs/sources.md",
    ];
    let missing = |name: &&str| tree.file(name).is_none();
    let finding = |name: &str| Finding {
        file: name.to_owned(),
        line: 0,
        rule: "documents",
        what: "missing".to_owned(),
        text: "this document is missing".to_owned(),
    };
    needed.into_iter().filter(missing).map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the other checks of this repository rely on: it is tidy, its exemptions are needed.
    #[test]
    fn this_repository_is_tidy() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let findings = findings(root).unwrap();
        assert!(findings.is_empty(), "{}", findings.join("\n"));
    }

    #[test]
    fn a_document_that_is_missing_is_found() {
        let found = documents(&Tree::of(&[("README.md", "")]));
        assert_eq!(found.len(), 6);
        assert!(!found.iter().any(|finding| finding.file == "README.md"));
    }
}
