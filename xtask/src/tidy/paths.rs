//! Names of files may hold anything: line breaks, and what acts on a terminal. Whoever shows one writes that out. Chores show
//! paths of this tree, which have plain names.

use super::Finding;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.is_product() && !file.name.starts_with("xtask/")) {
        for (number, line) in file.product().lines().enumerate() {
            // As text of its own it is shown by somebody else, who has to do it.
            let raw = line.replace(".display().to_string()", "");
            if raw.contains(".display()") && !raw.contains("Printable(") {
                findings.push(Finding {
                    file: file.name.clone(),
                    line: number + 1,
                    rule: "paths",
                    what: ".display()".to_owned(),
                    text: "a path may act on a terminal: show Printable(path.display())".to_owned(),
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
    fn a_path_that_is_shown_as_it_is_is_found() {
        let found = |line: &str| {
            check(&Tree::of(&[("lab/src/a.rs", &format!("fn f(path: &Path) {{ {line} }}\n"))])).len()
        };
        assert_eq!(found("eprintln!(\"{}\", path.display());"), 1);
        assert_eq!(found("eprintln!(\"{}\", Printable(path.display()));"), 0);
        assert_eq!(found("Source::new(path.display().to_string(), text)"), 0);
        assert_eq!(found("// path.display()"), 0);
        let chore = "fn f(path: &Path) { println!(\"{}\", path.display()); }";
        assert!(check(&Tree::of(&[("xtask/src/a.rs", chore)])).is_empty());
    }
}
