//! A program and every thread that comes out of it, none missed.
//!
//! Linux tells of a new thread too late to count its beginning, so the program is followed as a debugger would
//! (`PTRACE_SEIZE`): a new thread waits until its counters are open. Nothing else is stopped except for signals,
//! which are passed on. The cost is one or two context switches a new thread and a signal; programs that trace
//! others themselves can't be followed. [`crate::Per::Process`] does without.
//!
//! ```text
//!            start()           release()         clone, fork, vfork
//!  program ────────▶ held ──────────────▶ runs ────────────────────▶ new thread stopped
//!                    counters opened       │                          counters opened, goes on
//!                                          ▼ exits: last reading
//! ```
//!
//! A watch that ends lets go of every thread, those included that the kernel attached and nobody has heard of yet: from
//! then on each one that stops is detached, whoever it is, and each one that ends is waited for. The kernel reports a
//! process's end only after the last of its followed threads was waited for, so nothing here waits for one of them alone.
//! Where the watch is killed, the kernel detaches all of them, and they go on.

use crate::process::{self, Held, Started, Waited};
use crate::tree::Tree;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

pub use crate::process::{Ended, Failure, Used, adopt};
pub use crate::tree::killer;

/// Events that are handled before the clock is looked at again.
const AT_A_TIME: usize = 256;
/// How long nothing is looked at where nothing happens, in nanoseconds.
const NAP: u64 = 20_000_000;
/// How long threads and processes may take to do what the kernel tells them to.
const PATIENCE: u64 = 2_000_000_000;

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

/// How a program is followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Following {
    /// Not at all, or no longer.
    No,
    /// Every thread of it.
    Yes,
    /// Every thread that stops is let go.
    Ending,
}

/// A program under observation.
pub struct Program {
    root: i32,
    held: Option<Held>,
    started: Option<Started>,
    following: Following,
    /// Threads that are followed and have not ended.
    threads: BTreeSet<i32>,
    tree: Tree,
    ended: Option<Ended>,
    stops: u64,
}

impl Program {
    /// Starts a program that waits before its first instruction; follows its threads where `follow` says so. With
    /// `adopt`, this process becomes the parent of whatever the program leaves behind, so that [`Program::terminate`]
    /// misses none: for callers that start nothing else.
    ///
    /// # Errors
    /// When no process can be made or followed.
    pub fn start(
        command: &[OsString],
        follow: bool,
        adopt: bool,
        cpus: Option<&[usize]>,
    ) -> io::Result<Self> {
        if command.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no program"));
        }
        process::bell()?;
        let mut tree = Tree::before(adopt);
        let held = process::start(command, cpus)?;
        let root = held.process;
        tree.start(root);
        if follow {
            // On failure `held` is dropped: the child sees the closed pipe, exits, and is waited for.
            if let Err(error) = process::seize(root) {
                drop(held);
                let _ = process::wait(root, true);
                return Err(error);
            }
        }
        let following = if follow { Following::Yes } else { Following::No };
        let threads = BTreeSet::from([root]);
        Ok(Self { root, held: Some(held), started: None, following, threads, tree, ended: None, stops: 0 })
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
    pub fn failure(&mut self) -> Option<Failure> {
        self.started.as_mut()?.failure()
    }

    /// How often a thread was stopped in order to follow it; each stop is a context switch of that thread.
    pub fn stops(&self) -> u64 {
        self.stops
    }

