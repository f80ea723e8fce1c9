//! What every machine may take for granted of an experiment.
//!
//! An experiment that comes from a scenario file has been checked with it. One that comes from a run directory or over a
//! wire may hold any numbers: here are the limits without which a machine would divide by zero, run for ever or ask for
//! all memory. Each is at least as wide as that of scenario files.

use crate::application::Application;
use crate::device::Device;
use crate::event::EventSet;
use crate::experiment::{End, Experiment};
use crate::isolation::{Heaps, KernelData, Regulation, WayOwner};
use crate::listening::Listening;
use crate::phase::Phase;
use crate::platform::{Cache, Dram, Platform};
use crate::policy::{Scope, Timing};
use crate::task::{Release, Task};
use crate::text::is_hidden;
use crate::units::{Duration, Energy, Power};
use crate::work::{
    Execute, Flush, MOST_IDLE_STEPS, MOST_WORD_BYTES, MOST_WORDS, Pattern, SHORTEST_ROUND, Span, Step, Touch,
    Visit, about, idle_steps,
};
use crate::{BufferId, CoreId, CoreSet, KindId, TaskId};
use alloc::string::String;
use core::fmt;

/// The longest time in an experiment: the simulated machine's clock reaches 213 days.
pub const LONGEST: Duration = Duration::from_secs(100 * 24 * 3600);

/// The most lines that the caches of a chip hold together: 2 GiB in lines of 64 bytes.
pub const MOST_LINES: u64 = 1 << 25;

/// The shortest tick, quantum, period or sample: below it a run would consist of kernel paths.
pub const SHORTEST: Duration = Duration::from_micros(1);
/// The most counters of a core.
const MOST_COUNTED: u64 = 64;
/// The most ids by which lines of a cache are told apart.
pub const MOST_RMIDS: u64 = 1024;
const MOST_TASKS: usize = 10_000;
const MOST_JOBS: u64 = 1_000_000_000;
const MOST_ACCESSES: u64 = 1 << 40;
const MOST_STEPS: usize = 2_000_000;
const MOST_CHANGES: usize = 1000;
/// The most devices that move data by themselves.
pub const MOST_DEVICES: u64 = 256;
/// Scenario files stop at 8; machines know no more than 32.
const DEEPEST_REPEAT: usize = 32;

/// A number of an experiment that no machine can work with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Implausible {
    /// Which number.
    pub what: &'static str,
    /// The position of the task, core, cache, buffer it belongs to, from 0, where there are several.
    pub at: Option<usize>,
    /// What it is.
    pub found: u64,
}

impl fmt::Display for Implausible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.what, self.found)?;
        match self.at {
            Some(at) => write!(f, " (number {at}) is out of range"),
            None => f.write_str(" is out of range"),
        }
    }
}

impl core::error::Error for Implausible {}

type Checked = Result<(), Implausible>;

/// Refuses a number unless it is right.
fn need(right: bool, what: &'static str, at: Option<usize>, found: u64) -> Checked {
    if right { Ok(()) } else { Err(Implausible { what, at, found }) }
}

fn within(found: u64, least: u64, most: u64, what: &'static str, at: Option<usize>) -> Checked {
    need((least..=most).contains(&found), what, at, found)
}

/// A program and its arguments, as a host can be given them.
fn check_command(words: &[String], at: Option<usize>) -> Checked {
    within(words.len() as u64, 1, MOST_WORDS as u64, "the words of a program", at)?;
    need(!words[0].is_empty(), "the name of a program", at, 0)?;
    let bytes = words.iter().map(String::len).fold(0, usize::saturating_add);
    need(bytes <= MOST_WORD_BYTES, "the length of a program and its arguments", at, bytes as u64)?;
    let zeros = words.iter().filter(|word| word.contains('\0')).count();
    need(zeros == 0, "zero bytes in the words of a program", at, zeros as u64)
}

