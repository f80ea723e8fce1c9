//! The ideal machine: exact times, kernel paths that cost nothing, reschedule requests that arrive after a
//! latency of the caller's choice.
//!
//! At one instant, jobs make progress first (they finish, take and give back locks), then reschedule requests
//! arrive, then timers interrupt; each in the order of the cores. So a job that needs exactly the time until a
//! release is finished by then and not preempted with nothing left to do.
#![forbid(unsafe_code)]

mod platform;

pub use platform::ideal_platform;

use solo_hal::{
    Checked, CounterId, Edge, Faults, Faulty, Injected, InterruptController, Lack, Pmu, PmuError, Probe,
    Recorder, ScriptedCounters, Timer,
};
use solo_kernel::{Criterion, Kernel, KernelConfig, PolicyRefusal, Switch, Visitor};
pub use solo_kernel::{Interrupts, ListeningConfig};
use solo_model::experiment::End;
use solo_model::work::{Step, Visit, Work};
use solo_model::{
    Caps, CoreId, CoreSet, Duration, EventId, EventSet, Execute, Experiment, Instant, LockId, Overhead,
    Record, RelativeSpeed, ThreadId,
};
use std::collections::VecDeque;

/// Operations without any progress of time after which a run is given up.
const PATIENCE: u32 = 100_000;

/// What may be chosen about the ideal machine.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct IdealOptions {
    /// How long reschedule requests take: the first takes the first latency, and so on in a circle. Empty for
    /// requests that arrive at once.
    pub ipi_latencies: Vec<Duration>,
    /// What is wrong with the machine.
    pub faults: Faults,
    /// A policy that listens, instead of the experiment's own.
    pub listening: Option<ListeningConfig>,
}

/// Why an experiment could not be run.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RunError {
    /// The policy can't run these tasks.
    #[error("{0}")]
    Refused(#[from] PolicyRefusal),
    /// The ideal machine can't do what the experiment needs.
    #[error("the ideal machine: {0}")]
    Lacks(Lack),
    /// Memory means nothing to the ideal machine, but as what counts against a budget.
    #[error(
        "a task touches memory or replays a program, and no budget counts it: the ideal machine has no memory"
    )]
    TouchesMemory,
    /// The experiment ends after a number of jobs.
    #[error("the ideal machine ends at a time, not after a number of jobs")]
    NoHorizon,
    /// A task does nothing for ever.
    #[error("at {0} tasks go on and on without any time passing")]
    NoProgress(Instant),
}

/// What came out of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// The records, in the order of their times.
    pub records: Vec<Record>,
    /// How often each kernel path was taken, in the order of [`Overhead::ALL`].
    pub paths: [u64; Overhead::COUNT],
}

/// Runs `experiment` to its end.
///
/// # Errors
/// If the experiment is not one for this machine, or the policy refuses it.
pub fn run(experiment: &Experiment, options: &IdealOptions) -> Result<Run, RunError> {
    struct Start<'e>(&'e Experiment, &'e IdealOptions);
    impl Visitor for Start<'_> {
        type Output = Result<Run, RunError>;
        fn visit<C: Criterion>(self) -> Self::Output {
            Ideal::<C>::new(self.0, self.1)?.run()
        }
    }
    solo_kernel::dispatch(experiment.policy.criterion, Start(experiment, options))
}

/// The abilities of an ideal machine with `cores` cores.
///
/// # Panics
/// Above [`CoreSet::CAPACITY`] cores.
pub fn caps(cores: usize) -> Caps {
    // Accesses are counted where budgets count them, and refused elsewhere with a reason of their own.
    Caps { threads_max: 100_000, memory: true, ..Caps::plain(cores) }
}

/// An operation of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operation {
    Compute(Duration),
    Acquire(LockId),
    Release(LockId),
    Sleep(Duration),
    /// An access to memory: it takes no time and is counted.
    Access,
}

/// What a thread has still to do in its job.
#[derive(Clone, Debug)]
struct Program {
    operations: Vec<Operation>,
    /// The next operation.
    at: usize,
    /// What is left of the computation before it, on a core of this speed.
    left: Duration,
    speed: RelativeSpeed,
}

