//! Bare metal on 64-bit Arm: the context switch, the counters' registers, what the loader tells.
//!
//! * [`board`]: the parts of the machine, by its device tree
//! * [`pmu`]: the counters of PMUv3, and a model of them
//! * [`switch`]: the context switch
//!
//! The image itself is the binary `solo-rtos-arm64`, built for `aarch64-unknown-none-softfloat`: a kernel that computes with
//! integers saves no vector registers.
#![no_std]
#![deny(unsafe_code)]

pub mod board;
#[allow(unsafe_code)]
pub mod pmu;
#[cfg(target_arch = "aarch64")]
#[allow(unsafe_code)]
pub mod switch;
