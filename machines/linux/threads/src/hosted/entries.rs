//! Entries into a hosted kernel: one at a time, and what was decided is carried out before the next.

use super::clock::Clock;
use super::desk::Desk;
use super::seats::{Decided, Placing, Seat};
use crate::coordinate::ThreadsError;
use crate::cpus::CpuCores;
use crate::host::Host;
use crate::priorities;
use crate::sched;
use crate::sync::{self, Wait};
use crate::timeline::Followed;
use solo_kernel::{Criterion, Kernel, State, Switch};
use solo_model::{CoreId, CoreSet, Experiment, Instant, JobIndex, Record, TaskClass, TaskId, ThreadId};
use solo_perf::switches::Switches;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The clock looks at least this often whether the caller wants to stop.
const LOOK_NS: u64 = 20_000_000;

/// How long after the last thread is there the run begins.
const HEAD_START_NS: u64 = 5_000_000;

/// A kernel, its threads and its clock.
pub(super) struct Hosted<'r, C> {
    /// Taken before `inside` is: a thread that is preempted within goes on where a more urgent one wants to enter.
    turn: sync::Mutex,
    inside: Mutex<Inside<C>>,
    seats: Vec<Seat>,
    clock: &'r Clock,
    /// The instant of the monotonic clock at which the run began.
    began: AtomicU64,
    over: AtomicBool,
}

/// What one thread at a time changes.
struct Inside<C> {
    kernel: Kernel<C>,
    desk: Desk,
    placing: Placing,
    classes: Vec<TaskClass>,
    cores: CoreSet,
    /// The time of the last entry.
    now: Instant,
    /// How many jobs of each task the run waits for.
    wanted: Vec<u64>,
    latest: Option<Instant>,
    /// When the clock is due, in the time of the run.
    set: Instant,
    ended: Option<(Instant, bool)>,
    failure: Option<ThreadsError>,
}

/// What a run leaves.
pub(super) struct Ended {
    pub(super) records: Vec<Record>,
    pub(super) end: Instant,
    pub(super) cut_off: bool,
}

/// What comes after a look into the kernel.
enum Next {
    GoesOn(Option<JobIndex>),
    Waits,
    Over,
}

impl<'r, C: Criterion> Hosted<'r, C> {
    /// Nobody is there yet.
    ///
    /// # Errors
    /// Where the system has no such locks.
    pub(super) fn new(
        mut kernel: Kernel<C>,
        experiment: &Experiment,
        host: &Host,
        cpus: &CpuCores,
        clock: &'r Clock,
    ) -> io::Result<Self> {
        // Cores begin some microseconds later; releases count from the beginning of the run.
        kernel.count_from(Instant::ZERO);
        let tasks = experiment.tasks.len();
        let cores = priorities::used_cores(experiment);
        let goal = experiment.end.goal(&experiment.tasks);
        let inside = Inside {
            kernel,
            desk: Desk::new(experiment.platform.cores.len()),
            placing: Placing::new(tasks, cores, host, cpus),
            classes: experiment.tasks.iter().map(|task| task.class).collect(),
            cores,
            now: Instant::ZERO,
            wanted: goal.jobs,
            latest: goal.latest.map(|latest| Instant::ZERO + latest),
            set: Instant::MAX,
            ended: None,
            failure: None,
        };
        Ok(Self {
            turn: sync::Mutex::new(true)?,
            inside: Mutex::new(inside),
            seats: (0..tasks).map(|_| Seat::new()).collect::<io::Result<_>>()?,
            clock,
            began: AtomicU64::new(0),
            over: AtomicBool::new(false),
        })
    }

