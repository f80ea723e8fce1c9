//! What a run needs before there is a kernel: the same under all criteria, so it is in the image once.

use super::Common;
use super::cores;
use super::devices;
use super::finish::Goal;
use super::mediators::{CountsFrom, MOST_RECORDS, Mediators, RecordSpace};
use super::port::{Port, Source};
use super::task_memory::TaskMemory;
use super::threads::Threads;
use super::turns;
use crate::agenda::Agenda;
use crate::lock::SpinLock;
use crate::module::{BootOptions, Clock};
use alloc::string::String;
use alloc::vec::Vec;
use solo_hal::ScriptedCounters;
use solo_kernel::KernelConfig;
use solo_model::{Caps, CoreId, CoreSet, Experiment, Instant, TaskId};

/// An experiment that was admitted, and the memory of its run.
pub struct Prepared<P: Port> {
    /// What is the same under all criteria.
    pub common: Common<P>,
    /// What the machine is able to do.
    pub caps: Caps,
    /// The jobs that end the run.
    pub goal: Goal,
    /// Its end in any case.
    end: Instant,
    space: RecordSpace<P>,
    source: Option<P::Source>,
    /// Where each buffer begins.
    buffers: Vec<u64>,
}

impl<P: Port> Prepared<P> {
    /// Admits an experiment and takes the memory of its threads and records.
    ///
    /// # Errors
    /// What it lacks here, in words.
    #[inline(never)] // once, not for each criterion
    pub fn of(
        experiment: &Experiment,
        options: BootOptions,
        is_last: bool,
    ) -> Result<(Self, KernelConfig), String> {
        let settled = matches!(options.clock, Clock::Settled);
        let source = P::Source::find(options.modelled_counters);
        let caps = Mediators::<P>::caps(cores::count(), settled, source, &experiment.platform.events);
        let caps = ScriptedCounters::lend(experiment, caps);
        solo_hal::admit(experiment, &caps).map_err(|lack| words(&lack))?;
        let memory = TaskMemory::allocate::<P>(experiment, options.colors)?;
        let config = KernelConfig::from_experiment(experiment).map_err(|refusal| words(&refusal))?;
        let (goal, end) = Goal::of(experiment);
        let buffers = memory.buffers.iter().map(|buffer| buffer.base).collect();
        if P::HAS_DEVICES {
            devices::expect::<P>(&experiment.devices);
        }
        let threads = Threads::new(experiment, memory).map_err(|error| words(&error))?;
        let room = records_room::<P>();
        let space = RecordSpace::new(room).ok_or_else(|| alloc::format!("no memory for {room} records"))?;
        let counted = source.is_some_and(|source| !source.is_model());
        let counts_turns = P::COUNT_TOGETHER
            && counted
            && options.instruction_clock
            && !settled
            && turns::are_wanted(experiment);
        let common = Common {
            threads,
            deaths: SpinLock::new(Vec::with_capacity(experiment.tasks.len())),
            options,
            settled,
            colored: experiment.isolation.memory.is_some(),
            modelled: source.is_some_and(|source| source.is_model()),
            counts_turns,
            cores: experiment.platform.cores.len(),
            is_last,
        };
        Ok((Self { common, caps, goal, end, space, source, buffers }, config))
    }

    /// True where all cores are in one part of the kernel.
    pub fn is_whole(&self) -> bool {
        self.common.settled || self.common.options.one_lock
    }

    /// The machine of a part of the kernel, which answers for the cores `own`; `released`: the core of a task's timers.
    ///
    /// # Errors
    /// What devices lack here, in words.
    #[inline(never)] // once, not for each criterion
    pub fn mediators(
        &self,
        experiment: &Experiment,
        own: CoreSet,
        released: &dyn Fn(TaskId) -> Option<CoreId>,
    ) -> Result<Mediators<P>, String> {
        let agenda = Agenda::of(own, self.common.cores, self.end);
        let script = ScriptedCounters::of(experiment);
        let counting = CountsFrom {
            source: self.source,
            events: experiment.platform.events.clone(),
            script,
            is_shared: self.common.counts_turns,
        };
        let probes = self.common.options.probes;
        let mut machine = Mediators::new(agenda, self.common.settled, probes, self.space.clone(), counting);
        if P::HAS_DEVICES && !experiment.devices.is_empty() {
            let engines = devices::engines::<P>(experiment, own, &self.buffers, released)?;
            machine.give_devices(engines, own);
        }
        Ok(machine)
    }
}

/// How many records are kept: three quarters of a system heap are theirs, where there is one.
fn records_room<P: Port>() -> usize {
    let room = |bytes: u64| bytes / 4 * 3 / size_of::<solo_model::Record>() as u64;
    P::heaps().system_bytes().map_or(MOST_RECORDS, |bytes| MOST_RECORDS.min(room(bytes) as usize))
}

/// What something says of itself.
#[inline(never)] // once, not for each criterion
pub fn words(what: &dyn core::fmt::Display) -> String {
    alloc::format!("{what}")
}
