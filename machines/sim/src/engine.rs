//! The event loop: cores, interrupts, DRAM and samples in the global order of their times.

use crate::again::{Again, Flushing};
use crate::agenda::Agenda;
use crate::core::{Activity, SimCore};
use crate::devices::Devices;
use crate::hardware::{Hardware, Interrupt, Order, instant};
use crate::kernel_memory::KernelMemory;
use crate::memory::Hierarchy;
use crate::meter::{Meter, Reading};
use crate::modulation::Modulation;
use crate::occupancy::Held;
use crate::outcome::{Exhausted, SimError, SimulationEnd, Stop};
use crate::source::{RemoteBody, Source};
use crate::space::Spaces;
use crate::stand_ins::StandIns;
use crate::ways::{PageLocks, WayControl};
use solo_hal::{Able, Faults, Faulty, Injected, PageGroup};
use solo_isolate::heap::{HeapError, JobHeaps};
use solo_kernel::{Arrival, Kernel, KernelConfig, Switch};
use solo_model::experiment::{End, Goal};
use solo_model::sample::Subject;
use solo_model::task::Release;
use solo_model::units::PerMille;
use solo_model::{
    CoreId, CoreSet, Counts, Duration, Experiment, Instant, JobIndex, Picoseconds, Record, RelativeSpeed,
    Sample, SignalCounts, TaskId, ThreadId,
};
use solo_schedule::Criterion;
use solo_workload::{Program, TraceImage};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Watches a run and may stop it.
pub trait Observer {
    /// Takes the next record; they come in the order of their times.
    fn record(&mut self, record: Record) -> ControlFlow<()>;

