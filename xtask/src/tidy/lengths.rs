//! What fits a head and a screen: files and functions.

use super::Finding;
use super::tree::{File, Tree};

/// No source is longer.
const FILE_MAX: usize = 1000;

/// No function of a product is longer, from its name to its last brace.
const FUNCTION_MAX: usize = 70;

/// The ports of bare metal, and the most lines of code that each may have of its own: what can be shared is. A board beside a port's first
/// has its own files, which count for themselves.
const PORTS: [(&str, usize); 3] = [
    ("machines/x86_64", 2660),
    ("machines/aarch64", 1500),
    ("machines/aarch64/src/port/raspberry_pi_4", 150),
];

/// The lines of code of a port: Rust, assembly and linker script, without comments, blank lines and tests.
fn port_lines(tree: &Tree, port: &str) -> usize {
    let of_board =
        |name: &str| PORTS.iter().any(|(board, _)| board.len() > port.len() && name.starts_with(board));
    let own = |file: &&File| {
        let rest = file.name.strip_prefix(port).and_then(|rest| rest.strip_prefix('/'));
        let is_code = |rest: &str| {
            port.contains("/src/") || rest.starts_with("src/") || ["build.rs", "link.ld"].contains(&rest)
        };
        rest.is_some_and(is_code) && !of_board(&file.name)
    };
    let counts = |line: &&str| {
        let line = line.trim();
        !(line.is_empty() || line.starts_with("//") || line.starts_with("/*") || line.starts_with("# "))
    };
    let lines = tree.files.iter().filter(own).map(|file| file.text.lines().filter(counts).count());
    lines.sum()
}

/// What `./x check` says of the ports.
pub(super) fn ports(tree: &Tree) -> String {
    let line = |(port, most): (&str, usize)| {
        format!("{port}: {} lines of code of its own, at most {most}", port_lines(tree, port))
    };
    PORTS.map(line).join("\n")
}

fn ports_too_long(tree: &Tree) -> impl Iterator<Item = Finding> {
    let found = PORTS.into_iter().map(|(port, most)| (port, most, port_lines(tree, port)));
    found.filter(|(_, most, lines)| lines > most).map(|(port, most, lines)| Finding {
        file: port.to_owned(),
        line: 0,
        rule: "length",
        what: "port".to_owned(),
        text: format!(
            "{lines} lines of code; the limit is {most}: move what knows no instruction to machines/bare"
        ),
    })
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = ports_too_long(tree).collect();
    for file in tree.files.iter().filter(|file| file.is_rust()) {
        let lines = file.text.lines().count();
        if lines > FILE_MAX {
            findings.push(Finding {
                file: file.name.clone(),
                line: 0,
                rule: "length",
                what: "file".to_owned(),
                text: format!("{lines} lines; the limit is {FILE_MAX}"),
            });
        }
        if file.is_product() {
            findings.extend(functions(file));
        }
    }
    findings
}

fn functions(file: &File) -> Vec<Finding> {
    let lines: Vec<&str> = file.product().lines().collect();
    let mut findings = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        let Some(length) = length_of(&lines[at..]) else { continue };
        if length > FUNCTION_MAX {
            findings.push(Finding {
                file: file.name.clone(),
                line: at + 1,
                rule: "length",
                what: name.to_owned(),
                text: format!("{name} has {length} lines; the limit is {FUNCTION_MAX}"),
            });
        }
    }
    findings
}

/// The name of the function that a line begins to define.
fn function_name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let qualifier = |word: &str| {
        ["const", "unsafe", "async", "extern", "\"\"", "pub"].contains(&word) || word.starts_with("pub(")
    };
    let in_path = |word: &str| word.ends_with(')');
    if !before.split_whitespace().all(|word| qualifier(word) || in_path(word)) {
        return None;
    }
    let name = after.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    (!name.is_empty()).then_some(name)
}

/// Lines up to the brace that closes what the first opens; `None` for a function without a body.
fn length_of(lines: &[&str]) -> Option<usize> {
    let (mut depth, mut opened) = (0_usize, false);
    for (at, line) in lines.iter().enumerate() {
        for char in line.chars() {
            match char {
                '{' => (depth, opened) = (depth + 1, true),
                '}' => depth = depth.checked_sub(1)?,
                ';' if !opened && !line.contains('[') => return None,
                _ => {}
            }
            if opened && depth == 0 {
                return Some(at + 1);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        check(&Tree::of(&[("a/src/x.rs", text)])).into_iter().map(|finding| finding.what).collect()
    }

    fn body(lines: usize) -> String {
        format!("pub(crate) const fn f() -> [u8; 4] {{\n{}}}\n", "    g(\"{\");\n".repeat(lines))
    }

    #[test]
    fn a_long_function_is_found_and_one_that_just_fits_is_not() {
        assert_eq!(found(&body(FUNCTION_MAX - 2)), Vec::<String>::new());
        assert_eq!(found(&body(FUNCTION_MAX - 1)), ["f"]);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", body(200));
        assert_eq!(found(&tests), Vec::<String>::new());
        assert_eq!(found(&format!("trait T {{\n    fn g();\n}}\n{}", body(100))), ["f"]);
    }

    #[test]
    fn a_boards_lines_are_its_own_and_not_the_ports() {
        let tree = Tree::of(&[
            ("machines/aarch64/src/port/mod.rs", "a\n// b\n\nc\n"),
            ("machines/aarch64/src/port/raspberry_pi_4/park.s", "d\n"),
            ("machines/aarch64/tests/x.rs", "e\n"),
        ]);
        assert_eq!(PORTS.map(|(port, _)| port_lines(&tree, port)), [0, 2, 1]);
    }

    #[test]
    fn a_long_file_is_found() {
        assert_eq!(found(&"\n".repeat(FILE_MAX)), Vec::<String>::new());
        assert_eq!(found(&"\n".repeat(FILE_MAX + 1)), ["file"]);
    }
}
