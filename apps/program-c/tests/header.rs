//! The header says what the library has: the same functions with as many parameters, and a compiler of C and of C++ takes it.

use std::collections::BTreeMap;
use std::process::Command;

const HEADER: &str = include_str!("../include/solo_app.h");
const SOURCES: [&str; 4] = [
    include_str!("../src/counters.rs"),
    include_str!("../src/declare.rs"),
    include_str!("../src/memory.rs"),
    include_str!("../src/run.rs"),
];

/// How many parameters stand between the parentheses at the beginning of `text`.
fn parameters(text: &str) -> usize {
    let list = text.split_once(')').unwrap().0.trim().trim_end_matches(',');
    if list.is_empty() || list == "void" { 0 } else { list.split(',').count() }
}

/// The functions that `text` has after each `before`, which names that begin with solo_ follow.
fn functions(text: &str, before: &str) -> BTreeMap<String, usize> {
    let found = text.split(before).skip(1).filter_map(|rest| {
        let (name, rest) = rest.split_once('(')?;
        name.starts_with("solo_").then(|| (name.to_owned(), parameters(rest)))
    });
    found.collect()
}

#[test]
fn the_header_has_the_functions_of_the_library() {
    let library: BTreeMap<String, usize> =
        SOURCES.iter().flat_map(|source| functions(source, "extern \"C-unwind\" fn ")).collect();
    // Declarations begin a line; a name follows a blank or the star of a pointer.
    let lines = HEADER.lines().filter(|line| line.ends_with(");") && !line.starts_with("typedef"));
    let mut header = BTreeMap::new();
    for line in lines {
        let (before, rest) = line.split_once('(').unwrap();
        let name = before.rsplit([' ', '*']).next().unwrap();
        header.insert(name.to_owned(), parameters(rest));
    }
    // What the program itself defines.
    assert_eq!(header.remove("solo_declare"), Some(1));
    assert!(library.len() > 30, "{library:?}");
    assert_eq!(header, library);
}

#[test]
fn compilers_take_the_header() {
    let place = tempfile::tempdir().unwrap();
    for (language, compiler, standard) in [("c", "cc", "c11"), ("c++", "c++", "c++11")] {
        let mut compile = Command::new(compiler);
        compile.args([
            "-x",
            language,
            &format!("-std={standard}"),
            "-pedantic",
            "-Wall",
            "-Wextra",
            "-Werror",
        ]);
        compile.arg("-c").arg(concat!(env!("CARGO_MANIFEST_DIR"), "/include/solo_app.h"));
        match compile.arg("-o").arg(place.path().join(language)).output() {
            Ok(said) => assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr)),
            Err(error) => println!("skipped: the header in {language}: {compiler} can't be started: {error}"),
        }
    }
}
