//! Bare metal on 64-bit Arm: [`pmu`], the counters of PMUv3.
//!
//! Built for `aarch64-unknown-none-softfloat` it is the port itself, too, from the loader's entry on: a kernel that computes with
//! integers saves no vector registers. What is linked with it is a boot image: `solo-rtos-arm64`, which runs boot modules, or a program of a user's (`solo-app`). An image says so by a function without mangling,
//! `solo_main`, which the port calls once its boot core and heap are prepared.
#![no_std]
#![cfg_attr(not(target_os = "none"), deny(unsafe_code))]

#[cfg(target_os = "none")]
extern crate alloc;

#[allow(unsafe_code)]
pub mod pmu;
#[cfg(target_os = "none")]
mod port;

#[cfg(target_os = "none")]
pub use port::{Arm64, Source, start, start_program};
