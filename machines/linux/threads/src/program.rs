//! Programs: threads whose body is a function in place of steps. The functions here are asked by such a body, of its own thread: one
//! that Linux schedules, or one in simulated time.

pub use crate::body::{Body, Ended};
use crate::coordinate::{Options, Ran, Roles, ThreadsError, run_roles};
use crate::host::Host;
use crate::journal::Journal;
use crate::locks::Held;
use crate::simulated::{GoOn, Said, Seat, Wire, WireError};
use crate::task::{Actor, Job};
use solo_model::record::SwitchReason;
use solo_model::task::Release;
use solo_model::text::Printable;
use solo_model::{Duration, Experiment, Instant, JobIndex, LockId, TaskId};
use std::any::Any;
use std::cell::RefCell;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Mutex;

/// What a body unwinds with where it does not go on.
enum Leaves {
    /// The run is over.
    Over,
    /// It made a mistake.
    Mistake(String),
}

/// Runs the bodies of an experiment as threads: as [`run`](crate::run), which has steps.
///
/// # Errors
/// As there.
pub fn run_program(
    experiment: &Experiment,
    host: &Host,
    bodies: Vec<Body>,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<(Ran, Vec<Ended>), ThreadsError> {
    let ended = Mutex::new(Vec::new());
    let roles = Roles::Bodies(bodies, &ended);
    let ran = run_roles(experiment, host, Options::default(), roles, cancelled)?;
    Ok((ran, ended.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)))
}

/// Lets the simulator at `path` run a program, and comes back when that is over or it is gone.
///
/// # Errors
/// Where it can't be reached.
pub fn run_simulated(path: &Path, experiment: &Experiment, bodies: Vec<Body>) -> Result<(), WireError> {
    let mut wire = Wire::<GoOn>::new(UnixStream::connect(path)?);
    wire.send(&Said::Program(Box::new(experiment.clone())))?;
    for (task, body) in bodies.into_iter().enumerate() {
        let (path, task) = (path.to_owned(), TaskId(task as u32));
        // It ends with the process.
        // What ends the process, such as a stack that runs over, is told with the thread's name.
        let name =
            experiment.tasks.get(task.index()).map_or(String::new(), |task| task.name.replace('\0', ""));
        std::thread::Builder::new().name(name).spawn(move || {
            if let Some(seat) = Seat::take(&path, task) {
                simulate(seat, body);
            }
        })?;
    }
    match wire.receive(|| true) {
        Ok(_) | Err(WireError::Closed) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Tells the simulator at `path` why there is nothing to run.
///
/// # Errors
/// Where it can't be reached.
pub fn refuse_simulated(path: &Path, reason: String) -> Result<(), WireError> {
    Wire::<GoOn>::new(UnixStream::connect(path)?).send(&Said::Refused(reason))
}

/// The most characters of a mistake that a simulator is told.
const MOST_TOLD: usize = 1 << 12;

/// A body that is under way on this thread.
struct Playing {
    actor: Actor<'static>,
    journal: Journal,
    held: Held,
    index: JobIndex,
    /// Of the next job.
    release: Instant,
    /// The job at hand.
    job: Option<Job>,
    away: Instant,
}

/// Where a body is under way.
enum Stage {
    /// As a thread that Linux schedules.
    Linux(Box<Playing>),
    /// In simulated time.
    Simulated(Seat),
}

thread_local! {
    static STAGE: RefCell<Option<Stage>> = const { RefCell::new(None) };
    static PANICKED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// What a panic says of itself is kept for the report, on threads of a program.
fn keep_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if STAGE.with(|stage| stage.try_borrow().is_ok_and(|stage| stage.is_none())) {
                return before(info);
            }
            let payload = info.payload();
            let text = payload.downcast_ref::<&str>().copied();
            let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
            let text = text.unwrap_or("it says nothing");
            let place = info.location().map_or(String::new(), |place| format!(" at {place}"));
            let said = format!("panic{place}: {text}");
            // One more while the thread unwinds from the first ends the process, and with it whoever could ask for what is kept.
            if let Some(first) = PANICKED.take() {
                let thread = std::thread::current();
                eprintln!("thread {}: {first}; then {said}", Printable(thread.name().unwrap_or("?")));
                return PANICKED.set(Some(first));
            }
            PANICKED.set(Some(said));
        }));
    });
}

