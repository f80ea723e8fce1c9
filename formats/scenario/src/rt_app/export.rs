//! A scenario as rt-app's JSON: the other direction of `import`.
//!
//! Deadlines of threads under `SCHED_FIFO` are not written, for rt-app judges none; neither are costs of kernel paths, seeds
//! and ticks, which are Linux's own.

use super::reservation::{Reservation, cores};
use serde::ser::{Serialize, SerializeMap, Serializer};
use solo_model::experiment::End;
use solo_model::policy::Criterion;
use solo_model::task::{Release, Task, TaskClass};
use solo_model::units::Duration;
use solo_model::work::{Lock, LockProtocol, Step};
use solo_model::{Experiment, LockId};

/// The most urgent of Linux's real-time priorities.
const HIGHEST: u64 = 99;

const MICROSECOND: Duration = Duration::from_micros(1);

/// What rt-app cannot say.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotRtApp {
    /// Linux orders by nothing like it.
    #[error("Linux has no policy like {}", .0.name())]
    Criterion(Criterion),
    /// Budgets, colors, banks, ways or locked pages.
    #[error("rt-app isolates nothing: take [isolation] out, or export a variant without it")]
    Isolation,
    /// A scheduler that listens.
    #[error("Linux's scheduler listens to no counter: take [scheduler.monitor] out")]
    Listening,
    /// A task that Linux has no class for beside the others.
    #[error("task `{task}`: Linux has no place for its class beside the others under this policy")]
    Class {
        /// The task.
        task: String,
    },
    /// A reservation that Linux refuses.
    #[error(
        "task `{task}`: SCHED_DEADLINE takes periodic tasks whose execution time fits into the deadline, and that into the period"
    )]
    Reservation {
        /// The task.
        task: String,
    },
    /// A period that Linux reserves no time in.
    #[error(
        "task `{task}`: its period is {period}, and SCHED_DEADLINE takes 100us to 4194304us (2^22; kernel.sched_deadline_period_min_us and _max_us, \
         which this export leaves as they are)"
    )]
    ReservedPeriod {
        /// The task.
        task: String,
        /// Its period.
        period: Duration,
    },
    /// A task that goes from core to core.
    #[error(
        "task `{task}`: this program writes no affinities that change from job to job: take `migrate` out"
    )]
    Migration {
        /// The task.
        task: String,
    },
    /// A step that touches memory.
    #[error("task `{task}`: this program writes no memory work for rt-app")]
    Memory {
        /// The task.
        task: String,
    },
    /// A task that is a program.
    #[error("task `{task}` is a program (`command`), and rt-app starts none")]
    Command {
        /// The task.
        task: String,
    },
    /// A length that is drawn.
    #[error("task `{task}`: rt-app draws no lengths: give steps one time instead of a range")]
    Drawn {
        /// The task.
        task: String,
    },
    /// A time that is no whole number of microseconds, or has more than 31 bits of them.
    #[error("task `{task}`: rt-app's times are whole microseconds, up to 2147483647, and {time} is none")]
    Time {
        /// The task.
        task: String,
        /// The time.
        time: Duration,
    },
    /// Repetitions inside repetitions, or too many.
    #[error("task `{task}`: rt-app repeats phases, not steps inside them, and at most 2147483647 times")]
    Repeat {
        /// The task.
        task: String,
    },
    /// A lock of a kind that rt-app does not have.
    #[error(
        "lock `{lock}`: rt-app has mutexes that all inherit priorities or none, and semaphores without units at the start"
    )]
    Lock {
        /// The lock.
        lock: String,
    },
    /// More ranks than Linux has priorities.
    #[error("{0} ranks of tasks, and Linux has 99 priorities")]
    Ranks(usize),
}

