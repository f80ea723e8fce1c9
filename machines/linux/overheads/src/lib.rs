//! What the kernel's paths cost on this machine, measured in a process of stock Linux, and what Linux's own cost
//! beside them in the same run (thesis chapter 5).
//!
//! The kernel, its queues and its stack switch are the very code that runs on bare metal, compiled for the host.
//! Ring 3 is native even where a hypervisor emulates ring 0, so these are the processor's own cycles. What a
//! process cannot do is left out: no interrupt is taken, no timer or interrupt controller is programmed.
//!
//! * [`clock`]: the time stamp counter between fences, its rate, its resolution and the price of looking
//! * [`distribution`]: many samples in constant memory
//! * [`sets`]: the task sets of thesis 5.1
//! * [`paths`]: tick, release, scheduling, whole entries and tracing itself, on virtual time
//! * [`queues`]: operations of the ready queue
//! * [`stacks`]: the stack switch
//! * [`counters`]: the drivers of performance counters, on a model of their registers
//! * [`mailbox`]: a request from one core to another through memory
//! * [`stock`]: Linux's system calls, switches, wake-ups, ticks and interprocessor interrupts
//! * [`costs`]: the overhead table of a policy, for `prove` and for the simulated machine
//! * [`measure`]: all of it, in one table; [`ratios`] of the two sides, [`text`] to read
#![allow(unsafe_code)]

pub mod clock;
pub mod costs;
#[cfg(target_arch = "x86_64")]
pub mod counters;
pub mod distribution;
pub mod mailbox;
pub mod measure;
pub mod paths;
pub mod queues;
pub mod ratios;
pub mod sets;
#[cfg(target_arch = "x86_64")]
pub mod stacks;
pub mod steady;
pub mod stock;
pub mod text;

pub use clock::Clock;
pub use distribution::{Distribution, Summary};
pub use measure::{Environment, Measurement, MeasurementPlan, Row, Side, measure};
