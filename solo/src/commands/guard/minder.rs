//! A process that puts back what its guard has changed, where the guard is ended or stands still.
//!
//! A stopped CPU is free when the guard's threads end; a frozen cgroup is not. So a guard of cgroups has a minder, in a session of its own: it
//! hears from the thread that freezes ten times a second. Where it hears nothing for [`PATIENCE`], it ends the guard; where the guard
//! has ended, it puts back what the journal says. Settings of the system and limits of bandwidth stay behind, too, and programs that
//! `solo place` has moved or frozen; who changed these may stand still, and is not ended ([`Silence::Waited`]). A minder that is ended, too, leaves the journal to the next guard or `--restore`.

use super::{cannot, machine, restored};
use crate::cli::MindArgs;
use crate::exit::{Exit, Failure};
use crate::itself;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, setsid};
use solo_guard::GuardError;
use std::io::Write;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a guard may be silent.
const PATIENCE: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };
/// How long the journal of a guard that is ending may be held.
const AT_THE_END: Duration = Duration::from_secs(10);

/// What becomes of a guard that is silent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::commands) enum Silence {
    /// It is ended.
    Ended,
    /// It is waited for.
    Waited,
}

/// The guard's side.
pub(in crate::commands) struct Minder {
    child: Child,
    line: Mutex<Line>,
}

/// What the minder hears.
struct Line {
    /// Closed, it tells the minder that the guard has ended.
    pipe: Option<ChildStdin>,
    said: Instant,
}

impl Minder {
    /// Starts one for the guard whose journal is in `folder`.
    pub(in crate::commands) fn start(folder: &Path, silence: Silence) -> Result<Self, Failure> {
        let failed = |source| Failure::File { action: "start", path: "/proc/self/exe".into(), source };
        let program = itself::path().map_err(failed)?;
        // It works in another folder, so that it keeps nobody from taking this one away.
        let folder = folder.canonicalize().map_err(|source| Failure::File {
            action: "find",
            path: folder.to_owned(),
            source,
        })?;
        let mut command = Command::new(program);
        command.arg("guard").arg("mind").arg(std::process::id().to_string()).arg("--state").arg(folder);
        if silence == Silence::Waited {
            command.arg("--patient");
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .current_dir("/")
            .spawn()
            .map_err(failed)?;
        let pipe = child.stdin.take();
        if let Some(pipe) = &pipe {
            // A minder that reads nothing must not keep the guard from its groups.
            rustix::io::ioctl_fionbio(pipe, true).map_err(|errno| failed(errno.into()))?;
        }
        Ok(Self { child, line: Mutex::new(Line { pipe, said: Instant::now() }) })
    }

    /// Says that the thread that freezes is at work: a tenth of a second apart.
    pub(super) fn alive(&self) {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        if line.said.elapsed() < Duration::from_millis(100) {
            return;
        }
        line.said = Instant::now();
        if let Some(pipe) = &mut line.pipe {
            // Who minds may have been ended: the guard goes on, and its journal is there.
            let _ = pipe.write_all(b".");
        }
    }

    /// The guard has put everything back.
    pub(in crate::commands) fn end(mut self) {
        drop(self.line.lock().unwrap_or_else(PoisonError::into_inner).pipe.take());
        let _ = self.child.wait();
    }
}

/// Runs `solo guard mind`.
pub(super) fn mind(args: &MindArgs) -> Result<Exit, Failure> {
    // A terminal that closes ends its session, and not this one.
    let _ = setsid();
    let folder = args.state.folder()?;
    wait(args.guard, args.patient);
    let machine = machine()?;
    match restored(&folder, &machine, AT_THE_END) {
        // Where another guard is at work, it has put back what this one had left.
        Err(GuardError::Busy { .. }) => Ok(Exit::Held),
        Ok((_, cleared)) => cleared.map(|()| Exit::Held),
        Err(error) => Err(cannot(&error)),
    }
}

/// Until the guard has ended, or stands still and is ended.
fn wait(guard: u32, is_patient: bool) {
    let line = std::io::stdin();
    let mut bytes = [0; 64];
    loop {
        let patience = (!is_patient).then_some(&PATIENCE);
        match poll(&mut [PollFd::new(&line, PollFlags::IN)], patience) {
            Ok(0) => {
                eprintln!(
                    "solo guard: process {guard} froze cgroups and has stood still for five seconds: it is ended"
                );
                if let Some(pid) = i32::try_from(guard).ok().and_then(Pid::from_raw) {
                    let _ = kill_process(pid, Signal::KILL);
                }
                return;
            }
            Err(Errno::INTR) => {}
            Err(_) => return,
            Ok(_) => match rustix::io::read(&line, &mut bytes) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            },
        }
    }
}
