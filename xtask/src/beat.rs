//! Signs of life: a command that says nothing for a while is reported as still going on.

use anyhow::{Context, Result, bail};
use std::io::IsTerminal;
use std::process::{Child, Command};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// A newcomer who sees nothing for longer wonders whether anything happens at all.
pub(crate) const SILENCE: Duration = Duration::from_secs(8);

/// Says that `what` goes on.
pub(crate) fn say(what: &str, since: Instant) {
    eprintln!("    ... {what}, {} s so far", since.elapsed().as_secs());
}

/// Runs a command to its end, which must be a success, and says at intervals that `what` goes on. On a terminal
/// cargo draws its own progress.
pub(crate) fn run(what: &str, command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command.spawn().with_context(|| format!("cannot start {program}"))?;
    let status = wait(what, &mut child, std::io::stderr().is_terminal()).context("cannot wait for it")?;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(())
}

fn wait(what: &str, child: &mut Child, silent: bool) -> std::io::Result<std::process::ExitStatus> {
    if silent {
        return child.wait();
    }
    let started = Instant::now();
    let (ended, watched) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            while watched.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
                say(what, started);
            }
        });
        let status = child.wait();
        drop(ended);
        status
    })
}

#[cfg(test)]
mod tests {
    use super::run;
    use std::process::Command;

    #[test]
    fn a_command_that_fails_is_an_error_that_names_it() {
        assert!(run("nothing", &mut Command::new("true")).is_ok());
        let error = run("nothing", Command::new("false").arg("x")).unwrap_err().to_string();
        assert!(error.contains("false") && error.contains("exit status: 1"), "{error}");
        let error = run("nothing", &mut Command::new("no-such-program")).unwrap_err().to_string();
        assert!(error.contains("no-such-program"), "{error}");
    }
}