    pub(super) fn over(&self) -> &AtomicBool {
        &self.over
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// The calling thread is that of a task.
    pub(super) fn sit_down(&self, task: TaskId) {
        self.with(|inside| inside.placing.waits(task));
        self.seats[task.index()].take();
    }

    /// The kernel is not started before.
    pub(super) fn everyone_is_there(&self) -> bool {
        self.seats.iter().all(Seat::is_taken)
    }

    /// Waits until a task is chosen: the job that it works on. Nothing where the run is over.
    pub(super) fn until_chosen(&self, task: TaskId) -> Option<JobIndex> {
        self.attend(task, None::<fn(&mut Kernel<C>, &mut Desk, CoreId, Instant) -> Switch>)
    }

    /// Enters the kernel on behalf of a task that is chosen, and waits until it is chosen again: the job that it works on then. Nothing where
    /// the run is over.
    pub(super) fn ask(
        &self,
        task: TaskId,
        call: impl FnOnce(&mut Kernel<C>, &mut Desk, CoreId, Instant) -> Switch,
    ) -> Option<JobIndex> {
        self.attend(task, Some(call))
    }

    fn attend(
        &self,
        task: TaskId,
        mut call: Option<impl FnOnce(&mut Kernel<C>, &mut Desk, CoreId, Instant) -> Switch>,
    ) -> Option<JobIndex> {
        loop {
            let next = self.with(|inside| {
                // Linux may still run who has been preempted: it enters when it is chosen again.
                if inside.core(task).is_some()
                    && let Some(call) = call.take()
                {
                    self.enter(inside, Some(task), |kernel, desk, now| {
                        let core = running(kernel, task);
                        core.map_or(Switch::Idle, |core| call(kernel, desk, core, now))
                    });
                }
                match inside.core(task) {
                    _ if self.is_over() => Next::Over,
                    Some(_) if call.is_none() => Next::GoesOn(inside.kernel.job(ThreadId(task.0))),
                    _ => {
                        inside.placing.waits(task);
                        Next::Waits
                    }
                }
            });
            match next {
                Next::GoesOn(job) => return job,
                Next::Over => return None,
                Next::Waits => self.seats[task.index()].wait(),
            }
        }
    }

    /// Keeps the time of all cores until the run is over, as the most urgent thread. What Linux told of switches, or why it does not.
    pub(super) fn keep_time(
        &self,
        priority: i32,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<Followed>, String> {
        if let Err(error) = sched::fifo(priority) {
            self.fail("the clock's priority", error);
        }
        let threads = self.seats.iter().map(Seat::thread);
        let mut switches = threads.map(Switches::follow).collect::<io::Result<Vec<_>>>();
        let mut followed = vec![Followed::default(); self.seats.len()];
        self.start();
        while !self.is_over() {
            self.clock.wait();
            if cancelled() {
                self.interrupt();
            }
            self.with(|inside| {
                let now = self.now();
                while let Some(core) = inside.desk.next_due(now).filter(|_| inside.ended.is_none()) {
                    self.enter(inside, None, |kernel, desk, now| kernel.timer(desk, core, now));
                }
                self.enter(inside, None, |_, _, _| Switch::Stay);
                self.set(inside, Instant::new(now.get().saturating_add(LOOK_NS)));
            });
            if let Ok(switches) = &mut switches {
                for (own, followed) in switches.iter_mut().zip(&mut followed) {
                    own.drain(|switch| followed.switches.push(switch));
                    followed.lost = own.lost();
                }
            }
        }
        let began = self.began.load(Ordering::Acquire);
        followed.iter_mut().flat_map(|own| &mut own.switches).for_each(|switch| {
            switch.time = switch.time.saturating_sub(began);
        });
        switches.map(|_| followed).map_err(|error| error.to_string())
    }

    /// All cores begin.
    fn start(&self) {
        let began = solo_perf::now() + HEAD_START_NS;
        self.began.store(began, Ordering::Release);
        sched::sleep_until(began);
        self.with(|inside| {
            for core in inside.cores.iter() {
                self.enter(inside, None, |kernel, desk, now| kernel.start(desk, core, now));
            }
            self.set(inside, Instant::ZERO);
        });
    }

    /// The time of the run.
    fn now(&self) -> Instant {
        Instant::new(solo_perf::now().saturating_sub(self.began.load(Ordering::Acquire)))
    }

    /// One entry, with all that it asks other cores for.
    fn enter(
        &self,
        inside: &mut Inside<C>,
        asks: Option<TaskId>,
        call: impl FnOnce(&mut Kernel<C>, &mut Desk, Instant) -> Switch,
    ) {
        if inside.ended.is_some() {
            return;
        }
        let now = self.now().max(inside.now);
        if let Some(latest) = inside.latest.filter(|latest| *latest <= now) {
            let missing = !inside.is_done();
            return self.end(inside, latest, missing);
        }
        inside.now = now;
        // Whom a core goes on with is asked of the kernel, for all of them.
        let _ = call(&mut inside.kernel, &mut inside.desk, now);
        while let Some(core) = inside.desk.next_asked() {
            let _ = inside.kernel.ipi(&mut inside.desk, core, now);
        }
        if inside.waits_for_jobs() && inside.is_done() {
            return self.end(inside, now, false);
        }
        if let Err(error) = inside.carry_out(&self.seats, asks) {
            inside
                .failure
                .get_or_insert(ThreadsError::Refused { what: "CPUs or priority of a thread", error });
            return self.end(inside, now, true);
        }
        self.set(inside, Instant::MAX);
    }

    /// The clock is due by `at`, and when the kernel wants it.
    fn set(&self, inside: &mut Inside<C>, at: Instant) {
        let first = inside.desk.first().into_iter().chain(inside.latest).fold(at, Instant::min);
        // An earlier one that is set already is no harm.
        if first < inside.set || at < Instant::MAX {
            inside.set = first;
            self.clock.set(self.began.load(Ordering::Acquire).saturating_add(first.get()));
        }
    }

    fn end(&self, inside: &mut Inside<C>, at: Instant, cut_off: bool) {
        if inside.ended.is_none() {
            inside.kernel.record_unfinished(&mut inside.desk, at);
            inside.ended = Some((at, cut_off));
        }
        self.wake_all();
    }

    /// The first failure counts, and ends the run.
    pub(super) fn fail(&self, what: &'static str, error: io::Error) {
        self.refuse(ThreadsError::Refused { what, error });
    }

    /// The caller asked to stop.
    pub(super) fn interrupt(&self) {
        self.refuse(ThreadsError::Interrupted);
    }

    fn refuse(&self, error: ThreadsError) {
        self.with(|inside| {
            inside.failure.get_or_insert(error);
            let now = inside.now;
            self.end(inside, now, true);
        });
    }

    fn with<T>(&self, change: impl FnOnce(&mut Inside<C>) -> T) -> T {
        while !self.turn.try_take() && self.turn.wait() == Wait::NotYet {}
        // Given back after the value within is free again.
        let _turn = Turn(self);
        change(&mut self.inside.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What the run leaves.
    ///
    /// # Errors
    /// What it failed by.
    pub(super) fn into_ended(self) -> Result<Ended, ThreadsError> {
        let inside = self.inside.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(failure) = inside.failure {
            return Err(failure);
        }
        let (end, cut_off) = inside.ended.unwrap_or((inside.now, true));
        Ok(Ended { records: inside.desk.records, end, cut_off })
    }
}

/// The turn to enter. Where a thread leaves by a panic, the run is over: nobody waits for it.
struct Turn<'h, 'r, C>(&'h Hosted<'r, C>);

impl<C> Drop for Turn<'_, '_, C> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.wake_all();
        }
        self.0.turn.give();
    }
}

impl<C> Hosted<'_, C> {
    /// The run is over, for everybody.
    fn wake_all(&self) {
        self.over.store(true, Ordering::Release);
        self.seats.iter().for_each(Seat::call);
        self.clock.set(1);
    }
}

