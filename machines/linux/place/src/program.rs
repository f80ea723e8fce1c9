//! Programs that are tasks: started for it, or running already.

use crate::error::PlaceError;
use crate::observation::Life;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

/// How long a program may take to end once it is asked to, in nanoseconds.
const GRACE: u64 = 2_000_000_000;

/// Which program a task is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Subject {
    /// One that is started.
    Command(Vec<OsString>),
    /// One that runs.
    Process(u32),
}

/// A program that is a task.
pub(crate) struct Program {
    process: u32,
    /// When it was started, in the kernel's ticks: its number may be another process's later.
    start: Option<u64>,
    /// Which file it executes.
    file: Option<(u64, u64)>,
    started: Option<solo_watch::follow::Program>,
    name: String,
    ended: bool,
}

impl Program {
    /// Starts a program, which waits before its first instruction, or finds one that runs.
    ///
    /// # Errors
    /// [`PlaceError::Execute`], [`PlaceError::NoProcess`].
    pub(crate) fn new(subject: &Subject) -> Result<Self, PlaceError> {
        match subject {
            Subject::Command(command) => {
                let name =
                    command.first().map_or_else(String::new, |word| word.to_string_lossy().into_owned());
                let started = solo_watch::follow::Program::start(command, false, false, None);
                let started =
                    started.map_err(|source| PlaceError::Execute { program: name.clone(), source })?;
                let process = started.root();
                Ok(Self { name, started: Some(started), ..Self::found(process) })
            }
            Subject::Process(process) => {
                let program = Self::found(*process);
                if program.start.is_none() {
                    return Err(PlaceError::NoProcess(*process));
                }
                Ok(program)
            }
        }
    }

    fn found(process: u32) -> Self {
        let (start, file) = (started_at(process), executed(process));
        Self { process, start, file, started: None, name: process.to_string(), ended: false }
    }

    /// Its process.
    pub(crate) const fn process(&self) -> u32 {
        self.process
    }

    /// True where it was started here, and counts from its first instruction on.
    pub(crate) const fn is_ours(&self) -> bool {
        self.started.is_some()
    }

    /// Its threads, its first one first.
    ///
    /// # Errors
    /// Where it has ended.
    pub(crate) fn threads(&self) -> io::Result<Vec<u32>> {
        let entries = fs::read_dir(format!("/proc/{}/task", self.process))?;
        let mut threads: Vec<u32> =
            entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
        threads.sort_unstable_by_key(|thread| (*thread != self.process, *thread));
        Ok(threads)
    }

    /// Lets it run, where it was started here.
    ///
    /// # Errors
    /// [`PlaceError::Execute`].
    pub(crate) fn release(&mut self) -> Result<(), PlaceError> {
        let Some(started) = &mut self.started else { return Ok(()) };
        started.release().map_err(|source| PlaceError::Execute { program: self.name.clone(), source })
    }

    /// What has become of it since it was asked last; nothing once it was said that it has ended.
    pub(crate) fn life(&mut self) -> Option<Life> {
        if self.ended {
            return None;
        }
        if let Some(started) = &mut self.started {
            // What the kernel does not tell now it tells the next time.
            let _ = started.attend(&mut |_| ());
        }
        // Whoever was started here has ended when its status is known.
        let over = match &self.started {
            Some(started) => started.ended().is_some(),
            None => started_at(self.process) != self.start,
        };
        if over {
            self.ended = true;
            return Some(Life::Ended);
        }
        let file = executed(self.process);
        if file.is_some() && std::mem::replace(&mut self.file, file) != file {
            return Some(Life::Executed);
        }
        Some(Life::Lives)
    }

    /// Its status, where it was started here and has ended by itself: 128 and the signal where one has ended it.
    pub(crate) fn status(&self) -> Option<u8> {
        Some(self.started.as_ref()?.ended()?.code())
    }

    /// Why it was never executed.
    pub(crate) fn failure(&mut self) -> Option<PlaceError> {
        use solo_watch::follow::Failure;
        let program = self.name.clone();
        match self.started.as_mut().filter(|started| started.ended().is_some())?.failure()? {
            Failure::Execute(source) | Failure::Cpus(source) => Some(PlaceError::Execute { program, source }),
        }
    }

    /// Ends it with all that came out of it, where it was started here and has not ended.
    pub(crate) fn end(&mut self) {
        if let Some(started) = self.started.as_mut().filter(|started| started.ended().is_none()) {
            started.terminate(GRACE);
        }
    }
}

/// When a process was started; `None` where it has ended.
fn started_at(process: u32) -> Option<u64> {
    let words = stat(process)?;
    let lives = !matches!(words.first()?.as_str(), "Z" | "X" | "x");
    words.get(19).filter(|_| lives)?.parse().ok()
}

/// The CPU on which a process ran last.
pub(crate) fn last_cpu(process: u32) -> Option<u16> {
    stat(process)?.get(36)?.parse().ok()
}

/// The words after its name in its `stat`, the state first.
fn stat(process: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

/// The file that a process executes; `None` where that may not be known.
fn executed(process: u32) -> Option<(u64, u64)> {
    let file = fs::metadata(format!("/proc/{process}/exe")).ok()?;
    Some((file.dev(), file.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_waits_is_executed_and_ends_once() {
        let sleep = ["sh", "-c", "exit 3"].map(OsString::from).to_vec();
        let mut program = Program::new(&Subject::Command(sleep)).unwrap();
        assert_eq!(program.life(), Some(Life::Lives), "it waits");
        program.release().unwrap();
        let mut lives = Vec::new();
        while let Some(life) = program.life() {
            lives.push(life);
            std::thread::yield_now();
        }
        assert_eq!(lives.iter().filter(|life| **life == Life::Ended).count(), 1);
        assert_eq!((program.status(), program.failure().is_none()), (Some(3), true));
        let missing = vec![OsString::from("/no/such/program")];
        let mut program = Program::new(&Subject::Command(missing)).unwrap();
        program.release().unwrap();
        while program.life().is_some() {
            std::thread::yield_now();
        }
        assert!(matches!(program.failure(), Some(PlaceError::Execute { .. })));
    }

    #[test]
    fn a_process_is_found_and_one_that_is_not_there_is_not() {
        let me = std::process::id();
        let mut program = Program::new(&Subject::Process(me)).unwrap();
        assert_eq!((program.life(), program.threads().unwrap()[0]), (Some(Life::Lives), me));
        assert!(last_cpu(me).is_some());
        let nobody = Program::new(&Subject::Process(u32::MAX >> 1));
        assert!(matches!(nobody, Err(PlaceError::NoProcess(_))));
    }
}
