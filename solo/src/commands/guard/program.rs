//! The program whose end ends the guard.

use super::machine;
use crate::cli::EnterArgs;
use crate::exit::Failure;
use crate::itself;
use rustix::process::{Pid, Signal, kill_process};
use solo_guard::Group;
use solo_model::text::Printable;
use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// How long a program that was asked to end may take.
const GRACE: Duration = Duration::from_secs(2);

/// The program, which runs.
pub(super) struct Program {
    child: Child,
    status: Option<ExitStatus>,
}

/// Runs `solo guard enter`: returns where the program did not begin.
pub(super) fn enter(args: &EnterArgs) -> Failure {
    let path = args.group.strip_prefix('/').unwrap_or(&args.group);
    let entered = Group::new(path).map_err(|error| Failure::Usage(Printable(error).to_string()));
    let entered = entered.and_then(|group| Ok(machine()?.enter(&group, std::process::id())?));
    if let Err(failure) = entered {
        return failure;
    }
    let Some((name, words)) = args.command.split_first() else {
        return Failure::Usage("expected a program".to_owned());
    };
    let source = Command::new(name).args(words).exec();
    Failure::File { action: "start", path: name.into(), source }
}

impl Program {
    /// Starts it, in this cgroup where there is one; `None` where there is no program.
    pub(super) fn start(command: &[OsString], group: Option<&Group>) -> Result<Option<Self>, Failure> {
        let Some((name, words)) = command.split_first() else { return Ok(None) };
        let mut starting = match group {
            None => Command::new(name),
            Some(group) => {
                // Before its first instruction: a process that is moved later has caused what it has caused.
                let failed =
                    |source| Failure::File { action: "start", path: "/proc/self/exe".into(), source };
                let mut entering = Command::new(itself::path().map_err(failed)?);
                entering
                    .args(["guard", "enter"])
                    .arg(format!("/{}", String::from(group.clone())))
                    .arg("--")
                    .arg(name);
                entering
            }
        };
        let child = starting.args(words).spawn().map_err(|source| Failure::File {
            action: "start",
            path: name.into(),
            source,
        })?;
        Ok(Some(Self { child, status: None }))
    }

    /// Whether it has ended by itself.
    pub(super) fn has_ended(&mut self) -> bool {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status.is_some()
    }

    /// Its status where it has ended by itself, 128 and the signal where one has ended it; else it is asked to end and, where it
    /// does not, killed.
    pub(super) fn end(mut self) -> Option<u8> {
        if self.has_ended() {
            let status = self.status?;
            let signal = || status.signal().map(|signal| 128 + signal);
            return status.code().or_else(signal).and_then(|code| u8::try_from(code).ok());
        }
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let asked = Instant::now();
        while !self.has_ended() && asked.elapsed() < GRACE {
            std::thread::sleep(Duration::from_millis(10));
        }
        if self.status.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        None
    }
}
