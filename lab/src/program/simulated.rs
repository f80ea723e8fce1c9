//! A program on the simulated machine: its process waits while time passes there, and its threads go on one at a time.

use super::process::Process;
use super::{ProgramError, Timeless};
use crate::error::Named;
use crate::once::Heard;
use crate::{Control, LabError};
use solo_model::text::Unnumbered;
use solo_model::{Duration, Experiment, Instant, Record, TaskId};
use solo_qemu::Note;
use solo_sim::{RemoteBody, Request, SimulationEnd, run_bodies};
use solo_threads::simulated::{CALLS_VARIABLE, GoOn, Said, Wire, WireError};
use std::cell::RefCell;
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::ExitStatus;
use std::time;

/// The most notes that are kept.
const MOST_NOTES: usize = 1 << 14;
/// How long a thread may run between two requests, and a process until it says what it declares, in time of the host.
const PATIENCE: time::Duration = time::Duration::from_secs(10);
/// How often a wait looks whether the caller wants it to stop.
const GLANCE: time::Duration = time::Duration::from_millis(50);
/// How often a socket is looked for.
const SHORT: time::Duration = time::Duration::from_millis(2);
/// The most requests of a thread at one instant.
const MOST_AT_ONCE: u32 = 100_000;
/// What a pause in a loop takes: about what processors document, 40 to 140 cycles.
const PAUSE: Duration = Duration::new(50);

/// What came of it.
pub(super) struct Simulated {
    pub(super) experiment: Experiment,
    pub(super) records: Vec<Record>,
    pub(super) outcome: SimulationEnd,
    /// Threads that made a mistake, when, and what they say of it.
    pub(super) ended: Vec<(Instant, TaskId, String)>,
    pub(super) notes: Vec<Note>,
    pub(super) notes_dropped: u64,
}

/// What all bodies tell of.
#[derive(Default)]
struct Shared {
    ended: Vec<(Instant, TaskId, String)>,
    notes: Vec<Note>,
    notes_dropped: u64,
    /// Why the run can't go on.
    failed: Option<LabError>,
}

/// A thread of the process.
struct Remote<'r> {
    task: TaskId,
    experiment: &'r Experiment,
    wire: Wire<Said>,
    shared: &'r RefCell<Shared>,
    line: &'r Line<'r>,
    /// When it was asked last, and how often then.
    asked: (Instant, u32),
    /// The job at hand has told what it costs.
    told: bool,
}

/// Runs a program that is built to the end that it declares.
///
/// # Errors
/// Where it does not start, says what can't be, does not tell what its jobs cost, or the caller wants it to stop.
pub(super) fn run(program: &Path, control: &Control<'_>) -> Result<Simulated, LabError> {
    let place = tempfile::tempdir().map_err(unusable)?;
    let path = place.path().join("calls");
    let listener = UnixListener::bind(&path).map_err(unusable)?;
    listener.set_nonblocking(true).map_err(unusable)?;
    let line =
        Line { process: RefCell::new(Process::start(program, (CALLS_VARIABLE, path.as_os_str()))?), control };
    let mut wire = line.accept(&listener)?;
    let experiment = match line.hear(&mut wire)? {
        Said::Program(experiment) => *experiment,
        Said::Refused(reason) => return Err(ProgramError::Declared(reason).into()),
        other => return Err(unexpected(&other)),
    };
    let wires = line.threads(&listener, experiment.tasks.len())?;
    let (shared, mut records) = (RefCell::new(Shared::default()), Vec::new());
    let bodies = (0..).zip(wires).map(|(task, wire)| -> Box<dyn RemoteBody + '_> {
        let (task, asked, told) = (TaskId(task), (Instant::ZERO, 0), false);
        let (experiment, shared, line) = (&experiment, &shared, &line);
        Box::new(Remote { task, experiment, wire, shared, line, asked, told })
    });
    let take = &mut |record| {
        records.push(record);
        ControlFlow::Continue(())
    };
    let share = |now, done| control.progress.reached(&experiment.name, now, done);
    let ran = run_bodies(&experiment, bodies.collect(), &mut Heard { take, share: &share, control });
    control.progress.ended(&experiment.name);
    let outcome = ran.map_err(|error| LabError::Simulation(Named::new(error, &experiment)))?;
    let Shared { ended, notes, notes_dropped, failed } = shared.into_inner();
    match failed {
        Some(failed) => Err(failed),
        None if control.cancel.requested() => Err(LabError::Interrupted),
        None => Ok(Simulated { experiment, records, outcome, ended, notes, notes_dropped }),
    }
}

/// The process, and how long it is waited for.
struct Line<'l> {
    process: RefCell<Process>,
    control: &'l Control<'l>,
}

