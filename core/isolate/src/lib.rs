//! Isolation policies: who gets which colors, banks, ways and locked pages, and how much bandwidth.
//!
//! | module | mechanism | source |
//! |---|---|---|
//! | [`map`] | page colors, DRAM banks, their XOR functions and how to find them by timing | thesis 3.1.1, SCE 2.1, PALLOC, DRAMA |
//! | [`frames`] | page frames by color and bank, in groups with a named fallback | thesis 4.3.2, SCE 2.1 |
//! | [`heap`] | a heap for each color with bounded allocation time | thesis 4.3.3, 4.3.4, TLSF |
//! | [`regulator`] | bandwidth budgets: reservation, reclaiming, sharing, conservation | MemGuard case study, SCE 2.2 |
//! | [`enforce`] | budgets enforced: events in, actions out, for a kernel or a guard | MemGuard case study |
//! | [`lockdown`] | hot pages, recolored so that they fit, locked in order; lockdown curves | SCE 2.3, 4 |
//! | [`ways`], [`banks`] | way masks and private banks | CAT; SCE 2.1 |
//! | [`windows`] | when ways are given and pages are locked during a run | CAT; SCE 2.3, 2.4 |
//! | [`capacity`] | what memory can promise, write-backs included | MemGuard case study 2.1 |
//! | [`stock`] | whether the pages of colors and banks are there | PALLOC |
//! | [`admission`] | what is refused before anything changes | SCE 3.1 |
//! | [`diagnose`] | mechanisms that would silently do nothing | public issue threads |
//!
//! Everything here is a plain state machine or a pure function: no clock, no input or output, no float, no
//! lock, and no allocation after construction in what runs at events (regulator, frames, heap).
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod admission;
pub mod banks;
pub mod capacity;
pub mod diagnose;
pub mod enforce;
mod footprint;
pub mod frames;
pub mod heap;
pub mod lockdown;
pub mod map;
pub mod regulator;
pub mod stock;
pub mod ways;
pub mod windows;

mod gf2;

pub use admission::{IsolationRefusal, fits};
pub use enforce::Enforcer;
pub use footprint::{Blocks, Footprint, Stretch};
pub use frames::{ColoredFrames, FrameNumber};
pub use map::{Classes, MemoryMap};
pub use regulator::Regulator;
