//! Whether threads of stock Linux can do what an experiment needs: answered before anything starts.

use crate::NoFifo;
use crate::flush;
use crate::host::Host;
use crate::lack::ThreadsLack;
use crate::plane::{self, Raises};
use crate::priorities::{self, Scheduling};
use solo_model::policy::{Theory, Timing};
use solo_model::work::LockProtocol;
use solo_model::{Bytes, Caps, Experiment, TaskClass};
use solo_perf::files::Host as Files;

/// Holds what an experiment needs against this host.
///
/// # Errors
/// The first thing that is lacking.
pub fn admit(experiment: &Experiment, host: &Host) -> Result<(), ThreadsLack> {
    plain(experiment)?;
    let highest = priorities::assign(experiment, host)?.iter().filter_map(|s| s.priority()).max();
    ceilings(experiment)?;
    room(experiment, host)?;
    with_fifo(host, highest)
}

/// The same where a plane schedules hard and soft tasks, which raises who holds locks so.
pub(crate) fn admit_ranked(experiment: &Experiment, host: &Host, raises: Raises) -> Result<(), ThreadsLack> {
    plain(experiment)?;
    if let Some(task) = urgent_program(experiment) {
        return Err(ThreadsLack::RankedCommand { task });
    }
    plane::admit(experiment, raises)?;
    ceilings(experiment)?;
    room(experiment, host)?;
    // Who watches over the run.
    with_fifo(host, Some(host.priorities.1))
}

/// The same under SCHED_DEADLINE: how each task is scheduled.
pub(crate) fn admit_deadline(experiment: &Experiment, host: &Host) -> Result<Vec<Scheduling>, ThreadsLack> {
    plain(experiment)?;
    if let Some(task) = urgent_program(experiment) {
        return Err(ThreadsLack::ReservedCommand { task });
    }
    if experiment.policy.criterion.facts().theory != Theory::Edf {
        return Err(ThreadsLack::NoDeadlines(experiment.policy.criterion));
    }
    let raises = |protocol| protocol == LockProtocol::Ceiling;
    if let Some(lock) = experiment.locks.iter().find(|lock| raises(lock.protocol)) {
        return Err(ThreadsLack::Raising { lock: lock.name.clone() });
    }
    let used = priorities::used_cores(experiment);
    let real_time = |task: &&solo_model::Task| task.class != TaskClass::BestEffort;
    let whole = |task: &solo_model::Task| priorities::cores(experiment, task) == used;
    let global = experiment.tasks.iter().filter(real_time).all(whole);
    if !global || used.len() != host.online || host.cpus.len() != host.online {
        return Err(ThreadsLack::NotAll { cpus: host.online, used: used.len(), global });
    }
    room(experiment, host)?;
    // Who watches over the run.
    with_fifo(host, Some(host.priorities.1))?;
    priorities::reserved(experiment)
}

/// The same where a kernel of this process decides: what it may count on. It has criteria, timing and locks of its own.
pub(crate) fn admit_hosted(experiment: &Experiment, host: &Host) -> Result<Caps, ThreadsLack> {
    let caps = Caps { migrates: true, commands: false, ..caps(experiment) };
    solo_hal::admit(experiment, &caps)?;
    if experiment.listening.is_some() {
        return Err(ThreadsLack::Listening);
    }
    room(experiment, host)?;
    // The clock.
    with_fifo(host, Some(host.priorities.1))?;
    Ok(caps)
}

/// The first task that is a program and not of best effort.
fn urgent_program(experiment: &Experiment) -> Option<String> {
    let urgent =
        |task: &&solo_model::Task| task.class != TaskClass::BestEffort && task.work.command().is_some();
    experiment.tasks.iter().find(urgent).map(|task| task.name.clone())
}

/// What threads have nothing for.
fn plain(experiment: &Experiment) -> Result<(), ThreadsLack> {
    // Scripted counters stand for a processor's; threads would have to be told of them.
    solo_hal::admit(experiment, &caps(experiment))?;
    if let Timing::Tick(period) = experiment.policy.timing {
        return Err(ThreadsLack::Ticks(period));
    }
    let domains = experiment.policy.domains(experiment.platform.cores.len());
    if domains.into_iter().any(|domain| experiment.moves_up(domain)) {
        return Err(ThreadsLack::FastestFirst);
    }
    Ok(())
}

/// CPUs and memory.
fn room(experiment: &Experiment, host: &Host) -> Result<(), ThreadsLack> {
    let (needed, available) = (priorities::used_cores(experiment).len(), host.cpus.len());
    if needed > available {
        return Err(ThreadsLack::Cpus { needed, available });
    }
    let needed = experiment.buffers.iter().fold(0_u64, |sum, buffer| sum.saturating_add(buffer.size.get()));
    // Half of it: what is free now others take, too.
    if host.memory > 0 && needed > host.memory / 2 {
        let (needed, available) = (Bytes::new(needed), Bytes::new(host.memory / 2));
        return Err(ThreadsLack::Memory { needed, available });
    }
    Ok(())
}

fn with_fifo(host: &Host, highest: Option<i32>) -> Result<(), ThreadsLack> {
    match highest {
        Some(priority) if !host.fifo => Err(NoFifo::why(&Files::new(), priority).into()),
        _ => Ok(()),
    }
}

/// A machine without counters, colors and ways: real memory, and as many cores as the platform, of which only those that
/// tasks use are needed.
fn caps(experiment: &Experiment) -> Caps {
    Caps {
        memory: true,
        commands: true,
        windows: false,
        migrates: false,
        flushes_buffers: flush::line().is_some(),
        ..Caps::plain(experiment.platform.cores.len())
    }
}

/// Refuses ceilings that a task of best effort would be raised to.
fn ceilings(experiment: &Experiment) -> Result<(), ThreadsLack> {
    for task in experiment.tasks.iter().filter(|task| task.class == TaskClass::BestEffort) {
        for lock in priorities::locks_of(task) {
            let lock = experiment.locks.get(lock.index());
            if let Some(lock) = lock.filter(|lock| lock.protocol == LockProtocol::Ceiling) {
                return Err(ThreadsLack::Ceiling { task: task.name.clone(), lock: lock.name.clone() });
            }
        }
    }
    Ok(())
}