/// Timers, requests on their way, records.
#[derive(Clone, Debug)]
struct Hardware {
    timers: Vec<Option<Instant>>,
    /// For each core the arrivals of requests; those that have not arrived are not merged.
    requests: Vec<VecDeque<Instant>>,
    latencies: Vec<Duration>,
    sent: usize,
    records: Vec<Record>,
    paths: [u64; Overhead::COUNT],
    /// Accesses to memory, by core.
    accesses: Vec<u64>,
    /// At which count each core's counter interrupts.
    interrupts_at: Vec<Option<u64>>,
    /// What the counters read, where the experiment says so.
    script: Option<ScriptedCounters>,
    /// The time of the kernel's entry.
    now: Instant,
}

/// A counter for each core, of accesses to memory.
impl solo_hal::CacheControl for Hardware {}

impl Pmu for Hardware {
    fn configure(&mut self, core: CoreId, counter: CounterId, event: EventId) -> Result<(), PmuError> {
        if let Some(script) = &mut self.script {
            return script.configure(core, counter, event, self.now);
        }
        self.interrupts_at[core.index()] = None;
        Ok(())
    }
    fn read(&self, core: CoreId, counter: CounterId) -> Result<u64, PmuError> {
        match &self.script {
            Some(script) => script.read(core, counter, self.now),
            None => Ok(self.accesses[core.index()]),
        }
    }
    fn write(&mut self, core: CoreId, counter: CounterId, value: u64) -> Result<(), PmuError> {
        match &mut self.script {
            Some(script) => script.write(core, counter, value, self.now),
            // Only budgets have counters here, and they never set one.
            None => Err(PmuError::NoSuchCounter { counter, counters: 1 }),
        }
    }
    fn interrupt_after(&mut self, core: CoreId, _counter: CounterId, events: u64) -> Result<(), PmuError> {
        self.interrupts_at[core.index()] = self.accesses[core.index()].checked_add(events);
        Ok(())
    }
}

impl Hardware {
    /// Counts an access of `core`. True where its counter interrupts.
    fn count(&mut self, core: CoreId) -> bool {
        self.accesses[core.index()] += 1;
        let due = self.interrupts_at[core.index()].is_some_and(|at| at <= self.accesses[core.index()]);
        if due {
            self.interrupts_at[core.index()] = None;
        }
        due
    }
}

impl Timer for Hardware {
    fn arm(&mut self, core: CoreId, at: Instant) {
        self.timers[core.index()] = Some(at);
    }
    fn disarm(&mut self, core: CoreId) {
        self.timers[core.index()] = None;
    }
}

impl InterruptController for Hardware {
    fn send_reschedule(&mut self, _from: CoreId, to: CoreId, now: Instant) {
        let latency =
            self.latencies.get(self.sent % self.latencies.len().max(1)).copied().unwrap_or_default();
        self.sent += 1;
        self.requests[to.index()].push_back(now + latency);
    }
}

impl Probe for Hardware {
    fn probe(&mut self, _core: CoreId, overhead: Overhead, edge: Edge) {
        if edge == Edge::Enter
            && let Some(path) = Overhead::ALL.iter().position(|&other| other == overhead)
        {
            self.paths[path] += 1;
        }
    }
}

impl Recorder for Hardware {
    fn record(&mut self, _core: CoreId, record: Record) {
        self.records.push(record);
    }
}

/// The ideal machine with the kernel on it, to be stepped from one instant to the next.
#[derive(Clone, Debug)]
pub struct Ideal<C> {
    kernel: Kernel<C>,
    hardware: Hardware,
    programs: Vec<Program>,
    cores: CoreSet,
    /// How fast each computes.
    speeds: Vec<RelativeSpeed>,
    now: Instant,
    horizon: Instant,
    started: bool,
    faults: Injected,
}

