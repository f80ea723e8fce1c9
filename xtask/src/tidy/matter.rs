//! What files there may be: known kinds, none too large.

use super::Finding;
use super::tree::Tree;

/// The endings of names that belong into the repository.
const KINDS: &[&str] = &[
    "S",
    "c",
    "cpp",
    "css",
    "csv",
    "din",
    "dram",
    "gz",
    "h",
    "html",
    "ini",
    "js",
    "json",
    "jsonl",
    "lackey",
    "ld",
    "lock",
    "md",
    "out",
    "png",
    "py",
    "pyi",
    "rs",
    "service",
    "sh",
    "snap",
    "solo",
    "svg",
    "toml",
    "trace",
    "txt",
    "typed",
    "xz",
    "yml",
    "zst",
    "hex",
    "in",
    "proptest-regressions",
    "s",
];

/// Files that are called by their whole name.
const NAMES: &[&str] = &["LICENSE-APACHE", "LICENSE-MIT", "x"];

/// No file is larger: what is, is kept elsewhere and made anew by a command.
const SIZE_MAX: u64 = 256 * 1024;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        let found = |what: &str, text: String| Finding {
            file: file.name.clone(),
            line: 0,
            rule: "matter",
            what: what.to_owned(),
            text,
        };
        let last = file.name.rsplit('/').next().unwrap_or_default();
        let kind = last.rsplit_once('.').map_or("", |(_, kind)| kind);
        if !NAMES.contains(&last) && !KINDS.contains(&kind) {
            findings.push(found(
                "kind",
                "files of this kind don't belong here (xtask/src/tidy/matter.rs)".into(),
            ));
        }
        if file.size > SIZE_MAX {
            findings.push(found("size", format!("{} bytes; the limit is {SIZE_MAX}", file.size)));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_kinds_and_large_files_are_found() {
        let large = "x".repeat(SIZE_MAX as usize + 1);
        let tree = Tree::of(&[("a.md", ""), ("x", ""), ("core.dump", ""), ("noise", ""), ("b.csv", &large)]);
        let found: Vec<_> = check(&tree).into_iter().map(|finding| (finding.file, finding.what)).collect();
        let expected = [("b.csv", "size"), ("core.dump", "kind"), ("noise", "kind")];
        assert_eq!(found, expected.map(|(file, what)| (file.to_owned(), what.to_owned())));
    }
}
