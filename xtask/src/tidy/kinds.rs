//! The standard library's words for kinds of errors ("entity not found") are for programmers. Users read what the system
//! says, as `solo_store::system_reason` puts it, or a sentence.

use super::Finding;
use super::tree::Tree;

/// What makes an error that has nothing but its kind to show, or shows a kind.
const BARE: [&str; 7] = [
    "Error::from(io::ErrorKind",
    "Error::from(std::io::ErrorKind",
    "ok_or(io::ErrorKind",
    "|| io::ErrorKind",
    "|_| io::ErrorKind",
    "source.kind().to_string()",
    "error.kind().to_string()",
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.is_product()) {
        for (number, line) in file.product().lines().enumerate() {
            let made = line.split("ErrorKind::").skip(1).any(|rest| {
                rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).starts_with(".into()")
            });
            let bare = BARE.iter().find(|words| line.contains(*words)).copied();
            // This rule names what it looks for.
            if let Some(what) = bare.or(made.then_some("ErrorKind::….into()"))
                && !file.name.ends_with("tidy/kinds.rs")
            {
                findings.push(Finding {
                    file: file.name.clone(),
                    line: number + 1,
                    rule: "kinds",
                    what: what.to_owned(),
                    text:
                        "a reader would see the standard library's word for a kind of error: give the error \
                           words of its own, or show solo_store::system_reason"
                            .to_owned(),
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
    fn an_error_without_words_is_found() {
        let found =
            |line: &str| check(&Tree::of(&[("lab/src/a.rs", &format!("fn f() {{ {line} }}\n"))])).len();
        for bare in [
            "Err(io::ErrorKind::NotFound.into())",
            "Err(io::Error::from(io::ErrorKind::InvalidInput))",
            "x.ok_or(io::ErrorKind::Other)?",
            "x.map_err(|_| io::ErrorKind::InvalidInput)?",
            "source.kind().to_string()",
        ] {
            assert_eq!(found(bare), 1, "{bare}");
        }
        for fine in [
            "Err(io::Error::new(io::ErrorKind::NotFound, \"no module\"))",
            "if error.kind() == io::ErrorKind::NotFound {}",
            "io::ErrorKind::NotFound => {}",
        ] {
            assert_eq!(found(fine), 0, "{fine}");
        }
    }
}
