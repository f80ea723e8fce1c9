//! A program and every thread that comes out of it, none missed.
//!
//! Linux tells of a new thread too late to count its beginning, so the program is followed as a debugger would
//! (`PTRACE_SEIZE`): a new thread waits until its counters are open. Nothing else is stopped except for signals,
//! which are passed on. The cost is one or two context switches a new thread and a signal; programs that trace
//! others themselves can't be followed. [`crate::watch::Per::Process`] does without.
//!
//! ```text
//!            start()           release()         clone, fork, vfork
//!  program ────────▶ held ──────────────▶ runs ────────────────────▶ new thread stopped
//!                    counters opened       │                          counters opened, goes on
//!                                          ▼ exits: last reading
//! ```

use crate::sys::process::{self, Held, Started, Waited};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;

pub use crate::sys::process::Ended;

const EVENT_EXEC: i32 = libc::PTRACE_EVENT_EXEC;
const EVENT_STOP: i32 = libc::PTRACE_EVENT_STOP;

/// What happened to a followed program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// A thread is about to run its first instruction.
    Started {
        /// Its process.
        process: u32,
        /// The thread.
        thread: u32,
    },
    /// A thread executed another program and goes on as `thread`, its process's first.
    Executed {
        /// What it was called before.
        former: u32,
        /// What it is called now.
        thread: u32,
    },
    /// A thread ended.
    Ended {
        /// The thread.
        thread: u32,
    },
}

/// A program under observation.
pub struct Program {
    root: i32,
    held: Option<Held>,
    started: Option<Started>,
    follow: bool,
    threads: BTreeSet<i32>,
    ended: Option<Ended>,
    stops: u64,
}

impl Program {
    /// Starts a program that waits before its first instruction; follows its threads where `follow` says so.
    ///
    /// # Errors
    /// When no process can be made or followed.
    pub fn start(command: &[OsString], follow: bool, cpus: Option<&[usize]>) -> io::Result<Self> {
        if command.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no program"));
        }
        process::bell()?;
        let held = process::start(command, cpus)?;
        let root = held.process;
        if follow {
            // On failure `held` is dropped: the child sees the closed pipe, exits, and is waited for.
            if let Err(error) = process::seize(root) {
                drop(held);
                let _ = process::wait(root, true);
                return Err(error);
            }
        }
        let threads = BTreeSet::from([root]);
        Ok(Self { root, held: Some(held), started: None, follow, threads, ended: None, stops: 0 })
    }

    /// The program's process.
    pub fn root(&self) -> u32 {
        self.root as u32
    }

    /// Lets it run.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn release(&mut self) -> io::Result<()> {
        if let Some(held) = self.held.take() {
            self.started = Some(held.release()?);
        }
        Ok(())
    }

    /// How the program ended, once it has.
    pub fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// Why the program was never executed: no such file, not allowed. To be asked after its end.
    pub fn failure(&mut self) -> Option<io::Error> {
        self.started.as_mut()?.failure()
    }

    /// How often a thread was stopped in order to follow it; each stop is a context switch of that thread.
    pub fn stops(&self) -> u64 {
        self.stops
    }

    /// Handles everything that has happened. A thread that `change` is told of as started does not run before
    /// `change` returns.
    ///
    /// # Errors
    /// When the system refuses to tell.
    pub fn attend(&mut self, change: &mut dyn FnMut(Change)) -> io::Result<()> {
        loop {
            let whom = if self.follow { -1 } else { self.root };
            match process::wait(whom, false)? {
                Waited::Nothing | Waited::Nobody => return Ok(()),
                Waited::Ended(thread, how) => self.end(thread, how, change),
                Waited::Stopped(thread, signal, event) => self.stopped(thread, signal, event, change),
            }
        }
    }

    fn end(&mut self, thread: i32, how: Ended, change: &mut dyn FnMut(Change)) {
        if thread == self.root {
            self.ended = Some(how);
        }
        if self.threads.remove(&thread) {
            change(Change::Ended { thread: thread as u32 });
        }
    }

    fn stopped(&mut self, thread: i32, signal: i32, event: i32, change: &mut dyn FnMut(Change)) {
        self.stops += 1;
        if self.threads.insert(thread) {
            let process = process_of(thread).unwrap_or(thread as u32);
            change(Change::Started { process, thread: thread as u32 });
        }
        if event == EVENT_EXEC
            && let Ok(former) = process::event_message(thread)
        {
            self.executed(former as i32, thread, change);
        }
        let stop = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU].contains(&signal);
        // A thread that was killed meanwhile can't be told to go on; its end is reported next.
        let _ = match event {
            0 => process::go_on(thread, signal),
            EVENT_STOP if stop => process::listen(thread),
            _ => process::go_on(thread, 0),
        };
    }

    /// A thread other than the first executed a program: it takes over the first thread's number, and all
    /// others are gone.
    fn executed(&mut self, former: i32, thread: i32, change: &mut dyn FnMut(Change)) {
        if former != thread {
            self.threads.remove(&former);
            change(Change::Ended { thread: thread as u32 });
            change(Change::Executed { former: former as u32, thread: thread as u32 });
        }
    }

    /// Sleeps until something may have happened, or this many nanoseconds have passed.
    ///
    /// # Errors
    /// When the system can't tell of children.
    pub fn sleep(nanoseconds: u64) -> io::Result<()> {
        process::sleep(process::bell()?, nanoseconds);
        Ok(())
    }

    /// Stops following: every thread goes on by itself.
    pub fn let_go(&mut self) {
        if !self.follow {
            return;
        }
        self.follow = false;
        for thread in std::mem::take(&mut self.threads) {
            if process::interrupt(thread).is_err() {
                continue;
            }
            match process::wait(thread, true) {
                Ok(Waited::Stopped(_, signal, event)) => {
                    let signal = if event == 0 { signal } else { 0 };
                    let _ = process::detach(thread, signal);
                }
                Ok(Waited::Ended(_, how)) if thread == self.root => self.ended = Some(how),
                _ => {}
            }
        }
    }

    /// Ends the program: asks first, and after the patience of `grace` nanoseconds kills.
    pub fn terminate(&mut self, grace: u64) {
        self.let_go();
        let _ = process::signal(self.root, libc::SIGTERM);
        let deadline = crate::sys::now() + grace;
        while self.ended.is_none() {
            match process::wait(self.root, false) {
                Ok(Waited::Ended(_, how)) => self.ended = Some(how),
                Ok(Waited::Nobody) | Err(_) => return,
                _ if crate::sys::now() > deadline => {
                    let _ = process::signal(self.root, libc::SIGKILL);
                    self.wait_for_end();
                }
                _ => drop(Self::sleep(10_000_000)),
            }
        }
    }

    /// Waits for the program's end without following it.
    pub fn wait_for_end(&mut self) {
        self.let_go();
        while self.ended.is_none() {
            match process::wait(self.root, true) {
                Ok(Waited::Ended(thread, how)) if thread == self.root => self.ended = Some(how),
                Ok(Waited::Nobody) | Err(_) => return,
                _ => {}
            }
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if self.ended.is_none() {
            let held = self.held.take().is_some();
            self.let_go();
            if held {
                // It never ran and has seen the closed pipe.
                self.wait_for_end();
            }
        }
    }
}

/// The process of a thread.
fn process_of(thread: i32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    line.trim().parse().ok()
}