/// A length of time up to the end of every clock.
fn time(found: Duration, least: Duration, what: &'static str, at: Option<usize>) -> Checked {
    within(found.get(), least.get(), LONGEST.get(), what, at)
}

impl Experiment {
    /// Makes sure that machines can work with the numbers of this experiment.
    ///
    /// # Errors
    /// The first number that they can't.
    pub fn check(&self) -> Checked {
        self.platform.check()?;
        self.check_names()?;
        within(self.tasks.len() as u64, 0, MOST_TASKS as u64, "the number of tasks", None)?;
        time(self.sample_every, SHORTEST, "sample_every", None)?;
        if let Some(jobs) = self.jobs_per_replication {
            within(jobs, 1, u64::MAX, "jobs_per_replication", None)?;
        }
        self.check_policy()?;
        self.check_listening()?;
        self.check_memory()?;
        for (at, task) in self.tasks.iter().enumerate() {
            self.check_task(task, at)?;
        }
        for costs in &self.overheads.steps {
            for (at, &(_, cost)) in costs.iter().enumerate() {
                time(cost, Duration::ZERO, "the cost of a kernel path", Some(at))?;
            }
        }
        for (at, &(size, loss)) in self.overheads.affinity.iter().enumerate() {
            within(size.get(), 1, u64::MAX, "the working set of a loss of cache affinity", Some(at))?;
            time(loss, Duration::ZERO, "a loss of cache affinity", Some(at))?;
        }
        self.check_allocations()?;
        self.check_applications()?;
        self.check_isolation()?;
        self.check_devices()?;
        self.check_end()
    }

    /// Makes sure that a device releases each sporadic task: on a machine where nobody else can.
    ///
    /// # Errors
    /// The first task that nobody releases.
    pub fn check_released(&self) -> Checked {
        for (at, task) in self.tasks.iter().enumerate() {
            if let Release::Sporadic { .. } = task.release {
                let released = |device: &Device| device.releases.is_some_and(|task| task.index() == at);
                let any = self.devices.iter().any(released);
                need(any, "the devices that release a sporadic task", Some(at), 0)?;
            }
        }
        Ok(())
    }

    /// What a job takes from heaps is its own, and touched between taking and giving back only.
    fn check_allocations(&self) -> Checked {
        let mut owners = alloc::vec![None; self.buffers.len()];
        for (at, task) in self.tasks.iter().enumerate() {
            for (buffer, _) in task.work.allocations() {
                let owner = owners.get_mut(buffer.index()).map(|owner| *owner.get_or_insert(at));
                need(owner == Some(at), "the buffer that two tasks allocate", Some(at), u64::from(buffer.0))?;
            }
        }
        if owners.iter().all(Option::is_none) {
            return Ok(());
        }
        for (at, device) in self.devices.iter().enumerate() {
            let owner = owners.get(device.buffer.index()).copied().flatten();
            need(
                owner.is_none(),
                "the buffer of a device that a job allocates",
                Some(at),
                u64::from(device.buffer.0),
            )?;
        }
        let locked = self.isolation.lockdown.iter().flat_map(|lockdown| &lockdown.pages);
        for (at, page) in locked.enumerate() {
            let owner = owners.get(page.buffer.index()).copied().flatten();
            need(owner.is_none(), "the locked page of a buffer that a job allocates", Some(at), page.page)?;
        }
        for (at, task) in self.tasks.iter().enumerate() {
            let mut held = alloc::vec![false; self.buffers.len()];
            let mut rounds = alloc::vec::Vec::new();
            for visit in task.work.walk() {
                match visit {
                    Visit::Begin { .. } => rounds.push(held.clone()),
                    Visit::End { .. } => {
                        let before = rounds.pop();
                        need(
                            before.as_ref() == Some(&held),
                            "what a round of steps allocates and keeps",
                            Some(at),
                            0,
                        )?;
                    }
                    Visit::Step(step) => Self::check_allocation(step, &owners, &mut held, at)?,
                }
            }
        }
        Ok(())
    }