/// Values in the order in which they are written.
enum Value {
    Number(i64),
    Boolean(bool),
    Text(String),
    List(Vec<u64>),
    Object(Vec<(String, Value)>),
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_i64(*number),
            Self::Boolean(on) => serializer.serialize_bool(*on),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => items.serialize(serializer),
            Self::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (key, value) in members {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

type Object = Vec<(String, Value)>;

fn put(object: &mut Object, key: &str, value: Value) {
    object.push((key.to_owned(), value));
}

/// Writes an experiment as a file for rt-app.
///
/// # Errors
/// What rt-app can't say, with the task or the lock.
pub fn export_rt_app(experiment: &Experiment) -> Result<String, NotRtApp> {
    if !experiment.isolation.is_off() {
        return Err(NotRtApp::Isolation);
    }
    if experiment.listening.is_some() {
        return Err(NotRtApp::Listening);
    }
    if let Some(task) = experiment.tasks.iter().find(|task| task.migrate.is_some()) {
        return Err(NotRtApp::Migration { task: task.name.clone() });
    }
    let inherits = inheritance(&experiment.locks, &experiment.tasks)?;
    let ranks = Ranks::of(experiment)?;
    let mut tasks = Vec::new();
    for (index, task) in experiment.tasks.iter().enumerate() {
        tasks.push((task.name.clone(), Value::Object(thread(experiment, &ranks, index, task)?)));
    }
    let global = vec![
        ("duration".to_owned(), Value::Number(duration(experiment))),
        ("pi_enabled".to_owned(), Value::Boolean(inherits)),
    ];
    let file = Value::Object(vec![
        ("global".to_owned(), Value::Object(global)),
        ("tasks".to_owned(), Value::Object(tasks)),
    ]);
    // Texts, numbers and lists of them: there is nothing that could not be written.
    Ok(serde_json::to_string_pretty(&file).unwrap_or_default() + "\n")
}

/// Whole seconds, at least as long as the scenario runs; -1 where nothing says how long that is.
fn duration(experiment: &Experiment) -> i64 {
    let end = match experiment.end {
        End::At(end) => Some(end.get()),
        End::Jobs(jobs) => {
            let last = |task: &Task| {
                let all = task.release.period()?.get().saturating_mul(jobs);
                Some(task.release.offset().get().saturating_add(all))
            };
            experiment.tasks.iter().filter_map(last).max()
        }
    };
    end.and_then(|end| i64::try_from(end.div_ceil(1_000_000_000)).ok()).unwrap_or(-1)
}

/// True where mutexes inherit. Locks that nobody takes are no matter.
fn inheritance(locks: &[Lock], tasks: &[Task]) -> Result<bool, NotRtApp> {
    let used = |index: usize| {
        let own =
            |step: &Step| matches!(step, Step::Acquire(lock) | Step::Release(lock) if lock.index() == index);
        tasks.iter().any(|task| task.work.plain_steps().any(own))
    };
    let mut inherits = None;
    for (_, lock) in locks.iter().enumerate().filter(|(index, _)| used(*index)) {
        let own = match lock.protocol {
            LockProtocol::Semaphore { units: 0 } => continue,
            LockProtocol::Plain => false,
            LockProtocol::Inheritance => true,
            LockProtocol::Ceiling | LockProtocol::Semaphore { .. } => {
                return Err(NotRtApp::Lock { lock: lock.name.clone() });
            }
        };
        if inherits.is_some_and(|others| others != own) {
            return Err(NotRtApp::Lock { lock: lock.name.clone() });
        }
        inherits = Some(own);
    }
    Ok(inherits.unwrap_or(false))
}

/// Who goes by which of Linux's policies.
pub(crate) enum Ranks {
    /// `SCHED_DEADLINE`, and `SCHED_OTHER` for best effort.
    Deadline,
    /// `SCHED_FIFO` at these priorities, by task; `SCHED_OTHER` for those without.
    Fifo(Vec<Option<u64>>),
    /// `SCHED_OTHER`.
    Shared,
}

impl Ranks {
    /// The ranks of all tasks; or why Linux has none.
    pub(crate) fn of(experiment: &Experiment) -> Result<Self, NotRtApp> {
        let tasks = &experiment.tasks;
        let refused = |task: &Task| NotRtApp::Class { task: task.name.clone() };
        match experiment.policy.criterion {
            Criterion::Edf => {
                // Linux orders all its deadlines by themselves.
                let first = tasks.iter().find(|task| task.class != TaskClass::BestEffort);
                let stranger = |task: &&Task| match task.class {
                    TaskClass::BestEffort => task.deadline.is_some(),
                    class => first.is_some_and(|first| first.class != class),
                };
                tasks.iter().find(stranger).map_or(Ok(Self::Deadline), |task| Err(refused(task)))
            }
            Criterion::RoundRobin => {
                let stranger = tasks.iter().find(|task| task.class != TaskClass::BestEffort);
                stranger.map_or(Ok(Self::Shared), |task| Err(refused(task)))
            }
            Criterion::Rm => Self::fifo(tasks, |task| task.release.period().map(Duration::get), false),
            Criterion::Dm => Self::fifo(tasks, |task| task.relative_deadline().map(Duration::get), false),
            Criterion::StaticPriority | Criterion::CpuAffinity => {
                Self::fifo(tasks, |task| task.priority.map(u64::from), true)
            }
            other @ (Criterion::Llf | Criterion::Sjf | Criterion::Fcfs) => Err(NotRtApp::Criterion(other)),
        }
    }

    /// By class, then by key. Where the file's own priorities do, they stay what they are.
    fn fifo(tasks: &[Task], key: impl Fn(&Task) -> Option<u64>, own: bool) -> Result<Self, NotRtApp> {
        let keys: Vec<Option<(TaskClass, u64)>> =
            tasks.iter().map(|task| key(task).map(|key| (task.class, key))).collect();
        if let Some((task, _)) =
            tasks.iter().zip(&keys).find(|(task, key)| key.is_none() && task.class != TaskClass::BestEffort)
        {
            return Err(NotRtApp::Class { task: task.name.clone() });
        }
        let mut sorted: Vec<(TaskClass, u64)> = keys.iter().flatten().copied().collect();
        sorted.sort_unstable();
        sorted.dedup();
        let one_class = sorted.first().map(|first| first.0) == sorted.last().map(|last| last.0);
        let fits = own && one_class && sorted.iter().all(|&(_, key)| key < HIGHEST);
        if !fits && sorted.len() as u64 > HIGHEST {
            return Err(NotRtApp::Ranks(sorted.len()));
        }
        let rank = |key: &(TaskClass, u64)| {
            let place = if fits { key.1 } else { sorted.binary_search(key).unwrap_or(0) as u64 };
            HIGHEST.saturating_sub(place)
        };
        Ok(Self::Fifo(keys.iter().map(|key| key.as_ref().map(rank)).collect()))
    }
}

fn micros(task: &Task, time: Duration) -> Result<i64, NotRtApp> {
    let whole = time.get().is_multiple_of(1000).then(|| i32::try_from(time.get() / 1000).ok()).flatten();
    whole.map(i64::from).ok_or_else(|| NotRtApp::Time { task: task.name.clone(), time })
}

fn thread(experiment: &Experiment, ranks: &Ranks, index: usize, task: &Task) -> Result<Object, NotRtApp> {
    let mut own = Vec::new();
    let policy = |own: &mut Object, name: &str| put(own, "policy", Value::Text(name.to_owned()));
    match ranks {
        Ranks::Deadline if task.class != TaskClass::BestEffort => {
            policy(&mut own, "SCHED_DEADLINE");
            own.extend(reservation(experiment, task)?);
        }
        Ranks::Fifo(priorities) => match priorities.get(index).copied().flatten() {
            Some(priority) => {
                policy(&mut own, "SCHED_FIFO");
                put(&mut own, "priority", Value::Number(i64::try_from(priority).unwrap_or(1)));
            }
            None => policy(&mut own, "SCHED_OTHER"),
        },
        Ranks::Deadline | Ranks::Shared => policy(&mut own, "SCHED_OTHER"),
    }
    if let Some(cores) = cores(experiment, task) {
        put(&mut own, "cpus", Value::List(cores.iter().map(|core| core.index() as u64).collect()));
    }
    let offset = micros(task, task.release.offset())?;
    if offset > 0 {
        put(&mut own, "delay", Value::Number(offset));
    }
    own.extend(work(experiment, task)?);
    Ok(own)
}

/// What a thread reserves of its core, in whole microseconds.
fn reservation(experiment: &Experiment, task: &Task) -> Result<Object, NotRtApp> {
    let Reservation { runtime, deadline, period } = Reservation::of(experiment, task, MICROSECOND)?;
    let mut own = Vec::new();
    for (key, time) in [("dl-runtime", runtime), ("dl-deadline", deadline), ("dl-period", period)] {
        put(&mut own, key, Value::Number(micros(task, time)?));
    }
    Ok(own)
}

/// Phases in the making.
#[derive(Default)]
struct Phases {
    done: Vec<(i64, Object)>,
    /// Events of a phase that is done once.
    open: Object,
}

impl Phases {
    /// Ends the phase that is done once, if anything is in it.
    fn close(&mut self) {
        if !self.open.is_empty() {
            self.done.push((1, std::mem::take(&mut self.open)));
        }
    }
}

/// Loops, phases and events of a thread.
fn work(experiment: &Experiment, task: &Task) -> Result<Object, NotRtApp> {
    let mut own = Vec::new();
    // A task that runs once may repeat all that it does: that is the thread's loop.
    let (times, steps) = match (task.release, task.work.steps.as_slice()) {
        (Release::Once { .. }, [Step::Repeat { times, steps }]) => (rounds(task, *times)?, steps.as_slice()),
        (Release::Once { .. }, steps) => (1, steps),
        (Release::Periodic { .. } | Release::Sporadic { .. } | Release::Continuous { .. }, steps) => {
            (-1, steps)
        }
    };
    put(&mut own, "loop", Value::Number(times));
    let mut phases = Phases::default();
    for step in steps {
        match step {
            Step::Repeat { times, steps } => {
                phases.close();
                let mut events = Vec::new();
                for step in steps {
                    event(experiment, task, step, &mut events)?;
                }
                phases.done.push((rounds(task, *times)?, events));
            }
            step => event(experiment, task, step, &mut phases.open)?,
        }
    }
    if let Release::Periodic { period, .. } = task.release {
        let timer = vec![
            ("ref".to_owned(), Value::Text("unique".to_owned())),
            ("period".to_owned(), Value::Number(micros(task, period)?)),
            ("mode".to_owned(), Value::Text("absolute".to_owned())),
        ];
        put(&mut phases.open, "timer", Value::Object(timer));
    }
    if phases.done.is_empty() {
        if phases.open.is_empty() {
            put(&mut phases.open, "run0", Value::Number(0));
        }
        own.append(&mut phases.open);
        return Ok(own);
    }
    phases.close();
    let object = |(index, (times, mut events)): (usize, (i64, Object))| {
        if events.is_empty() {
            put(&mut events, "run0", Value::Number(0));
        }
        let mut phase = vec![("loop".to_owned(), Value::Number(times))];
        phase.append(&mut events);
        (format!("p{index}"), Value::Object(phase))
    };
    put(&mut own, "phases", Value::Object(phases.done.into_iter().enumerate().map(object).collect()));
    Ok(own)
}

fn rounds(task: &Task, times: u32) -> Result<i64, NotRtApp> {
    let whole = i32::try_from(times).ok().filter(|times| *times > 0);
    whole.map(i64::from).ok_or_else(|| NotRtApp::Repeat { task: task.name.clone() })
}

/// A step as an event, with a number that makes its key the only one.
fn event(experiment: &Experiment, task: &Task, step: &Step, events: &mut Object) -> Result<(), NotRtApp> {
    let lock = |id: &LockId| experiment.locks.get(id.index());
    let name = |id: &LockId| Value::Text(lock(id).map_or_else(String::new, |lock| lock.name.clone()));
    let counts =
        |id: &LockId| lock(id).is_some_and(|lock| matches!(lock.protocol, LockProtocol::Semaphore { .. }));
    let (kind, value) = match step {
        Step::Compute(span) | Step::Sleep(span) => {
            if span.least != span.most {
                return Err(NotRtApp::Drawn { task: task.name.clone() });
            }
            let kind = if matches!(step, Step::Compute(_)) { "run" } else { "sleep" };
            (kind, Value::Number(micros(task, span.most)?))
        }
        Step::Acquire(id) => (if counts(id) { "sem_wait" } else { "lock" }, name(id)),
        Step::Release(id) => (if counts(id) { "sem_post" } else { "unlock" }, name(id)),
        Step::Execute(execute) if execute.touch.is_none() => {
            ("run", Value::Number(micros(task, execute.on_reference)?))
        }
        Step::Execute(_)
        | Step::Touch(_)
        | Step::Replay(_)
        | Step::Allocate { .. }
        | Step::Free(_)
        | Step::Flush(_) => {
            return Err(NotRtApp::Memory { task: task.name.clone() });
        }
        Step::Repeat { .. } => return Err(NotRtApp::Repeat { task: task.name.clone() }),
        Step::Command(_) => return Err(NotRtApp::Command { task: task.name.clone() }),
    };
    let key = format!("{kind}{}", events.len());
    put(events, &key, value);
    Ok(())
}
