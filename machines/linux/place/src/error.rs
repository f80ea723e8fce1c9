//! Why nothing is placed.

use solo_guard::GuardError;
use solo_model::text::{Printable, Unnumbered};
use solo_model::{CoreId, TaskId};
use solo_observe::MonitorError;
use std::io;

/// Why nothing is placed. Everything is as it was before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// The monitor can't be made.
    #[error("{0}")]
    Monitor(#[from] MonitorError),
    /// An event is not known here, or its name is none.
    #[error("{}: {why}", Printable(event))]
    Event {
        /// The events as they were asked for.
        event: String,
        /// What is wrong.
        why: String,
    },
    /// The kernel would not count.
    #[error("{}: {why}", Printable(event))]
    Counter {
        /// The event.
        event: String,
        /// What that means, and what mends it.
        why: String,
    },
    /// A policy that is told at once, by a counter that interrupts.
    #[error(
        "`{0}` acts when a counter interrupts, and an agent beside the kernel hears of counts at the end of a period; \
         `yield` does the same then"
    )]
    AtOnce(&'static str),
    /// A policy that goes by kinds of cores, where all are alike.
    #[error(
        "`{0}` goes by what tasks gain on big cores, and all CPUs here are of one kind; it runs in simulation: solo run"
    )]
    OneKind(&'static str),
    /// A model whose events take turns.
    #[error(
        "`{0}` has more events than are counted at a time here, and sets of an agent take turns by CPU, not by task; `ipc-sampling` has two events"
    )]
    InTurns(&'static str),
    /// A task's core is no CPU that is online here.
    #[error(
        "{core} of task `{}` is none of the CPUs of this machine that are online: {online}",
        Printable(task)
    )]
    NoCore {
        /// The task.
        task: String,
        /// Its core.
        core: CoreId,
        /// The CPUs that there are.
        online: String,
    },
    /// No process of this number.
    #[error("there is no process {0}")]
    NoProcess(u32),
    /// The same process twice.
    #[error("process {process} can't be two tasks, `{}` and `{}`", Printable(first), Printable(second))]
    Twice {
        /// The process.
        process: u32,
        /// One task.
        first: String,
        /// The other.
        second: String,
    },
    /// A program can't be started.
    #[error("cannot start {}: {}", Printable(program), Unnumbered(source))]
    Execute {
        /// The program.
        program: String,
        /// What the system says.
        source: io::Error,
    },
    /// Tasks are to be held, and there is no cgroup for them.
    #[error(
        "`{policy}` holds tasks, and no cgroup (version 2) can be made for task `{}`: {why}; as root it can, or in a scope of \
         your own: systemd-run --user --scope -p Delegate=yes solo place ...",
        Printable(task)
    )]
    NoFreezer {
        /// The policy.
        policy: &'static str,
        /// The task.
        task: String,
        /// What the system says.
        why: String,
    },
    /// Clocks of cores are to be slowed.
    #[error(
        "`{0}` slows the clocks of cores, which nothing does here; `way-sweep` gives a curve as many sizes by ways"
    )]
    Slows(&'static str),
    /// Ways are to be given, or lines counted, and resctrl does not do it here.
    #[error(
        "`{what}` takes {needs} by resctrl: {why}; where the processor has it: mount -t resctrl resctrl /sys/fs/resctrl, as root"
    )]
    NoCacheGroups {
        /// The policy or monitor.
        what: &'static str,
        /// What it takes.
        needs: &'static str,
        /// What is missing.
        why: String,
    },
    /// A setting can't be changed.
    #[error("{0}; others' processes take CAP_SYS_NICE")]
    Rights(#[source] GuardError),
    /// The journal, or what an earlier agent has left.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// The system does not tell any more.
    #[error("{what} {task}: {}", Unnumbered(source))]
    System {
        /// What was tried.
        what: &'static str,
        /// Of which task.
        task: TaskId,
        /// What the system says.
        source: io::Error,
    },
    /// What is decided can't be written down.
    #[error("cannot write the record: {}", Unnumbered(.0))]
    Record(#[source] io::Error),
}
