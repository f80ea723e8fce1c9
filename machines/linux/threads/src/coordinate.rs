//! A run from its first thread to its last.

use crate::admit::{admit, admit_deadline, admit_ranked};
use crate::asked::Asked;
use crate::body::{Body, Ended};
use crate::command::{Commands, Failed, Refusal};
use crate::compute::Pace;
use crate::counted::{Counted, Meter};
use crate::cpus::CpuCores;
use crate::host::Host;
use crate::journal::Journal;
use crate::lack::ThreadsLack;
use crate::locks::Locks;
use crate::memory::Memory;
use crate::plane::Ranking;
use crate::priorities::{self, Scheduling};

use crate::sched;
use crate::task::{Actor, NOT_YET, Shared};
use crate::timeline::{self, Followed};
use solo_model::text::Unnumbered;
use solo_model::work::Buffer;
use solo_model::{Bytes, CoreId, Experiment, Instant, Record, TaskId};
use solo_perf::switches::Switches;
use solo_workload::{Program, WorkError};
use std::cell::{Cell, RefCell};
use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// How long after the last thread is ready the run begins.
const HEAD_START_NS: u64 = 20_000_000;

/// How often the coordinator looks.
const LOOK_NS: u64 = 5_000_000;

/// The line size by which work is cut into accesses.
const LINE: Bytes = Bytes::new(64);

/// A thread that has no number yet.
const NO_THREAD: u32 = 0;

/// Why threads did not run an experiment.
#[derive(Debug, thiserror::Error)]
pub enum ThreadsError {
    /// This machine lacks what it needs.
    #[error("{0}")]
    Lacks(#[from] ThreadsLack),
    /// The policy can't run these tasks.
    #[error("{0}")]
    Policy(#[from] solo_kernel::PolicyRefusal),
    /// The work of a task can't be performed.
    #[error("task `{task}`: {error}")]
    Work {
        /// The task.
        task: String,
        /// Why.
        error: WorkError,
    },
    /// Linux refused a thread, or something that it needs.
    #[error("Linux refused {what}: {}", Unnumbered(error))]
    Refused {
        /// What.
        what: &'static str,
        /// What it says.
        error: io::Error,
    },
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// What came of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Ran {
    /// All records, in the order of time.
    pub records: Vec<Record>,
    /// The instant of the monotonic clock at which it began, in nanoseconds; 0 where nothing needs it.
    pub began: u64,
    /// When it ended.
    pub end: Instant,
    /// True where tasks could not finish the jobs that the run waited for, and its longest time was over.
    pub cut_off: bool,
    /// Which CPU stood for which core.
    pub cpus: Vec<(usize, CoreId)>,
    /// Why the kernel tells nothing of switches, where it does not: then there is no schedule.
    pub no_switches: Option<String>,
    /// Jobs of which an event was not on a counter all the time.
    pub multiplexed: u64,
    /// Tasks of which not all programs succeeded.
    pub failed: Vec<Failed>,
}

/// Who schedules the threads of hard and soft tasks.
#[derive(Clone, Copy, Default)]
pub enum Under<'r> {
    /// SCHED_FIFO, by priorities.
    #[default]
    Fifo,
    /// SCHED_DEADLINE: Linux's own EDF over all CPUs, each thread with a budget (Linux's documentation, sched-deadline).
    Deadline,
    /// A plane, which schedules this machine already.
    Ranked(Ranking<'r>),
}

/// How threads are run.
#[derive(Clone, Copy, Default)]
pub struct Options<'r> {
    /// Who schedules them.
    pub under: Under<'r>,
    /// What is counted of each job.
    pub counted: Option<&'r Counted>,
    /// The working folder of programs, and where the paths of their files begin; that of this process where none is said.
    pub folder: Option<&'r Path>,
}

/// Runs the tasks of an experiment as threads, until their jobs are done, its time is over or the caller asks to stop.
///
/// # Errors
/// See [`ThreadsError`]. Whatever comes, no thread lives on.
pub fn run(
    experiment: &Experiment,
    host: &Host,
    options: Options<'_>,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Ran, ThreadsError> {
    run_roles(experiment, host, options, Roles::OfTasks, cancelled)
}

/// What threads do.
pub(crate) enum Roles<'e> {
    /// The steps of their tasks, or the commands that these are.
    OfTasks,
    /// Bodies of a program's; those that end early say why.
    Bodies(Vec<Body>, &'e Mutex<Vec<Ended>>),
}

/// What one thread does.
enum Role<'e> {
    Steps(Program),
    Commands(&'e Commands<'e>),
    Body(Body, &'e Mutex<Vec<Ended>>),
}

impl<'e> Roles<'e> {
    fn each(
        self,
        experiment: &Experiment,
        commands: Option<&'e Commands<'e>>,
    ) -> Result<Vec<Role<'e>>, ThreadsError> {
        let own = |task| match commands.filter(|commands| commands.is_one(task)) {
            Some(commands) => Ok(Role::Commands(commands)),
            None => program(experiment, task).map(Role::Steps),
        };
        match self {
            Self::OfTasks => (0..experiment.tasks.len()).map(|task| own(TaskId(task as u32))).collect(),
            Self::Bodies(bodies, ended) => {
                Ok(bodies.into_iter().map(|body| Role::Body(body, ended)).collect())
            }
        }
    }
}