    fn check_allocation(step: &Step, owners: &[Option<usize>], held: &mut [bool], at: usize) -> Checked {
        let mut turn = |buffer: BufferId, on: bool, what| {
            let Some(held) = held.get_mut(buffer.index()) else { return Ok(()) };
            need(*held != on, what, Some(at), u64::from(buffer.0))?;
            *held = on;
            Ok(())
        };
        match step {
            Step::Allocate { buffer, .. } => turn(*buffer, true, "the buffer that a job allocates twice"),
            Step::Free(buffer) => turn(*buffer, false, "the buffer that a job frees and has not"),
            _ => {
                let Some(buffer) = step.buffer() else { return Ok(()) };
                let owner = owners.get(buffer.index()).copied().flatten();
                let has = held.get(buffer.index()).copied().unwrap_or(false);
                let fine = owner.is_none() || owner == Some(at) && has;
                need(
                    fine,
                    "the buffer that a job touches and has not allocated",
                    Some(at),
                    u64::from(buffer.0),
                )
            }
        }
    }

    /// Each application has threads, and each thread one application.
    fn check_applications(&self) -> Checked {
        within(self.applications.len() as u64, 0, MOST_TASKS as u64, "the number of applications", None)?;
        let mut owned = alloc::vec![false; self.tasks.len()];
        for (at, application) in self.applications.iter().enumerate() {
            let some = Some(at);
            within(
                application.weight.into(),
                1,
                Application::WEIGHT_MAX.into(),
                "the weight of an application",
                some,
            )?;
            need(!application.threads.is_empty(), "the threads of an application", some, 0)?;
            for &task in &application.threads {
                self.task(task, "a thread of an application", at)?;
                let twice = core::mem::replace(&mut owned[task.index()], true);
                need(!twice, "a thread of an application", some, task.index() as u64)?;
            }
        }
        Ok(())
    }

    /// Each device has an owner, memory and slots, and its engine a way to count.
    fn check_devices(&self) -> Checked {
        within(self.devices.len() as u64, 0, MOST_DEVICES, "the number of devices", None)?;
        for (at, device) in self.devices.iter().enumerate() {
            let some = Some(at);
            self.task(device.owner, "the owner of a device", at)?;
            if let Some(task) = device.releases {
                let sporadic = self.tasks.get(task.index()).map(|task| task.release);
                let fits = matches!(sporadic, Some(Release::Sporadic { .. }));
                need(fits, "the task that a device releases", some, task.index() as u64)?;
            }
            let size = self.buffers.get(device.buffer.index()).map_or(0, |buffer| buffer.size.get());
            within(device.moves.get(), 1, size, "what a device moves", some)?;
            time(device.offset, Duration::ZERO, "the offset of a device", some)?;
            time(device.period, SHORTEST, "the period of a device", some)?;
            within(device.slot.get(), 1, device.period.get(), "the slot of a device", some)?;
            if let Some(core) = device.core {
                self.core(core, "the core of a device", some)?;
            }
            let every = device.wait_every.get();
            let counts = every.is_power_of_two() && device.wait_every <= Device::WAIT_EVERY_MAX;
            need(counts, "the bytes between two wait states of a device", some, every)?;
        }
        Ok(())
    }

    /// Names are shown as they are.
    fn check_names(&self) -> Checked {
        let own = [&self.name, &self.variant, &self.platform.name].into_iter();
        let names = own.chain(self.tasks.iter().map(|task| &task.name));
        let names = names.chain(self.buffers.iter().map(|buffer| &buffer.name));
        let names = names.chain(self.devices.iter().map(|device| &device.name));
        for (at, name) in names.chain(self.locks.iter().map(|lock| &lock.name)).enumerate() {
            let hidden = name.chars().find(|&c| is_hidden(c));
            need(hidden.is_none(), "a character of a name", Some(at), hidden.map_or(0, u64::from))?;
        }
        Ok(())
    }

