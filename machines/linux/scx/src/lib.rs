//! Gates before the CPUs of a live Linux, by a scheduler in eBPF (sched_ext).
//!
//! ```text
//!   Enforcer ─▶ occupier (a real-time thread on the CPU) ─▶ Gates::close ─▶ a word in a map ─▶ bpf/gate.bpf.c: lets nobody in
//!                                                           Gates::open  ─▶                    lets everybody in
//! ```
//!
//! A stopped CPU idles; without gates an occupier has to compute there. The decisions are the same, and made by the same thread
//! outside the kernel: the scheduler knows no budget. It ends with the process that attached it, however that ends; the kernel
//! puts its own scheduler back, and it does the same by itself where a thread has waited for five seconds.
//!
//! * [`Gates`]: the scheduler, attached; a [`Gate`](solo_guard::occupier::Gate) for occupiers
//! * [`ready`]: whether this kernel takes it, and if not, why
//!
//! The scheduler is built with the feature `ebpf`, which needs clang, libelf and zlib. Without it [`Gates::attach`] says so.
#![forbid(unsafe_code)]

mod error;
#[cfg(feature = "ebpf")]
mod gates;
mod ready;
#[cfg(not(feature = "ebpf"))]
mod without;

pub use error::{Ejected, ScxError};
#[cfg(feature = "ebpf")]
pub use gates::Gates;
pub use ready::ready;
#[cfg(not(feature = "ebpf"))]
pub use without::Gates;
