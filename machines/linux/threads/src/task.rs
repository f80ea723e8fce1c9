//! A task as a thread: its releases, its jobs, its steps.

use crate::asked::Asked;
use crate::command::{Commands, Used};
use crate::compute::Pace;
use crate::counted::{Counted, Meter};
use crate::cpus::CpuCores;
use crate::journal::Journal;
use crate::locks::{Held, Locks};
use crate::memory::Memory;
use crate::plane::Ranking;
use crate::priorities::{self, Scheduling};
use crate::sched;
use crate::steps::{Calls, Means};
use solo_model::record::SwitchReason;
use solo_model::task::{BACKLOG_LIMIT, Release};
use solo_model::{CoreId, Duration, Experiment, Instant, JobIndex, JobRecord, LockId, TaskId};
use solo_workload::Program;
use std::cell::{Cell, RefCell};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

/// A thread looks at least this often whether the run is over.
const LOOK: Duration = Duration::from_millis(20);

/// What the threads of a run share.
pub(crate) struct Shared<'r> {
    pub(crate) experiment: &'r Experiment,
    /// Who schedules the threads by the ranks of their jobs, if that is not Linux itself.
    pub(crate) ranking: Option<Ranking<'r>>,
    /// What is counted of each job.
    pub(crate) counted: Option<&'r Counted>,
    /// Jobs of which not everything was counted all the time.
    pub(crate) multiplexed: AtomicU64,
    pub(crate) memory: &'r Memory,
    pub(crate) locks: &'r Locks<'r>,
    pub(crate) pace: Pace,
    /// The programs that jobs are, where some are.
    pub(crate) commands: Option<&'r Commands<'r>>,
    /// Of each sporadic task, what threads have asked for.
    pub(crate) asked: Vec<Option<Asked>>,
    /// The instant of the monotonic clock at which the run begins; 0 until it is set.
    pub(crate) began: AtomicU64,
    /// The run is over, at `end`.
    pub(crate) over: AtomicBool,
    /// In nanoseconds of the run; the first to set it counts.
    pub(crate) end: AtomicU64,
    /// By task, how many of its jobs the run waits for.
    pub(crate) wanted: Vec<u64>,
    /// Tasks that have not finished these.
    pub(crate) missing: AtomicUsize,
}

/// The end of a run that is not over yet.
pub(crate) const NOT_YET: u64 = u64::MAX;

impl Shared<'_> {
    /// Ends the run, unless it is over.
    pub(crate) fn end_at(&self, at: Instant) {
        let _ = self.end.compare_exchange(NOT_YET, at.get(), Ordering::AcqRel, Ordering::Acquire);
        self.over.store(true, Ordering::Release);
    }

    /// The calling thread is that of a task with ranks.
    pub(crate) fn enter(&self, task: TaskId) -> io::Result<()> {
        let Some(ranking) = self.ranking else { return Ok(()) };
        let first = Instant::new(self.experiment.tasks[task.index()].release.offset().get());
        ranking.plane.enter(task, sched::thread(), self.key(ranking, task, first))
    }

    /// The key of a task's job that is released then.
    fn key(&self, ranking: Ranking<'_>, task: TaskId, release: Instant) -> u64 {
        let deadline = self.experiment.tasks[task.index()].relative_deadline();
        (ranking.key)(
            task,
            deadline.map(|deadline| Instant::new(release.get().saturating_add(deadline.get()))),
        )
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Until `at`, in steps, so that a run that ends is noticed. False where it did.
    pub(crate) fn sleep_until(&self, journal: &Journal, at: Instant) -> bool {
        let began = self.began.load(Ordering::Acquire);
        loop {
            let now = journal.now();
            if self.is_over() {
                return false;
            }
            if now >= at {
                return true;
            }
            let step = Instant::new(now.get().saturating_add(LOOK.get())).min(at);
            sched::sleep_until(began.saturating_add(step.get()));
        }
    }
}

/// One task's thread.
pub(crate) struct Actor<'r> {
    pub(crate) shared: &'r Shared<'r>,
    pub(crate) task: TaskId,
    pub(crate) scheduling: Scheduling,
    /// Which core of the experiment a CPU is.
    pub(crate) cores: &'r CpuCores,
    /// The thread's counters, where jobs are counted.
    pub(crate) meter: Option<RefCell<Meter>>,
    /// What its processes have used, where its jobs are programs.
    pub(crate) processes: Cell<Used>,
}

