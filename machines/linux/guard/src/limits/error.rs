//! Why bandwidth is not limited, and what to hold against limits that are set.

use crate::error::GuardError;
use crate::setting::{Group, Setting};
use solo_model::text::{Printable, counted};
use solo_model::{Bandwidth, CoreId};
use solo_store::StoreError;

/// Why nothing is limited. Nothing of the system was changed, or it was put back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    /// No core has a budget.
    #[error("no core has a budget")]
    NoCore,
    /// Two budgets for one CPU.
    #[error("{0} has two limits of bandwidth: give it one")]
    Twice(CoreId),
    /// A budget of an event.
    #[error(
        "{0} has a budget of events, and MBA limits bandwidth only: give it as a rate, such as \"800MiB/s\""
    )]
    Events(CoreId),
    /// A part of what memory guarantees, of which Linux knows nothing.
    #[error(
        "{0} has a part of what memory guarantees, which nobody knows of this machine: give it as a rate, such as \"800MiB/s\""
    )]
    Part(CoreId),
    /// Something that only an enforcer does.
    #[error(
        "{what} is asked for, and MBA does nothing of the kind: it delays what a CPU asks of memory{mend}"
    )]
    NotDone {
        /// What.
        what: &'static str,
        /// What to do about it, behind a semicolon.
        mend: &'static str,
    },
    /// Nothing is mounted where limits are written.
    #[error(
        "resctrl is not mounted at /sys/fs/resctrl, where limits of bandwidth are written{}; mount it: \
         mount -t resctrl -o mba_MBps resctrl /sys/fs/resctrl",
        elsewhere.as_ref().map_or(String::new(), |place| format!(", but at {}", Printable(place)))
    )]
    NotMounted {
        /// Where it is mounted instead.
        elsewhere: Option<String>,
    },
    /// Mounted without `mba_MBps`.
    #[error(
        "resctrl is mounted with `{}`, without mba_MBps: the unit of its limits is then percent (info/MB: min_bandwidth {}, \
         bandwidth_gran {}; AMD's is 1/8 GB/s), and MiB/s are to be written. Where nobody else uses its groups, mount it anew: \
         umount /sys/fs/resctrl && mount -t resctrl -o mba_MBps resctrl /sys/fs/resctrl. The kernel refuses that where limits are no \
         linear delays (AMD) or bandwidth is not counted",
        Printable(options),
        known(*least),
        known(*granularity)
    )]
    OtherUnit {
        /// What it is mounted with.
        options: String,
        /// `info/MB/min_bandwidth`, where it says a number.
        least: Option<u64>,
        /// `info/MB/bandwidth_gran`, where it says a number.
        granularity: Option<u64>,
    },
    /// No line for bandwidth.
    #[error(
        "/sys/fs/resctrl/schemata has no line `MB:` but says `{}`: this processor, or this mount, limits no bandwidth",
        Printable(found)
    )]
    NoBandwidth {
        /// What there is.
        found: String,
    },
    /// A file of resctrl that says something else than it should.
    #[error("{path}: expected {expected}, found `{}`", Printable(found))]
    Garbled {
        /// The file, below resctrl's mount point.
        path: &'static str,
        /// What it says where all is well.
        expected: &'static str,
        /// What it says.
        found: String,
    },
    /// Less than can be written.
    #[error(
        "{core} is to have {asked}, which is {mib} MiB/s in steps of {granularity}: info/MB/min_bandwidth says {least}; give it \
         {} MiB/s or more",
        least.next_multiple_of(*granularity)
    )]
    TooSmall {
        /// The core.
        core: CoreId,
        /// What was asked for.
        asked: Bandwidth,
        /// In whole steps, rounded down.
        mib: u64,
        /// The least, in MiB/s.
        least: u64,
        /// A step, in MiB/s.
        granularity: u64,
    },
    /// More than the file takes.
    #[error("{core} is to have {asked}, and limits are at most {} MiB/s: leave it out", u32::MAX)]
    TooLarge {
        /// The core.
        core: CoreId,
        /// What was asked for.
        asked: Bandwidth,
    },
    /// The processor knows a few groups at a time.
    #[error(
        "{} for these limits, {used} there already, and {} is all that this processor has classes for (info/*/num_closids){}: limit \
         fewer CPUs, or take groups away that nobody needs (rmdir /sys/fs/resctrl/NAME)",
        counted(*wanted, "group"),
        classes.map_or_else(|| "a number that is not told".to_owned(), |classes| classes.to_string()),
        said(status.as_ref())
    )]
    NoClass {
        /// Groups that there can be, the root among them, where it is told.
        classes: Option<u64>,
        /// Those that there are.
        used: u64,
        /// What is needed for limits.
        wanted: u64,
        /// What resctrl says of its last command.
        status: Option<String>,
    },
    /// A CPU of somebody else's group, which would lose it.
    #[error(
        "{core} is in the resctrl group {}, whose limits and counts would lose it: move it to the root, or take that group away; \
         `solo guard --restore` does so with what a guard that was killed has left",
        Printable(group)
    )]
    Taken {
        /// The CPU.
        core: CoreId,
        /// The group, `mon_groups/NAME` for one that only counts.
        group: String,
    },
    /// A CPU that is offline, or not there.
    #[error("{0} is in no group of resctrl: it is offline, or this machine has no such CPU")]
    NoCpu(CoreId),
    /// Another guard holds it.
    #[error("{0}: another guard holds a budget of this CPU: it would count what this one limits")]
    Claimed(CoreId),
    /// The name is in use.
    #[error(
        "there is a resctrl group {0}, which this guard has not made: take it away first (rmdir /sys/fs/resctrl{0})"
    )]
    Exists(Group),
    /// The kernel did not take something.
    #[error(
        "{setting} is to be `{}`, and the kernel refuses: {}{}", Printable(wanted), Printable(reason), said(status.as_ref())
    )]
    Refused {
        /// The setting.
        setting: Setting,
        /// What it was to be.
        wanted: String,
        /// What the system says.
        reason: String,
        /// What resctrl says of its last command.
        status: Option<String>,
    },
    /// The guard.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// A file of resctrl can't be read.
    #[error(transparent)]
    System(#[from] StoreError),
}

