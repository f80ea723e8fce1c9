//! Why budgets of groups are not held.

use crate::error::GuardError;
use crate::occupier::{BudgetRefusal, OccupierError};
use crate::setting::Group;
use solo_model::{CoreId, CoreSet};
use solo_store::StoreError;
use solo_threads::NoFifo;
use std::io;

/// Why nothing is held. Nothing of the system was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GroupError {
    /// No group at all.
    #[error("no group has a budget")]
    Nobody,
    /// More than an enforcer has places for.
    #[error("budgets of {found} groups are more than one guard holds: {} at most", CoreSet::CAPACITY)]
    TooMany {
        /// Groups that were asked for.
        found: usize,
    },
    /// A budget of nothing.
    #[error("group {group} has a budget of 0 events: it would be frozen for good")]
    Zero {
        /// The group.
        group: Group,
    },
    /// A share of what memory guarantees, of which Linux knows nothing.
    #[error(
        "group {group} has a budget by weight, and nobody knows what the memory of this machine guarantees: give it in events"
    )]
    Weight {
        /// The group.
        group: Group,
    },
    /// What all budgets have in common.
    #[error(transparent)]
    Refused(BudgetRefusal),
    /// The group of everybody, which can't be frozen.
    #[error("the root of all groups can't be frozen: name a group in it")]
    Root,
    /// A group that can't be reached, or is not there.
    #[error("group {group}: {}", source.reason())]
    Group {
        /// The group.
        group: Group,
        /// What the system says.
        source: StoreError,
    },
    /// Whoever would freeze it is in it.
    #[error("group {group}: the guard itself is in it, and would be frozen with it")]
    Own {
        /// The group.
        group: Group,
    },
    /// Another guard holds it.
    #[error("group {group}: another guard holds a budget of it: it would thaw what this one froze")]
    Claimed {
        /// The group.
        group: Group,
    },
    /// Somebody else has frozen it.
    #[error("group {group} is frozen already: whoever has done that is to thaw it")]
    Frozen {
        /// The group.
        group: Group,
    },
    /// The event can't be counted for a group.
    #[error(
        "{core}: the event can't be counted there for group {group}: {}{}",
        solo_store::system_reason(source),
        Self::mend(source)
    )]
    Event {
        /// The CPU, where the event can be counted for nobody in particular.
        core: CoreId,
        /// The group.
        group: Group,
        /// What the kernel says.
        source: io::Error,
    },
    /// The event can't be counted on a CPU, for whomever.
    #[error(
        "{core}: the event can't be counted there: {}{}",
        solo_store::system_reason(source),
        OccupierError::mend(source)
    )]
    Nowhere {
        /// The CPU.
        core: CoreId,
        /// What the kernel says.
        source: io::Error,
    },
    /// The journal.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// SCHED_FIFO is not allowed.
    #[error(transparent)]
    Fifo(#[from] NoFifo),
    /// Linux refuses a thread or a descriptor.
    #[error("cannot start: {}", solo_store::system_reason(.0))]
    System(#[source] io::Error),
}

impl GroupError {
    /// What lets groups be counted.
    fn mend(source: &io::Error) -> &'static str {
        match source.kind() {
            io::ErrorKind::NotFound => {
                " (groups have no counters before a controller is enabled for them: echo +cpu > /sys/fs/cgroup/cgroup.subtree_control)"
            }
            io::ErrorKind::PermissionDenied => {
                " (needs root, CAP_PERFMON, or kernel.perf_event_paranoid at 0 or lower)"
            }
            _ => "",
        }
    }
}