impl<C: Criterion> Inside<C> {
    fn core(&self, task: TaskId) -> Option<CoreId> {
        running(&self.kernel, task)
    }

    fn waits_for_jobs(&self) -> bool {
        self.wanted.iter().any(|jobs| *jobs > 0)
    }

    fn is_done(&self) -> bool {
        (0..).map(TaskId).zip(&self.wanted).all(|(task, jobs)| self.kernel.finished(task) >= *jobs)
    }

    /// Makes Linux run who was chosen. First those who no longer are.
    fn carry_out(&mut self, seats: &[Seat], asks: Option<TaskId>) -> io::Result<()> {
        for runs in [false, true] {
            for (task, seat) in (0..).map(TaskId).zip(seats) {
                let decided = self.decided(task);
                if matches!(decided, Decided::Runs(..)) == runs {
                    self.placing.carry_out(task, decided, asks == Some(task), seat)?;
                }
            }
        }
        Ok(())
    }

    fn decided(&self, task: TaskId) -> Decided {
        let thread = ThreadId(task.0);
        // Who holds a lock may be as urgent as others.
        let class = || self.kernel.rank_of(thread).map_or(self.classes[task.index()], |rank| rank.class());
        match self.kernel.state(thread) {
            Some(State::Running(core)) => Decided::Runs(core, class()),
            Some(State::Ready) => Decided::Waits(class()),
            _ => Decided::Rests,
        }
    }
}

fn running<C: Criterion>(kernel: &Kernel<C>, task: TaskId) -> Option<CoreId> {
    match kernel.state(ThreadId(task.0)) {
        Some(State::Running(core)) => Some(core),
        _ => None,
    }
}
