//! Bare metal on x86-64: the context switch, the counters' registers, what the processor and its loaders tell.
//!
//! * [`multiboot2`]: what the loader of a PC leaves behind
//! * [`pmu`]: the counters of Intel's and AMD's processors, and a model of them
//! * [`switch`]: the context switch, which works in a process as it does on bare metal
//!
//! Built for `x86_64-unknown-none` it is the port itself, too, from the loader's entry on. What is linked with it is a boot image:
//! `solo-rtos`, which runs boot modules, or a program of a user's (`solo-app`). An image says so by a
//! function without mangling, `solo_main`, which the port calls once its boot core and heap are prepared.
#![no_std]
#![cfg_attr(not(target_os = "none"), deny(unsafe_code))]

extern crate alloc;

pub mod multiboot2;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
pub mod pmu;
#[cfg(target_os = "none")]
mod port;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
pub mod switch;

#[cfg(target_os = "none")]
pub use port::{Source, X86, start, start_program};
