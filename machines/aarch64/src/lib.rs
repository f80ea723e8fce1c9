//! Bare metal on 64-bit Arm: the context switch, the counters' registers, what the loader tells.
//!
//! * [`board`]: the parts of the machine, by its device tree
//! * [`pmu`]: the counters of PMUv3, and a model of them
//! * [`switch`]: the context switch
//!
//! Built for `aarch64-unknown-none-softfloat` it is the port itself, too, from the loader's entry on: a kernel that computes with
//! integers saves no vector registers. What is linked with it is a boot image: `solo-rtos-arm64`, which runs boot modules, or a program of a user's (`solo-app`). An image says so by a function without mangling,
//! `solo_main`, which the port calls once its boot core and heap are prepared.
#![no_std]
#![cfg_attr(not(target_os = "none"), deny(unsafe_code))]

#[cfg(target_os = "none")]
extern crate alloc;

#[cfg(target_os = "none")]
mod arch;
pub mod board;
#[cfg(target_os = "none")]
mod clock;
#[cfg(target_os = "none")]
mod console;
#[cfg(target_os = "none")]
mod cores;
#[cfg(target_os = "none")]
mod counters;
#[cfg(target_os = "none")]
mod interrupts;
#[cfg(target_os = "none")]
mod memory;
#[allow(unsafe_code)]
pub mod pmu;
#[cfg(target_os = "none")]
mod port;
#[cfg(target_os = "none")]
mod provoke;
#[cfg(target_arch = "aarch64")]
#[allow(unsafe_code)]
pub mod switch;

#[cfg(target_os = "none")]
pub use arch::Arm64;
#[cfg(target_os = "none")]
pub use counters::Source;
#[cfg(target_os = "none")]
pub use port::{start, start_program};