/// Runs what threads do, in the order of the experiment's tasks.
pub(crate) fn run_roles(
    experiment: &Experiment,
    host: &Host,
    options: Options<'_>,
    roles: Roles<'_>,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Ran, ThreadsError> {
    let (scheduling, ranking) = match options.under {
        Under::Fifo => {
            admit(experiment, host)?;
            (priorities::assign(experiment, host)?, None)
        }
        Under::Deadline => (admit_deadline(experiment, host)?, None),
        Under::Ranked(ranking) => {
            admit_ranked(experiment, host, ranking.plane.raises())?;
            (priorities::ranked(experiment), Some(ranking))
        }
    };
    let cores = CpuCores::new(priorities::used_cores(experiment), &host.cpus);
    let refused = |what| move |error| ThreadsError::Refused { what, error };
    let plane = ranking.map(|ranking| ranking.plane);
    let locks = Locks::new(experiment, &scheduling, plane).map_err(refused("a lock"))?;
    let folder = options.folder.unwrap_or(Path::new("."));
    let commands = Commands::of(experiment, folder, host.priorities.1).map_err(|why| match why {
        Refusal::Lacks(lack) => lack.into(),
        Refusal::Keeper(error) => {
            ThreadsError::Refused { what: "a process that watches over programs", error }
        }
    })?;
    let roles = roles.each(experiment, commands.as_ref())?;
    let memory = Memory::new(&experiment.buffers);
    let goal = experiment.end.goal(&experiment.tasks);
    let shared = Shared {
        experiment,
        ranking,
        counted: options.counted,
        commands: commands.as_ref(),
        multiplexed: AtomicU64::new(0),
        memory: &memory,
        locks: &locks,
        pace: Pace::look(),
        asked: experiment.tasks.iter().map(|task| Asked::of(task.release)).collect(),
        began: AtomicU64::new(0),
        over: AtomicBool::new(false),
        end: AtomicU64::new(NOT_YET),
        missing: AtomicUsize::new(goal.jobs.iter().filter(|jobs| **jobs > 0).count()),
        wanted: goal.jobs,
    };
    // From here on no page goes away under a thread.
    sched::keep_in_memory();
    let cast = Cast {
        shared: &shared,
        cores: &cores,
        numbers: experiment.tasks.iter().map(|_| AtomicU32::new(NO_THREAD)).collect(),
        failure: Mutex::new(None),
        latest: goal.latest.map(|latest| Instant::new(latest.get())),
        highest: host.priorities.1,
    };
    let played = cast.play(roles, &scheduling, cancelled);
    sched::release_memory();
    let Played { journals, followed, no_switches, cut_off } = played?;
    let end = Instant::new(shared.end.load(Ordering::Acquire));
    let began = shared.began.load(Ordering::Acquire);
    let records = timeline::records(journals, &followed, &cores, began, end);
    let multiplexed = shared.multiplexed.load(Ordering::Acquire);
    let failed = commands.as_ref().map_or_else(Vec::new, Commands::failed);
    Ok(Ran { records, began, end, cut_off, cpus: cores.pairs().to_vec(), no_switches, multiplexed, failed })
}

