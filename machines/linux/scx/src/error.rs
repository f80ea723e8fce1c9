//! Why there are no gates, or no longer.

use solo_model::text::Unnumbered;

/// Why a scheduler can't be attached. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScxError {
    /// The program was built without the scheduler.
    #[error(
        "this program was built without its sched_ext scheduler: build it with --features sched-ext, which needs clang, libelf-dev \
         and zlib1g-dev"
    )]
    NotBuilt,
    /// The kernel has no sched_ext.
    #[error(
        "Linux {kernel} has no sched_ext (no {PLACE}): boot one from 6.13 on with CONFIG_SCHED_CLASS_EXT=y"
    )]
    Absent {
        /// The kernel's release.
        kernel: String,
    },
    /// Another scheduler is loaded; there can be one.
    #[error("another sched_ext scheduler is loaded, `{name}`: end it first")]
    Taken {
        /// What it calls itself.
        name: String,
    },
    /// The kernel's own description of its functions is wrong, and it refuses whoever calls them as they are.
    #[error(
        "Linux {kernel} describes {} of its sched_ext functions wrongly, {first} among them, and so refuses every scheduler: its \
         build used a pahole before 1.32; boot another kernel",
        count
    )]
    Prototypes {
        /// The kernel's release.
        kernel: String,
        /// One of the functions.
        first: String,
        /// How many.
        count: usize,
    },
    /// More CPUs than the scheduler has gates for.
    #[error("{cpus} CPUs are more than the {most} that the scheduler has places for")]
    Cpus {
        /// How many there may be.
        cpus: usize,
        /// How many it has gates for.
        most: usize,
    },
    /// More threads than the scheduler has ranks for.
    #[error("{threads} tasks are more than the {most} that the scheduler has places for")]
    Threads {
        /// How many there are.
        threads: usize,
        /// How many it has places for.
        most: usize,
    },
    /// The kernel refuses the scheduler.
    #[error(
        "the kernel does not take the scheduler ({step}): {}{}",
        Unnumbered(said),
        if *wants_rights { " (needs root, or CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN)" } else { "" }
    )]
    Refused {
        /// At which step.
        step: &'static str,
        /// What it says.
        said: String,
        /// It says that it is not allowed.
        wants_rights: bool,
    },
}

/// Where the kernel says what sched_ext does.
pub(crate) const PLACE: &str = "/sys/kernel/sched_ext";

/// The kernel has put its own scheduler back.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the kernel has put its own scheduler back: {reason}{}{message}", if message.is_empty() { "" } else { ": " })]
pub struct Ejected {
    /// The kernel's number for why (enum scx_exit_kind).
    pub kind: u32,
    /// The same in its words, such as `runnable task stall`.
    pub reason: String,
    /// Details, where it has any.
    pub message: String,
}
