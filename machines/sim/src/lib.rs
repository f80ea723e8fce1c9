//! The simulated multicore: hardware on which the real kernel runs.
//!
//! This is not a second scheduler. It implements the mediators of `solo-hal` (timers, interrupts, counters,
//! memory) and executes the operations of `solo-workload` access by access; every scheduling decision is made
//! by `solo-kernel`, the very code that boots on bare metal (tier A).
//!
//! ```text
//!   Program ──operations──▶ core ──accesses──▶ caches ──misses──▶ DRAM controller
//!                            │ ▲                                     │
//!             job finished,  │ │ switch                   data back  │
//!             lock, timer,   ▼ │                                     ▼
//!             IPI ─────────▶ Kernel ──records──▶ observer        core goes on
//! ```
//!
//! Time inside is in picoseconds, because cores of different clocks share one time line. Cores are advanced
//! in the global order of their times, ties by core index, so that what one core does to a shared cache or to
//! DRAM is seen by the others in the right order, and a run depends on nothing but its experiment. Devices move data beside them.
#![forbid(unsafe_code)]

mod account;
mod again;
mod agenda;
mod bodies;
mod burst;
pub mod calibrate;
mod caps;
mod core;
mod devices;
mod engine;
mod execute;
mod flush;
pub mod frames;
mod hardware;
mod kernel_memory;
pub mod measure;
pub mod memory;
mod meter;
mod modulation;
mod occupancy;
mod outcome;
pub mod pairs;
pub mod pmu;
mod source;
mod space;
mod stand_ins;
mod ways;
pub mod wiring;

pub use bodies::run_bodies;
pub use caps::caps;
pub use engine::{Observer, run, run_instead, run_under, run_with_faults};
pub use kernel_memory::KERNEL_BLOCKS;
pub use outcome::{Exhausted, SimError, SimulationEnd, Stop};
pub use solo_hal::Faults;
pub use source::{RemoteBody, Request};
pub use stand_ins::StandIns;
