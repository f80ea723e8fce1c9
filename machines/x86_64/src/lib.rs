//! What the boot image and the host that starts it agree on, and the arithmetic that can be tested anywhere.
//!
//! * [`agenda`]: who acts next under the settled clock
//! * [`module`]: the boot module, an experiment and its options as bytes with a checksum
//! * [`multiboot2`]: what the loader of a PC leaves behind; [`regions`]: which memory of it is free
//! * [`frame`]: the frames in which the image reports back
//! * [`placement`]: what they tell of where a run's memory lies
//! * [`serial`]: the same on a serial line, where there is nothing better
//! * [`outcome`]: how it says goodbye
//! * [`geometry`]: the caches that the processor tells of, and their page colors
//! * [`ticket`]: the tickets of the locks
//! * [`time`]: from clock ticks to nanoseconds and back
//! * [`pmu`]: the counters of Intel's and AMD's processors, and a model of them
//! * [`switch`]: the context switch, which works in a process as it does on bare metal
//!
//! The image itself is the binary `solo-rtos`, built for `x86_64-unknown-none`.
#![no_std]
#![deny(unsafe_code)]

extern crate alloc;

pub mod agenda;
pub mod frame;
pub mod geometry;
pub mod module;
pub mod multiboot2;
pub mod outcome;
pub mod placement;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
pub mod pmu;
pub mod regions;
pub mod serial;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
pub mod switch;
pub mod ticket;
pub mod time;