    /// Hears now and then how far the run has come, in simulated time and as a share of the whole.
    fn progress(&mut self, _now: Instant, _done: PerMille) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Runs an experiment to its end, or until the observer stops it.
///
/// `traces[i]` is the recorded program of `experiment.traces[i]`. The same experiment and traces give the same
/// records, in debug and release builds, on any host.
///
/// # Errors
/// If no machine can work with a number of the experiment, its recordings are not those given, the kernel refuses the tasks, the platform
/// contradicts itself, or memory does not suffice.
pub fn run(
    experiment: &Experiment,
    traces: &[Arc<TraceImage>],
    observer: &mut dyn Observer,
) -> Result<SimulationEnd, SimError> {
    run_with_faults(experiment, traces, observer, Faults::default())
}

/// Runs an experiment as [`run`] does, on hardware that misbehaves.
///
/// # Errors
/// As [`run`].
pub fn run_with_faults(
    experiment: &Experiment,
    traces: &[Arc<TraceImage>],
    observer: &mut dyn Observer,
    faults: Faults,
) -> Result<SimulationEnd, SimError> {
    admissible(experiment, traces)?;
    dispatched(experiment, traces, None, observer, (faults, StandIns::default()))
}

/// Whoever builds an experiment may build any: behind this its numbers are taken for granted.
fn admissible(experiment: &Experiment, traces: &[Arc<TraceImage>]) -> Result<(), SimError> {
    // Its tasks take steps, and no step asks for a job.
    experiment.check_released().map_err(SimError::Implausible)?;
    admissible_in_any_case(experiment, traces.len())
}

/// The same of tasks that do bodies, so many.
pub(crate) fn admissible_bodies(experiment: &Experiment, given: usize) -> Result<(), SimError> {
    if given != experiment.tasks.len() {
        return Err(SimError::Bodies { tasks: experiment.tasks.len(), given });
    }
    admissible_in_any_case(experiment, 0)
}

fn admissible_in_any_case(experiment: &Experiment, recordings: usize) -> Result<(), SimError> {
    experiment.check().map_err(SimError::Implausible)?;
    if let Some(event) = experiment.unknown_event() {
        return Err(SimError::UnknownEvent(event));
    }
    if recordings != experiment.traces.len() {
        return Err(SimError::Recordings { named: experiment.traces.len(), given: recordings });
    }
    experiment.platform.check().map_err(SimError::Implausible)
}

/// Runs an experiment as [`run`] does, under the criterion `C` instead of the one that it names, and with `instead` of what it listens
/// to. Its quantum, its cores and its tasks are those of the experiment.
///
/// # Errors
/// As [`run`]; [`SimError::NothingHeard`] where something stands in for what listens, and nothing does.
pub fn run_under<C: Criterion>(
    experiment: &Experiment,
    traces: &[Arc<TraceImage>],
    observer: &mut dyn Observer,
    instead: StandIns,
) -> Result<SimulationEnd, SimError> {
    admissible(experiment, traces)?;
    Ok(Engine::<C>::new(experiment, traces, None, instead)?.run(observer))
}

/// Runs an experiment as [`run`] does, with `instead` of what it listens to.
///
/// # Errors
/// As [`run_under`].
pub fn run_instead(
    experiment: &Experiment,
    traces: &[Arc<TraceImage>],
    observer: &mut dyn Observer,
    instead: StandIns,
) -> Result<SimulationEnd, SimError> {
    admissible(experiment, traces)?;
    dispatched(experiment, traces, None, observer, (Faults::default(), instead))
}

/// The same of an experiment that this crate has built itself: its jobs may be shorter than those that anybody else may ask for.
pub(crate) fn run_own(
    experiment: &Experiment,
    traces: &[Arc<TraceImage>],
    observer: &mut dyn Observer,
    faults: Faults,
) -> Result<SimulationEnd, SimError> {
    experiment.platform.check().map_err(SimError::Implausible)?;
    dispatched(experiment, traces, None, observer, (faults, StandIns::default()))
}

/// The code of each thread, where tasks don't take steps.
type Bodies<'b> = Vec<Box<dyn RemoteBody + 'b>>;

/// Runs under the criterion that the experiment names, with what goes wrong and what stands in.
pub(crate) fn dispatched(
    experiment: &Experiment,
    traces: &[Arc<TraceImage>],
    bodies: Option<Bodies<'_>>,
    observer: &mut dyn Observer,
    (faults, instead): (Faults, StandIns),
) -> Result<SimulationEnd, SimError> {
    struct Visit<'a> {
        experiment: &'a Experiment,
        traces: &'a [Arc<TraceImage>],
        bodies: Option<Bodies<'a>>,
        observer: &'a mut dyn Observer,
        faults: Faults,
        instead: StandIns,
    }
    impl solo_schedule::Visitor for Visit<'_> {
        type Output = Result<SimulationEnd, SimError>;
        fn visit<C: Criterion>(self) -> Self::Output {
            let mut engine = Engine::<C>::new(self.experiment, self.traces, self.bodies, self.instead)?;
            engine.faults = Injected::new(self.faults);
            Ok(engine.run(self.observer))
        }
    }
    let visit = Visit { experiment, traces, bodies, observer, faults, instead };
    solo_schedule::dispatch(experiment.policy.criterion, visit)
}

/// What a thread has to go on with when it gets a core again.
pub(crate) struct ThreadContext<'b> {
    pub(crate) source: Source<'b>,
    /// What comes before the next operation: an access that found no free miss register, or the next line to be flushed.
    pub(crate) again: Option<Again>,
    /// What it empties caches of, while it does.
    pub(crate) flushing: Option<Flushing>,
    /// Computation left over from an interruption, and how fast the core computes on which it would take that long.
    pub(crate) left: (Picoseconds, RelativeSpeed),
    /// Instructions left over from an interruption, and of which phase they are.
    pub(crate) burst: Option<(u64, u16)>,
    /// The job that it is at, or will begin with.
    pub(crate) job: JobIndex,
    /// The pages that it loads to lock them, and how many of their lines it has loaded, while it does.
    pub(crate) locking: Option<(PageGroup, usize)>,
    /// The program must be set to its first step before it goes on.
    pub(crate) at_boundary: bool,
    /// Jobs without any work are fine; those of a continuous task would never let time pass, so they are made one
    /// nanosecond long.
    pub(crate) may_take_no_time: bool,
    /// The job has taken some time.
    pub(crate) moved: bool,
}

