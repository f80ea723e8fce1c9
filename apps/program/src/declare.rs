//! What a program consists of: said once, before anything runs.

use crate::limits::{COLORS, MOST_THREADS};
use crate::locks::{Declared as Declaration, Lock, Mutex, Protocol, Semaphore};
use crate::memory;
use crate::system;
use crate::wait_next;
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use solo_bare::rtos::program::{Body, Declared};
use solo_model::check::LONGEST;
use solo_model::experiment::End;
use solo_model::fixtures::{cache, chip};
use solo_model::isolation::{ColorOwner, Coloring};
use solo_model::platform::Contents;
use solo_model::policy::Parameter;
use solo_model::task::Release;
use solo_model::work::{self, LockProtocol, Step};
use solo_model::{
    Color, CoreId, Criterion, Duration, Experiment, LockId, Platform, Policy, Scope, Task, TaskClass, TaskId,
};

/// The cache that [`COLORS`] are of.
const CACHE_KIB: u64 = 2048;
const CACHE_WAYS: u16 = 16;
const CACHE_CYCLES: u64 = 30;

/// How long a program runs unless it says otherwise.
const USUAL: Duration = Duration::from_secs(1);

/// What a thread is declared with, whatever releases it.
#[derive(Clone, Debug)]
pub struct Parameters {
    class: TaskClass,
    release: Release,
    deadline: Option<Duration>,
    wcet: Option<Duration>,
    priority: Option<u32>,
    core: CoreId,
    color: Option<Color>,
    uses: Vec<LockId>,
    allow: u64,
}

impl Parameters {
    fn new(class: TaskClass, release: Release) -> Self {
        let (deadline, wcet, priority, color) = (None, None, None, None);
        Self { class, release, deadline, wcet, priority, core: CoreId(0), color, uses: Vec::new(), allow: 0 }
    }
}

/// What all threads have in common.
macro_rules! parameters {
    ($type:ident) => {
        impl $type {
            /// It runs on this core, of which 0 is the first; without, on core 0.
            #[must_use]
            pub fn core(mut self, core: u16) -> Self {
                self.0.core = CoreId(core);
                self
            }

            /// Its priority under [`Criterion::StaticPriority`], 0 the most urgent.
            #[must_use]
            pub fn priority(mut self, priority: u32) -> Self {
                self.0.priority = Some(priority);
                self
            }

            /// Its worst-case execution time, for criteria that order by it.
            #[must_use]
            pub fn wcet(mut self, wcet: Duration) -> Self {
                self.0.wcet = Some(wcet);
                self
            }

            /// Its stack and what it allocates come from pages of this color, 0 to 31. Two hard threads on different cores can't
            /// share one.
            #[must_use]
            pub fn color(mut self, color: u16) -> Self {
                self.0.color = Some(Color(color));
                self
            }

            /// It uses this lock. A thread that takes another one is ended.
            #[must_use]
            pub fn uses(mut self, lock: impl Lock) -> Self {
                self.0.uses.push(lock.number());
                self.0.allow |= 1 << lock.number().index();
                self
            }

            /// It runs on what all others leave, without a deadline.
            #[must_use]
            pub fn best_effort(mut self) -> Self {
                self.0.class = TaskClass::BestEffort;
                self
            }
        }

        impl From<$type> for Parameters {
            fn from(thread: $type) -> Self {
                thread.0
            }
        }
    };
}

/// What threads with jobs one after the other have in common.
macro_rules! recurring {
    ($type:ident) => {
        impl $type {
            /// A job is due so long after its release.
            #[must_use]
            pub fn deadline(mut self, deadline: Duration) -> Self {
                self.0.deadline = Some(deadline);
                self
            }

            /// Deadlines may be missed; misses are counted.
            #[must_use]
            pub fn soft(mut self) -> Self {
                self.0.class = TaskClass::Soft;
                self
            }
        }

        parameters!($type);
    };
}

/// A thread that is released once each period (thesis 2.3, Fig. 38). Its deadline is hard, and its period unless
/// [`deadline`](Self::deadline) says otherwise.
#[derive(Clone, Debug)]
pub struct Periodic(Parameters);

impl Periodic {
    /// Released at 0 and once each `period`; above zero.
    pub fn new(period: Duration) -> Self {
        Self(Parameters::new(TaskClass::Hard, Release::Periodic { offset: Duration::ZERO, period }))
    }

    /// Its first release comes so long after the beginning of the run.
    #[must_use]
    pub fn offset(mut self, offset: Duration) -> Self {
        if let Release::Periodic { offset: own, .. } = &mut self.0.release {
            *own = offset;
        }
        self
    }
}

recurring!(Periodic);

/// A thread that is released once, at the beginning, and runs to its end. Without a deadline, on what all others leave, unless
/// [`soft`](Self::soft) says otherwise.
#[derive(Clone, Debug)]
pub struct Thread(Parameters);

