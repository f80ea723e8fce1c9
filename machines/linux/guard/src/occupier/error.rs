//! Why budgets are not held from user space.

use solo_model::{CoreId, Duration};
use solo_threads::NoFifo;
use std::io;

/// Budgets that can't be held from user space.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BudgetRefusal {
    /// No core has one.
    #[error("no core has a budget")]
    NoCore,
    /// Two directions.
    #[error("reads and writes are budgeted apart, and an occupier waits for one counter: give one event")]
    Directions,
    /// A period that is too short for a switch of threads, or so long that a stopped core stays away for too long.
    #[error("a period of {found} is out of range: {} to {}", Self::PERIODS.0, Self::PERIODS.1)]
    Period {
        /// What was asked for.
        found: Duration,
    },
    /// A budget of nothing.
    #[error("{0} has a budget of 0 events: it would be stopped for good")]
    Zero(CoreId),
    /// A CPU that this process may not use.
    #[error("{core} is none of the CPUs that this process may use: {}", list(available))]
    Cpu {
        /// The core.
        core: CoreId,
        /// Those that it may use.
        available: Vec<usize>,
    },
    /// A share of what memory guarantees, of which Linux knows nothing.
    #[error(
        "{0} has a budget by weight, and nobody knows what the memory of this machine guarantees: give it in events"
    )]
    Weight(CoreId),
}

impl BudgetRefusal {
    /// The shortest and the longest period.
    pub const PERIODS: (Duration, Duration) = (Duration::new(200_000), Duration::new(1_000_000_000));
}

fn list(cpus: &[usize]) -> String {
    cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Why nothing is held. Nothing of the system was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OccupierError {
    /// The budgets.
    #[error(transparent)]
    Refused(#[from] BudgetRefusal),
    /// SCHED_FIFO is not allowed.
    #[error(transparent)]
    Fifo(#[from] NoFifo),
    /// The counter can't be opened on a CPU.
    #[error(
        "{core}: the event can't be counted there: {}{}",
        solo_store::system_reason(source),
        Self::mend(source)
    )]
    Event {
        /// The CPU.
        core: CoreId,
        /// What the kernel says.
        source: io::Error,
    },
    /// The counter stood still while the guard caused what it counts, or did not ring.
    #[error(
        "{core}: the event was counted {counted} times and rang {} while the guard touched fresh memory, computed and slept: no budget can be held by it",
        if *rang { "once" } else { "never" }
    )]
    Silent {
        /// The CPU.
        core: CoreId,
        /// How often it was counted.
        counted: u64,
        /// Whether it rang.
        rang: bool,
    },
    /// Linux refuses a thread or a descriptor.
    #[error("cannot start: {}", solo_store::system_reason(.0))]
    System(#[source] io::Error),
}

impl OccupierError {
    /// What lets a process count whoever runs on a CPU.
    pub(crate) fn mend(source: &io::Error) -> &'static str {
        match source.kind() {
            io::ErrorKind::NotFound => {
                " (this machine has no counter for it; `solo doctor` says what there is)"
            }
            io::ErrorKind::PermissionDenied => {
                " (needs root, CAP_PERFMON, or kernel.perf_event_paranoid at 0 or lower)"
            }
            _ => "",
        }
    }
}
