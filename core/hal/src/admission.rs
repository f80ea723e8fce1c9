//! Whether a machine can do what an experiment needs: one answer for all machines, before anything changes.
//!
//! What is wrong on *any* machine (a core that the platform lacks, reservations above what memory guarantees) is for others to refuse.

use crate::scripted::ScriptedCounters;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use solo_model::isolation::{Counted, Lockdown};
use solo_model::platform::Pmu;
use solo_model::text::counted;
use solo_model::work::Flush;
use solo_model::{Caps, Device, Duration, EventId, Experiment};

/// A machine that answers for itself.
pub trait Able {
    /// What it is able to do, on the platform of the experiment that it was made for.
    fn caps(&self) -> Caps;
}

/// What a machine lacks of what an experiment needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Lack {
    /// Cores.
    Cores {
        /// How many the experiment's platform has.
        needed: usize,
        /// How many of these the machine has.
        available: usize,
    },
    /// Threads.
    Threads {
        /// One for each task.
        needed: usize,
        /// How many the machine takes.
        available: u32,
    },
    /// Memory that jobs could touch.
    Memory,
    /// Devices that move data by themselves.
    Devices {
        /// The first that the experiment has.
        name: String,
    },
    /// Devices that start by themselves.
    DeviceWithoutCore {
        /// The first that no core starts.
        name: String,
    },
    /// The means to empty caches of all lines, or of those of a buffer.
    Flush {
        /// Of all.
        all: bool,
    },
    /// The means to replay recorded programs.
    Recordings,
    /// A system that starts programs.
    Command {
        /// The first task that is one.
        name: String,
    },
    /// Counters for budgets: enough of them, and such that interrupt.
    Counters {
        /// How many each core needs.
        needed: usize,
        /// How many programmable ones it has.
        available: u8,
        /// Whether they interrupt.
        interrupt: bool,
    },
    /// A counter of the event that budgets are of.
    Event {
        /// The event.
        event: EventId,
        /// Its name in the table of the experiment's platform.
        name: String,
    },
    /// Counters for the monitor that the scheduler listens to.
    Monitor {
        /// How many each core needs.
        needed: usize,
        /// How many programmable ones it has.
        available: u8,
    },
    /// Counters that interrupt, for a scheduler that is to be told at once.
    Interrupts,
    /// A counter of the event that the scheduler listens to.
    Listening {
        /// The event.
        event: EventId,
        /// Its name in the table of the experiment's platform.
        name: String,
    },
    /// A timer as fine as the regulation or sampling period.
    Timer {
        /// The period.
        period: Duration,
        /// The finest that the machine can tell apart.
        finest: Duration,
    },
    /// Ids that tell whose lines are in the last level.
    Rmids {
        /// How many processes may be there together.
        needed: usize,
        /// How many of them can be told apart.
        available: usize,
    },
    /// A meter of energy that is listened to.
    Meter,
    /// Clocks that can be slowed.
    DutyCycles,
    /// The means to move a task to another core at each release.
    Migration {
        /// The first task that is to migrate.
        name: String,
    },
    /// The means to divide a core's time into windows of partitions.
    Windows,
    /// Pages that are placed by color.
    Colors,
    /// Pages that are placed by bank.
    Banks,
    /// Ways of the cache that can be given away.
    Ways,
    /// Pages that can be locked in the cache.
    Locking,
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cores { needed, available } => write!(f, "{needed} cores are needed, {available} are here"),
            Self::Threads { needed, available } => {
                write!(f, "{needed} tasks need a thread each, and at most {available} fit here")
            }
            Self::Memory => f.write_str("jobs touch memory, and no time passes for that here"),
            Self::Devices { name } => {
                write!(f, "device `{name}` moves data by itself, and there are no such devices here")
            }
            Self::DeviceWithoutCore { name } => {
                write!(
                    f,
                    "device `{name}` starts by itself; here a core starts devices: say which one (`core`)"
                )
            }
            Self::Flush { all } => f.write_str(cannot_flush(*all)),
            Self::Command { name } => write!(f, "task `{name}` {CANNOT_START}"),
            Self::Recordings => f.write_str("recorded programs can't be replayed here"),
            Self::Counters { needed, available: 0, .. } => {
                write!(f, "budgets need counters that interrupt, {needed} on each core; there are none here")
            }
            Self::Counters { needed, available, interrupt: false } => write!(
                f,
                "budgets need counters that interrupt, {needed} on each core; none of the {available} here does"
            ),
            Self::Counters { needed, available, interrupt: true } => {
                write!(
                    f,
                    "budgets need {} on each core; there: {available}",
                    counted(*needed, "programmable counter")
                )
            }
            Self::Event { name, .. } => {
                write!(f, "the counters here cannot count {name}, which budgets are of")
            }
            Self::Monitor { needed, available } => {
                write!(
                    f,
                    "what the scheduler listens to needs {} on each core; there: {available}",
                    counted(*needed, "programmable counter")
                )
            }
            Self::Interrupts => {
                f.write_str("the scheduler is to be told at once, and no counter here raises an interrupt")
            }
            Self::Listening { name, .. } => {
                write!(f, "the scheduler listens to {name}, and no counter here can count that")
            }
            Self::Timer { period, finest } => {
                write!(f, "a period of {period} is finer than the timer here, which can do {finest}")
            }
            Self::Rmids { available: 0, .. } => f.write_str(
                "the scheduler listens to what tasks hold of the cache, and that can't be told here",
            ),
            Self::Rmids { needed, available } => write!(
                f,
                "{} may be there together, and the cache tells {available} apart",
                counted(*needed, "process")
            ),
            Self::Meter => f.write_str("the scheduler listens to energy, and nothing here measures it"),
            Self::DutyCycles => f.write_str("cores are to be slowed, and their clocks always run here"),
            Self::Migration { name } => write!(f, "task `{name}` {CANNOT_MIGRATE}"),
            Self::Windows => f.write_str("a core's time can't be divided into windows here"),
            Self::Colors => f.write_str("pages can't be placed by color here"),
            Self::Banks => f.write_str("pages can't be placed by bank here"),
            Self::Ways => f.write_str("ways of the cache can't be given away here"),
            Self::Locking => f.write_str("pages can't be locked in the cache here"),
        }
    }
}