pub(crate) struct Engine<'e, C: Criterion> {
    pub(crate) experiment: &'e Experiment,
    pub(crate) kernel: Kernel<C>,
    pub(crate) hardware: Hardware,
    /// What goes wrong; nothing unless a test asks for it.
    faults: Injected,
    pub(crate) memory: Hierarchy,
    pub(crate) spaces: Spaces,
    /// The heaps from which jobs take memory, where they do.
    pub(crate) heaps: Option<JobHeaps>,
    /// Tasks that have ended because a heap had not what they asked for.
    exhausted: Vec<Exhausted>,
    pub(crate) cores: Vec<SimCore>,
    pub(crate) agenda: Agenda,
    pub(crate) threads: Vec<ThreadContext<'e>>,
    pub(crate) accesses: u64,
    sampled: Vec<SignalCounts>,
    next_sample: Picoseconds,
    devices: Devices,
    /// The next sample, or what a device does before.
    next_beside_cores: Picoseconds,
    /// Jobs that each counted task has yet to finish.
    jobs_left: Vec<u64>,
    tasks_left: usize,
    /// The run is over when all tasks have done theirs.
    ends_by_jobs: bool,
    limit: Picoseconds,
    /// No data come back sooner after DRAM has decided to read them: so far DRAM may go on alone.
    lookahead: Picoseconds,
    drained: u64,
    /// Where the ways are that a core may fill.
    ways: WayControl,
    /// Pages that are locked while the run goes on, where there are any.
    pub(crate) locks: Option<PageLocks>,
    /// By core, the pages of the window that has begun, and how many of their lines are loaded, while they are: whoever runs goes on
    /// with that first.
    pub(crate) loading: Vec<Option<(PageGroup, usize)>>,
    /// What the kernel's own paths touch, where they do.
    pub(crate) kernel_memory: Option<KernelMemory>,
    /// Cores whose clocks stand for part of the time.
    modulation: Modulation,
    /// A scheduler reads what is held of caches, divides them, or slows cores.
    attached: bool,
    /// A body that runs elsewhere gave the run up.
    pub(crate) abandoned: bool,
}

/// Progress is told after so many records: of an idle stretch, whose samples are all there is, several times a second.
const PROGRESS_EVERY: u64 = 64;

/// A thread for each task, before its first job.
fn threads_of<'e>(
    experiment: &'e Experiment,
    traces: &[Arc<TraceImage>],
    bodies: Option<Bodies<'e>>,
) -> Result<Vec<ThreadContext<'e>>, SimError> {
    let line = experiment.platform.line();
    let mut bodies = bodies.into_iter().flatten();
    let mut threads = Vec::with_capacity(experiment.tasks.len());
    for (index, task) in experiment.tasks.iter().enumerate() {
        let id = TaskId(u32::try_from(index).unwrap_or(u32::MAX));
        let steps = || {
            Program::new(&task.work, id, &experiment.buffers, line, experiment.seed, traces)
                .map_err(|error| SimError::Work { task: task.name.clone(), error })
        };
        let source = match bodies.next() {
            Some(body) => Source::Body { body, ends_job: false },
            None => Source::Steps(steps()?),
        };
        threads.push(ThreadContext {
            source,
            again: None,
            flushing: None,
            left: (Picoseconds::ZERO, RelativeSpeed::REFERENCE),
            burst: None,
            job: JobIndex(0),
            locking: None,
            at_boundary: true,
            may_take_no_time: !matches!(task.release, Release::Continuous { .. }),
            moved: false,
        });
    }
    Ok(threads)
}

