//! The repository as the rules see it: its files and their texts.

use super::code::Split;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// A file of the repository.
#[derive(Debug)]
pub(super) struct File {
    /// The path from the root, with `/`.
    pub(super) name: String,
    /// Its size in bytes.
    pub(super) size: u64,
    /// The text; empty where it is none.
    pub(super) text: String,
    /// A Rust source taken apart into code and comments; empty for other files.
    pub(super) split: Split,
}

impl File {
    fn new(name: String, size: u64, text: String) -> Self {
        let split = if name.ends_with(".rs") { Split::of(&text) } else { Split::default() };
        Self { name, size, text, split }
    }

    pub(super) fn is_rust(&self) -> bool {
        self.name.ends_with(".rs")
    }

    /// True for what is built into a product: no tests, examples and benchmarks.
    pub(super) fn is_product(&self) -> bool {
        self.is_rust()
            && self.name.contains("/src/")
            && !self.name.contains("/tests/")
            && !self.name.ends_with("/tests.rs")
    }

    /// The code before the file's own tests, which stand at its end; comments and texts blanked.
    pub(super) fn product(&self) -> &str {
        self.split.code.split("#[cfg(test)]\nmod ").next().unwrap_or_default()
    }
}

/// A crate of the workspace.
#[derive(Debug)]
pub(super) struct Package {
    /// The name, such as `solo-model`.
    pub(super) name: String,
    /// The folder, with a `/` at its end.
    pub(super) folder: String,
    /// What it depends on within the workspace.
    pub(super) needs: Vec<String>,
    /// What only its tests, examples and benchmarks depend on.
    pub(super) tests_need: Vec<String>,
}

impl Package {
    /// Reads a manifest: `None` where it describes no package of the house.
    fn of(file: &File) -> Option<Self> {
        let folder = file.name.strip_suffix("Cargo.toml")?.to_owned();
        let (mut section, mut name) = (String::new(), None);
        let (mut needs, mut tests_need) = (Vec::new(), Vec::new());
        for line in file.text.lines().map(str::trim) {
            if let Some(header) = line.strip_prefix('[') {
                section = header.trim_matches(['[', ']']).to_owned();
            }
            let key = line.split(['=', '.', ' ']).next().unwrap_or_default();
            if section == "package" && key == "name" {
                name = line.split('"').nth(1).map(str::to_owned);
            }
            // Both `solo-model = …` below `[dependencies]` and `[dependencies.solo-model]`.
            let (list, named) = match section.rsplit_once("dependencies") {
                Some((_, tail)) => (section.as_str(), tail.strip_prefix('.').unwrap_or(key)),
                None => continue,
            };
            if named.starts_with("solo-") && !section.starts_with("workspace") {
                let into = if list.contains("dev-dependencies") { &mut tests_need } else { &mut needs };
                into.push(named.to_owned());
            }
        }
        for list in [&mut needs, &mut tests_need] {
            list.sort();
            list.dedup();
        }
        Some(Self { name: name?, folder, needs, tests_need })
    }
}

/// The repository.
#[derive(Debug)]
pub(super) struct Tree {
    /// All files, by name.
    pub(super) files: Vec<File>,
    /// The crates of the workspace, by folder. What is built apart (`fuzz`, `peers`) is none.
    pub(super) packages: Vec<Package>,
}

impl Tree {
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut files = Vec::new();
        let mut folders = vec![root.to_path_buf()];
        while let Some(folder) = folders.pop() {
            let entries =
                fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?;
            for entry in entries {
                let path = entry?.path();
                let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
                let last = name.rsplit('/').next().unwrap_or_default();
                let not_ours = ["target", "runs"].contains(&last) || name.starts_with("fuzz/corpus");
                if last.starts_with('.') || not_ours {
                    continue;
                }
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
                let size = bytes.len() as u64;
                files.push(File::new(name, size, String::from_utf8(bytes).unwrap_or_default()));
            }
        }
        Ok(Self::from_files(files))
    }

    fn from_files(mut files: Vec<File>) -> Self {
        files.sort_by(|one, other| one.name.cmp(&other.name));
        let apart = |file: &&File| !file.name.starts_with("fuzz/") && !file.name.starts_with("peers/");
        let packages = files.iter().filter(apart).filter_map(Package::of).collect();
        Self { files, packages }
    }

    /// A repository for tests.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let file = |&(name, text): &(&str, &str)| File::new(name.into(), text.len() as u64, text.into());
        Self::from_files(files.iter().map(file).collect())
    }

    pub(super) fn file(&self, name: &str) -> Option<&File> {
        self.files.iter().find(|file| file.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_tells_who_needs_whom() {
        let manifest = "[package]\nname = \"solo-a\"\n[dependencies]\nsolo-b = { workspace = true }\nserde = \"1\"\n\
                        [target.'cfg(unix)'.dependencies]\nsolo-c.workspace = true\n[dependencies.solo-d]\npath = \"x\"\n\
                        [dev-dependencies]\nsolo-e = { path = \"../e\" }\n";
        let tree = Tree::of(&[("core/a/Cargo.toml", manifest), ("fuzz/Cargo.toml", manifest)]);
        let package = &tree.packages[0];
        assert_eq!((package.name.as_str(), package.folder.as_str()), ("solo-a", "core/a/"));
        assert_eq!(tree.packages.len(), 1, "what is built apart is none of the house");
        assert_eq!(package.needs, ["solo-b", "solo-c", "solo-d"]);
        assert_eq!(package.tests_need, ["solo-e"]);
    }

    #[test]
    fn tests_at_the_end_of_a_file_are_no_product() {
        let tree = Tree::of(&[("a/src/x.rs", "fn f() {}\n#[cfg(test)]\nmod tests {\n    fn g() {}\n}\n")]);
        assert!(tree.files[0].is_product());
        assert!(!tree.files[0].product().contains("fn g"));
    }
}