impl Actor<'_> {
    /// Runs a body until it ends, or the run does.
    #[allow(unsafe_code)]
    pub(crate) fn run_body(self, body: Body, ended: &Mutex<Vec<Ended>>) -> Journal {
        keep_panics();
        let (task, journal, held) = (self.task, self.begin(), Held::new(self.task, self.scheduling));
        let release = Instant::new(self.task().release.offset().get());
        // SAFETY: the value leaves the thread's own storage before this function returns, and what it borrows outlives that.
        let actor = unsafe { std::mem::transmute::<Actor<'_>, Actor<'static>>(self) };
        let (index, away) = (JobIndex(0), Instant::new(0));
        let playing = Playing { actor, journal, held, index, release, job: None, away };
        STAGE.set(Some(Stage::Linux(Box::new(playing))));
        let played = catch_unwind(AssertUnwindSafe(|| {
            // The first job.
            wait_next();
            body();
        }));
        let why = played.err().and_then(|payload| reason(&*payload));
        let Some(Stage::Linux(playing)) = STAGE.take() else { unreachable!("a body without its thread") };
        if let Some(why) = why {
            let at = playing.journal.now();
            let mut ended = ended.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            ended.push(Ended { at, task, why });
        }
        playing.leave()
    }
}

/// Lets a body go on whenever it is the turn of its thread in a simulated run, until it ends or the run does.
fn simulate(seat: Seat, body: Body) {
    keep_panics();
    STAGE.set(Some(Stage::Simulated(seat)));
    let said = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(()) => Some(Said::Returned),
        Err(payload) => reason(&*payload).map(|why| Said::Mistake(why.chars().take(MOST_TOLD).collect())),
    };
    if let (Some(Stage::Simulated(mut seat)), Some(said)) = (STAGE.take(), said) {
        seat.tell(&said);
    }
}

/// Why a body ended early; nothing where the run was over.
fn reason(payload: &(dyn Any + Send)) -> Option<String> {
    match payload.downcast_ref::<Leaves>() {
        Some(Leaves::Over) => None,
        Some(Leaves::Mistake(why)) => Some(why.clone()),
        None => Some(PANICKED.take().unwrap_or_else(|| "panic".to_owned())),
    }
}

impl Playing {
    /// The job at hand ends; false where the run was over.
    fn finish(&mut self) -> bool {
        let Some(job) = self.job.take() else { return true };
        let finish = self.actor.end_job(&mut self.journal, &job);
        self.away = finish.unwrap_or_else(|| self.journal.now());
        if let Release::Continuous { .. } = self.actor.task().release {
            self.release = self.away;
        }
        finish.is_some()
    }

    /// Waits for the next job and begins it; false where the run was over.
    fn begin(&mut self) -> bool {
        if let Some(asked) = self.actor.shared.asked.get(self.actor.task.index()).and_then(Option::as_ref) {
            match asked.next(&self.actor.shared.over, || self.journal.now()) {
                Some(release) => self.release = release,
                None => return false,
            }
        }
        if !self.actor.await_release(&self.journal, self.release) {
            return false;
        }
        self.journal.away(self.away, SwitchReason::Finished);
        self.job = Some(self.actor.begin_job(&mut self.journal, self.index, self.release));
        self.index = JobIndex(self.index.0 + 1);
        self.release = match self.actor.task().release {
            Release::Periodic { period, .. } => self.release + period,
            // It comes when this job is done.
            Release::Continuous { .. } => self.release,
            // When the next one comes is not known yet.
            Release::Once { .. } | Release::Sporadic { .. } => Instant::MAX,
        };
        true
    }

    /// The thread is done: what it holds is given back, its last job is cut off where the run was over first, and ends here else.
    fn leave(mut self) -> Journal {
        self.actor.shared.locks.give_all(&mut self.held, &mut self.journal);
        if let Some(job) = self.job.take() {
            if self.actor.shared.is_over() {
                self.actor.cut(&mut self.journal, &job);
            } else {
                self.actor.end_job(&mut self.journal, &job);
            }
        }
        self.journal.away(self.away, SwitchReason::Finished);
        if !self.actor.shared.is_over() {
            // A thread that has ended is released no more.
            return self.journal;
        }
        self.actor.unseen(&mut self.journal, self.index, self.release);
        self.journal
    }
}