    fn check_listening(&self) -> Checked {
        let Some(listening) = &self.listening else { return Ok(()) };
        time(listening.period, SHORTEST, "the period of the monitor", None)?;
        let events = listening.observed.events.len() as u64;
        let least = u64::from(!listening.observed.reads_occupancy());
        within(events, least, MOST_COUNTED, "the events of the monitor", None)?;
        self.check_turns(listening)?;
        for (at, task) in listening.processes.iter().flatten().enumerate() {
            need(task.index() < self.tasks.len(), "the task of a process", Some(at), u64::from(task.0))?;
        }
        if listening.observed.reads_occupancy() {
            within(listening.observed.capacity.get(), 1, 1 << 48, "the cache of the monitor", None)?;
        }
        let calm = listening.calm.unwrap_or(listening.threshold);
        let whole = u64::try_from(calm.whole()).unwrap_or(0);
        need(calm <= listening.threshold, "the lower threshold of the monitor", None, whole)?;
        let cores = self.platform.cores.len();
        for (at, count) in listening.script.iter().enumerate() {
            need(count.core.index() < cores, "the core of a count", Some(at), u64::from(count.core.0))?;
            within(count.at.get(), 0, LONGEST.get(), "the time of a count", Some(at))?;
        }
        Ok(())
    }

    /// A round of sets that take turns fits the period at whose end it is looked at.
    fn check_turns(&self, listening: &Listening) -> Checked {
        let Some(turn) = listening.turn() else {
            return need(listening.turn.is_none(), "a turn of the monitor, which has no sets", None, 0);
        };
        time(turn, SHORTEST, "the turn of the monitor", None)?;
        let sets = &listening.observed.sets;
        within(sets.len() as u64, 1, MOST_COUNTED, "the sets of the monitor", None)?;
        let counted: EventSet = listening.observed.events.iter().copied().collect();
        for (at, set) in sets.iter().enumerate() {
            let known = set.iter().all(|event| counted.contains(event));
            need(known && !set.is_empty(), "a set of the monitor", Some(at), set.len() as u64)?;
        }
        let round = turn.get().saturating_mul(sets.len() as u64);
        need(round <= listening.period.get(), "a round of the monitor's sets", None, round)
    }

    fn check_policy(&self) -> Checked {
        if let Timing::Tick(tick) = self.policy.timing {
            time(tick, SHORTEST, "the tick", None)?;
        }
        if let Some(quantum) = self.policy.quantum {
            time(quantum, SHORTEST, "the quantum", None)?;
        }
        let Scope::Clustered(clusters) = &self.policy.scope else { return Ok(()) };
        let (mut seen, all) = (CoreSet::EMPTY, self.platform.core_set());
        for (at, cluster) in clusters.iter().enumerate() {
            let fits = !cluster.is_empty() && seen.and(*cluster).is_empty() && cluster.or(all) == all;
            need(fits, "a cluster of cores", Some(at), at as u64)?;
            seen = seen.or(*cluster);
        }
        need(seen == all, "clusters of cores", None, clusters.len() as u64)
    }

    /// All buffers fit into the memory.
    fn check_memory(&self) -> Checked {
        let mut all: u128 = 0;
        for (at, buffer) in self.buffers.iter().enumerate() {
            let size = buffer.size.get();
            within(size, 1, self.platform.dram.size.get(), "the size of a buffer", Some(at))?;
            all += u128::from(buffer.size.in_pieces_of(self.platform.page))
                * u128::from(self.platform.page.get());
        }
        let fits = all <= u128::from(self.platform.dram.size.get());
        need(fits, "the size of all buffers", None, u64::try_from(all).unwrap_or(u64::MAX))
    }