impl<'e, C: Criterion> Engine<'e, C> {
    fn new(
        experiment: &'e Experiment,
        traces: &[Arc<TraceImage>],
        bodies: Option<Bodies<'e>>,
        instead: StandIns,
    ) -> Result<Self, SimError> {
        let platform = &experiment.platform;
        solo_isolate::fits(&experiment.isolation, platform, &experiment.tasks)
            .map_err(SimError::Isolation)?;
        let mut hardware = Hardware::new(experiment);
        let caps = hardware.caps();
        solo_hal::admit(experiment, &caps).map_err(SimError::Lacks)?;
        let mut config = KernelConfig::from_experiment(experiment).map_err(SimError::Refused)?;
        instead.take_over(&mut config)?;
        let kernel = Kernel::new(config, &caps).map_err(SimError::Refused)?;
        let mut memory = Hierarchy::with_devices(platform, experiment.seed, experiment.devices.len())?;
        let spaces = Spaces::of(experiment, KernelMemory::size(experiment))?;
        let kernel_memory = KernelMemory::new(experiment, &spaces);
        let locks = PageLocks::new(experiment, &spaces, &mut memory)?;
        hardware.held = Held::new(experiment, &mut memory);
        let acts = experiment.listening.as_ref().map(|listening| listening.reaction.facts());
        let attached = hardware.held.is_some() || acts.is_some_and(|facts| facts.divides || facts.slows);
        let cores: Vec<SimCore> =
            platform.core_set().iter().map(|core| SimCore::new(platform, core)).collect();
        let loading = vec![None; cores.len()];
        let Goal { jobs: jobs_left, latest } = experiment.end.goal(&experiment.tasks);
        let tasks_left = jobs_left.iter().filter(|&&jobs| jobs > 0).count();
        let limit = latest.map_or(Picoseconds::MAX, Duration::picoseconds);
        Ok(Self {
            experiment,
            kernel,
            hardware,
            faults: Injected::default(),
            memory,
            heaps: spaces.job_heaps(experiment),
            exhausted: Vec::new(),
            spaces,
            cores,
            agenda: Agenda::new(platform.cores.len()),
            threads: threads_of(experiment, traces, bodies)?,
            accesses: 0,
            sampled: vec![SignalCounts::ZERO; platform.cores.len()],
            next_sample: experiment.sample_every.picoseconds(),
            devices: Devices::new(experiment),
            next_beside_cores: Picoseconds::ZERO,
            jobs_left,
            tasks_left,
            ends_by_jobs: matches!(experiment.end, End::Jobs(_)),
            limit,
            lookahead: shortest_read(platform),
            drained: 0,
            ways: WayControl::new(platform),
            locks,
            loading,
            kernel_memory,
            modulation: Modulation::new(platform.cores.len()),
            attached,
            abandoned: false,
        })
    }

    fn run(&mut self, observer: &mut dyn Observer) -> SimulationEnd {
        for core in 0..self.cores.len() {
            self.enter_kernel(core, |kernel, hardware, core, now| kernel.start(hardware, core, now));
        }
        self.plan_beside_cores();
        let stop = loop {
            if !self.hardware.records.is_empty()
                && let ControlFlow::Break(stop) = self.hand_over(observer)
            {
                break stop;
            }
            if self.abandoned {
                break Stop::Interrupted;
            }
            if self.tasks_left == 0 && self.ends_by_jobs {
                break Stop::JobsDone;
            }
            let next = self.agenda.next(&self.cores, &self.hardware.lines);
            let memory = self.memory.next_event().unwrap_or(Picoseconds::MAX);
            let soonest = next.time().min(memory);
            if self.next_beside_cores.min(soonest) >= self.limit {
                break if self.tasks_left > 0 { Stop::CutOff } else { Stop::TimeOver };
            }
            if self.next_beside_cores <= soonest {
                if soonest == Picoseconds::MAX && matches!(self.experiment.end, End::Jobs(_)) {
                    break Stop::JobsDone;
                }
                self.act_beside_cores();
            } else if memory <= next.time() {
                self.serve_memory(next.time().min(self.next_beside_cores).min(memory + self.lookahead));
            } else {
                match next.interrupt() {
                    Some(interrupt) => self.interrupt(next.agent(), next.time(), interrupt),
                    None => self.execute(next.agent(), next.rest.min(self.next_beside_cores).min(self.limit)),
                }
            }
        };
        self.finish(stop, observer)
    }

    /// Gives waiting records to the observer.
    #[inline(never)]
    fn hand_over(&mut self, observer: &mut dyn Observer) -> ControlFlow<Stop> {
        while let Some(record) = self.hardware.records.pop_front() {
            if let Record::Job(job) = &record {
                self.count_job(job.task);
            }
            let at = record.at();
            if observer.record(record).is_break() {
                return ControlFlow::Break(Stop::Interrupted);
            }
            self.drained += 1;
            if self.drained.is_multiple_of(PROGRESS_EVERY) && observer.progress(at, self.done(at)).is_break()
            {
                return ControlFlow::Break(Stop::Interrupted);
            }
        }
        ControlFlow::Continue(())
    }

