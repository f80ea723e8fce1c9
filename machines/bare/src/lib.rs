//! Bare metal on any instruction set: what a boot image and the host that starts it agree on, the arithmetic that can be
//! tested anywhere, the memory of a run, and the kernel at work.
//!
//! A port implements [`Isa`](isa::Isa), [`Paging`](paging::Paging) and [`Port`](rtos::Port) with what that stands on for one type,
//! in a crate of the instruction set's name: what needs the instruction set's own registers, and nothing else.
//!
//! * [`isa`], [`paging`]: what is needed of an instruction set and of page tables
//! * [`lock`]: exclusion between cores
//! * [`rtos`]: the kernel at work: threads, interrupts, switches, records, the tests of a machine's parts
//! * [`context`]: where threads left off
//! * [`heap`]: the kernel's heaps; [`memory`]: page frames by color and bank, and what is mapped to them; [`window`]; [`stacks`]
//! * [`agenda`]: who acts next under the settled clock
//! * [`caps`]: what the machine is able to do, from what was found of it
//! * [`module`]: the boot module, an experiment and its options as bytes with a checksum
//! * [`regions`]: which memory is free; [`devicetree`]: what a machine consists of, where loaders say so; [`parts`]: those that any
//!   machine has
//! * [`frame`]: the frames in which the image reports back
//! * [`placement`]: what they tell of where a run's memory lies
//! * [`serial`]: the same on a serial line, where there is nothing better
//! * [`outcome`]: how it says goodbye
//! * [`geometry`]: caches and their page colors; [`cpuid`]: those that x86-64 processors tell of
//! * [`ticket`]: the tickets of the locks
//! * [`rest`]: how cores leave a run that is over
//! * [`time`]: from clock ticks to nanoseconds and back
//! * [`turns`]: which core executed what, where an emulator counts for all together
//! * [`board`]: the parts of an Arm machine
//! * [`mmio`]: devices' registers; [`gic2`], [`pl011`], [`watchdog`]: an interrupt controller, a serial line, a machine's reset
//! * [`virtio`], [`queue`]: devices that move data between themselves and memory; [`wire`]: two of them, an end each
#![no_std]

extern crate alloc;

pub mod agenda;
pub mod board;
pub mod caps;
pub mod context;
pub mod cpuid;
pub mod devicetree;
pub mod frame;
pub mod geometry;
pub mod gic2;
mod known;
pub mod mmio;
pub mod module;
pub mod outcome;
pub mod parts;
pub mod pl011;
pub mod placement;
pub mod queue;
pub mod regions;
pub mod rest;
pub mod serial;
pub mod ticket;
pub mod time;
pub mod turns;
pub mod watchdog;

// What stands on the lock is tested from outside: the tickets' own tests replace their atomics by a model.
#[cfg(not(test))]
pub mod heap;
#[cfg(not(test))]
pub mod isa;
#[cfg(not(test))]
pub mod lock;
#[cfg(not(test))]
pub mod memory;
#[cfg(not(test))]
pub mod paging;
#[cfg(not(test))]
pub mod rtos;
#[cfg(not(test))]
pub mod stacks;
#[cfg(not(test))]
pub mod virtio;
#[cfg(not(test))]
pub mod window;
#[cfg(not(test))]
pub mod wire;