    fn check_task(&self, task: &Task, at: usize) -> Checked {
        let at = Some(at);
        time(task.release.offset(), Duration::ZERO, "the offset of a task", at)?;
        if let Some(period) = task.release.period() {
            time(period, SHORTEST, "the period of a task", at)?;
        }
        for length in [task.deadline, task.wcet].into_iter().flatten() {
            time(length, Duration::new(1), "a deadline or execution time", at)?;
        }
        if let Some(core) = task.core {
            self.core(core, "the core of a task", at)?;
        }
        let (mut steps, mut depth) = (0, 0);
        for visit in task.work.walk() {
            steps += 1;
            need(steps <= MOST_STEPS, "the number of steps of a task", at, steps as u64)?;
            match visit {
                Visit::Begin { .. } => depth += 1,
                Visit::End { .. } => depth -= 1,
                Visit::Step(step) => self.check_step(step, at)?,
            }
            need(depth <= DEEPEST_REPEAT, "the depth of repetitions of a task", at, depth as u64)?;
        }
        let programs = task.work.plain_steps().filter(|step| matches!(step, Step::Command(_))).count();
        need(programs == 0 || steps == 1, "the steps of a task that is a program", at, steps as u64)?;
        let idle = idle_steps(&task.work.steps);
        need(idle <= MOST_IDLE_STEPS, "the number of steps in which no time passes", at, idle)?;
        if let Release::Continuous { .. } = task.release {
            let about = about(&task.work.steps);
            need(about >= SHORTEST_ROUND, "the length of jobs that follow one another", at, about.get())?;
        }
        Ok(())
    }

    fn check_step(&self, step: &Step, at: Option<usize>) -> Checked {
        let span = |span: &Span| {
            time(span.most, Duration::ZERO, "the length of a step", at)?;
            need(span.least <= span.most, "the shortest length of a step", at, span.least.get())
        };
        match step {
            Step::Compute(length) | Step::Sleep(length) => span(length),
            Step::Touch(touch) => self.check_touch(touch, at),
            Step::Execute(execute) => self.check_execute(execute, at),
            Step::Replay(replay) => {
                self.buffer(replay.buffer.index(), at)?;
                let known = (replay.trace as usize) < self.traces.len();
                need(known, "the recording of a step", at, u64::from(replay.trace))?;
                within(replay.accesses.unwrap_or(0), 0, MOST_ACCESSES, "the accesses of a step", at)
            }
            Step::Acquire(lock) | Step::Release(lock) => {
                need(lock.index() < self.locks.len(), "the lock of a step", at, lock.index() as u64)
            }
            Step::Allocate { buffer, .. } | Step::Free(buffer) | Step::Flush(Flush::Buffer(buffer)) => {
                self.buffer(buffer.index(), at)
            }
            Step::Command(words) => check_command(words, at),
            Step::Flush(Flush::All) | Step::Repeat { .. } => Ok(()),
        }
    }

    fn check_touch(&self, touch: &Touch, at: Option<usize>) -> Checked {
        self.buffer(touch.buffer.index(), at)?;
        within(touch.accesses, 0, MOST_ACCESSES, "the accesses of a step", at)?;
        within(touch.stride.get(), 1, self.platform.dram.size.get(), "a stride", at)?;
        time(touch.think, Duration::ZERO, "the time between accesses", at)?;
        match touch.pattern {
            Pattern::Rows { row, arrays, goes_on: _ } => {
                within(u64::from(arrays), 1, u64::from(u16::MAX), "the arrays of a step", at)?;
                within(row.get(), 1, self.platform.dram.size.get(), "a row", at)
            }
            _ => Ok(()),
        }
    }