impl<C: Criterion> Ideal<C> {
    /// The machine before its start.
    ///
    /// # Errors
    /// If the experiment is not one for this machine, or the policy refuses it.
    pub fn new(experiment: &Experiment, options: &IdealOptions) -> Result<Self, RunError> {
        let cores = experiment.platform.cores.len().min(CoreSet::CAPACITY);
        let End::At(horizon) = experiment.end else { return Err(RunError::NoHorizon) };
        let counts = experiment.isolation.bandwidth.is_some();
        let mut programs = Vec::new();
        for task in &experiment.tasks {
            let operations = compile(&task.work, counts)?;
            programs.push(Program {
                operations,
                at: 0,
                left: Duration::ZERO,
                speed: RelativeSpeed::REFERENCE,
            });
        }
        let mut caps = caps(cores);
        if counts {
            caps.counters = 1;
            caps.counter_overflow = true;
            caps.countable = EventSet::ALL;
        }
        let caps = ScriptedCounters::lend(experiment, caps);
        solo_hal::admit(experiment, &caps).map_err(RunError::Lacks)?;
        let mut config = KernelConfig::from_experiment(experiment)?;
        config.listening = options.listening.clone().or(config.listening);
        let kernel = Kernel::new(config, &caps)?;
        let hardware = Hardware {
            timers: vec![None; cores],
            requests: vec![VecDeque::new(); cores],
            latencies: options.ipi_latencies.clone(),
            sent: 0,
            records: Vec::new(),
            paths: [0; Overhead::COUNT],
            accesses: vec![0; cores],
            interrupts_at: vec![None; cores],
            script: ScriptedCounters::of(experiment),
            now: Instant::ZERO,
        };
        Ok(Self {
            kernel,
            hardware,
            programs,
            cores: CoreSet::first(cores),
            speeds: CoreSet::first(cores).iter().map(|core| experiment.platform.speed(core)).collect(),
            now: Instant::ZERO,
            horizon: Instant::ZERO + horizon,
            started: false,
            faults: Injected::new(options.faults),
        })
    }

    /// The kernel, to look at.
    pub fn kernel(&self) -> &Kernel<C> {
        &self.kernel
    }

    /// The time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// The records so far.
    pub fn records(&self) -> &[Record] {
        &self.hardware.records
    }

    /// True where a reschedule request is on its way.
    pub fn has_requests(&self) -> bool {
        self.hardware.requests.iter().any(|requests| !requests.is_empty())
    }