/// Asks the body's thread; outside of bodies there is no answer.
fn ask<T>(linux: impl FnOnce(&mut Playing) -> T, simulated: impl FnOnce(&mut Seat) -> T) -> Option<T> {
    STAGE.with_borrow_mut(|stage| {
        stage.as_mut().map(|stage| match stage {
            Stage::Linux(playing) => linux(playing),
            Stage::Simulated(seat) => simulated(seat),
        })
    })
}

/// Asks the body's thread for what takes time, or the kernel; it leaves the body where the run is over.
fn request(linux: impl FnOnce(&mut Playing) -> bool, simulated: &Said) {
    let goes_on = ask(linux, |seat| seat.ask(simulated));
    // Guards that give locks back while a thread leaves its body don't make it leave once more.
    if goes_on == Some(false) && !std::thread::panicking() {
        resume_unwind(Box::new(Leaves::Over));
    }
}

/// The job at hand is done; returns when the next one is released.
pub fn wait_next() {
    request(|playing| playing.finish() && playing.begin(), &Said::WaitNext);
}

/// Takes a lock, or waits for it.
pub fn acquire(lock: LockId) {
    let linux = |playing: &mut Playing| {
        let Playing { actor, journal, held, .. } = playing;
        actor.shared.locks.take(lock, held, journal, &actor.shared.over)
    };
    request(linux, &Said::Acquire(lock));
}

/// Gives a lock back.
pub fn release(lock: LockId) {
    let linux = |playing: &mut Playing| {
        let Playing { actor, journal, held, .. } = playing;
        actor.shared.locks.give(lock, held, journal);
        !actor.shared.is_over()
    };
    request(linux, &Said::Release(lock));
}

/// Leaves the CPU for so long.
pub fn sleep(length: Duration) {
    let linux = |playing: &mut Playing| {
        let since = playing.journal.now();
        let slept = playing.actor.shared.sleep_until(&playing.journal, since + length);
        playing.journal.slept(since);
        slept
    };
    request(linux, &Said::Sleep(length));
}

/// Computes until the thread has used so much more of a CPU.
pub fn compute(length: Duration) {
    let linux = |playing: &mut Playing| {
        let shared = playing.actor.shared;
        shared.pace.compute(length.get(), &shared.over)
    };
    request(linux, &Said::Compute(length));
}

/// In simulated time what the body has done costs so much; elsewhere it has taken its time.
pub fn simulated_cost(cost: Duration) {
    request(|_| true, &Said::Compute(cost));
}

/// Waits in a loop for what another thread does.
pub fn pause() {
    std::hint::spin_loop();
    request(|_| true, &Said::Pause);
}

/// Asks for a job of a sporadic task, so much later; see [`Asked`](crate::asked::Asked).
pub fn trigger(task: TaskId, after: Duration) {
    let linux = |playing: &mut Playing| {
        let (shared, now) = (playing.actor.shared, playing.journal.now());
        if let Some(Some(asked)) = shared.asked.get(task.index()) {
            asked.ask(now, now + after);
        }
        !shared.is_over()
    };
    request(linux, &Said::Trigger(task, after));
}

/// Tells a number that is noted to who keeps it; false where that is the caller.
pub fn note(name: &str, value: u64) -> bool {
    let simulated = |seat: &mut Seat| {
        // Where nobody hears it the run is over.
        seat.tell(&Said::Note(name.to_owned(), value));
        true
    };
    ask(|_| false, simulated) == Some(true)
}

/// The task of the thread that asks; `None` outside of bodies.
pub fn this_task() -> Option<TaskId> {
    ask(|playing| playing.actor.task, |seat| seat.task)
}

/// The time since the beginning of the run.
pub fn now() -> Instant {
    ask(|playing| playing.journal.now(), Seat::look).unwrap_or(Instant::ZERO)
}

/// True on the threads of a simulated run.
pub fn is_simulated() -> bool {
    ask(|_| false, |_| true) == Some(true)
}

/// Ends the thread that asks for a mistake, which is told with the run.
pub fn end(why: String) -> ! {
    resume_unwind(Box::new(Leaves::Mistake(why)))
}
