//! The tasks of a scenario as real threads of stock Linux.
//!
//! Each task is a thread. Absolute timers release its jobs, the steps of its work are executed on this machine's processor and
//! memory, and Linux's own scheduler decides who runs: SCHED_FIFO with the priorities that the scenario's criterion gives, on
//! the CPUs that its scope allows; tasks of best effort are ordinary threads (SCHED_OTHER). Or a [`Plane`] decides, a scheduler that is
//! told how urgent each job is; [`Priorities`] is one made of SCHED_FIFO alone. What happens becomes the same [records](solo_model::record) as from any other machine.
//!
//! | | here |
//! |---|---|
//! | criteria | those of fixed priorities: RM, DM, FP, AFFINITY, and RR; on a plane, and over all CPUs under SCHED_DEADLINE, EDF as well. Others have no counterpart that keeps their meaning |
//! | scopes | partitioned, clustered, global: sets of CPUs |
//! | `compute` | computes until the thread has used this much of a CPU, as Linux accounts for it |
//! | memory | real buffers, touched byte by byte in the order of the work; the loop around an access takes time, too |
//! | locks | semaphores, mutexes without protocol and with inheritance (Linux's own), immediate ceilings by changes of priority |
//! | schedule | from the kernel's own records of switches, where perf lends them |
//! | counters of jobs | by perf, where [asked for](Counted) |
//! | `command` | a process for each job, with the CPUs and the priority of its task's thread |
//! | isolation, recorded programs | refused |
//!
//! Nothing of the system is changed: threads have their priorities and CPUs, and end with the run.

mod admit;
mod asked;
mod body;
mod by_priority;
mod change_log;
mod command;
mod compute;
mod coordinate;
mod counted;
mod cpus;
mod flush;
mod host;
pub mod hosted;
mod journal;
mod keeper;
mod lack;
mod locks;
mod memory;
mod no_fifo;
mod plane;
mod priorities;
pub mod program;
mod repeat;
pub mod sched;
pub mod simulated;
mod steps;
mod sync;
mod task;
mod timeline;

pub use admit::admit;
pub use by_priority::{Changes, Priorities};
pub use change_log::{Call, Change, ChangeLog, Changed};
pub use command::{Failed, path_in};
pub use coordinate::{Options, Ran, ThreadsError, Under, run};
pub use counted::Counted;
pub use host::Host;
pub use lack::ThreadsLack;
pub use no_fifo::NoFifo;
pub use plane::{Plane, PlaneDomains, Raises, Ranking, plane_domains};
pub use repeat::{Compared, Otherwise, repeat};
