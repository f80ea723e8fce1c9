//! Bare metal on x86-64: the context switch, the counters' registers, what the processor and its loaders tell.
//!
//! * [`multiboot2`]: what the loader of a PC leaves behind
//! * [`cpuid`]: the caches that the processor tells of
//! * [`pmu`]: the counters of Intel's and AMD's processors, and a model of them
//! * [`switch`]: the context switch, which works in a process as it does on bare metal
//!
//! The image itself is the binary `solo-rtos`, built for `x86_64-unknown-none`.
#![no_std]
#![deny(unsafe_code)]

extern crate alloc;

pub mod cpuid;
pub mod multiboot2;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
pub mod pmu;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
pub mod switch;
