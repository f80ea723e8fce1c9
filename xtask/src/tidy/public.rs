//! Public items that nobody outside their crate mentions: they should be private, or gone.
//!
//! Told by names only, and in doubt for the item: a name that any other file mentions (another crate, a test, an example, a
//! document) counts as used, and a type counts as used where its own crate mentions it a second time, for it may be part of
//! a function that is used.

use super::Finding;
use super::code::words;
use super::tree::{File, Package, Tree};
use std::collections::HashMap;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let sources: Vec<String> =
        tree.packages.iter().map(|package| format!("{}src/", package.folder)).collect();
    let mut mentions: HashMap<&str, Mentions> = HashMap::new();
    // The list of exemptions names what is not used.
    for file in tree.files.iter().filter(|file| !file.name.starts_with("xtask/src/tidy/")) {
        let source = sources.iter().position(|source| file.name.starts_with(source));
        // What texts mention counts, too: attributes and macros name functions in quotes.
        // In a document, what stands between backticks is a name; the rest is English.
        let names: Vec<&str> = match file.name.ends_with(".md") {
            true => file.text.split('`').skip(1).step_by(2).collect(),
            false => vec![&file.text],
        };
        names.into_iter().flat_map(words).for_each(|word| mentions.entry(word).or_default().add(source));
    }
    let mut findings = Vec::new();
    for (at, package) in tree.packages.iter().enumerate().filter(|(_, package)| is_library(tree, package)) {
        for file in tree.files.iter().filter(|file| file.name.starts_with(&sources[at])) {
            findings.extend(unused(file, at, package, &mentions));
        }
    }
    findings
}

/// Where a word stands: in the sources of one crate, or in several places.
#[derive(Default)]
struct Mentions {
    /// The only sources that have it, and how often.
    only: Option<(usize, usize)>,
    /// Other places have it, too.
    elsewhere: bool,
}

impl Mentions {
    fn add(&mut self, source: Option<usize>) {
        match (&mut self.only, source) {
            (Some((only, count)), Some(source)) if *only == source => *count += 1,
            (None, Some(source)) if !self.elsewhere => self.only = Some((source, 1)),
            _ => self.elsewhere = true,
        }
    }
}

/// A library and nothing else: what a program beside it uses can't be told apart by names.
fn is_library(tree: &Tree, package: &Package) -> bool {
    let has = |name: &str| tree.file(&format!("{}src/{name}", package.folder)).is_some();
    has("lib.rs") && !has("main.rs")
}

fn unused(file: &File, source: usize, package: &Package, mentions: &HashMap<&str, Mentions>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in file.product().lines().enumerate() {
        let Some((kind, name)) = public_item(line) else { continue };
        let is_type = ["struct", "enum", "trait", "type", "union"].contains(&kind);
        let Some(Mentions { only: Some((only, count)), elsewhere: false }) = mentions.get(name) else {
            continue;
        };
        if *only == source && !(is_type && *count > 1) {
            findings.push(Finding {
                file: file.name.clone(),
                line: number + 1,
                rule: "public",
                what: name.to_owned(),
                text: format!("nobody outside {} mentions the public {kind} {name}", package.name),
            });
        }
    }
    findings
}

/// The kind and name of the public item that a line begins.
fn public_item(line: &str) -> Option<(&str, &str)> {
    let mut rest = words(line.trim_start().strip_prefix("pub ")?).peekable();
    while rest.next_if(|word| ["unsafe", "async", "extern"].contains(word)).is_some() {}
    let kind = rest.next()?;
    let name = rest.next()?;
    match (kind, name) {
        ("const", "fn") => Some(("fn", rest.next()?)),
        ("const", "unsafe") => Some(("fn", rest.nth(1)?)),
        ("fn" | "struct" | "enum" | "trait" | "type" | "union" | "const" | "static", _) => Some((kind, name)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(lib: &str, others: &[(&str, &str)]) -> Vec<String> {
        let house = [("a/Cargo.toml", "[package]\nname = \"solo-a\"\n"), ("a/src/lib.rs", lib)];
        check(&Tree::of(&[&house, others].concat())).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn what_nobody_mentions_is_found() {
        let lib = "pub fn used() {}\npub const fn lonely() -> Kept { todo() }\npub struct Kept;\npub enum Dropped { A }\n\
                   pub(crate) fn hidden() {}\n    pub unsafe fn method(&self) {}\npub use x::y;\n";
        assert_eq!(found(lib, &[("b/src/lib.rs", "solo_a::used()")]), ["lonely", "Dropped", "method"]);
        assert_eq!(
            found(lib, &[("a/tests/t.rs", "used(); lonely(); Dropped::A; x.method()")]),
            Vec::<String>::new()
        );
    }

    #[test]
    fn programs_are_left_alone() {
        assert_eq!(found("pub fn lonely() {}\n", &[("a/src/main.rs", "")]), Vec::<String>::new());
    }
}