fn said(status: Option<&String>) -> String {
    status.map_or_else(String::new, |status| format!("; info/last_cmd_status says `{}`", Printable(status)))
}

fn known(number: Option<u64>) -> String {
    number.map_or_else(|| "not known".to_owned(), |number| number.to_string())
}

/// What to hold against limits that are set.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LimitDoubt {
    /// Rounded down.
    #[error(
        "{core}: {asked} is written as {mib} MiB/s, rounded down to steps of {granularity} so that it is not exceeded for that"
    )]
    Rounded {
        /// The core.
        core: CoreId,
        /// What was asked for.
        asked: Bandwidth,
        /// What is written.
        mib: u64,
        /// A step, in MiB/s.
        granularity: u64,
    },
    /// The kernel says something else than was written.
    #[error(
        "{core}: `{}` was written, and the group's schemata say `{}` (info/last_cmd_status: `{}`)",
        Printable(wanted), Printable(found), Printable(status.as_deref().unwrap_or("not there"))
    )]
    Otherwise {
        /// The core.
        core: CoreId,
        /// What was written.
        wanted: String,
        /// What it says.
        found: String,
        /// What resctrl says of its last command.
        status: Option<String>,
    },
    /// Somebody else has changed it meanwhile.
    #[error("{core}: {setting} says `{}` by now: it was no longer limited as asked", Printable(found))]
    Changed {
        /// The core.
        core: CoreId,
        /// What was changed.
        setting: Setting,
        /// What it says.
        found: String,
    },
    /// Threads with groups of their own.
    #[error(
        "threads of the resctrl group /{} have that group's limits wherever they run, and none of these",
        Printable(group)
    )]
    Escapes {
        /// The group.
        group: String,
    },
    /// Both threads of a physical core wait.
    #[error(
        "info/MB/thread_throttle_mode says `{}`: where a CPU is limited, the other CPUs of its physical core wait with it",
        Printable(mode)
    )]
    Together {
        /// What it says.
        mode: String,
    },
    /// What the kernel compares is not all traffic.
    #[error(
        "the kernel compares {} with limits, and the rates here are of mbm_total_bytes: what goes to the memory of other sockets is told \
         here and may not be limited",
        Printable(event)
    )]
    Compares {
        /// What it compares.
        event: String,
    },
    /// Nothing is counted.
    #[error("{0}: there is no mbm_total_bytes of its group: nobody knows how far the limit was kept")]
    NoCounter(CoreId),
    /// A counter said no number.
    #[error(
        "{core}: {readings} of {all} readings were no numbers but `{}`: no rate is known for them",
        Printable(said)
    )]
    Unknown {
        /// The core.
        core: CoreId,
        /// How many.
        readings: u64,
        /// Of how many.
        all: u64,
        /// What it said last.
        said: String,
    },
    /// A counter went backwards.
    #[error("{core}: its counter went backwards {}: no rate is known for that time", counted(*times, "time"))]
    Backwards {
        /// The core.
        core: CoreId,
        /// How often.
        times: u64,
    },
    /// More than the limit.
    #[error(
        "{core}: {above} of {} above {mib} MiB/s, {} MiB/s at most: a delay is relative and no cap, and the kernel moves it once a second",
        counted(*all, "interval"), most.get() >> 20
    )]
    Above {
        /// The core.
        core: CoreId,
        /// Intervals above the limit.
        above: u64,
        /// All whose rate is known.
        all: u64,
        /// The limit.
        mib: u64,
        /// The highest rate.
        most: Bandwidth,
    },
}