    fn count_job(&mut self, task: TaskId) {
        let left = &mut self.jobs_left[task.index()];
        if *left > 0 {
            *left -= 1;
            self.tasks_left -= usize::from(*left == 0);
        }
    }

    /// How much of the run is over.
    fn done(&self, now: Instant) -> PerMille {
        let (part, whole) = match self.experiment.end {
            End::At(end) => (now.get(), end.get()),
            End::Jobs(jobs) => {
                let most = self.jobs_left.iter().copied().max().unwrap_or(0);
                (jobs - most.min(jobs), jobs)
            }
        };
        let share = u128::from(part) * 1000 / u128::from(whole.max(1));
        PerMille::new(share.min(1000) as u16).unwrap_or_default()
    }

    fn serve_memory(&mut self, until: Picoseconds) {
        let Self { memory, cores, hardware, agenda, kernel_memory, devices, .. } = self;
        memory.advance(until, |completion| {
            if kernel_memory.as_mut().is_some_and(|kernel| kernel.takes(completion.request)) {
                return;
            }
            let agent = completion.requester.index();
            let Some(core) = cores.get_mut(agent) else { return devices.complete(completion) };
            agenda.touch(agent);
            let account = core.running.map(|thread| &mut hardware.accounts[thread.index()]);
            core.complete(completion, account);
        });
        if !self.experiment.devices.is_empty() {
            self.plan_beside_cores();
        }
    }

    /// Finds out when something is done that no core does.
    fn plan_beside_cores(&mut self) {
        self.next_beside_cores = self.next_sample.min(self.devices.next()).min(self.modulation.next());
    }

    /// Samples the cores, stops clocks, or lets devices go on.
    #[inline(never)]
    fn act_beside_cores(&mut self) {
        let now = self.next_beside_cores;
        if self.next_sample <= now {
            self.sample();
        } else if self.modulation.next() <= now {
            self.stop_clocks(now);
        } else {
            let Self { devices, memory, spaces, hardware, kernel, agenda, .. } = self;
            devices.step(now, memory, spaces, |record, arrival| {
                hardware.records.push_back(Record::Transfer(record));
                let core = |arrival: Arrival| kernel.alarm_core(ThreadId(arrival.task.0));
                if let Some((core, arrival)) = arrival.and_then(|arrival| Some((core(arrival)?, arrival))) {
                    hardware.raise(core, now, arrival);
                    agenda.touch_all();
                }
            });
        }
        self.plan_beside_cores();
    }

    /// A window of duty cycles begins.
    fn stop_clocks(&mut self, now: Picoseconds) {
        self.agenda.touch_all();
        let Self { modulation, cores, hardware, threads, .. } = self;
        for (index, length) in modulation.begin() {
            let core = &mut cores[index];
            let Some(thread) = core.running else { continue };
            let computed = match core.activity {
                Activity::Computing { .. } => core.settle(now),
                _ => Picoseconds::ZERO,
            };
            let waited = core.stand(now, length);
            let stalls = &mut hardware.accounts[thread.index()].stalls;
            stalls.compute += computed + length;
            stalls.dram += waited;
            threads[thread.index()].moved = true;
        }
    }

    /// Does at once what the kernel has asked of caches and clocks.
    #[inline(never)]
    fn carry_out(&mut self, now: Picoseconds) {
        for order in core::mem::take(&mut self.hardware.orders) {
            match order {
                // A mask without a way of the cache is refused before it comes here.
                Order::Ways(core, mask) => drop(self.ways.restrict(&mut self.memory, core, mask)),
                Order::Duty(core, duty) => self.modulation.set(core, duty, now),
            }
        }
        self.plan_beside_cores();
    }

