//! Other simulators' commands, timed on a file of references.

use std::error::Error;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

/// Timings are the least of so many, which leaves out what else the host was doing.
pub(crate) const ROUNDS: usize = 3;

/// Ticks of the clock in `/proc/self/stat`, a second.
const TICKS: f64 = 100.0;

/// A command of the shell, in which `$1` is the file of references.
pub(crate) struct Peer(String);

impl Peer {
    /// What follows `--peer` on the command line, where it is there.
    pub(crate) fn from_args() -> Option<Self> {
        let command = option("--peer")?;
        Some(Self(if command.contains("$1") { command } else { format!("{command} \"$1\"") }))
    }

    /// Processor seconds of a run on `file`, less those of one on `empty`, which has no reference or one.
    pub(crate) fn seconds(&self, file: &Path, empty: &Path) -> Result<f64, Box<dyn Error>> {
        let run = |file: &Path| {
            let mut command = Command::new("sh");
            command.args(["-c", &self.0, "sh"]).arg(file);
            timed(&mut command).map(|(seconds, _)| seconds)
        };
        Ok((least(|| run(file))? - least(|| run(empty))?).max(1.0 / TICKS))
    }
}

/// What follows `name` on the command line.
pub(crate) fn option(name: &str) -> Option<String> {
    std::env::args().skip_while(|word| word != name).nth(1)
}

fn least(mut run: impl FnMut() -> Result<f64, Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    let mut least = f64::MAX;
    for _ in 0..ROUNDS {
        least = least.min(run()?);
    }
    Ok(least)
}

/// Runs a command that must succeed; the processor time of it and its children, or the wall time where the host does
/// not tell (Linux does).
pub(crate) fn timed(command: &mut Command) -> Result<(f64, Output), Box<dyn Error>> {
    let (start, before) = (Instant::now(), of_children());
    let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output()?;
    let seconds = match (before, of_children()) {
        (Some(before), Some(after)) => after - before,
        _ => start.elapsed().as_secs_f64(),
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the peer ended with {}: {}", output.status, said.trim_end()).into());
    }
    Ok((seconds, output))
}

/// Processor seconds of this process, of all its threads.
pub(crate) fn spent() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The processor time of the children that have been waited for, in seconds.
fn of_children() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program stands in parentheses and may hold blanks; after it come state, ppid and so on.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(13);
    let [user, system]: [f64; 2] = [fields.next()?.parse().ok()?, fields.next()?.parse().ok()?];
    Some((user + system) / TICKS)
}
