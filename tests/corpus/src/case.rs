//! A case and how it is read from its file.

use crate::budget::{BUFFER, BudgetFile};
use crate::listen::{self, MonitorFile};
use crate::parse::{self, ParseError};
use crate::schedule::{Schedule, Segment};
use crate::windows::{self, CycleFile};
use serde::Deserialize;
use solo_ideal::ideal_platform;
use solo_model::experiment::End;
use solo_model::isolation::Regulation;
use solo_model::partition::Partitions;
use solo_model::policy::{Policy, Timing};
use solo_model::task::Release;
use solo_model::text::Unnumbered;
use solo_model::work::{Buffer, Lock, LockProtocol, Work};
use solo_model::{CoreId, CoreSet, Duration, Experiment, Listening, Migration, Task, TaskClass, TaskId};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A job by the position of its task and its own index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct JobName {
    /// The task.
    pub task: TaskId,
    /// The index among its jobs, from 0.
    pub index: u64,
}

/// What must happen in a case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expectation {
    /// Who runs where and when, where the case says so.
    pub schedule: Option<Schedule>,
    /// All jobs that miss their deadlines before the horizon, ascending.
    pub misses: Vec<JobName>,
    /// The longest response time among the finished jobs of some tasks.
    pub responses: Vec<(TaskId, Duration)>,
    /// The number of reschedule requests, where it counts.
    pub ipis: Option<u64>,
    /// How often jobs went on on another core than they had left, in finished jobs.
    pub migrations: Option<u64>,
    /// How often jobs lost their core to another, in finished jobs.
    pub preemptions: Option<u64>,
}

/// A scheduling case: a machine, a policy, tasks, and what must happen.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// The name of the file without its ending.
    pub name: String,
    /// What the case shows, in a sentence.
    pub shows: String,
    /// Where it comes from.
    pub source: String,
    /// The number of cores.
    pub cores: usize,
    /// The policy.
    pub policy: Policy,
    /// The tasks.
    pub tasks: Vec<Task>,
    /// The locks.
    pub locks: Vec<Lock>,
    /// Bandwidth budgets, where the case has some. Each access to memory counts.
    pub budgets: Option<Regulation>,
    /// What the scheduler listens to, where it does; counts are written down.
    pub listening: Option<Listening>,
    /// The windows of partitions, where time is divided.
    pub partitions: Option<Partitions>,
    /// The end of the run.
    pub horizon: Duration,
    /// The outcome is decided by events of the very same instant, so that only a machine whose kernel paths cost
    /// nothing reproduces it.
    pub exact: bool,
    /// What must happen.
    pub expect: Expectation,
}

/// Why a case could not be loaded.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {kind}")]
pub struct LoadError {
    /// The file or folder.
    pub path: PathBuf,
    /// What was wrong with it.
    pub kind: LoadErrorKind,
}

/// What was wrong with a case file.
#[derive(Debug, thiserror::Error)]
pub enum LoadErrorKind {
    /// It can't be read.
    #[error("{}", Unnumbered(.0))]
    Io(#[from] std::io::Error),
    /// It is not TOML of the right shape.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    /// A string in it can't be understood.
    #[error("{0}")]
    Parse(#[from] ParseError),
}

/// The corpus of this repository.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")
}

/// All cases of a folder, by their names.
///
/// # Errors
/// At the first file that is not a case.
pub fn load_folder(folder: &Path) -> Result<Vec<Case>, LoadError> {
    let fail = |error: std::io::Error| LoadError { path: folder.to_owned(), kind: error.into() };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            files.push(path);
        }
    }
    files.sort();
    files.iter().map(|file| Case::load(file)).collect()
}