impl Line<'_> {
    /// Takes the next socket that the process opens.
    fn accept(&self, listener: &UnixListener) -> Result<Wire<Said>, LabError> {
        let began = time::Instant::now();
        loop {
            match listener.accept() {
                Ok((socket, _)) => {
                    socket.set_nonblocking(false).map_err(unusable)?;
                    socket.set_read_timeout(Some(GLANCE)).map_err(unusable)?;
                    return Ok(Wire::new(socket));
                }
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(unusable(error).into()),
                Err(_) => {}
            }
            let status = self.process.borrow_mut().status()?;
            if let Some(status) = status {
                return Err(self.ended(status));
            }
            if self.control.cancel.requested() {
                return Err(LabError::Interrupted);
            }
            if began.elapsed() > PATIENCE {
                return Err(self.mute());
            }
            std::thread::sleep(SHORT);
        }
    }

    /// The sockets of so many threads, in their order.
    fn threads(&self, listener: &UnixListener, count: usize) -> Result<Vec<Wire<Said>>, LabError> {
        let mut found: Vec<Option<Wire<Said>>> = (0..count).map(|_| None).collect();
        for _ in 0..count {
            let mut wire = self.accept(listener)?;
            let said = self.hear(&mut wire)?;
            match said {
                Said::Thread(task) if found.get(task.index()).is_some_and(Option::is_none) => {
                    found[task.index()] = Some(wire);
                }
                other => return Err(unexpected(&other)),
            }
        }
        Ok(found.into_iter().flatten().collect())
    }

    /// What is said next before there is a run.
    fn hear(&self, wire: &mut Wire<Said>) -> Result<Said, LabError> {
        self.receive(wire).map_err(|error| match error {
            WireError::GivenUp if !self.control.cancel.requested() => self.mute(),
            error => self.broken(error),
        })
    }

    /// What is said next, as long as the caller and patience want to wait.
    fn receive(&self, wire: &mut Wire<Said>) -> Result<Said, WireError> {
        let began = time::Instant::now();
        wire.receive(|| began.elapsed() < PATIENCE && !self.control.cancel.requested())
    }

    /// Why nothing more is said.
    fn broken(&self, error: WireError) -> LabError {
        match error {
            WireError::GivenUp => LabError::Interrupted,
            WireError::Closed => {
                let status = self.process.borrow_mut().wait(self.control, PATIENCE);
                status.map_or_else(|error| error, |status| self.ended(status))
            }
            error => ProgramError::Report(error.to_string()).into(),
        }
    }

    fn ended(&self, status: ExitStatus) -> LabError {
        ProgramError::Ended { status, console: self.process.borrow().said() }.into()
    }

    /// The process lives, and says nothing.
    fn mute(&self) -> LabError {
        ProgramError::TimeLimit { limit: PATIENCE, console: self.process.borrow().said() }.into()
    }
}

impl Remote<'_> {
    /// Lets the thread go on until it asks for something.
    fn ask(&mut self, now: Instant) -> Result<Request, LabError> {
        self.asked = if self.asked.0 == now { (now, self.asked.1 + 1) } else { (now, 0) };
        if self.asked.1 > MOST_AT_ONCE {
            return Err(self.timeless(Timeless::Requests(MOST_AT_ONCE)));
        }
        let gone = |remote: &Self, error| match remote.line.broken(error) {
            LabError::Program(ProgramError::TimeLimit { limit, .. }) => {
                remote.timeless(Timeless::HungUp(limit))
            }
            error => error,
        };
        self.wire.send(&GoOn { at: now }).map_err(|error| gone(self, error))?;
        loop {
            match self.line.receive(&mut self.wire) {
                Ok(Said::Note(name, value)) => self.note(name, value),
                Ok(said) => return self.request(said),
                Err(WireError::GivenUp) if !self.line.control.cancel.requested() => {
                    return Err(self.timeless(Timeless::Silent(PATIENCE)));
                }
                Err(error) => return Err(gone(self, error)),
            }
        }
    }

    /// What it asks for, in the simulated machine's words.
    fn request(&mut self, said: Said) -> Result<Request, LabError> {
        let locks = self.experiment.locks.len();
        Ok(match said {
            Said::Compute(length) => self.tells(length),
            Said::Pause => self.tells(PAUSE),
            Said::Acquire(lock) if lock.index() < locks => Request::Acquire(lock),
            Said::Release(lock) if lock.index() < locks => Request::Release(lock),
            Said::Sleep(length) => Request::Sleep(length),
            Said::Trigger(task, after) => Request::Trigger(task, after),
            Said::WaitNext if self.told => {
                self.told = false;
                Request::WaitNext
            }
            Said::WaitNext => return Err(self.timeless(Timeless::Untold)),
            Said::Spins => return Err(self.timeless(Timeless::Looks)),
            Said::Returned => Request::Exit,
            Said::Mistake(why) => {
                self.shared.borrow_mut().ended.push((self.asked.0, self.task, why));
                Request::Exit
            }
            other => return Err(unexpected(&other)),
        })
    }

    const fn tells(&mut self, length: Duration) -> Request {
        self.told = true;
        Request::Compute(length)
    }

    fn note(&self, name: String, value: u64) {
        let shared = &mut *self.shared.borrow_mut();
        if shared.notes.len() < MOST_NOTES {
            shared.notes.push(Note { at: self.asked.0, task: self.task, name, value });
        } else {
            shared.notes_dropped += 1;
        }
    }

    fn timeless(&self, why: Timeless) -> LabError {
        let thread = self.experiment.tasks.get(self.task.index()).map(|task| task.name.clone());
        ProgramError::Timeless { thread: thread.unwrap_or_default(), at: self.asked.0, why }.into()
    }
}

impl RemoteBody for Remote<'_> {
    fn next(&mut self, now: Instant) -> Request {
        self.ask(now).unwrap_or_else(|error| {
            self.shared.borrow_mut().failed.get_or_insert(error);
            Request::Abandon
        })
    }
}

fn unusable(error: std::io::Error) -> ProgramError {
    let (folder, reason) = (std::env::temp_dir(), Unnumbered(&error).to_string());
    ProgramError::Socket { folder, reason }
}

/// Something else than is said then.
fn unexpected(said: &Said) -> LabError {
    let what = match said {
        Said::Program(_) | Said::Refused(_) => "it declares itself once more",
        Said::Thread(_) => "a thread that it does not have takes part",
        Said::Acquire(_) | Said::Release(_) => "a thread asks for a lock that it does not have",
        _ => "a thread asks for something before there is a run",
    };
    ProgramError::Report(what.to_owned()).into()
}
