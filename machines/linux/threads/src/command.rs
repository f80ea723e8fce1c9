//! Tasks that are programs of the host's: each job is a process, from its start to its end.
//!
//! A process is started by its task's thread, and has its CPUs and its priority; so has all that comes out of it. Its group is killed when the
//! process itself has ended, and all of them are ended with the run.
#![allow(unsafe_code)]

use crate::keeper::Keeper;
use crate::lack::ThreadsLack;
use crate::priorities::Scheduling;
use crate::sched;
use crate::sync::{self, Wait};
use solo_model::{Duration, Experiment, JobIndex, TaskId};
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// How long programs may take to end when they are asked to.
const GRACE: std::time::Duration = std::time::Duration::from_secs(1);
/// How often whoever waits for them looks.
const LOOK: std::time::Duration = std::time::Duration::from_millis(2);

/// What jobs of a task did that are programs, where not all of them succeeded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failed {
    /// The task.
    pub task: TaskId,
    /// How many of its programs ended by themselves.
    pub ended: u64,
    /// How many of these did so with a status above zero, or by a signal.
    pub failed: u64,
    /// The first job of those.
    pub first: JobIndex,
    /// How it ended.
    pub how: ExitStatus,
}

/// What a process used of CPUs.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Used {
    pub(crate) time: Duration,
    pub(crate) preempted: u64,
}

impl Used {
    /// And this, too.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            time: self.time.saturating_add(other.time),
            preempted: self.preempted.saturating_add(other.preempted),
        }
    }
}

/// The programs of a run.
pub(crate) struct Commands<'r> {
    folder: &'r Path,
    /// By task.
    executables: Vec<Option<Executable<'r>>>,
    keeper: Keeper,
    /// What threads have that wait for programs: above all programs, so that a program that keeps its CPU keeps nobody from ending it.
    highest: i32,
    /// Held while a group is ended whose number may be another's soon, for a few system calls; who waits for it lends its priority.
    ending: sync::Mutex,
    /// How many are started, under way or ended, and not yet waited for.
    active: AtomicUsize,
    /// Nobody begins any more.
    closed: AtomicBool,
    /// By task.
    ends: Mutex<Vec<Ends>>,
}

/// How programs of a task have ended by themselves.
#[derive(Clone, Copy, Default)]
struct Ends {
    count: u64,
    failed: u64,
    first_failed: Option<(JobIndex, ExitStatus)>,
}

/// What is started.
struct Executable<'r> {
    file: PathBuf,
    words: &'r [String],
}