impl Case {
    /// Reads a case from its file.
    ///
    /// # Errors
    /// If the file can't be read or is not a case.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let read = || Self::parse(&name, &std::fs::read_to_string(path)?);
        read().map_err(|kind| LoadError { path: path.to_owned(), kind })
    }

    /// Reads a case from its text.
    ///
    /// # Errors
    /// If the text is not a case.
    pub fn parse(name: &str, text: &str) -> Result<Self, LoadErrorKind> {
        let file: CaseFile = toml::from_str(text)?;
        Ok(file.resolve(name)?)
    }

    /// The case as an experiment on an ideal chip: kernel paths cost nothing and jobs only compute.
    pub fn experiment(&self) -> Experiment {
        let (platform, end) = (ideal_platform(self.cores), End::At(self.horizon));
        Experiment {
            buffers: self.buffers(),
            locks: self.locks.clone(),
            isolation: solo_model::Isolation {
                bandwidth: self.budgets.clone(),
                partitions: self.partitions.clone(),
                ..solo_model::Isolation::default()
            },
            listening: self.listening.clone(),
            seed: 0,
            ..Experiment::new(&self.name, platform, self.policy.clone(), self.tasks.clone(), end)
        }
    }

    /// A buffer for each task where any touches memory.
    fn buffers(&self) -> Vec<Buffer> {
        let buffer = |task: &Task| Buffer { name: task.name.clone(), size: BUFFER };
        let any = self.tasks.iter().any(|task| task.work.touches_memory());
        if any { self.tasks.iter().map(buffer).collect() } else { Vec::new() }
    }

    /// The name of a task.
    pub(crate) fn task_name(&self, task: TaskId) -> &str {
        self.tasks.get(task.index()).map_or("?", |task| &task.name)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    shows: String,
    source: String,
    cores: usize,
    policy: String,
    clusters: Option<Vec<Vec<u16>>>,
    tick: Option<String>,
    quantum: Option<String>,
    horizon: String,
    #[serde(default)]
    exact: bool,
    budget: Option<BudgetFile>,
    /// The tasks of each partition.
    #[serde(default)]
    partitions: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    cycle: Vec<CycleFile>,
    monitor: Option<MonitorFile>,
    /// By core, what its counter reads when.
    #[serde(default)]
    counts: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    lock: Vec<LockFile>,
    #[serde(default)]
    task: Vec<TaskFile>,
    expect: ExpectFile,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LockFile {
    name: String,
    protocol: String,
    units: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskFile {
    name: String,
    class: Option<String>,
    release: Option<String>,
    period: Option<String>,
    offset: Option<String>,
    deadline: Option<String>,
    wcet: Option<String>,
    priority: Option<u32>,
    core: Option<u16>,
    migrate: Option<String>,
    /// So many tasks of this kind, NAME0 and so on, in turns on all cores where they have one.
    count: Option<u16>,
    /// By how much the offset of each grows over that of the one before.
    stagger: Option<String>,
    steps: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectFile {
    schedule: Option<Vec<String>>,
    #[serde(default)]
    misses: Vec<String>,
    #[serde(default)]
    responses: BTreeMap<String, String>,
    ipis: Option<u64>,
    migrations: Option<u64>,
    preemptions: Option<u64>,
}

impl CaseFile {
    fn resolve(self, name: &str) -> Result<Case, ParseError> {
        if self.cores > CoreSet::CAPACITY {
            return Err(ParseError::Core(u16::try_from(self.cores).unwrap_or(u16::MAX)));
        }
        let (scope, criterion) = parse::policy(&self.policy, self.clusters.as_deref())?;
        let timing = match self.tick.as_deref() {
            Some(tick) => Timing::Tick(parse::time(tick)?),
            None => Timing::OneShot,
        };
        let quantum = self.quantum.as_deref().map(parse::time).transpose()?;
        let lock_names: Vec<_> = self.lock.iter().map(|lock| lock.name.clone()).collect();
        let locks = self.lock.into_iter().map(LockFile::resolve).collect::<Result<_, _>>()?;
        let mut tasks = Vec::new();
        for task in self.task {
            task.resolve(&lock_names, self.cores, &mut tasks)?;
        }
        let budgets = self.budget.map(BudgetFile::resolve).transpose()?;
        let listening = listen::resolve(self.monitor, &self.counts, self.cores, budgets.is_some())?;
        let partitions = windows::resolve(&self.partitions, &self.cycle, &tasks)?;
        let expect = self.expect.resolve(self.cores, &tasks)?;
        Ok(Case {
            name: name.to_owned(),
            shows: self.shows,
            source: self.source,
            cores: self.cores,
            policy: Policy { timing, quantum, ..Policy::new(scope, criterion) },
            tasks,
            locks,
            budgets,
            listening,
            partitions,
            horizon: parse::time(&self.horizon)?,
            exact: self.exact,
            expect,
        })
    }
}

impl LockFile {
    fn resolve(self) -> Result<Lock, ParseError> {
        let allowed = "semaphore, plain, inheritance, ceiling";
        let protocol = match self.protocol.as_str() {
            "semaphore" => LockProtocol::Semaphore { units: self.units.unwrap_or(0) },
            "plain" => LockProtocol::Plain,
            "inheritance" => LockProtocol::Inheritance,
            "ceiling" => LockProtocol::Ceiling,
            _ => return Err(ParseError::Choice { value: self.protocol, allowed: allowed.to_owned() }),
        };
        Ok(Lock { name: self.name, protocol })
    }
}

impl TaskFile {
    /// Appends the task, or the family of tasks, that this entry stands for.
    fn resolve(self, locks: &[String], cores: usize, tasks: &mut Vec<Task>) -> Result<(), ParseError> {
        let class = self.class.as_deref().map_or(Ok(TaskClass::Hard), parse::class)?;
        let time = |text: &Option<String>| text.as_deref().map(parse::time).transpose();
        let offset = time(&self.offset)?.unwrap_or_default();
        let release = match (self.release.as_deref(), time(&self.period)?) {
            (None, Some(period)) => Release::Periodic { offset, period },
            (Some("once"), None) => Release::Once { offset },
            (Some("continuous"), None) => Release::Continuous { offset },
            _ => return Err(ParseError::Release(self.name)),
        };
        let migrate = match self.migrate {
            None => None,
            Some(word) if word == Migration::EachPeriod.name() => Some(Migration::EachPeriod),
            Some(value) => {
                let allowed = Migration::EachPeriod.name().to_owned();
                return Err(ParseError::Choice { value, allowed });
            }
        };
        let stagger = time(&self.stagger)?.unwrap_or_default();
        for member in 0..self.count.unwrap_or(1) {
            let at = tasks.len();
            let step = |step: &String| parse::step(step, locks, at);
            let turn = |core: u16| (usize::from(core) + usize::from(member)) % cores.max(1);
            let name =
                if self.count.is_some() { format!("{}{member}", self.name) } else { self.name.clone() };
            tasks.push(Task {
                name,
                class,
                release: later(release, stagger * u64::from(member)),
                deadline: time(&self.deadline)?,
                misses: None,
                migrate,
                wcet: time(&self.wcet)?,
                priority: self.priority.map(|priority| priority + u32::from(member)),
                core: self
                    .core
                    .map(|core| if self.count.is_some() { turn(core) as u16 } else { core })
                    .map(CoreId),
                work: Work { steps: self.steps.iter().map(step).collect::<Result<_, _>>()? },
            });
        }
        Ok(())
    }
}

/// The same release, so much later.
fn later(release: Release, by: Duration) -> Release {
    match release {
        Release::Periodic { offset, period } => Release::Periodic { offset: offset + by, period },
        Release::Once { offset } => Release::Once { offset: offset + by },
        Release::Continuous { offset } => Release::Continuous { offset: offset + by },
        Release::Sporadic { .. } => release,
    }
}

impl ExpectFile {
    fn resolve(self, cores: usize, tasks: &[Task]) -> Result<Expectation, ParseError> {
        let find = |name: &str| {
            let position = tasks.iter().position(|task| task.name == name);
            position.map(|at| TaskId(at as u32)).ok_or_else(|| ParseError::Task(name.to_owned()))
        };
        let mut misses = Vec::new();
        for text in &self.misses {
            let (task, index) = parse::job(text)?;
            misses.push(JobName { task: find(task)?, index });
        }
        misses.sort_unstable();
        let mut responses = Vec::new();
        for (task, time) in &self.responses {
            responses.push((find(task)?, parse::time(time)?));
        }
        let schedule = self.schedule.map(|lines| {
            let mut schedule = Schedule::idle(cores);
            for line in &lines {
                let (core, segments) = parse::schedule_line(line)?;
                let row = schedule.cores.get_mut(core.index()).ok_or(ParseError::Core(core.0))?;
                for (from, to, task) in segments {
                    row.push(Segment { from, to, task: find(task)? });
                }
            }
            Ok(schedule)
        });
        Ok(Expectation {
            schedule: schedule.transpose()?,
            misses,
            responses,
            ipis: self.ipis,
            migrations: self.migrations,
            preemptions: self.preemptions,
        })
    }
}