/// What a task's thread performs.
pub(crate) fn program(experiment: &Experiment, task: TaskId) -> Result<Program, ThreadsError> {
    let (own, buffers): (_, &[Buffer]) = (&experiment.tasks[task.index()], &experiment.buffers);
    Program::new(&own.work, task, buffers, LINE, experiment.seed, &[])
        .map_err(|error| ThreadsError::Work { task: own.name.clone(), error })
}

/// All that threads and coordinator share.
struct Cast<'r> {
    shared: &'r Shared<'r>,
    cores: &'r CpuCores,
    /// The kernel's number of each task's thread, once it is ready.
    numbers: Vec<AtomicU32>,
    /// What the first thread that could not begin was refused.
    failure: Mutex<Option<ThreadsError>>,
    latest: Option<Instant>,
    highest: i32,
}

/// What threads and coordinator leave.
struct Played {
    journals: Vec<Journal>,
    followed: Vec<Followed>,
    no_switches: Option<String>,
    cut_off: bool,
}

/// What the coordinator saw.
struct Watched {
    followed: Vec<Followed>,
    no_switches: Option<String>,
    cut_off: bool,
    interrupted: bool,
}

impl Cast<'_> {
    fn play(
        &self,
        roles: Vec<Role<'_>>,
        scheduling: &[Scheduling],
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<Played, ThreadsError> {
        let (journals, watched) = thread::scope(|scope| {
            let coordinator = scope.spawn(|| self.coordinate(scheduling, cancelled));
            let mut threads = Vec::with_capacity(roles.len());
            for (index, role) in roles.into_iter().enumerate() {
                let (task, scheduling) = (TaskId(index as u32), scheduling[index]);
                let body = move || self.act(task, scheduling, role);
                let name = format!("solo-{index}");
                match thread::Builder::new().name(name).spawn_scoped(scope, body) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        self.fail("a thread", error);
                        break;
                    }
                }
            }
            let journals: Vec<_> =
                threads.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect();
            (journals, coordinator.join())
        });
        let failure = self.failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if let Some(failure) = failure {
            return Err(failure);
        }
        let gone =
            || ThreadsError::Refused { what: "the coordinator", error: io::Error::other("it ended early") };
        let Watched { followed, no_switches, cut_off, interrupted } = watched.map_err(|_| gone())?;
        if interrupted {
            return Err(ThreadsError::Interrupted);
        }
        if journals.len() != self.numbers.len() {
            return Err(gone());
        }
        Ok(Played { journals, followed, no_switches, cut_off })
    }

    /// The first failure counts, and ends the run.
    fn fail(&self, what: &'static str, error: io::Error) {
        self.refuse(ThreadsError::Refused { what, error });
    }

    fn refuse(&self, error: ThreadsError) {
        let mut failure = self.failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        failure.get_or_insert(error);
        self.shared.end_at(Instant::new(0));
    }

    /// What the thread of a task does.
    fn act(&self, task: TaskId, scheduling: Scheduling, role: Role<'_>) -> Option<Journal> {
        let experiment = self.shared.experiment;
        let cores = priorities::cores(experiment, &experiment.tasks[task.index()]);
        let begun = sched::allow(&self.cores.cpus(cores)).and_then(|()| match scheduling {
            Scheduling::Fifo(priority) => sched::fifo(priority),
            Scheduling::RoundRobin(priority) => sched::round_robin(priority),
            Scheduling::Other => Ok(()),
            Scheduling::Ranked => self.shared.enter(task),
            Scheduling::Deadline { runtime, deadline, period } => sched::deadline(runtime, deadline, period),
        });
        if let Err(error) = begun {
            let reserved = matches!(scheduling, Scheduling::Deadline { .. });
            if reserved && error.raw_os_error() == Some(libc::EBUSY) {
                self.refuse(ThreadsLack::Reserved.into());
            } else {
                self.fail("CPUs or priority of a thread", error);
            }
            return None;
        }
        let open = match role {
            Role::Commands(_) => Meter::open_with_processes,
            Role::Steps(_) | Role::Body(..) => Meter::open,
        };
        let meter = match self.shared.counted.map(open).transpose() {
            Ok(meter) => meter.map(RefCell::new),
            Err(error) => {
                self.fail("counters of a thread", error);
                return None;
            }
        };
        self.numbers[task.index()].store(sched::thread(), Ordering::Release);
        while self.shared.began.load(Ordering::Acquire) == 0 {
            if self.shared.over.load(Ordering::Acquire) {
                return None;
            }
            thread::sleep(Duration::from_millis(1));
        }
        let processes = Cell::default();
        let actor = Actor { shared: self.shared, task, scheduling, cores: self.cores, meter, processes };
        Some(match role {
            Role::Steps(program) => actor.run(program),
            Role::Commands(commands) => match actor.run_commands(commands) {
                Ok(journal) => journal,
                Err(error) => {
                    self.fail("a program", error);
                    return None;
                }
            },
            Role::Body(body, ended) => actor.run_body(body, ended),
        })
    }

    /// Begins the run, follows its switches and ends it. It is more urgent than all of its threads, and nearly always asleep.
    fn coordinate(&self, scheduling: &[Scheduling], cancelled: &(dyn Fn() -> bool + Sync)) -> Watched {
        let mut watched =
            Watched { followed: Vec::new(), no_switches: None, cut_off: false, interrupted: false };
        let real_time = scheduling.iter().any(|scheduling| *scheduling != Scheduling::Other);
        if let Some(Err(error)) = real_time.then(|| sched::fifo(self.highest)) {
            self.fail("the coordinator's priority", error);
        }
        if !self.wait_for_threads(cancelled) {
            watched.interrupted = true;
            self.shared.end_at(Instant::new(0));
            return watched;
        }
        let mut switches = match self.follow() {
            Ok(switches) => switches,
            Err(error) => {
                watched.no_switches = Some(error.to_string());
                Vec::new()
            }
        };
        watched.followed = vec![Followed::default(); switches.len()];
        let began = solo_perf::now() + HEAD_START_NS;
        self.shared.began.store(began, Ordering::Release);
        let latest = self.latest.map_or(u64::MAX, |latest| began.saturating_add(latest.get()));
        while !self.shared.over.load(Ordering::Acquire) {
            let now = solo_perf::now();
            if now >= latest {
                watched.cut_off = self.shared.missing.load(Ordering::Acquire) > 0;
                self.shared.end_at(Instant::new(latest - began));
            } else if cancelled() {
                watched.interrupted = true;
                self.shared.end_at(Instant::new(now.saturating_sub(began)));
            } else {
                sched::sleep_until((now + LOOK_NS).min(latest));
            }
            drain(&mut switches, &mut watched.followed);
            self.shared.ranking.iter().for_each(|ranking| ranking.plane.look());
        }
        self.shared.commands.iter().for_each(|commands| commands.end());
        // Threads on their way to their end still switch; what comes after the end is left out.
        drain(&mut switches, &mut watched.followed);
        // Those of several CPUs came one CPU after the other.
        watched.followed.iter_mut().for_each(|own| own.switches.sort_by_key(|switch| switch.time));
        watched
    }

    /// The switches of each task: of its thread, and where its jobs are programs, also of these, on each of its CPUs.
    fn follow(&self) -> io::Result<Vec<Vec<Switches>>> {
        let experiment = self.shared.experiment;
        let of = |(index, number): (usize, &AtomicU32)| {
            let number = number.load(Ordering::Acquire);
            match self.shared.commands.filter(|commands| commands.is_one(TaskId(index as u32))) {
                None => Switches::follow(number).map(|own| vec![own]),
                Some(_) => {
                    let cpus = self.cores.cpus(priorities::cores(experiment, &experiment.tasks[index]));
                    cpus.into_iter().map(|cpu| Switches::follow_all_on(number, cpu)).collect()
                }
            }
        };
        self.numbers.iter().enumerate().map(of).collect()
    }

    /// Until all threads are ready or one of them failed. False where the caller asked to stop.
    fn wait_for_threads(&self, cancelled: &(dyn Fn() -> bool + Sync)) -> bool {
        let ready = |number: &AtomicU32| number.load(Ordering::Acquire) != NO_THREAD;
        while !self.numbers.iter().all(ready) && !self.shared.over.load(Ordering::Acquire) {
            if cancelled() {
                return false;
            }
            thread::sleep(Duration::from_millis(1));
        }
        true
    }
}

fn drain(switches: &mut [Vec<Switches>], followed: &mut [Followed]) {
    for (own, followed) in switches.iter_mut().zip(followed) {
        own.iter_mut().for_each(|own| own.drain(|switch| followed.switches.push(switch)));
        followed.lost = own.iter().map(Switches::lost).sum();
    }
}
