//! Running the program as a user would.
#![allow(dead_code, unreachable_pub, missing_docs)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("solo lies in the repository").to_path_buf()
}

/// The program as the tests were built.
pub fn solo() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_solo"));
    command.current_dir(root()).env("NO_COLOR", "1").env_remove("CLICOLOR_FORCE");
    command
}

/// The optimised program, if it has been built from the same sources: `./x test` does that first.
pub fn optimised() -> Option<Command> {
    let target = Path::new(env!("CARGO_BIN_EXE_solo")).parent()?.parent()?;
    let program = target.join("release/solo");
    if !program.exists() {
        println!("skipped: no optimised build; ./x test makes it");
        return None;
    }
    let mut command = Command::new(program);
    command.current_dir(root()).env("NO_COLOR", "1");
    Some(command)
}

/// Does to a program what Ctrl-C does. The program `kill` is not on every machine.
pub fn interrupt(child: &Child) {
    let process = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).expect("the program still runs");
}

/// What a command printed, with paths of this machine taken out.
pub fn transcript(output: &Output, replace: &[(&Path, &str)]) -> String {
    let mut text = format!(
        "exit {}\n--- stdout\n{}--- stderr\n{}",
        output.status.code().map_or_else(|| "by signal".to_owned(), |code| code.to_string()),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    for (path, name) in replace {
        text = text.replace(&*path.to_string_lossy(), name);
    }
    text
}

/// A small scenario that misses nothing.
pub const CALM: &str = r#"
name = "calm"
platform = "xeon-w3530"
jobs = 20

[scheduler]
policy = "P-RM"

[[task]]
name = "control"
class = "hard"
core = 0
period = "5ms"
work = [{ compute = "1ms" }, { sweep = "64KiB" }]
"#;

/// The same task with a deadline that can't hold.
pub const LATE: &str = r#"
name = "late"
platform = "xeon-w3530"
jobs = 20

[scheduler]
policy = "P-RM"

[[task]]
name = "control"
class = "hard"
core = 0
period = "5ms"
deadline = "500us"
wcet = "400us"
work = [{ compute = "1ms" }]
"#;

/// Writes a scenario into a folder.
pub fn scenario(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("scenario.toml");
    std::fs::write(&path, text).expect("a scenario can be written into a temporary folder");
    path
}