/// The job at hand.
pub(crate) struct Job {
    index: JobIndex,
    release: Instant,
    deadline: Option<Instant>,
    start: Instant,
    /// What the thread had used of CPUs, and how often it had been preempted.
    used: u64,
    preempted: u64,
    /// The CPU on which it began.
    first: u32,
}

impl Actor<'_> {
    /// The task that it is.
    pub(crate) fn task(&self) -> &solo_model::Task {
        &self.shared.experiment.tasks[self.task.index()]
    }

    /// Waits for the beginning of the run, for all threads at once.
    pub(crate) fn begin(&self) -> Journal {
        let began = self.shared.began.load(Ordering::Acquire);
        sched::sleep_until(began);
        Journal::new(self.task, began)
    }

    /// Waits for the next job, which has its rank from now on. False where the run was over.
    pub(crate) fn await_release(&self, journal: &Journal, release: Instant) -> bool {
        if let (Scheduling::Ranked, Some(ranking)) = (self.scheduling, self.shared.ranking) {
            // A plane that is gone schedules nobody; who attached it says so.
            let _ = ranking.plane.rank(self.task, self.shared.key(ranking, self.task, release));
            if journal.now() >= release {
                // It is there already, and others may be more urgent.
                thread::yield_now();
            }
        }
        self.shared.sleep_until(journal, release)
    }

    /// Runs jobs of steps until the run is over.
    pub(crate) fn run(self, mut program: Program) -> Journal {
        self.run_jobs(|actor, index, journal, held| {
            program.begin_job(index);
            actor.steps(&mut program, journal, held)
        })
    }

    /// Runs jobs that are programs until the run is over.
    ///
    /// # Errors
    /// Where one can't be started.
    pub(crate) fn run_commands(self, commands: &Commands<'_>) -> io::Result<Journal> {
        let mut failure = None;
        let journal = self.run_jobs(|actor, index, journal, _| {
            match commands.perform(actor.task, index, actor.scheduling) {
                Ok(Some(used)) => {
                    let before = actor.processes.get();
                    actor.processes.set(before.and(used));
                    true
                }
                Ok(None) => false,
                Err(error) => {
                    failure = Some(error);
                    actor.shared.end_at(journal.now());
                    false
                }
            }
        });
        failure.map_or(Ok(journal), Err)
    }

    /// What the thread and its processes have used of CPUs.
    fn used(&self) -> u64 {
        sched::used().saturating_add(self.processes.get().time.get())
    }

    /// How often they were preempted.
    fn preempted(&self) -> u64 {
        sched::preempted().saturating_add(self.processes.get().preempted)
    }

    /// Runs jobs, each as `perform` says, until the run is over; that says whether a job was done to its end.
    fn run_jobs(self, mut perform: impl FnMut(&Self, JobIndex, &mut Journal, &mut Held) -> bool) -> Journal {
        let shared = self.shared;
        let mut journal = self.begin();
        let mut held = Held::new(self.task, self.scheduling);
        let task = self.task();
        let mut release = Instant::new(task.release.offset().get());
        let mut index = JobIndex(0);
        let mut away = Instant::new(0);
        loop {
            if !self.await_release(&journal, release) {
                break;
            }
            journal.away(away, SwitchReason::Finished);
            let job = self.begin_job(&mut journal, index, release);
            let finish = if perform(&self, index, &mut journal, &mut held) {
                self.end_job(&mut journal, &job)
            } else {
                shared.locks.give_all(&mut held, &mut journal);
                self.cut(&mut journal, &job);
                None
            };
            index = JobIndex(index.0 + 1);
            away = finish.unwrap_or_else(|| journal.now());
            release = match task.release {
                Release::Periodic { period, .. } => release + period,
                Release::Continuous { .. } => away,
                // No device interrupts here.
                Release::Once { .. } | Release::Sporadic { .. } => Instant::MAX,
            };
            if finish.is_none() {
                break;
            }
        }
        journal.away(away, SwitchReason::Finished);
        self.unseen(&mut journal, index, release);
        self.told();
        journal
    }

    /// Says how many jobs were not counted all the time.
    pub(crate) fn told(&self) {
        let multiplexed = self.meter.as_ref().map_or(0, |meter| meter.borrow().multiplexed);
        self.shared.multiplexed.fetch_add(multiplexed, Ordering::AcqRel);
    }

    /// A job begins.
    pub(crate) fn begin_job(&self, journal: &mut Journal, index: JobIndex, release: Instant) -> Job {
        let deadline = self.task().relative_deadline().map(|deadline| release + deadline);
        let (start, used, preempted) = (journal.now(), self.used(), self.preempted());
        let first = sched::cpu();
        // What happened since the last job is nobody's.
        drop(self.meter.as_ref().map(|meter| meter.borrow_mut().take()));
        journal.released(index, self.cores.core(first), release, deadline, start);
        Job { index, release, deadline, start, used, preempted, first }
    }

    /// A job ends. Its finish, or nothing where the run ended before.
    pub(crate) fn end_job(&self, journal: &mut Journal, job: &Job) -> Option<Instant> {
        let counts = self.meter.as_ref().map(|meter| meter.borrow_mut().take());
        let (finish, last) = (journal.now(), sched::cpu());
        if finish.get() > self.shared.end.load(Ordering::Acquire) {
            self.cut(journal, job);
            return None;
        }
        let &Job { index, release, deadline, start, used, preempted, first } = job;
        let backlog = self
            .task()
            .release
            .period()
            .map_or(0, |period| finish.since(release).get().checked_div(period.get()).unwrap_or(0));
        journal.jobs.push(JobRecord {
            task: self.task,
            job: index,
            core: self.cores.core(last),
            release,
            start,
            finish,
            deadline,
            executed: Duration::new(self.used().saturating_sub(used)),
            preemptions: u32::try_from(self.preempted().saturating_sub(preempted)).unwrap_or(u32::MAX),
            migrations: u32::from(first != last),
            backlog: u32::try_from(backlog).unwrap_or(u32::MAX),
            counts: counts.unwrap_or_default(),
            stalls: None,
        });
        if self.shared.wanted[self.task.index()] == index.0 + 1
            && self.shared.missing.fetch_sub(1, Ordering::AcqRel) == 1
        {
            self.shared.end_at(finish);
        }
        Some(finish)
    }

    /// A job that the end of the run found unfinished.
    pub(crate) fn cut(&self, journal: &mut Journal, job: &Job) {
        let executed = Duration::new(self.used().saturating_sub(job.used));
        let end = Instant::new(self.shared.end.load(Ordering::Acquire));
        journal.unfinished(job.index, job.release, job.deadline, executed, end);
    }

    /// The steps of a job. False where the run ended before they did.
    fn steps(&self, program: &mut Program, journal: &mut Journal, held: &mut Held) -> bool {
        let Shared { pace, memory, over, .. } = self.shared;
        Means { pace: *pace, memory, over }
            .perform(program, &mut OfThread { shared: self.shared, journal, held })
    }

    /// Releases before the end that the thread, kept from its CPU, did not come to.
    pub(crate) fn unseen(&self, journal: &mut Journal, mut index: JobIndex, mut release: Instant) {
        let shared = self.shared;
        let task = &shared.experiment.tasks[self.task.index()];
        let end = Instant::new(shared.end.load(Ordering::Acquire));
        let core = priorities::cores(shared.experiment, task).lowest().unwrap_or(CoreId(0));
        for _ in 0..=BACKLOG_LIMIT {
            if release >= end {
                return;
            }
            let deadline = task.relative_deadline().map(|deadline| release + deadline);
            journal.released(index, core, release, deadline, release);
            let nothing = Duration::ZERO;
            journal.unfinished(index, release, deadline, nothing, end);
            index = JobIndex(index.0 + 1);
            let Release::Periodic { period, .. } = task.release else { return };
            release += period;
        }
    }
}

/// What a job asks of Linux: its locks, its timers.
struct OfThread<'a, 'r> {
    shared: &'r Shared<'r>,
    journal: &'a mut Journal,
    held: &'a mut Held,
}

impl Calls for OfThread<'_, '_> {
    fn acquire(&mut self, lock: LockId) -> bool {
        self.shared.locks.take(lock, self.held, self.journal, &self.shared.over)
    }

    fn release(&mut self, lock: LockId) -> bool {
        self.shared.locks.give(lock, self.held, self.journal);
        true
    }

    fn sleep(&mut self, length: Duration) -> bool {
        let since = self.journal.now();
        let slept = self.shared.sleep_until(self.journal, since + length);
        self.journal.slept(since);
        slept
    }
}