impl<'r> Commands<'r> {
    /// Those of an experiment, whose working folder this is; none where no task is a program. `highest` is above all priorities that they have.
    ///
    /// # Errors
    /// [`Refusal`].
    pub(crate) fn of(
        experiment: &'r Experiment,
        folder: &'r Path,
        highest: i32,
    ) -> Result<Option<Self>, Refusal> {
        let executable = |task: &'r solo_model::Task| {
            let Some(words) = task.work.command() else { return Ok(None) };
            let program = words.first().cloned().unwrap_or_default();
            let file = find(&program, folder).map_err(|error| {
                Refusal::Lacks(ThreadsLack::NoProgram { task: task.name.clone(), program, why: error.kind() })
            })?;
            Ok(Some(Executable { file, words }))
        };
        let executables = experiment.tasks.iter().map(executable).collect::<Result<Vec<_>, Refusal>>()?;
        if executables.iter().all(Option::is_none) {
            return Ok(None);
        }
        let keeper = Keeper::start(executables.len()).map_err(Refusal::Keeper)?;
        let ending = sync::Mutex::new(true).map_err(Refusal::Keeper)?;
        let ends = Mutex::new(vec![Ends::default(); executables.len()]);
        let (active, closed) = (AtomicUsize::new(0), AtomicBool::new(false));
        Ok(Some(Self { folder, executables, keeper, highest, ending, active, closed, ends }))
    }

    /// True where jobs of the task are programs.
    pub(crate) fn is_one(&self, task: TaskId) -> bool {
        self.executables.get(task.index()).is_some_and(Option::is_some)
    }

    /// A job, by the calling thread, which is scheduled like this: starts the program and waits until it has ended. Nothing where the run was over
    /// before.
    ///
    /// # Errors
    /// Where the program can't be started.
    pub(crate) fn perform(
        &self,
        task: TaskId,
        job: JobIndex,
        scheduling: Scheduling,
    ) -> io::Result<Option<Used>> {
        let Some(Some(executable)) = self.executables.get(task.index()) else { return Ok(None) };
        // Who ends all of them looks until none is active.
        self.active.fetch_add(1, Ordering::SeqCst);
        let own = match scheduling {
            Scheduling::Fifo(priority) => Some((libc::SCHED_FIFO, priority)),
            Scheduling::RoundRobin(priority) => Some((libc::SCHED_RR, priority)),
            Scheduling::Other | Scheduling::Ranked | Scheduling::Deadline { .. } => None,
        };
        let came = self.start_and_wait(task, executable, own.is_some());
        let lowered = own.map_or(Ok(()), |(policy, priority)| sched::scheduler(policy, priority));
        let done = came.and_then(|process| lowered.map(|()| process)).and_then(|process| {
            let Some(process) = process else { return Ok(None) };
            self.collect(task, job, process).map(Some)
        });
        self.active.fetch_sub(1, Ordering::SeqCst);
        done
    }

    /// Starts a program and waits until it has ended; it keeps its number.
    fn start_and_wait(
        &self,
        task: TaskId,
        executable: &Executable<'_>,
        real_time: bool,
    ) -> io::Result<Option<libc::pid_t>> {
        if self.closed.load(Ordering::SeqCst) {
            return Ok(None);
        }
        // It is waited for by its number.
        let number = self.command(executable, real_time)?.spawn()?.id();
        self.keeper.begins(task.index(), number);
        let process = number as libc::pid_t;
        until_ended(process)?;
        Ok(Some(process))
    }

    /// The process that is to be the program. It is made at the priority of its task, which it keeps; before it is the program it raises the thread that
    /// waits for it: from then on that is more urgent than a program that never gives its CPU away.
    fn command(&self, executable: &Executable<'_>, real_time: bool) -> io::Result<Command> {
        let mut command = Command::new(&executable.file);
        command.arg0(&executable.words[0]).args(&executable.words[1..]).current_dir(self.folder);
        // What this process says on its output is its own.
        command.stdin(Stdio::null()).stdout(File::from(io::stderr().as_fd().try_clone_to_owned()?));
        command.process_group(0);
        let (parent, thread, highest) = (std::process::id(), sched::thread(), self.highest);
        // SAFETY: system calls only.
        unsafe {
            command.pre_exec(move || {
                if real_time {
                    sched::fifo_of(thread, highest)?;
                }
                if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                    return Err(io::Error::last_os_error());
                }
                // It may have ended before that.
                match libc::getppid() as u32 == parent {
                    true => Ok(()),
                    false => Err(io::Error::from_raw_os_error(libc::ESRCH)),
                }
            });
        }
        Ok(command)
    }

    /// What became of a process that has ended, and the end of all that is left of its group.
    fn collect(&self, task: TaskId, job: JobIndex, process: libc::pid_t) -> io::Result<Used> {
        // The number of the group is its own until its first process is waited for.
        let collected = self.while_ending(|| {
            signal(process, libc::SIGKILL);
            self.keeper.ended(task.index());
            waited_for(process)
        });
        let (how, used) = collected?;
        reap(process);
        // What was ended with the run has not failed.
        if !self.closed.load(Ordering::SeqCst) {
            self.note(task, job, how);
        }
        Ok(used)
    }

    /// Ends all of them: asks first, and kills who is left after a second. None begins from now on.
    pub(crate) fn end(&self) {
        self.closed.store(true, Ordering::SeqCst);
        let (began, mut asked) = (Instant::now(), BTreeSet::new());
        // One that is being started now has no number yet.
        while self.active.load(Ordering::SeqCst) > 0 {
            let is_late = began.elapsed() >= GRACE;
            self.while_ending(|| {
                for group in (0..self.executables.len()).filter_map(|task| self.keeper.group(task)) {
                    if is_late {
                        signal(group, libc::SIGKILL);
                    } else if asked.insert(group) {
                        signal(group, libc::SIGTERM);
                        // Who is stopped hears of the one by the other.
                        signal(group, libc::SIGCONT);
                    }
                }
            });
            std::thread::sleep(LOOK);
        }
    }

    /// Does something while no group's number becomes another's.
    fn while_ending<T>(&self, act: impl FnOnce() -> T) -> T {
        while !self.ending.try_take() && self.ending.wait() == Wait::NotYet {}
        let came = act();
        self.ending.give();
        came
    }

    /// The tasks of which not all programs succeeded.
    pub(crate) fn failed(&self) -> Vec<Failed> {
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |(task, ends): (u32, &Ends)| {
            let (first, how) = ends.first_failed?;
            Some(Failed { task: TaskId(task), ended: ends.count, failed: ends.failed, first, how })
        };
        (0..).zip(ends.iter()).filter_map(failed).collect()
    }

    fn note(&self, task: TaskId, job: JobIndex, how: ExitStatus) {
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(own) = ends.get_mut(task.index()) else { return };
        own.count += 1;
        if !how.success() {
            own.failed += 1;
            own.first_failed.get_or_insert((job, how));
        }
    }
}

