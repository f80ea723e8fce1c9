//! "(os error 3)" is for programmers. What users read of the operating system's errors goes through `solo_store::system_reason` or, where
//! a crate does not know the store, `solo_model::text::Unnumbered`.

use super::Finding;
use super::tree::{File, Tree};

/// Where an error's field stands in its message as the system says it.
const AS_IT_IS: [&str; 3] = ["{0}", "{source}", "{error}"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    // This rule names what it looks for.
    let ours = |file: &&File| file.is_product() && !file.name.ends_with("tidy/numbers.rs");
    tree.files.iter().filter(ours).flat_map(|file| messages(file).chain(closures(file))).collect()
}

/// Variants that hold an error of the system and show it as it is.
fn messages(file: &File) -> impl Iterator<Item = Finding> + '_ {
    let begins = file.text.match_indices("#[error(").map(|(at, _)| at);
    begins.filter_map(|at| {
        let rest = file.text.get(at + 1..)?;
        let variant = rest.split("#[error(").next()?;
        // The next enum, or what follows this one, is none of its business.
        let variant = variant.split("\n}").next()?;
        let message = variant.split(")]").next()?;
        let shown = AS_IT_IS.iter().find(|field| message.contains(*field))?;
        variant.contains("io::Error").then(|| finding(file, line_of(&file.text, at), shown))
    })
}

/// Errors of the system that are shown where they are named.
fn closures(file: &File) -> impl Iterator<Item = Finding> + '_ {
    file.text.lines().enumerate().filter_map(|(number, line)| {
        let named = line.contains("error: io::Error|") || line.contains("error: std::io::Error|");
        (named && line.contains("{error}")).then(|| finding(file, number + 1, "{error}"))
    })
}

fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).map_or(0, |before| before.matches('\n').count()) + 1
}

fn finding(file: &File, line: usize, shown: &str) -> Finding {
    Finding {
        file: file.name.clone(),
        line,
        rule: "numbers",
        what: shown.to_owned(),
        text: "a reader would see \"(os error N)\": show solo_store::system_reason or solo_model::text::Unnumbered"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> usize {
        check(&Tree::of(&[("lab/src/a.rs", text)])).len()
    }

    #[test]
    fn an_error_of_the_system_shown_as_it_is_is_found() {
        assert_eq!(
            found("enum E {\n    #[error(\"cannot read: {0}\")]\n    Io(#[source] std::io::Error),\n}\n"),
            1
        );
        assert_eq!(
            found(
                "enum E {\n    #[error(\"cannot {what}: {source}\")]\n    Io {\n        source: io::Error,\n    },\n}\n"
            ),
            1
        );
        assert_eq!(found("fn f() { let g = |error: io::Error| format!(\"{error}\"); }\n"), 1);
    }

    #[test]
    fn other_errors_and_worded_ones_are_let_be() {
        let worded = "enum E {\n    #[error(\"cannot: {}\", system_reason(.0))]\n    Io(io::Error),\n}\n";
        let other = "enum E {\n    #[error(\"{0}\")]\n    Lab(LabError),\n    #[error(\"gone\")]\n    Io(io::Error),\n}\n";
        let beyond = "enum E {\n    #[error(\"{0}\")]\n    Lab(LabError),\n}\nfn f(error: io::Error) {}\n";
        for text in [worded, other, beyond] {
            assert_eq!(found(text), 0, "{text}");
        }
    }
}
