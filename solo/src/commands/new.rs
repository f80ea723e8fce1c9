//! `solo new`: a program to start from.

use crate::cli::{Language, New};
use crate::exit::{Exit, Failure};
use solo_model::text::Printable;
use solo_store::Dir;
use std::path::{Path, PathBuf};

/// The program: an example of solo-app, so that it is built with it.
const MAIN: &str = include_str!("../../../apps/program/examples/robot.rs");
/// The same in C, what links it, and what compiles it.
const C_PROGRAM: &str = include_str!("../../../apps/program-c/examples/robot.c");
const C_MAIN: &str = include_str!("../../../apps/program-c/template/main.rs");
const C_BUILD: &str = include_str!("../../../apps/program-c/template/build.rs");

/// The longest name.
const LONGEST: usize = 40;

/// Names that Cargo or the compiler keep for themselves.
const KEPT: &[&str] = &[
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "build",
    "con",
    "const",
    "continue",
    "core",
    "crate",
    "deps",
    "do",
    "dyn",
    "else",
    "enum",
    "examples",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "incremental",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "nul",
    "override",
    "priv",
    "proc_macro",
    "pub",
    "ref",
    "return",
    "self",
    "solo-app",
    "solo-app-c",
    "solo_app",
    "solo_app_c",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
];

/// Writes the program into a folder that was not there before.
pub(crate) fn run(options: &New) -> Result<Exit, Failure> {
    let name = checked(&options.name)?;
    let library = library(options.language)?;
    let place = Dir::open(Path::new("."))?;
    let Some(folder) = place.new_below(name)? else {
        return Err(Failure::Usage(format!(
            "{} is there already, and solo new changes nothing that is there; choose another name",
            Printable(name)
        )));
    };
    folder.write("Cargo.toml", manifest(name, options.language, &library).as_bytes())?;
    folder.write(".gitignore", b"/target\n/runs\n")?;
    let Some(source) = folder.new_below("src")? else {
        return Err(Failure::Usage(format!("somebody else writes into {}", Printable(name))));
    };
    let program = match options.language {
        Language::Rust => {
            source.write("main.rs", MAIN.as_bytes())?;
            "main.rs".to_owned()
        }
        Language::C => {
            folder.write("build.rs", C_BUILD.as_bytes())?;
            source.write("main.rs", C_MAIN.as_bytes())?;
            let program = format!("{name}.c");
            source.write(&program, C_PROGRAM.as_bytes())?;
            program
        }
    };
    eprintln!(
        "{name}/src/{program} is a program of two threads. It runs at once:\n  \
         solo run {name}                    on the simulated machine, by what its jobs say that they cost\n  \
         solo run {name} --on rtos          on the kernel, under QEMU\n  \
         solo run {name} --on rtos-arm64    on 64-bit Arm\n  \
         solo run {name} --on linux         as a process"
    );
    Ok(Exit::Held)
}

/// The name, if Cargo takes it and it leads nowhere else.
fn checked(name: &str) -> Result<&str, Failure> {
    let refused = |why: &str| {
        Failure::Usage(format!(
            "`{}` can't be the name of a program: {why}; expected a small letter, then small letters, digits, - and _, \
             at most {LONGEST}, such as robot",
            Printable(name)
        ))
    };
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    match name.chars().next() {
        None => Err(refused("it is empty")),
        Some(first) if !first.is_ascii_lowercase() => Err(refused("it begins with something else")),
        Some(_) if !name.chars().all(plain) => Err(refused("it holds something else")),
        Some(_) if name.len() > LONGEST => Err(refused("it is too long")),
        Some(_) if KEPT.contains(&name) => Err(refused("Cargo or the compiler keeps it for itself")),
        Some(_) => Ok(name),
    }
}

/// Where the library for a language lies among Solocore's sources, as text for a manifest.
fn library(language: Language) -> Result<String, Failure> {
    let below = match language {
        Language::Rust => "../apps/program",
        Language::C => "../apps/program-c",
    };
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join(below);
    let found = place.canonicalize().ok().filter(|path| path.join("Cargo.toml").is_file());
    let text = found.and_then(|path| path.to_str().map(str::to_owned));
    text.ok_or_else(|| {
        let place: PathBuf = place;
        Failure::NotHere(format!(
            "programs are linked with Solocore's sources, and these are not at {}, where this solo was built: \
             build solo in a checkout of Solocore and use that one",
            Printable(place.display())
        ))
    })
}

/// The package. JSON's strings are TOML's as well.
fn manifest(name: &str, language: Language, library: &str) -> String {
    let library = serde_json::Value::from(library);
    let crate_name = match language {
        Language::Rust => "solo-app",
        Language::C => "solo-app-c",
    };
    format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dependencies]\n{crate_name} = {{ path = {library} }}\n\n\
         [profile.release]\ndebug = \"line-tables-only\"\noverflow-checks = true\n\n\
         # A package of its own, wherever its folder lies.\n[workspace]\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_or_that_cargo_refuses_are_refused() {
        for name in ["robot", "r2-d2", "my_robot", "a"] {
            assert_eq!(checked(name).unwrap(), name);
        }
        let long = "a".repeat(LONGEST + 1);
        for name in [
            "",
            ".",
            "..",
            "../robot",
            "/tmp/robot",
            "robot/",
            "a/b",
            "a\\b",
            "-robot",
            "--help",
            "2robot",
            "Robot",
            "röbot",
            "ro bot",
            "robot\n",
            "robot\0",
            "robot\u{1b}[2J",
            "test",
            "core",
            "std",
            "fn",
            "nul",
            "con",
            "solo-app",
            "_x",
            ".git",
            &long,
        ] {
            assert!(checked(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_path_of_any_characters_stays_one_string_of_the_manifest() {
        let text = manifest("robot", Language::Rust, "/a \"b\"\n[x]");
        let table: toml::Table = text.parse().unwrap();
        assert_eq!(table["dependencies"]["solo-app"]["path"].as_str(), Some("/a \"b\"\n[x]"));
    }
}