impl core::error::Error for Lack {}

const CANNOT_MIGRATE: &str = "is to migrate each period, and no release moves a task here; the simulated machine and bare metal do that";

const CANNOT_START: &str = "is a program (`command`), and nothing here starts programs; threads of Linux do (--on linux, under any scheduler but `hosted`)";

const fn cannot_flush(all: bool) -> &'static str {
    if all {
        "nothing here empties caches of all lines (`flush = \"all\"`): the simulated machine does, and bare metal on x86-64; name a buffer"
    } else {
        "nothing here empties caches of the lines of a buffer (`flush`); the simulated machine does"
    }
}

/// Holds what an experiment needs against what a machine is able to do.
///
/// # Errors
/// The first thing that the machine lacks.
pub fn admit(experiment: &Experiment, caps: &Caps) -> Result<(), Lack> {
    let caps = &ScriptedCounters::lend(experiment, caps.clone());
    let needed = experiment.platform.core_set();
    let available = needed.and(caps.cores);
    if available != needed {
        return Err(Lack::Cores { needed: needed.len(), available: available.len() });
    }
    let tasks = experiment.tasks.len();
    if tasks > caps.threads_max as usize {
        return Err(Lack::Threads { needed: tasks, available: caps.threads_max });
    }
    if !experiment.traces.is_empty() && !caps.recordings {
        return Err(Lack::Recordings);
    }
    if let Some(task) = experiment.tasks.iter().find(|task| task.work.command().is_some() && !caps.commands) {
        return Err(Lack::Command { name: task.name.clone() });
    }
    if experiment.tasks.iter().any(|task| task.work.touches_memory()) && !caps.memory {
        return Err(Lack::Memory);
    }
    for flush in experiment.tasks.iter().flat_map(|task| task.work.flushed()) {
        let all = flush == Flush::All;
        if !(if all { caps.flushes_all } else { caps.flushes_buffers }) {
            return Err(Lack::Flush { all });
        }
    }
    if let Some(device) = experiment.devices.first().filter(|_| !caps.devices) {
        return Err(Lack::Devices { name: device.name.clone() });
    }
    let by_itself = |device: &&Device| device.core.is_none() && !caps.self_starting_devices;
    if let Some(device) = experiment.devices.iter().find(by_itself) {
        return Err(Lack::DeviceWithoutCore { name: device.name.clone() });
    }
    if let Some(task) = experiment.tasks.iter().find(|task| task.migrate.is_some() && !caps.migrates) {
        return Err(Lack::Migration { name: task.name.clone() });
    }
    if experiment.isolation.partitions.is_some() && !caps.windows {
        return Err(Lack::Windows);
    }
    admit_budgets(experiment, caps)?;
    admit_listening(experiment, caps)?;
    admit_caches(experiment, caps)
}

