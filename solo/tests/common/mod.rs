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

/// How often something is tried: `some` times in CI, `many` times in an attack (`SOLO_ATTACK=1`).
pub fn rounds(some: usize, many: usize) -> usize {
    if std::env::var_os("SOLO_ATTACK").is_some() { many } else { some }
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

/// A recording of two seconds as `solo watch --out` leaves it.
pub fn recording(folder: &Path, name: &str, scale: u64) -> PathBuf {
    let at = folder.join(name);
    std::fs::create_dir(&at).expect("a recording can be written");
    let doubts = r#"{"rows":40,"samples_lost":0,"sampling_throttled":0,"late_ticks":0,"latest_tick_ns":0,"readings_multiplexed":0,"least_counted_per_mille":1000,"readings_never_counted":0,"migrations":0,"threads":1,"threads_missed":0,"cores_gone":0,"stops_by_following":0}"#;
    let manifest = format!(
        r#"{{"schema":"solo-watch/2","complete":true,"version":"0.1.0","host":"box","machine":null,"per":"thread","target":"{name}","sets":[["instructions","cycles"]],"virtuals":[],"metrics":["ipc=instructions/cycles"],"period_ns":50000000,"summary":{{"elapsed_ns":2000000000,"ended_by":"end of the program","exit_status":0,"totals":[],"doubts":{doubts},"notes":[]}}}}"#
    );
    std::fs::write(at.join("watch.json"), manifest).expect("a recording can be written");
    let row = |i: u64| {
        let (count, cycles) = (scale * (100 + i * i % 37), 100 * scale);
        format!(
            "{{\"row\":{i},\"at_ns\":{},\"span_ns\":50000000,\"subject\":\"thread\",\"process\":7,\"id\":7,\"event\":\"tick\",\"set\":0,\"instructions\":{count},\"cycles\":{cycles},\"ipc\":1.0}}\n",
            i * 50_000_000
        )
    };
    std::fs::write(at.join("rows.jsonl"), (1..=40).map(row).collect::<String>())
        .expect("a recording can be written");
    let who = format!(
        "{{\"process\":7,\"thread\":7,\"name\":\"{name}\",\"process_name\":\"{name}\",\"cgroup\":\"/\"}}\n"
    );
    std::fs::write(at.join("names.jsonl"), who).expect("a recording can be written");
    at
}