    #[inline(never)]
    fn interrupt(&mut self, index: usize, at: Picoseconds, interrupt: Interrupt) {
        self.settle(index, at);
        self.agenda.touch_all();
        self.hardware.lines[index].acknowledge(interrupt);
        let lost = self.faults.loses_interrupt();
        let arrival = match interrupt {
            Interrupt::Device => self.hardware.take_arrival(CoreId(index as u16)),
            Interrupt::Timer | Interrupt::Ipi | Interrupt::Overflow => None,
        };
        self.enter_kernel(index, |kernel, hardware, core, now| match interrupt {
            Interrupt::Timer | Interrupt::Ipi | Interrupt::Device if lost => Switch::Stay,
            Interrupt::Timer => kernel.timer(hardware, core, now),
            Interrupt::Ipi => kernel.ipi(hardware, core, now),
            Interrupt::Device => {
                arrival.map_or(Switch::Stay, |arrival| kernel.device(hardware, core, now, arrival))
            }
            Interrupt::Overflow => match hardware.machine.pmu.poll(core) {
                Some(_) if lost || hardware.faults.loses_overflow(core) => Switch::Stay,
                Some(counter) => kernel.overflow(hardware, core, now, counter),
                // The kernel has set the counter anew while the interrupt was on its way.
                None => Switch::Stay,
            },
        });
    }