/// Why no program is started.
pub(crate) enum Refusal {
    /// This machine lacks one.
    Lacks(ThreadsLack),
    /// There is no process that would end them.
    Keeper(io::Error),
}

/// Where the file of a program is that is named by a path: it begins in the folder of the scenario that names it. None for a mere name, which is looked for
/// in `PATH`.
pub fn path_in(folder: &Path, program: &str) -> Option<PathBuf> {
    program.contains('/').then(|| folder.join(program))
}

/// The file of a program, as a shell finds it but for paths.
///
/// # Errors
/// What the system says of it; that it is not found, where it is in no folder of `PATH`.
fn find(program: &str, folder: &Path) -> io::Result<PathBuf> {
    let runs = |file: PathBuf| -> io::Result<PathBuf> {
        if std::fs::metadata(&file)?.is_dir() {
            return Err(io::Error::from_raw_os_error(libc::EISDIR));
        }
        let name = std::ffi::CString::new(file.as_os_str().as_encoded_bytes())?;
        // SAFETY: the name ends in a zero, and is valid for the call.
        match unsafe { libc::access(name.as_ptr(), libc::X_OK) } {
            0 => Ok(file),
            _ => Err(io::Error::last_os_error()),
        }
    };
    if let Some(file) = path_in(folder, program) {
        return runs(std::path::absolute(file)?);
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    let mut refused = io::Error::from_raw_os_error(libc::ENOENT);
    for place in std::env::split_paths(&path).filter(|place| place.is_absolute()) {
        match runs(place.join(program)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => refused = error,
            found => return found,
        }
    }
    Err(refused)
}

/// Waits until a process has ended, which keeps its number.
fn until_ended(process: libc::pid_t) -> io::Result<()> {
    loop {
        // SAFETY: the kernel fills in the structure.
        let waited = unsafe {
            let mut told: libc::siginfo_t = std::mem::zeroed();
            libc::waitid(libc::P_PID, process as libc::id_t, &raw mut told, libc::WEXITED | libc::WNOWAIT)
        };
        if waited == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// How a process that has ended did so, and what it used of CPUs with all that it had waited for.
fn waited_for(process: libc::pid_t) -> io::Result<(ExitStatus, Used)> {
    let mut status = 0;
    // SAFETY: the kernel fills in both.
    let (got, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::wait4(process, &raw mut status, 0, &raw mut usage), usage)
    };
    if got != process {
        return Err(io::Error::last_os_error());
    }
    let time = |time: libc::timeval| {
        let (seconds, micros) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_usec));
        Duration::from_micros(seconds.unwrap_or(0) * 1_000_000 + micros.unwrap_or(0))
    };
    let time = time(usage.ru_utime).saturating_add(time(usage.ru_stime));
    let preempted = u64::try_from(usage.ru_nivcsw).unwrap_or(0);
    Ok((std::os::unix::process::ExitStatusExt::from_raw(status), Used { time, preempted }))
}

/// Waits for those of a group that have become this process's and have ended.
fn reap(group: libc::pid_t) {
    let mut status = 0;
    // SAFETY: the pointer is valid for the call.
    while unsafe { libc::waitpid(-group, &raw mut status, libc::WNOHANG) } > 0 {}
}

/// To all of a group. Where nobody is left there is nobody to hear.
fn signal(group: libc::pid_t, signal: libc::c_int) {
    // SAFETY: no pointers.
    unsafe { libc::kill(-group, signal) };
}