    /// Instructions are a number that a clock comes to the end of, on every kind of core.
    fn check_execute(&self, execute: &Execute, at: Option<usize>) -> Checked {
        let Execute { instructions, phase, touch, on_reference } = execute;
        within(*instructions, 0, Execute::INSTRUCTIONS_MAX, "the instructions of a step", at)?;
        for &cycles in &phase.millicycles {
            within(cycles.into(), 0, Phase::MILLICYCLES_MAX.into(), "the cycles of an instruction", at)?;
        }
        within(
            phase.branch_misses.into(),
            0,
            phase.branches.into(),
            "the mispredicted branches of a phase",
            at,
        )?;
        for shares in [phase.branches, phase.dtlb_misses, phase.itlb_misses] {
            within(shares.into(), 0, 1_000_000, "an event of a million instructions", at)?;
        }
        for kind in (0..self.platform.kinds.len()).map(|kind| KindId(kind as u8)) {
            let longest = phase.longest(&self.platform, kind, *instructions);
            time(longest, Duration::ZERO, "the length of a step", at)?;
        }
        let reference = phase.on_reference(&self.platform, *instructions);
        need(
            *on_reference == reference,
            "the length of a step on the reference kind",
            at,
            on_reference.get(),
        )?;
        let Some(touch) = touch else { return Ok(()) };
        need(touch.think.is_zero(), "the time between accesses of instructions", at, touch.think.get())?;
        within(touch.accesses, 0, *instructions, "the accesses of instructions", at)?;
        self.check_touch(touch, at)
    }

    fn buffer(&self, index: usize, at: Option<usize>) -> Checked {
        need(index < self.buffers.len(), "the buffer of a step", at, index as u64)
    }

    fn core(&self, core: CoreId, what: &'static str, at: Option<usize>) -> Checked {
        need(core.index() < self.platform.cores.len(), what, at, core.index() as u64)
    }

    fn task(&self, task: TaskId, what: &'static str, at: usize) -> Checked {
        need(task.index() < self.tasks.len(), what, Some(at), task.index() as u64)
    }

    /// What isolation refers to exists; the rest is for admission to judge.
    fn check_isolation(&self) -> Checked {
        let isolation = &self.isolation;
        if let Some(regulation) = &isolation.bandwidth {
            time(regulation.period, SHORTEST, "the regulation period", None)?;
            for (at, budget) in regulation.cores.iter().enumerate() {
                self.core(budget.core, "the core of a budget", Some(at))?;
            }
            self.check_changes(regulation)?;
            for (at, budget) in regulation.tasks.iter().enumerate() {
                self.task(budget.task, "the task of a budget", at)?;
            }
        }
        if let Some(coloring) = &isolation.memory {
            let walked = coloring.kernel_data.map_or(0, |data| data.walked.get());
            within(
                walked,
                0,
                KernelData::MOST_WALKED.get(),
                "what a release reads of the kernel's data",
                None,
            )?;
            within(coloring.heaps.size.get(), 64, Heaps::MOST.get(), "the size of a heap", None)?;
            for (at, owner) in coloring.owners.iter().enumerate() {
                self.task(owner.task, "the owner of colors", at)?;
            }
        }
        for (at, mask) in isolation.ways.iter().enumerate() {
            match mask.owner {
                WayOwner::Core(core) => self.core(core, "the core of ways", Some(at))?,
                WayOwner::Task(task) => self.task(task, "the task of ways", at)?,
            }
        }
        if let Some(partitions) = &isolation.partitions {
            let tasks = partitions.partitions().iter().flat_map(|partition| &partition.tasks);
            tasks.enumerate().try_for_each(|(at, &task)| self.task(task, "the task of a window", at))?;
            let mut cores = partitions.cycles().iter().map(|cycle| cycle.core).enumerate();
            cores.try_for_each(|(at, core)| self.core(core, "the core of windows", Some(at)))?;
        }
        let Some(lockdown) = &isolation.lockdown else { return Ok(()) };
        for (at, page) in lockdown.pages.iter().enumerate() {
            self.task(page.task, "the task of a locked page", at)?;
            let buffer = self.buffers.get(page.buffer.index());
            need(buffer.is_some(), "the buffer of a locked page", Some(at), page.buffer.index() as u64)?;
            let pages = buffer.map_or(0, |buffer| buffer.size.in_pieces_of(self.platform.page));
            need(page.page < pages, "a locked page", Some(at), page.page)?;
        }
        let partitions = lockdown.partitions.iter().flatten();
        partitions.enumerate().try_for_each(|(at, &task)| self.task(task, "the task of a partition", at))
    }