impl Thread {
    /// Released at 0.
    #[expect(clippy::new_without_default, reason = "as all threads are made")]
    pub fn new() -> Self {
        Self(Parameters::new(TaskClass::BestEffort, Release::Once { offset: Duration::ZERO }))
    }

    /// It is due so long after the beginning, and ordered like the other soft threads.
    #[must_use]
    pub fn soft(mut self, deadline: Duration) -> Self {
        (self.0.class, self.0.deadline) = (TaskClass::Soft, Some(deadline));
        self
    }
}

parameters!(Thread);

/// A thread whose jobs other threads ask for by its [`Trigger`], none sooner than a least distance after the one before. Its deadline is
/// hard, and the distance unless [`deadline`](Self::deadline) says otherwise.
#[derive(Clone, Debug)]
pub struct Sporadic(Parameters);

impl Sporadic {
    /// Released as it is asked for, with `distance` between two releases or more; above zero.
    pub fn new(distance: Duration) -> Self {
        Self(Parameters::new(TaskClass::Hard, Release::Sporadic { distance }))
    }
}

recurring!(Sporadic);

/// What asks for jobs of a [`Sporadic`] thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trigger(TaskId);

impl Trigger {
    /// A job is released now, or as soon as the least distance has passed since the one before; while one is held back so, nothing more is.
    /// Outside of threads nothing happens.
    pub fn fire(self) {
        self.fire_after(Duration::ZERO);
    }

    /// The same, so much later, at most 100 days. One such request is kept at a time, the first to come; [`Trigger::fire`] does not wait for it.
    pub fn fire_after(self, time: Duration) {
        system::trigger(self.0, time.min(LONGEST));
    }
}

/// A thread and what it does.
struct Role {
    name: String,
    parameters: Parameters,
    body: Body,
}

/// A program that is being declared.
///
/// Without a word it is partitioned, deadline monotonic, and runs for a second.
pub struct Program {
    name: String,
    cores: usize,
    policy: Policy,
    end: End,
    roles: Vec<Role>,
    locks: Vec<work::Lock>,
    declarations: Vec<Declaration>,
    /// What is wrong, in words.
    wrong: Vec<String>,
}

impl Program {
    /// What `declare` says, for a machine with so many cores; or what is wrong with it.
    #[doc(hidden)]
    pub fn declared(name: &str, cores: usize, declare: fn(&mut Self)) -> Result<Declared, String> {
        let mut program = Self {
            name: name.to_owned(),
            cores,
            policy: Policy::new(Scope::Partitioned, Criterion::Dm),
            end: End::At(USUAL),
            roles: Vec::new(),
            locks: Vec::new(),
            declarations: Vec::new(),
            wrong: Vec::new(),
        };
        declare(&mut program);
        program.finish()
    }

    /// How threads share cores. As a process of Linux only criteria of fixed priorities can be had.
    pub fn policy(&mut self, scope: Scope, criterion: Criterion) {
        self.policy = Policy::new(scope, criterion);
        self.policy.quantum = criterion.facts().quantum.map(|(quantum, _)| quantum);
    }

    /// It ends at this time.
    pub fn run_for(&mut self, time: Duration) {
        self.end = End::At(time);
    }

    /// It ends when each periodic thread has finished so many jobs.
    pub fn jobs(&mut self, jobs: u64) {
        self.end = End::Jobs(jobs);
    }

    /// A counting semaphore with so many units at the beginning.
    pub fn semaphore(&mut self, name: &str, units: u32) -> Semaphore {
        Semaphore(self.lock(name, LockProtocol::Semaphore { units }))
    }

    /// A mutex.
    pub fn mutex(&mut self, name: &str, protocol: Protocol) -> Mutex {
        Mutex::new(self.lock(
            name,
            match protocol {
                Protocol::Plain => LockProtocol::Plain,
                Protocol::Inheritance => LockProtocol::Inheritance,
                Protocol::Ceiling => LockProtocol::Ceiling,
            },
        ))
    }

    /// A thread that does `body` when it is released for the first time, on a stack of 16 KiB. It waits for its next release by
    /// [`wait_next`], and ends where `body` returns.
    pub fn thread(
        &mut self,
        name: &str,
        parameters: impl Into<Parameters>,
        body: impl FnOnce() + Send + 'static,
    ) {
        self.roles.push(Role { name: name.to_owned(), parameters: parameters.into(), body: Box::new(body) });
    }

    /// A thread that does `body` when it is asked for the first time, and waits for the next time by [`wait_next`]. Returns what asks for it.
    pub fn sporadic(
        &mut self,
        name: &str,
        parameters: Sporadic,
        body: impl FnOnce() + Send + 'static,
    ) -> Trigger {
        let task = TaskId(self.roles.len() as u32);
        self.thread(name, parameters, body);
        Trigger(task)
    }

