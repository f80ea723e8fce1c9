//! Additions to the house: what a newcomer adds, as examples that are tried.
//!
//! Each `tests/additions/NAME.md` is a small patch that people can read: new files, lines in files that are there, a case that
//! shows the addition at work, and the commands that run it. `./x additions` makes them in a copy of the tree, compiles the whole
//! house there (an arm that was forgotten does not), and runs the cases. The house rule of the same name tries without building
//! whether they still fit, and holds the table "Where to add" of `ARCHITECTURE.md` against them.

use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the examples are.
pub(crate) const FOLDER: &str = "tests/additions/";

/// What an example does to a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Edit {
    /// A file that is not there yet.
    New { path: String, text: String },
    /// Lines that follow the only line that is `after`, or the `below` lines below it.
    Lines { path: String, after: String, below: usize, text: String },
    /// A file of the example's case; it is no part of the addition.
    Case { path: String, text: String },
}

/// An example.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Addition {
    /// What is added, as its title says.
    pub(crate) title: String,
    pub(crate) edits: Vec<Edit>,
    /// Commands that run the case.
    pub(crate) runs: Vec<String>,
}

impl Addition {
    /// Reads an example.
    pub(crate) fn read(text: &str) -> Result<Self> {
        let mut lines = text.lines();
        let title = lines.next().and_then(|line| line.strip_prefix("# ")).context("no title")?.to_owned();
        let (mut edits, mut runs) = (Vec::new(), Vec::new());
        while let Some(line) = lines.next() {
            let quoted: Vec<&str> = line.split('`').skip(1).step_by(2).collect();
            let mut block = || -> Result<String> {
                let mut inside = lines.by_ref().skip_while(|line| line.is_empty());
                ensure!(inside.next().is_some_and(|line| line.starts_with("```")), "no code below: {line}");
                let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
                Ok(block.join("\n") + "\n")
            };
            match (line.split(' ').next().unwrap_or_default(), quoted.as_slice()) {
                ("New", [path]) => edits.push(Edit::New { path: (*path).to_owned(), text: block()? }),
                ("Case", [path]) => edits.push(Edit::Case { path: (*path).to_owned(), text: block()? }),
                ("In", [path, after]) => edits.push(Edit::Lines {
                    path: (*path).to_owned(),
                    after: (*after).to_owned(),
                    below: usize::from(line.contains("the line below it")),
                    text: block()?,
                }),
                ("Run", [command]) => runs.push((*command).to_owned()),
                _ => ensure!(!line.starts_with("```"), "code that belongs to nothing, above: {line}"),
            }
        }
        ensure!(!runs.is_empty(), "no case is run");
        Ok(Self { title, edits, runs })
    }

    /// The files that the addition makes, and those in which it adds lines.
    pub(crate) fn files(&self) -> (Vec<&str>, Vec<&str>) {
        let (mut new, mut changed) = (Vec::new(), Vec::new());
        for edit in &self.edits {
            match edit {
                Edit::New { path, .. } => new.push(path.as_str()),
                Edit::Lines { path, .. } if !changed.contains(&path.as_str()) => changed.push(path.as_str()),
                Edit::Lines { .. } | Edit::Case { .. } => {}
            }
        }
        (new, changed)
    }

    /// Makes the edits; `read` answers with the text of a file that is there.
    pub(crate) fn apply(
        &self,
        changed: &mut BTreeMap<String, String>,
        read: &dyn Fn(&str) -> Option<String>,
    ) -> Result<()> {
        for edit in &self.edits {
            match edit {
                Edit::New { path, text } | Edit::Case { path, text } => {
                    ensure!(read(path).is_none() && !changed.contains_key(path), "{path} is there already");
                    changed.insert(path.clone(), text.clone());
                }
                Edit::Lines { path, after, below, text } => {
                    let old = changed.get(path).cloned().or_else(|| read(path));
                    let old = old.with_context(|| format!("there is no {path}"))?;
                    changed.insert(
                        path.clone(),
                        inserted(&old, after, *below, text).with_context(|| path.clone())?,
                    );
                }
            }
        }
        Ok(())
    }
}

/// The text with more lines behind the only line that is `after`.
fn inserted(old: &str, after: &str, below: usize, more: &str) -> Result<String> {
    let places: Vec<usize> =
        old.lines().enumerate().filter(|(_, line)| line.trim() == after.trim()).map(|(at, _)| at).collect();
    ensure!(places.len() == 1, "{} lines are {after:?}; expected one", places.len());
    let mut new = String::with_capacity(old.len() + more.len());
    for (at, line) in old.lines().enumerate() {
        new.push_str(line);
        new.push('\n');
        if at == places[0] + below {
            new.push_str(more);
        }
    }
    Ok(new)
}