    /// Changes of budgets come one after the other, and each core that they name has a budget.
    fn check_changes(&self, regulation: &Regulation) -> Checked {
        within(
            regulation.changes.len() as u64,
            0,
            MOST_CHANGES as u64,
            "the number of changes of budgets",
            None,
        )?;
        let mut last = Duration::ZERO;
        for (at, change) in regulation.changes.iter().enumerate() {
            time(change.at, last, "the time of a change of budgets", Some(at))?;
            last = change.at;
            for entry in &change.cores {
                let known = regulation.cores.iter().any(|known| known.core == entry.core);
                need(known, "the core of a change of budgets", Some(at), u64::from(entry.core.0))?;
            }
        }
        Ok(())
    }

    fn check_end(&self) -> Checked {
        let jobs = match self.end {
            End::At(end) => return time(end, Duration::new(1), "the end", None),
            End::Jobs(jobs) => jobs,
        };
        within(jobs, 1, MOST_JOBS, "the number of jobs", None)?;
        let whole = |task: &Task| {
            let period = task.release.period().filter(|_| task.release.is_periodic());
            let period = period.map_or(0, |period| u128::from(period.get()));
            period * u128::from(jobs) * 2 + u128::from(task.release.offset().get())
        };
        let longest = self.tasks.iter().map(whole).max().unwrap_or(0);
        need(longest <= u128::from(LONGEST.get()), "the number of jobs", None, jobs)
    }
}

impl Platform {
    /// Makes sure that machines can work with the numbers of this chip.
    ///
    /// # Errors
    /// The first number that they can't.
    pub fn check(&self) -> Checked {
        within(self.cores.len() as u64, 1, CoreSet::CAPACITY as u64, "the number of cores", None)?;
        for (at, core) in self.cores.iter().enumerate() {
            let kind = self.kinds.get(usize::from(core.kind));
            need(kind.is_some(), "the kind of a core", Some(at), u64::from(core.kind))?;
        }
        let reference = usize::from(self.reference);
        need(reference < self.kinds.len(), "the reference kind of core", None, reference as u64)?;
        for (at, kind) in self.kinds.iter().enumerate() {
            let at = Some(at);
            // Up to 1 THz, so that a clock is no less than a picosecond.
            within(kind.clock.get(), 1, 1_000_000_000_000, "the clock of a kind of core", at)?;
            let rate = u64::from(kind.instructions_per_kilocycle);
            within(rate, 1, 1_000_000, "the instructions of a kind of core", at)?;
            within(
                u64::from(kind.outstanding_misses),
                1,
                255,
                "the outstanding misses of a kind of core",
                at,
            )?;
            within(u64::from(kind.smt_speed.get()), 1, 1000, "the speed of SMT siblings", at)?;
        }
        let page = self.page.get();
        need(page.is_power_of_two() && (64..=1 << 30).contains(&page), "the size of a page", None, page)?;
        let mut lines: u64 = 0;
        for (at, cache) in self.caches.iter().enumerate() {
            cache.check(at, page)?;
            lines = lines.saturating_add(cache.size.get() / cache.line.get());
        }
        within(lines, 0, MOST_LINES, "the number of lines of all caches", None)?;
        if let Some(bus) = &self.bus {
            within(bus.clock.get(), 1, 1_000_000_000, "the clock of the bus", None)?;
            let depths = [bus.address, bus.data, bus.signal, bus.depth];
            need(depths.iter().all(|&clocks| clocks > 0), "the clocks of the bus", None, 0)?;
        }
        if let Some(prefetcher) = &self.prefetcher {
            for number in [prefetcher.streams, prefetcher.after, prefetcher.distance] {
                within(u64::from(number), 1, 64, "the prefetcher's numbers", None)?;
            }
        }
        self.check_power()?;
        within(u64::from(self.pmu.width), 1, 64, "the width of counters", None)?;
        within(u64::from(self.pmu.rmids), 0, MOST_RMIDS, "the ids of monitored lines", None)?;
        self.dram.check()
    }

