//! Building a user's program with Cargo.

use super::ProgramError;
use solo_model::text::Unnumbered;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// For what a program is built.
pub(super) struct Wanted<'w> {
    /// The compiler's target; this machine's own where it is `None`.
    pub(super) target: Option<&'w str>,
    /// The compiler's flags.
    pub(super) flags: &'w [String],
}

/// Builds the program in `folder`, which is quick where nothing has changed; where Cargo laid it.
pub(super) fn build(folder: &Path, wanted: &Wanted<'_>) -> Result<PathBuf, ProgramError> {
    if !folder.join("Cargo.toml").is_file() {
        return Err(ProgramError::NoPackage(folder.to_owned()));
    }
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--release", "--message-format=json-render-diagnostics"]).current_dir(folder);
    if let Some(target) = wanted.target {
        cargo.args(["--target", target]);
    }
    // Settings of a build that this one runs inside of are not meant for it.
    cargo.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    if !wanted.flags.is_empty() {
        cargo.env("CARGO_ENCODED_RUSTFLAGS", wanted.flags.join("\x1f"));
    }
    let child = cargo.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| match error.kind() {
        ErrorKind::NotFound => ProgramError::NoCargo,
        _ => ProgramError::Cargo(Unnumbered(&error).to_string()),
    })?;
    let errors = child.stderr.take().map(|mut pipe| {
        thread::spawn(move || {
            let mut text = Vec::new();
            let _ = pipe.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        })
    });
    let lines = child.stdout.take().map(|pipe| BufReader::new(pipe).lines().map_while(Result::ok));
    let mut programs: Vec<PathBuf> = lines.into_iter().flatten().filter_map(|line| program(&line)).collect();
    let status = child.wait().map_err(|error| ProgramError::Cargo(Unnumbered(&error).to_string()))?;
    let errors = errors.and_then(|thread| thread.join().ok()).unwrap_or_default();
    if !status.success() {
        return Err(ProgramError::Build(errors));
    }
    match (programs.pop(), programs.len()) {
        (Some(program), 0) => Ok(program),
        (found, more) => Err(ProgramError::Programs {
            folder: folder.to_owned(),
            found: more + usize::from(found.is_some()),
        }),
    }
}

/// The program that one of Cargo's messages is about.
fn program(message: &str) -> Option<PathBuf> {
    let message: serde_json::Value = serde_json::from_str(message).ok()?;
    let kinds = message.get("target")?.get("kind")?.as_array()?;
    let is_program = kinds.iter().any(|kind| kind == "bin");
    let path = message.get("executable")?.as_str()?;
    (is_program && message.get("reason")? == "compiler-artifact").then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_told_from_libraries_and_build_scripts() {
        let message = |kind: &str, executable: &str| {
            program(&format!(
                r#"{{"reason":"compiler-artifact","target":{{"kind":["{kind}"]}},"executable":{executable}}}"#
            ))
        };
        assert_eq!(message("bin", "\"/t/robot\""), Some(PathBuf::from("/t/robot")));
        assert_eq!(message("bin", "null"), None);
        assert_eq!(message("custom-build", "\"/t/build\""), None);
        assert_eq!(program("Compiling robot"), None);
    }
}
