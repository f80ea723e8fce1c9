//! What threads of stock Linux can't do.

use crate::NoFifo;
use solo_model::{Bytes, Criterion, Duration};
use std::io::ErrorKind;

/// What threads of stock Linux can't do of what an experiment needs.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ThreadsLack {
    /// A criterion that is none of fixed priorities.
    #[error(
        "{} has no counterpart in stock Linux that keeps its meaning; criteria of fixed priorities have: RM, DM, FP, AFFINITY, and RR; EDF and SJF run \
         with --scheduler ranks or sched-ext, EDF over all CPUs under SCHED_DEADLINE, with --scheduler deadline; any criterion with --scheduler hosted",
        .0.name()
    )]
    Criterion(Criterion),
    /// Round robin with another quantum than the system's.
    #[error(
        "RR has a quantum of {quantum}, and SCHED_RR {}", match slice {
            Some(slice) => format!("gives slices of {slice} here: quantum = \"{slice}\" in the scenario, or sysctl kernel.sched_rr_timeslice_ms"),
            None => "does not say here how long its slices are".to_owned(),
        }
    )]
    Slice {
        /// The scenario's.
        quantum: Duration,
        /// The system's, where it says so.
        slice: Option<Duration>,
    },
    /// A criterion whose ranks change while a job waits, that takes turns or does not preempt.
    #[error("{} gives jobs no rank that stays while they wait and counts at once; EDF, SJF and criteria of fixed priorities do; --scheduler hosted runs any criterion", .0.name())]
    NoRank(Criterion),
    /// A criterion other than EDF under SCHED_DEADLINE.
    #[error("{} is not what SCHED_DEADLINE does: it runs the earliest deadline first, EDF; criteria of fixed priorities run under SCHED_FIFO", .0.name())]
    NoDeadlines(Criterion),
    /// Threads that may not run on all CPUs under SCHED_DEADLINE.
    #[error(
        "Linux admits a thread to SCHED_DEADLINE that may run on all CPUs of the machine, of which {cpus} are online; the tasks {}: G-EDF on \
         {cpus} cores does, or P- and C-EDF with --scheduler ranks",
        if *global { format!("use {used}") } else { "are kept on some".to_owned() }
    )]
    NotAll {
        /// Online.
        cpus: usize,
        /// Cores that tasks use.
        used: usize,
        /// Every task may run on all of these.
        global: bool,
    },
    /// A task that does not say what SCHED_DEADLINE is to reserve for it.
    #[error("`{task}` has no budget that SCHED_DEADLINE could give it: it lacks {what}")]
    Unreserved {
        /// The task.
        task: String,
        /// What it lacks.
        what: &'static str,
    },
    /// A task whose budget, deadline and period SCHED_DEADLINE does not take.
    #[error(
        "`{task}`: SCHED_DEADLINE reserves {} or more, by a deadline that is not above the period; this is {runtime} by {deadline} in each \
         {period}",
        Self::SHORTEST_RUNTIME
    )]
    NoReservation {
        /// The task.
        task: String,
        /// Its wcet.
        runtime: Duration,
        /// Its deadline, from its release on.
        deadline: Duration,
        /// Its period.
        period: Duration,
    },
    /// More than SCHED_DEADLINE gives away.
    #[error(
        "SCHED_DEADLINE does not admit all tasks: the sum of wcet by period is above what Linux gives real-time threads \
         (kernel.sched_rt_runtime_us of each kernel.sched_rt_period_us, of all CPUs)"
    )]
    Reserved,
    /// A CPU of a higher number than a set of CPUs can have.
    #[error(
        "the tasks would run on CPU {cpu}, and sched_ext's scheduler has places for CPUs up to {most}: taskset starts solo on others"
    )]
    Number {
        /// The CPU.
        cpu: usize,
        /// The highest one.
        most: usize,
    },
    /// A lock that raises who holds it.
    #[error(
        "`{lock}` raises who holds it, which the ranks of jobs know nothing of: take a lock without protocol, or one of SCHED_FIFO's criteria"
    )]
    Raising {
        /// The lock.
        lock: String,
    },
    /// A program that is hard or soft where threads have ranks: its rank would be its thread's and not that of the process.
    #[error("`{task}` is a program (`command`), whose process has no rank{}", Self::OF_BEST_EFFORT)]
    RankedCommand {
        /// The task.
        task: String,
    },
    /// The same under SCHED_DEADLINE, whose threads make no processes.
    #[error(
        "`{task}` is a program (`command`), and no thread under SCHED_DEADLINE makes a process{}",
        Self::OF_BEST_EFFORT
    )]
    ReservedCommand {
        /// The task.
        task: String,
    },
    /// A program that can't be executed.
    #[error(
        "`{task}` is the program `{program}`, which can't be started: {}",
        if *why == ErrorKind::NotFound && !program.contains('/') { "it is in no folder of PATH".to_owned() } else { why.to_string() }
    )]
    NoProgram {
        /// The task.
        task: String,
        /// The program, as the scenario names it.
        program: String,
        /// What the system says.
        why: ErrorKind,
    },
    /// A policy that listens to counters.
    #[error(
        "threads of Linux have no counters for a policy that listens: --on sim and both RTOS machines have"
    )]
    Listening,
    /// Releases at ticks.
    #[error(
        "Linux releases threads by one-shot timers, not at ticks of {0}; --scheduler hosted releases at ticks"
    )]
    Ticks(Duration),
    /// The most urgent job on the fastest core.
    #[error(
        "Linux leaves a real-time thread where it is when a faster CPU becomes free; cores = \"any\" asks for no more"
    )]
    FastestFirst,
    /// More priorities than SCHED_FIFO has.
    #[error("the tasks need {needed} priorities, SCHED_FIFO has {available} for them")]
    Priorities {
        /// Different ones.
        needed: usize,
        /// That many can be had.
        available: usize,
    },
    /// More cores than this process may use.
    #[error("the tasks use {needed} cores, and this process may use {available} CPUs")]
    Cpus {
        /// Cores that tasks use.
        needed: usize,
        /// CPUs of this process.
        available: usize,
    },
    /// More memory than is free.
    #[error("the buffers take {needed}, and {available} of memory are free")]
    Memory {
        /// Of all buffers.
        needed: Bytes,
        /// What may be taken.
        available: Bytes,
    },
    /// SCHED_FIFO is not allowed.
    #[error(transparent)]
    Fifo(#[from] NoFifo),
    /// A ceiling that a task of best effort takes part in.
    #[error(
        "`{task}` is of best effort and takes `{lock}`, whose ceiling would raise it above real-time tasks without their rights"
    )]
    Ceiling {
        /// The task.
        task: String,
        /// The lock.
        lock: String,
    },
    /// What no machine of these abilities can do.
    #[error("{0}")]
    Machine(#[from] solo_hal::Lack),
}

impl ThreadsLack {
    /// Less than this SCHED_DEADLINE reserves for nobody (the kernel's `DL_SCALE`).
    pub(crate) const SHORTEST_RUNTIME: Duration = Duration::new(1024);

    const OF_BEST_EFFORT: &str =
        "; under SCHED_FIFO, which is the default, it can be hard or soft, and everywhere of best effort";

    /// True where what is lacking is for programs, which only threads of Linux start.
    pub const fn is_of_programs(&self) -> bool {
        matches!(
            self,
            Self::RankedCommand { .. }
                | Self::ReservedCommand { .. }
                | Self::NoProgram { .. }
                | Self::Machine(solo_hal::Lack::Command { .. })
        )
    }
}