    /// Handles what has happened. A thread that `change` is told of as started does not run before `change` returns.
    /// True where there may be more: a program that never stops starting threads must not keep its watch from the clock.
    ///
    /// # Errors
    /// When the system refuses to tell.
    pub fn attend(&mut self, change: &mut dyn FnMut(Change)) -> io::Result<bool> {
        let all = self.following != Following::No || self.tree.adopts();
        let whom = if all { -1 } else { self.root };
        for _ in 0..AT_A_TIME {
            match process::wait(whom, false)? {
                Waited::Nothing | Waited::Nobody => return Ok(false),
                Waited::Ended(thread, how) => self.end(thread, how, change),
                Waited::Stopped(thread, signal, event) if self.following == Following::Yes => {
                    self.stopped(thread, signal, event, change);
                }
                Waited::Stopped(thread, signal, event) => self.stopped_last(thread, signal, event),
            }
        }
        Ok(true)
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

    /// The last stop of a thread that is let go. Whoever is stopped by the user stays so: the kernel remembers.
    fn stopped_last(&mut self, thread: i32, signal: i32, event: i32) {
        self.threads.remove(&thread);
        if [libc::PTRACE_EVENT_CLONE, libc::PTRACE_EVENT_FORK, libc::PTRACE_EVENT_VFORK].contains(&event)
            && let Ok(new) = process::event_message(thread)
        {
            self.stop_soon(new as i32);
        }
        if event == EVENT_EXEC
            && let Ok(former) = process::event_message(thread)
        {
            self.threads.remove(&(former as i32));
        }
        let signal = if event == 0 { signal } else { 0 };
        let _ = process::detach(thread, signal);
    }

    /// Asks a thread to stop, so that it can be let go. One that is not followed, or has ended, won't.
    fn stop_soon(&mut self, thread: i32) {
        match process::interrupt(thread) {
            Ok(()) => drop(self.threads.insert(thread)),
            Err(_) => drop(self.threads.remove(&thread)),
        }
    }

    /// Follows nobody any more. Threads that the kernel attached and that nobody has heard of yet are found by their
    /// stops, in [`Self::attend`].
    fn begin_letting_go(&mut self) {
        if self.following != Following::Yes {
            return;
        }
        self.following = Following::Ending;
        for thread in self.threads.clone() {
            self.stop_soon(thread);
        }
    }

    /// True once nobody is followed any more.
    fn has_let_go(&mut self) -> bool {
        if self.following == Following::Ending && self.threads.is_empty() {
            // A process that was killed in the middle of `fork` could not tell of its child.
            for thread in crate::tree::traced() {
                self.stop_soon(thread);
            }
            if self.threads.is_empty() {
                self.following = Following::No;
            }
        }
        self.following == Following::No
    }

    /// Handles what has happened without telling anybody, and sleeps a while where nothing has.
    fn attend_quietly(&mut self) {
        let more = self.attend(&mut |_| ()).unwrap_or(false);
        if !more && self.ended.is_none() {
            let _ = Self::sleep(NAP);
        }
    }

    /// Stops following: every thread goes on by itself. A thread that can't be stopped within the time (it waits for a
    /// device, or in `vfork` for its child) is let go by the kernel when this process ends.
    pub(crate) fn let_go(&mut self) {
        self.begin_letting_go();
        let deadline = solo_perf::now() + PATIENCE;
        while !self.has_let_go() && solo_perf::now() < deadline {
            let more = self.attend(&mut |_| ()).unwrap_or(false);
            if !more && !self.threads.is_empty() {
                let _ = Self::sleep(NAP / 4);
            }
        }
    }

    /// Ends the program and all that came out of it: asks first, and kills who is left after `grace` nanoseconds.
    /// Gives the number of processes that could not be ended.
    pub fn terminate(&mut self, grace: u64) -> usize {
        self.begin_letting_go();
        let mut asked = BTreeSet::new();
        let deadline = solo_perf::now() + grace;
        loop {
            let members = self.tree.members();
            for process in members.iter().filter(|process| asked.insert(**process)) {
                // Who is stopped hears of the one by the other.
                let _ = process::signal(*process, libc::SIGTERM);
                let _ = process::signal(*process, libc::SIGCONT);
            }
            if members.is_empty() || solo_perf::now() > deadline {
                break;
            }
            self.attend_all();
            let _ = Self::sleep(NAP);
        }
        let left = self.kill();
        self.reap();
        left
    }

    /// Handles all that has happened.
    fn attend_all(&mut self) {
        while self.attend(&mut |_| ()).unwrap_or(false) {}
        self.has_let_go();
    }

    /// Kills whoever is there; all are held first, so that nobody starts another meanwhile.
    fn kill(&mut self) -> usize {
        let deadline = solo_perf::now() + PATIENCE;
        loop {
            let mut held = BTreeSet::new();
            let mut members = self.tree.members();
            while !members.is_subset(&held) && solo_perf::now() < deadline {
                members.iter().for_each(|process| drop(process::signal(*process, libc::SIGSTOP)));
                held.append(&mut members);
                members = self.tree.members();
            }
            members.iter().for_each(|process| drop(process::signal(*process, libc::SIGKILL)));
            self.attend_all();
            let left = self.tree.members().len();
            if left == 0 || solo_perf::now() > deadline {
                return left;
            }
            let _ = Self::sleep(NAP);
        }
    }

    /// Hears of the program's end after all are killed; not for ever, for one may hang in the kernel.
    fn reap(&mut self) {
        let deadline = solo_perf::now() + PATIENCE;
        while self.ended.is_none() && solo_perf::now() < deadline {
            self.attend_quietly();
        }
    }

    /// Waits for the program's end without following it; false where `stop` was set before.
    pub(crate) fn wait_for_end(&mut self, stop: &AtomicBool) -> bool {
        self.begin_letting_go();
        while self.ended.is_none() && !stop.load(Ordering::SeqCst) {
            self.attend_quietly();
            self.has_let_go();
        }
        self.ended.is_some()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if self.held.take().is_some() {
            // It never ran, sees the closed pipe and ends.
            self.begin_letting_go();
            self.reap();
        }
        self.let_go();
    }
}

/// What all programs that this process has started, and whose ends it has heard of, have used of CPUs.
pub fn used() -> Used {
    process::used()
}

/// The process of a thread.
fn process_of(thread: i32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    line.trim().parse().ok()
}
