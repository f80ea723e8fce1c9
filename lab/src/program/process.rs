//! The process of a program: started, listened to and stopped.

use super::ProgramError;
use crate::{Control, LabError};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use solo_model::text::Unnumbered;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long a process may take, and an emulated machine, in time of the host.
pub(super) const LIMIT: Duration = Duration::from_secs(120);
/// How often a process is looked at.
pub(super) const GLANCE: Duration = Duration::from_millis(20);
/// The most of what it says that is told.
const MOST_SAID: u64 = 1 << 16;

/// A process, which does not outlive this; nor do those that it has started, unless they took a session of their own.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    console: File,
}

fn unusable(error: std::io::Error) -> ProgramError {
    ProgramError::Cargo(Unnumbered(&error).to_string())
}

impl Process {
    /// Starts the program with a variable of its environment set.
    ///
    /// # Errors
    /// Where it can't be started.
    pub(super) fn start(program: &Path, variable: (&str, &OsStr)) -> Result<Self, ProgramError> {
        let console = tempfile::tempfile().map_err(unusable)?;
        // In a group of its own it does not hear a terminal's Ctrl-C: it ends with this process.
        let mut command = solo_qemu::bound(program);
        command.env(variable.0, variable.1).stdin(Stdio::null());
        command.stderr(console.try_clone().map_err(unusable)?);
        command.stdout(console.try_clone().map_err(unusable)?);
        command.process_group(0);
        let child = command.spawn().map_err(unusable)?;
        Ok(Self { child, console })
    }

    /// What it has said so far.
    pub(super) fn said(&self) -> String {
        let (mut text, mut console) = (String::new(), &self.console);
        let _ = console.rewind().and_then(|()| console.take(MOST_SAID).read_to_string(&mut text));
        text.trim_end().to_owned()
    }

    /// How it ended, where it has.
    ///
    /// # Errors
    /// Where nobody knows.
    pub(super) fn status(&mut self) -> Result<Option<ExitStatus>, ProgramError> {
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // Its number stays its own until it is asked how it ended: only until then it is sure whose group that is.
        if matches!(waitid(WaitId::Pid(Pid::from_child(&self.child)), ended), Ok(Some(_))) {
            self.stop_group();
        }
        self.child.try_wait().map_err(unusable)
    }

    /// Stops all that is in the process's group.
    fn stop_group(&self) {
        // Where nobody is left there is nothing to stop.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
    }

    /// Waits until it ends, the caller wants it to stop, or has waited for so long.
    ///
    /// # Errors
    /// The last two.
    pub(super) fn wait(&mut self, control: &Control<'_>, limit: Duration) -> Result<ExitStatus, LabError> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.status()? {
                return Ok(status);
            }
            if control.cancel.requested() {
                return Err(LabError::Interrupted);
            }
            if began.elapsed() > limit {
                return Err(ProgramError::TimeLimit { limit, console: self.said() }.into());
            }
            std::thread::sleep(GLANCE);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.status(), Ok(None)) {
            self.stop_group();
        }
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::OpenOptionsExt;
    use std::os::unix::process::ExitStatusExt;

    /// Whatever becomes of who started it: a thread that ends does for the kernel what a process does that is killed.
    #[test]
    fn a_process_ends_with_who_started_it() {
        let bound = solo_qemu::bound("true").status();
        if !bound.is_ok_and(|status| status.success()) || solo_qemu::bound("true").get_program() != "setpriv"
        {
            return println!("skipped: processes that end with who started them: no setpriv");
        }
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        let mut options = File::options();
        let mut file = options.write(true).create(true).truncate(true).mode(0o700).open(&program).unwrap();
        std::io::Write::write_all(&mut file, b"#!/bin/sh\necho begun\nexec sleep 300\n").unwrap();
        drop(file);

        let start = || {
            let process = Process::start(&program, ("SOLO_TEST", OsStr::new("1"))).unwrap();
            // Nothing binds it before it has asked for that.
            while process.said() != "begun" {
                std::thread::sleep(GLANCE);
            }
            process
        };
        let mut started = std::thread::scope(|scope| scope.spawn(start).join()).unwrap();
        let began = Instant::now();
        let status = loop {
            if let Some(status) = started.status().unwrap() {
                break status;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "it went on");
            std::thread::sleep(GLANCE);
        };
        assert_eq!(status.signal(), Some(9), "{}", started.said());
    }
}
