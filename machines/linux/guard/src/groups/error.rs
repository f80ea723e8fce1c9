//! Why budgets of groups are not held.

use crate::error::GuardError;
use crate::occupier::BudgetRefusal;
use crate::setting::Group;
use solo_model::CoreId;
use solo_store::StoreError;
use solo_threads::NoFifo;
use std::io;

/// Why nothing is held. Nothing of the system was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GroupError {
    /// The budgets.
    #[error(transparent)]
    Refused(#[from] BudgetRefusal),
    /// The group of everybody, which can't be frozen.
    #[error("the root of all groups can't be frozen: name a group in it")]
    Root,
    /// A group that can't be reached, or is not there.
    #[error("group /{}: {}", String::from(group.clone()).escape_default(), source.reason())]
    Group {
        /// The group.
        group: Group,
        /// What the system says.
        source: StoreError,
    },
    /// Whoever would freeze it is in it.
    #[error(
        "group /{}: the guard itself is in it, and would be frozen with it",
        String::from(group.clone()).escape_default()
    )]
    Own {
        /// The group.
        group: Group,
    },
    /// Another guard holds it.
    #[error("group /{}: another guard holds a budget of it: it would thaw what this one froze", String::from(group.clone()).escape_default())]
    Claimed {
        /// The group.
        group: Group,
    },
    /// Somebody else has frozen it.
    #[error("group /{} is frozen already: whoever has done that is to thaw it", String::from(group.clone()).escape_default())]
    Frozen {
        /// The group.
        group: Group,
    },
    /// The event can't be counted for a group.
    #[error(
        "{core}: the event can't be counted there for group /{}: {}{}",
        String::from(group.clone()).escape_default(),
        solo_store::system_reason(source),
        Self::mend(source)
    )]
    Event {
        /// The CPU.
        core: CoreId,
        /// The group.
        group: Group,
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