/// What budgets are enforced with.
fn admit_budgets(experiment: &Experiment, caps: &Caps) -> Result<(), Lack> {
    let Some(regulation) = &experiment.isolation.bandwidth else { return Ok(()) };
    let events: Vec<EventId> = match regulation.counted {
        Counted::One(event) => Vec::from([event]),
        Counted::ReadsAndWrites => Vec::from([EventId::DRAM_READS, EventId::DRAM_WRITES]),
    };
    if !caps.counter_overflow || usize::from(caps.counters) < events.len() {
        let (available, interrupt) = (caps.counters, caps.counter_overflow);
        return Err(Lack::Counters { needed: events.len(), available, interrupt });
    }
    if let Some(event) = events.into_iter().find(|event| !caps.countable.contains(*event)) {
        return Err(Lack::Event { event, name: experiment.platform.events.name(event).to_string() });
    }
    if regulation.period < caps.timer_resolution {
        return Err(Lack::Timer { period: regulation.period, finest: caps.timer_resolution });
    }
    Ok(())
}

/// What a scheduler listens with.
fn admit_listening(experiment: &Experiment, caps: &Caps) -> Result<(), Lack> {
    let Some(listening) = &experiment.listening else { return Ok(()) };
    let events = &listening.observed.events;
    let fixed = Pmu::events_of_fixed(caps.fixed_counters);
    let countable = |event: &EventId| caps.counters > 0 && caps.countable.contains(*event);
    let lacks = |event: &&EventId| !fixed.contains(event) && !countable(event);
    if let Some(&event) = events.iter().find(lacks) {
        return Err(Lack::Listening { event, name: experiment.platform.events.name(event).to_string() });
    }
    let needed = listening.observed.counters(fixed);
    if needed > usize::from(caps.counters) {
        return Err(Lack::Monitor { needed, available: caps.counters });
    }
    if listening.reaction.facts().interrupts && !caps.counter_overflow {
        return Err(Lack::Interrupts);
    }
    if listening.observed.reads_occupancy() {
        let needed = listening.rmids_needed(&experiment.tasks);
        let told = usize::from(experiment.platform.pmu.rmids).saturating_sub(1);
        let available = if caps.occupancy { told } else { 0 };
        if needed > available || available == 0 {
            return Err(Lack::Rmids { needed, available });
        }
    }
    if listening.observed.reads_energy() && !caps.energy {
        return Err(Lack::Meter);
    }
    if listening.reaction.facts().slows && !caps.duty_cycles {
        return Err(Lack::DutyCycles);
    }
    if listening.reaction.facts().divides && caps.ways == 0 {
        return Err(Lack::Ways);
    }
    if listening.looks_every() < caps.timer_resolution {
        return Err(Lack::Timer { period: listening.looks_every(), finest: caps.timer_resolution });
    }
    Ok(())
}

/// What memory and caches are divided with.
fn admit_caches(experiment: &Experiment, caps: &Caps) -> Result<(), Lack> {
    let isolation = &experiment.isolation;
    let takes_memory = experiment.tasks.iter().any(|task| task.work.allocations().next().is_some());
    if takes_memory && caps.colors == 0 {
        return Err(Lack::Colors);
    }
    if let Some(coloring) = &isolation.memory {
        let colors =
            coloring.kernel.is_some() || coloring.owners.iter().any(|owner| !owner.colors.is_empty());
        if colors && caps.colors == 0 {
            return Err(Lack::Colors);
        }
        if coloring.owners.iter().any(|owner| !owner.banks.is_empty()) && caps.banks == 0 {
            return Err(Lack::Banks);
        }
    }
    if !isolation.ways.is_empty() && caps.ways == 0 {
        return Err(Lack::Ways);
    }
    let locks = |lockdown: &Lockdown| !lockdown.pages.is_empty();
    if isolation.lockdown.as_ref().is_some_and(locks) && !caps.cache_lock {
        return Err(Lack::Locking);
    }
    Ok(())
}