    /// A thread that calls `handler` at each of its releases.
    pub fn alarm(
        &mut self,
        name: &str,
        parameters: impl Into<Parameters>,
        mut handler: impl FnMut() + Send + 'static,
    ) {
        self.thread(name, parameters, move || {
            loop {
                handler();
                wait_next();
            }
        });
    }

    /// Notes what who declares for another language found wrong: the program is refused for it.
    #[doc(hidden)]
    pub fn refuse(&mut self, why: String) {
        self.wrong.push(why);
    }

    fn lock(&mut self, name: &str, protocol: LockProtocol) -> Declaration {
        let declaration = Declaration::new(LockId(self.locks.len() as u16));
        self.locks.push(work::Lock { name: name.to_owned(), protocol });
        self.declarations.push(declaration);
        declaration
    }

    fn finish(mut self) -> Result<Declared, String> {
        self.check();
        if !self.wrong.is_empty() {
            return Err(self.wrong.join("; "));
        }
        let cores = self.roles.iter().map(|role| role.parameters.core.index() + 1).max().unwrap_or(1);
        let tasks = self.roles.iter().map(task).collect();
        let mut experiment = Experiment::new(&self.name, platform(cores), self.policy, tasks, self.end);
        experiment.locks = self.locks;
        experiment.isolation.memory = coloring(&self.roles);
        for (thread, role) in self.roles.iter().enumerate() {
            for lock in &role.parameters.uses {
                self.declarations[lock.index()].allow(thread);
            }
        }
        Ok(Declared { experiment, bodies: self.roles.into_iter().map(|role| role.body).collect() })
    }

    /// Notes all that is wrong.
    fn check(&mut self) {
        let mut wrong = Vec::new();
        if self.roles.is_empty() {
            wrong.push(format!("program `{}` declares no thread: Program::thread declares one", self.name));
        }
        if self.roles.len() > MOST_THREADS {
            wrong.push(format!(
                "{} threads are declared, at most {MOST_THREADS} are possible",
                self.roles.len()
            ));
        }
        for (index, Role { name, parameters, .. }) in self.roles.iter().enumerate() {
            if self.roles[..index].iter().any(|other| other.name == *name) {
                wrong.push(format!("two threads are called `{name}`: each needs a name of its own"));
            }
            let (core, cores) = (parameters.core.index(), self.cores);
            if core >= cores {
                wrong.push(format!(
                    "thread `{name}` is to run on core {core}: this machine has cores 0 to {}",
                    cores.saturating_sub(1)
                ));
            }
            if let Some(color) = parameters.color.filter(|color| color.0 >= COLORS) {
                wrong.push(format!("thread `{name}` wants color {}: there are 0 to {}", color.0, COLORS - 1));
            }
            if parameters.release.period().is_some_and(Duration::is_zero) {
                let what = if parameters.release.is_periodic() { "period" } else { "least distance" };
                wrong.push(format!(
                    "thread `{name}` has a {what} of zero: it would be released for ever at once"
                ));
            }
            if self.policy.criterion.needs(Parameter::Priority)
                && parameters.priority.is_none()
                && parameters.class != TaskClass::BestEffort
            {
                wrong.push(format!("thread `{name}` has no priority, by which FP orders: add .priority(0)"));
            }
        }
        self.wrong.append(&mut wrong);
    }
}

/// A thread in the words of scenarios: what it does is code, of which only the locks are told.
fn task(role: &Role) -> Task {
    let Parameters { class, release, deadline, wcet, priority, core, uses, .. } = role.parameters.clone();
    let steps = uses.into_iter().flat_map(|lock| [Step::Acquire(lock), Step::Release(lock)]).collect();
    let work = work::Work { steps };
    let (core, priority) = (Some(core), priority.or(Some(0)));
    Task { deadline, wcet, priority, core, work, ..Task::new(role.name.clone(), class, release) }
}

/// Equal cores, and a last level whose colors pages have.
fn platform(cores: usize) -> Platform {
    let mut platform = chip(cores);
    let last_level = cache(2, Contents::Unified, platform.core_set(), CACHE_KIB, CACHE_WAYS, CACHE_CYCLES);
    platform.name = "program".into();
    platform.caches.push(last_level);
    platform
}

/// The colors of threads, where some have one. Their heaps are the groups behind that of all others.
fn coloring(roles: &[Role]) -> Option<Coloring> {
    let mut owners = Vec::new();
    for (thread, role) in roles.iter().enumerate() {
        let Some(color) = role.parameters.color else { continue };
        owners.push(ColorOwner {
            task: TaskId(thread as u32),
            colors: alloc::vec![color],
            banks: Vec::new(),
        });
        memory::open(color, owners.len() as u16);
    }
    (!owners.is_empty()).then(|| Coloring { owners, ..Coloring::default() })
}