    /// Goes on to the next instant at which something happens and lets it happen. False at the end.
    ///
    /// # Errors
    /// If tasks go on without any time passing.
    pub fn step(&mut self) -> Result<bool, RunError> {
        if !self.started {
            self.started = true;
            for core in self.cores.iter() {
                let _ = self.enter(|kernel, m, now| kernel.start(m, core, now));
            }
        } else {
            self.carry();
            match self.next_instant() {
                Some(at) if at < self.horizon => self.pass(at),
                _ => return Ok(false),
            }
        }
        let mut patience = PATIENCE;
        while self.act() {
            patience -= 1;
            if patience == 0 {
                return Err(RunError::NoProgress(self.now));
            }
        }
        Ok(true)
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// If tasks go on without any time passing.
    pub fn run(mut self) -> Result<Run, RunError> {
        while self.step()? {}
        let at = self.horizon;
        self.kernel.record_unfinished(&mut self.hardware, at);
        Ok(Run { records: self.hardware.records, paths: self.hardware.paths })
    }

    fn enter(
        &mut self,
        call: impl FnOnce(&mut Kernel<C>, &mut Checked<'_, Faulty<'_, Hardware>>, Instant) -> Switch,
    ) -> Switch {
        self.hardware.now = self.now;
        let mut faulty = Faulty { machine: &mut self.hardware, faults: &mut self.faults };
        let mut checked = Checked { machine: &mut faulty, cores: self.cores, open: None };
        let switch = call(&mut self.kernel, &mut checked, self.now);
        assert_eq!(checked.open, None, "a kernel path outlives its entry");
        switch
    }

    /// What is left of a computation takes another time where its thread has come onto a core of another speed.
    fn carry(&mut self) {
        for core in self.cores.iter() {
            let Some(thread) = self.kernel.running(core) else { continue };
            let program = &mut self.programs[thread.index()];
            let speed = self.speeds[core.index()];
            if speed != program.speed {
                let left = program.speed.on_reference(program.left.picoseconds());
                program.left = speed.time(left).nanoseconds();
                program.speed = speed;
            }
        }
    }

    /// The next time at which a computation ends, a request arrives or a timer interrupts.
    fn next_instant(&self) -> Option<Instant> {
        let running = self.cores.iter().filter_map(|core| self.kernel.running(core));
        let end = |left: Duration| Instant::new(self.now.get().saturating_add(left.get()));
        let ends = running.map(|thread| end(self.programs[thread.index()].left));
        let arrivals = self.hardware.requests.iter().flatten().copied();
        let timers = self.hardware.timers.iter().flatten().copied();
        ends.chain(arrivals).chain(timers).min().map(|at| at.max(self.now))
    }

    /// Lets the time until `at` pass: running threads compute.
    fn pass(&mut self, at: Instant) {
        let passed = at.since(self.now);
        self.now = at;
        for core in self.cores.iter() {
            if let Some(thread) = self.kernel.running(core) {
                let program = &mut self.programs[thread.index()];
                program.left = program.left.saturating_sub(passed);
            }
        }
    }

    /// Does one thing that is due now. False where nothing is.
    fn act(&mut self) -> bool {
        let ready = |core: &CoreId| {
            let thread = self.kernel.running(*core);
            thread.is_some_and(|thread| self.programs[thread.index()].left.is_zero())
        };
        if let Some(core) = self.cores.iter().find(ready) {
            self.operate(core);
            return true;
        }
        let due = |at: Option<&Instant>| at.is_some_and(|&at| at <= self.now);
        let arrived = |core: &CoreId| self.hardware.requests[core.index()].iter().any(|at| due(Some(at)));
        if let Some(core) = self.cores.iter().find(arrived) {
            let now = self.now;
            self.hardware.requests[core.index()].retain(|&at| at > now);
            if !self.faults.loses_interrupt() {
                let _ = self.enter(|kernel, m, now| kernel.ipi(m, core, now));
            }
            return true;
        }
        let interrupts = |core: &CoreId| due(self.hardware.timers[core.index()].as_ref());
        if let Some(core) = self.cores.iter().find(interrupts) {
            self.hardware.timers[core.index()] = None;
            if !self.faults.loses_interrupt() {
                let _ = self.enter(|kernel, m, now| kernel.timer(m, core, now));
            }
            return true;
        }
        false
    }

    /// Performs the next operation of the thread on `core`.
    fn operate(&mut self, core: CoreId) {
        let Some(ThreadId(thread)) = self.kernel.running(core) else { return };
        let program = &mut self.programs[thread as usize];
        let operation = program.operations.get(program.at).copied();
        program.at += 1;
        let _ = match operation {
            Some(Operation::Compute(length)) => {
                program.speed = self.speeds[core.index()];
                program.left = program.speed.time(length.picoseconds()).nanoseconds();
                Switch::Stay
            }
            Some(Operation::Acquire(lock)) => self.enter(|kernel, m, now| kernel.acquire(m, core, now, lock)),
            Some(Operation::Release(lock)) => self.enter(|kernel, m, now| kernel.release(m, core, now, lock)),
            Some(Operation::Access) => {
                let lost = &mut self.faults;
                if self.hardware.count(core) && !lost.loses_interrupt() && !lost.loses_overflow(core) {
                    self.enter(|kernel, m, now| kernel.overflow(m, core, now, CounterId(0)))
                } else {
                    Switch::Stay
                }
            }
            Some(Operation::Sleep(length)) => self.enter(|kernel, m, now| kernel.sleep(m, core, now, length)),
            None => {
                program.at = 0;
                self.enter(|kernel, m, now| kernel.wait_next(m, core, now))
            }
        };
    }
}

/// The operations of a job, repetitions written out.
fn compile(work: &Work, counts: bool) -> Result<Vec<Operation>, RunError> {
    let mut operations = Vec::new();
    // Where each repetition around the current step begins.
    let mut begins = Vec::new();
    for visit in work.walk() {
        match visit {
            Visit::Begin { .. } => begins.push(operations.len()),
            Visit::End { times } => {
                let once = operations.split_off(begins.pop().unwrap_or(0));
                (0..times).for_each(|_| operations.extend_from_slice(&once));
            }
            Visit::Step(step) => match step {
                Step::Compute(span) => operations.push(Operation::Compute(span.most)),
                Step::Acquire(lock) => operations.push(Operation::Acquire(*lock)),
                Step::Release(lock) => operations.push(Operation::Release(*lock)),
                Step::Sleep(span) => operations.push(Operation::Sleep(span.most)),
                Step::Touch(touch) if counts => {
                    for _ in 0..touch.accesses {
                        operations.extend([Operation::Access, Operation::Compute(touch.think)]);
                    }
                }
                // No memory, and no phases: what they execute takes as long as on the reference kind.
                Step::Execute(Execute { on_reference, touch: None, .. }) => {
                    operations.push(Operation::Compute(*on_reference));
                }
                Step::Execute(_)
                | Step::Touch(_)
                | Step::Replay(_)
                | Step::Repeat { .. }
                | Step::Allocate { .. }
                | Step::Free(_)
                | Step::Flush(_)
                | Step::Command(_) => {
                    return Err(RunError::TouchesMemory);
                }
            },
        }
    }
    Ok(operations)
}