    /// Calls the kernel on a core at its time, charges what its paths cost, and carries the decision out.
    #[inline(never)]
    pub(crate) fn enter_kernel(
        &mut self,
        index: usize,
        entry: impl FnOnce(&mut Kernel<C>, &mut Faulty<'_, Hardware>, CoreId, Instant) -> Switch,
    ) {
        self.agenda.touch_all();
        self.credit(index);
        self.show_counts();
        let now = self.cores[index].time;
        self.hardware.enter(now);
        if self.hardware.meter.as_ref().is_some_and(Meter::is_read) {
            self.read_meter(now);
        }
        self.hardware.waited[index] = [self.cores[index].waited, self.cores[index].behind_others];
        let core = CoreId(index as u16);
        self.hardware.pmu.set_kernel(core, true);
        if self.attached {
            self.read_held();
        }
        let mut faulty = Faulty { machine: &mut self.hardware, faults: &mut self.faults };
        let switch = entry(&mut self.kernel, &mut faulty, core, instant(now));
        let spent = self.hardware.leave();
        if self.attached {
            self.carry_out(now);
        }
        let running = self.cores[index].running;
        let next = match switch {
            Switch::Stay => running,
            Switch::To(thread) => Some(thread),
            Switch::Idle => None,
        };
        if let Some(kernel) = &mut self.kernel_memory {
            kernel.touch(core, now, next.is_some(), &self.hardware, &mut self.memory);
        }
        if next != running {
            self.switch(index, next);
        } else if next.is_none() {
            self.cores[index].activity = Activity::Idle;
        }
        if self.locks.is_some() {
            self.turn_locks(index, next.is_some());
        }
        self.cores[index].spend(spent);
        if let Some(thread) = next {
            self.hardware.accounts[thread.index()].stalls.kernel += spent;
        }
        if self.hardware.pmu.tells_modes(core) {
            let counts = self.counts(index);
            self.hardware.pmu.observe(core, &counts);
        }
        self.hardware.pmu.set_kernel(core, false);
        self.watch_counters();
    }

    /// The heap of a thread has not what it asks for: it ends, and nobody else.
    #[inline(never)]
    pub(crate) fn exhaust(&mut self, index: usize, thread: ThreadId, error: HeapError) {
        let (task, at) = (TaskId(thread.0), self.now_of(index));
        self.exhausted.push(Exhausted { task, at, error });
        self.exit_thread(index, thread);
    }

    /// The time that a core has come to.
    pub(crate) fn now_of(&self, index: usize) -> Instant {
        instant(self.cores[index].time)
    }

    /// The thread of a core ends, with its job.
    pub(crate) fn exit_thread(&mut self, index: usize, thread: ThreadId) {
        if let Some(heaps) = &mut self.heaps {
            heaps.end_job(thread);
        }
        // No job of it comes after this one.
        if let Some(left) = self.jobs_left.get_mut(thread.index()) {
            *left = (*left).min(1);
        }
        self.enter_kernel(index, |kernel, hardware, core, now| kernel.exit(hardware, core, now));
    }

    fn switch(&mut self, index: usize, next: Option<solo_model::ThreadId>) {
        let core = &mut self.cores[index];
        if let Some(filling) = self.hardware.asked[index].fill.take() {
            if let Some(mask) = filling.ways {
                // The masks were checked against the cache before the start.
                let _ = self.ways.restrict(&mut self.memory, core.id, mask);
            }
            if let Some(rmid) = filling.rmid {
                self.memory.tag_lines(core.id, rmid);
            }
        }
        let changes_load = core.running.is_some() != next.is_some();
        let (now, siblings) = (core.time, core.siblings);
        if let (Some(thread), Activity::Computing { left }) = (core.running, core.activity) {
            let context = &mut self.threads[thread.index()];
            match core.interrupt() {
                None => context.left = (left, core.speed),
                rest => context.burst = rest,
            }
        }
        core.running = next;
        core.activity = match next {
            None => Activity::Idle,
            Some(thread) => {
                let (left, speed) = &mut self.threads[thread.index()].left;
                match carried(core::mem::take(left), *speed, core.speed) {
                    Picoseconds::ZERO => Activity::Fetching,
                    left => Activity::Computing { left },
                }
            }
        };
        let rest = next.and_then(|thread| Some((thread, self.threads[thread.index()].burst.take()?)));
        if let Some((thread, (instructions, phase))) = rest {
            self.compute(index, thread, phase, instructions);
        }
        if changes_load {
            self.rebase_siblings(siblings, now, next.is_some());
        }
    }

    /// SMT siblings compute at another speed from now on.
    fn rebase_siblings(&mut self, siblings: CoreSet, now: Picoseconds, busy: bool) {
        for sibling in siblings.iter() {
            let index = sibling.index();
            if matches!(self.cores[index].activity, Activity::Computing { .. })
                && self.cores[index].time < now
            {
                self.settle(index, now);
            }
            self.cores[index].sibling_busy = busy;
        }
    }

    /// Brings a computing core up to `now`.
    pub(crate) fn settle(&mut self, index: usize, now: Picoseconds) {
        let core = &mut self.cores[index];
        let elapsed = core.settle(now);
        if let Some(thread) = core.running {
            self.hardware.accounts[thread.index()].stalls.compute += elapsed;
            self.threads[thread.index()].moved |= !elapsed.is_zero();
        }
    }

    /// Gives the counts since the last call to the job that caused them.
    fn credit(&mut self, index: usize) {
        self.credit_until(index, self.cores[index].time);
    }

    /// The same, and the energy until `now`.
    fn credit_until(&mut self, index: usize, now: Picoseconds) {
        let counts = self.counts_at(index, now);
        let core = &mut self.cores[index];
        let since = counts.since(&core.credited);
        if let Some(thread) = core.running {
            self.hardware.accounts[thread.index()].counts.merge(&since);
        }
        core.credited = counts;
        if let Some(meter) = &mut self.hardware.meter {
            let commands = self.memory.dram_commands(core.id);
            meter.credit((index, core.running), &since, core.on_until(now), commands);
        }
    }

    /// Brings the registers of the meter up to `now`.
    #[inline(never)]
    fn read_meter(&mut self, now: Picoseconds) {
        let Self { cores, memory, hardware, .. } = self;
        let Some(meter) = &mut hardware.meter else { return };
        let readings = cores.iter().map(|core| {
            let mut counts = *memory.counts(core.id);
            core.add_counts_at(now, &mut counts);
            Reading { counts, on: core.on_until(now) }
        });
        meter.read(now, readings, &memory.dram_counts());
    }

    /// All counts of a core since the start.
    pub(crate) fn counts(&self, index: usize) -> SignalCounts {
        self.counts_at(index, self.cores[index].time)
    }

    /// The same at `now`, where it has come that far.
    fn counts_at(&self, index: usize, now: Picoseconds) -> SignalCounts {
        let mut counts = *self.memory.counts(CoreId(index as u16));
        self.cores[index].add_counts_at(now, &mut counts);
        counts
    }

    /// Samples all cores at the next regular time.
    #[inline(never)]
    fn sample(&mut self) {
        let (at, span) = (self.next_sample, self.experiment.sample_every);
        self.sample_at(instant(at), span);
        self.next_sample += span.picoseconds();
    }

    /// Reads what is held of the last levels.
    #[inline(never)]
    fn read_held(&mut self) {
        if let Some(held) = &mut self.hardware.held {
            held.read(&self.memory);
        }
    }

    /// Tells what each task's process holds of the last levels.
    #[inline(never)]
    fn sample_held(&mut self, at: Instant, span: Duration) {
        self.read_held();
        let Some(held) = &self.hardware.held else { return };
        for task in (0..self.experiment.tasks.len() as u32).map(TaskId) {
            let Some(rmid) = self.kernel.rmid(task) else { continue };
            let bytes = i64::try_from(held.in_all(rmid).get()).ok();
            let core = Sample::of_core(CoreId(0), at, span, Counts::NONE);
            let sample = Sample { subject: Subject::Task(task), virtuals: vec![bytes], ..core };
            self.hardware.records.push_back(Record::Sample(sample));
        }
    }

    fn sample_at(&mut self, at: Instant, span: Duration) {
        for index in 0..self.cores.len() {
            let counts = self.counts(index);
            let since = counts.since(&self.sampled[index]);
            self.sampled[index] = counts;
            let core = CoreId(index as u16);
            let counts = self.hardware.wiring.counts(&since);
            self.hardware.records.push_back(Record::Sample(Sample::of_core(core, at, span, counts)));
        }
        if self.attached {
            self.sample_held(at, span);
        }
        if self.hardware.meter.is_some() {
            self.tell_meter(at);
        }
    }

    /// Tells what the meters have gone on by since the last time.
    fn tell_meter(&mut self, at: Instant) {
        self.read_meter(at.since(Instant::ZERO).picoseconds());
        let Hardware { meter, records, .. } = &mut self.hardware;
        records.extend(meter.iter_mut().flat_map(|meter| meter.tell(at)).map(Record::Energy));
    }

    #[inline(never)]
    fn finish(&mut self, stop: Stop, observer: &mut dyn Observer) -> SimulationEnd {
        let end = match (stop, self.experiment.end) {
            (Stop::TimeOver | Stop::CutOff, _) => instant(self.limit),
            _ => instant(self.cores.iter().map(|core| core.time).max().unwrap_or(Picoseconds::ZERO)),
        };
        if stop != Stop::Interrupted {
            if self.hardware.meter.is_some() {
                let end = end.since(Instant::ZERO).picoseconds();
                (0..self.cores.len()).for_each(|index| self.credit_until(index, end));
            }
            // What was counted after the last regular sample.
            let rest = end
                .since(instant(self.next_sample.saturating_sub(self.experiment.sample_every.picoseconds())));
            if !rest.is_zero() {
                self.sample_at(end, rest);
            } else if self.hardware.meter.is_some() {
                self.tell_meter(end);
            }
            self.kernel.record_unfinished(&mut self.hardware, end);
            while let Some(record) = self.hardware.records.pop_front() {
                if observer.record(record).is_break() {
                    return self.outcome(Stop::Interrupted, end);
                }
            }
        }
        self.outcome(stop, end)
    }

    fn outcome(&self, stop: Stop, end: Instant) -> SimulationEnd {
        let unlocked_lines = self.locks.as_ref().map_or(0, |locks| locks.refused);
        let refused_counters = self.kernel.counter_refusals();
        let heard = (0..self.cores.len()).map_while(|core| self.kernel.heard(CoreId(core as u16))).collect();
        let tasks = (0..self.experiment.tasks.len() as u32).map(TaskId);
        let curves = tasks.filter_map(|task| self.kernel.curve(task)).collect();
        SimulationEnd {
            stop,
            end,
            accesses: self.accesses,
            unlocked_lines,
            refused_counters,
            exhausted: self.exhausted.clone(),
            heard,
            curves,
        }
    }
}

/// What takes `left` on a core of speed `from`, on one of speed `to`.
fn carried(left: Picoseconds, from: RelativeSpeed, to: RelativeSpeed) -> Picoseconds {
    if from == to { left } else { to.time(from.on_reference(left)) }
}

/// From a column command to the end of its data, less one picosecond: a core that waits for the data can't
/// act before.
fn shortest_read(platform: &solo_model::Platform) -> Picoseconds {
    let timing = &platform.dram.timing;
    let clocks = u64::from(timing.cl) + u64::from(timing.burst / 2);
    (platform.dram.clock * clocks).saturating_sub(Picoseconds::new(1))
}

#[cfg(test)]
mod tests;