/// Makes the named additions, or all of them, in a copy of the tree, compiles it and runs their cases: 1 where one fails.
pub(crate) fn run(root: &Path, names: &[String]) -> Result<i32> {
    let additions = chosen(root, names)?;
    let place = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let place = place.join("additions");
    let tree = place.join("tree");
    let mut changed = BTreeMap::new();
    for (name, addition) in &additions {
        let read = |path: &str| fs::read_to_string(root.join(path)).ok();
        addition.apply(&mut changed, &read).with_context(|| format!("{FOLDER}{name}.md"))?;
        let (new, lines) = addition.files();
        println!("{name}: {} ({})", count(&new, &lines), [new, lines].concat().join(", "));
    }
    copy(root, &tree, &changed)?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let build = place.join("target");
    let mut whole = Command::new(&cargo);
    whole.current_dir(&tree).env("CARGO_TARGET_DIR", &build).args(["check", "--workspace"]);
    crate::beat::run("the house with its additions", &mut whole)?;
    let mut failed = Vec::new();
    for (name, addition) in &additions {
        for words in &addition.runs {
            let mut words = words.split(' ');
            ensure!(words.next() == Some("cargo"), "{FOLDER}{name}.md runs cargo only");
            let mut case = Command::new(&cargo);
            case.current_dir(&tree).env("CARGO_TARGET_DIR", &build).args(words);
            if crate::beat::run(&format!("the case of {name}"), &mut case).is_err() {
                failed.push(name.as_str());
            }
        }
    }
    println!("additions: {} made, {} failed {}", additions.len(), failed.len(), failed.join(", "));
    Ok(i32::from(!failed.is_empty()))
}

/// How many files, as the table says it: `1 + 1` is a new file and lines in another.
pub(crate) fn count(new: &[&str], lines: &[&str]) -> String {
    format!("{} + {}", new.len(), lines.len())
}

fn chosen(root: &Path, names: &[String]) -> Result<Vec<(String, Addition)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join(FOLDER)).with_context(|| FOLDER.to_owned())? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.extension().is_some_and(|end| end == "md") && (names.is_empty() || names.contains(&name)) {
            let addition = Addition::read(&fs::read_to_string(&path)?);
            found.push((name, addition.with_context(|| path.display().to_string())?));
        }
    }
    for name in names {
        ensure!(found.iter().any(|(known, _)| known == name), "there is no {FOLDER}{name}.md");
    }
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(found)
}

/// Makes `tree` a copy of the repository with some files changed. What is there already and the same is left alone, so that
/// cargo builds only what differs.
fn copy(root: &Path, tree: &Path, changed: &BTreeMap<String, String>) -> Result<()> {
    let mut wanted: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    gather(root, "", &mut wanted)?;
    wanted.extend(changed.iter().map(|(path, text)| (path.clone(), text.clone().into_bytes())));
    let mut there = BTreeMap::new();
    if tree.exists() {
        gather(tree, "", &mut there)?;
    }
    for path in there.keys().filter(|path| !wanted.contains_key(*path)) {
        fs::remove_file(tree.join(path)).with_context(|| path.clone())?;
    }
    for (path, bytes) in wanted.iter().filter(|(path, bytes)| there.get(*path) != Some(bytes)) {
        let path = tree.join(path);
        fs::create_dir_all(path.parent().unwrap_or(tree)).with_context(|| path.display().to_string())?;
        fs::write(&path, bytes).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// The files below a folder, build products and what git keeps left out.
fn gather(root: &Path, below: &str, into: &mut BTreeMap<String, Vec<u8>>) -> Result<()> {
    for entry in fs::read_dir(root.join(below)).with_context(|| below.to_owned())? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_dir() && name != "target" && name != ".git" && name != "runs" {
            gather(root, &path, into)?;
        } else if kind.is_file() && name != ".git" {
            into.insert(path, fs::read(entry.path())?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = "# A thing\n\nWhat it is.\n\nNew file `a/src/thing.rs`:\n\n```rust\npub struct Thing;\n```\n\n\
        In `a/src/lib.rs` after `mod other;`:\n\n```rust\nmod thing;\n```\n\nCase `a/tests/thing.rs`:\n\n```rust\n#[test]\n```\n\n\
        Run `cargo test --package a`.\n";

    #[test]
    fn an_example_is_read_and_made() {
        let addition = Addition::read(EXAMPLE).unwrap();
        assert_eq!(addition.title, "A thing");
        assert_eq!(addition.files(), (vec!["a/src/thing.rs"], vec!["a/src/lib.rs"]));
        assert_eq!(count(&addition.files().0, &addition.files().1), "1 + 1", "a case is no part of it");
        assert_eq!(addition.runs, ["cargo test --package a"]);
        let mut changed = BTreeMap::new();
        let read = |path: &str| (path == "a/src/lib.rs").then(|| "mod other;\nmod z;\n".to_owned());
        addition.apply(&mut changed, &read).unwrap();
        assert_eq!(changed["a/src/lib.rs"], "mod other;\nmod thing;\nmod z;\n");
        assert_eq!((changed.len(), changed["a/src/thing.rs"].as_str()), (3, "pub struct Thing;\n"));
        let again = addition.apply(&mut changed, &read).unwrap_err();
        assert!(again.to_string().contains("is there already"), "{again}");
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        assert!(inserted("a\na\n", "a", 0, "b\n").is_err() && inserted("a\n", "c", 0, "b\n").is_err());
        assert_eq!(inserted("a\n  b\nc\n", "a", 1, "x\n").unwrap(), "a\n  b\nx\nc\n");
        assert!(Addition::read("# A thing\n\nNew file `x.rs`:\n\nno code\n").is_err());
        assert!(Addition::read("# A thing\n").is_err(), "nothing is run");
    }
}
