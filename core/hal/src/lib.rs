//! Hardware mediators: the contract that a machine keeps with the kernel.
//!
//! EPOS's word (thesis 4.1): a mediator is not a layer. The kernel is generic over the machine, so that each
//! call is compiled into its caller. The simulated machine and bare metal implement what a machine has to have; what it
//! may lack has an answer here that says so. A test machine needs a few lines.
//!
//! Rules for implementers:
//!
//! * Every method returns at once. Nothing waits for hardware longer than a register access takes.
//! * A machine calls the kernel and never the other way round: mediators must not re-enter the kernel.
//! * Time is passed in. A mediator that needs the time of a call takes it as an argument.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod admission;
mod cache;
mod faults;
mod machine;
mod middleware;
mod pmu;
mod scripted;
mod timing;

pub use admission::{Able, Lack, admit};
pub use cache::{CacheControl, PageGroup};
pub use faults::{Faults, Injected};
pub use machine::{Machine, Quiet};
pub use middleware::{Checked, Faulty};
pub use pmu::{CounterId, Modes, Pmu, PmuError};
pub use scripted::ScriptedCounters;
pub use solo_model::Color;
pub use timing::{Edge, InterruptController, Probe, Recorder, Timer};
