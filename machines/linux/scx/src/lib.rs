//! Schedulers in eBPF (sched_ext) for a live Linux.
//!
//! ```text
//!   Enforcer ─▶ occupier (a real-time thread on the CPU) ─▶ Gates::close ─▶ a word in a map ─▶ bpf/gate.bpf.c: lets nobody in
//!                                                           Gates::open  ─▶                    lets everybody in
//!
//!   a thread ─▶ Ranks::rank ─▶ a number in a map ─▶ bpf/ranks.bpf.c: the lowest ranks of a domain run ─▶ a ring ─▶ Replay
//! ```
//!
//! *Gates*: a stopped CPU idles; without gates an occupier has to compute there. The decisions are the same, and made by the same thread
//! outside the kernel: that scheduler knows no budget.
//!
//! *Ranks*: threads under EDF or fixed priorities, in sets of CPUs. What is decided inside the kernel is told, and the policy decides it
//! again outside (tier C).
//!
//! A scheduler ends with the process that attached it, however that ends; the kernel puts its own scheduler back, and it does the same
//! by itself where a thread has waited for five seconds.
//!
//! * [`Gates`]: the scheduler with gates, attached; a [`Gate`](solo_guard::occupier::Gate) for occupiers
//! * [`Ranks`]: the one with ranks, attached; a [`Plane`](solo_threads::Plane) for the threads of a run
//! * [`Replay`]: the policy, which decides again what was [`Told`]
//! * [`ready`]: whether this kernel takes a scheduler, and if not, why
//!
//! They are built with the feature `ebpf`, which needs clang, libelf and zlib. Without it [`Gates::attach`] and [`Ranks::attach`] say so.
#![forbid(unsafe_code)]

mod error;
#[cfg(feature = "ebpf")]
mod gates;
#[cfg(feature = "ebpf")]
mod loaded;
#[cfg(feature = "ebpf")]
mod ranks;
mod ready;
mod replay;
mod told;
#[cfg(not(feature = "ebpf"))]
mod without;

pub use error::{Ejected, ScxError};
#[cfg(feature = "ebpf")]
pub use gates::Gates;
#[cfg(feature = "ebpf")]
pub use ranks::Ranks;
pub use ready::ready;
pub use replay::{Replay, Replayed, job, key_of};
pub use told::{Kind, Told};
#[cfg(not(feature = "ebpf"))]
pub use without::{Gates, Ranks};
