//! Bare metal on any instruction set: what a boot image and the host that starts it agree on, and the arithmetic that can be
//! tested anywhere.
//!
//! * [`agenda`]: who acts next under the settled clock
//! * [`caps`]: what the machine is able to do, from what was found of it
//! * [`module`]: the boot module, an experiment and its options as bytes with a checksum
//! * [`regions`]: which memory is free
//! * [`frame`]: the frames in which the image reports back
//! * [`placement`]: what they tell of where a run's memory lies
//! * [`serial`]: the same on a serial line, where there is nothing better
//! * [`outcome`]: how it says goodbye
//! * [`geometry`]: caches and their page colors
//! * [`ticket`]: the tickets of the locks
//! * [`time`]: from clock ticks to nanoseconds and back
//!
//! Nothing here knows an instruction set: a port's own files stand in a crate of its name.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod agenda;
pub mod caps;
pub mod frame;
pub mod geometry;
pub mod module;
pub mod outcome;
pub mod placement;
pub mod regions;
pub mod serial;
pub mod ticket;
pub mod time;