    /// What it draws keeps sums far from overflow, and each kind of core has a meter where one has.
    fn check_power(&self) -> Checked {
        for (at, &(_, cost)) in self.kinds.iter().flat_map(|kind| &kind.energy).enumerate() {
            within(cost.get(), 0, MOST_COST.get(), "what an event costs", Some(at))?;
        }
        let Some(model) = &self.power else { return Ok(()) };
        let (meters, kinds) = (model.clusters.len(), self.kinds.len());
        need(meters == kinds, "the number of meters of clusters", None, meters as u64)?;
        let clusters = model.clusters.iter().flat_map(|cluster| [cluster.on, cluster.gated, cluster.shared]);
        let powers = clusters.chain(model.dram.map(|dram| dram.background));
        for (at, power) in powers.enumerate() {
            within(power.get(), 0, MOST_POWER.get(), "a power", Some(at))?;
        }
        let costs = model.dram.map(|dram| [dram.activate, dram.read, dram.write, dram.refresh]);
        for (at, cost) in costs.into_iter().flatten().enumerate() {
            within(cost.get(), 0, MOST_COST.get(), "what a command of memory costs", Some(at))?;
        }
        Ok(())
    }
}

/// The most that an event, or a command of memory, may cost: a joule.
pub const MOST_COST: Energy = Energy::new(1_000_000_000_000_000);
/// The most that a core, a cluster or memory may draw: a kilowatt.
pub const MOST_POWER: Power = Power::new(1_000_000);

impl Cache {
    /// Makes sure that it has whole sets of whole lines.
    fn check(&self, at: usize, page: u64) -> Checked {
        let (size, line, ways, at) = (self.size.get(), self.line.get(), u64::from(self.ways), Some(at));
        need(line.is_power_of_two() && (8..=page).contains(&line), "the line of a cache", at, line)?;
        within(ways, 1, 1 << 12, "the ways of a cache", at)?;
        within(size, line * ways, 1 << 48, "the size of a cache", at)?;
        need(size.is_multiple_of(line * ways), "the size of a cache", at, size)?;
        within(u64::from(self.level), 1, 6, "the level of a cache", at)?;
        within(self.latency.get(), 0, 1_000_000, "the latency of a cache", at)?;
        within(self.slice_hash.len() as u64, 0, 16, "the slices of a cache", at)?;
        need(self.sets() >= self.slices(), "the slices of a cache", at, self.slices())
    }
}

impl Dram {
    /// Makes sure that its addresses can be taken apart.
    fn check(&self) -> Checked {
        let size = self.size.get();
        need(
            size.is_power_of_two() && (1 << 20..=1 << 48).contains(&size),
            "the size of the memory",
            None,
            size,
        )?;
        let bits = size.trailing_zeros();
        for (at, mask) in self.channel_bits.iter().chain(&self.rank_bits).chain(&self.bank_bits).enumerate() {
            let inside = mask.0 != 0 && mask.0.trailing_zeros() >= 3 && mask.0.leading_zeros() >= 64 - bits;
            need(inside, "the bits of channels, ranks and banks", Some(at), mask.0)?;
        }
        need(u32::from(self.row_shift) < bits, "row_shift", None, u64::from(self.row_shift))?;
        within(self.clock.get(), 1, 1_000_000_000, "the clock of the memory", None)?;
        within(self.bus_width.get(), 1, 1 << 16, "the width of the memory's bus", None)?;
        within(u64::from(self.queue), 1, u64::from(u16::MAX), "the queue of the memory", None)?;
        time(self.path, Duration::ZERO, "the path to the memory", None)?;
        let bound = self.guaranteed.map_or(1, |rate| rate.get());
        within(bound, 1, u64::MAX, "the guaranteed bandwidth", None)?;
        within(u64::from(self.timing.burst), 2, u64::from(u16::MAX), "the burst of the memory", None)
    }
}
