//! Offsets for the partitions of integrated modular avionics (IMA), so that no two of them ever want the same core, the
//! I/O core or a device at the same time.
//!
//! A *partition* runs once a period, at a constant offset. What it computes with and what it answers passes through
//! five pieces, each after the other:
//!
//! ```text
//! physical input ──▶ device input ──▶ processing ──▶ device output ──▶ physical output
//!   input device       I/O core          a core         I/O core         output device
//! ```
//! Pieces of different partitions on one resource must not overlap; devices work beside each other.
//!
//! * [`Problem`] holds partitions that were checked, [`Problem::impossible`] says what can't be had by any offsets;
//! * [`hos::solve`] finds offsets by the heuristic of the paper, hardest first, fast and never wrong, but not complete;
//! * [`exact::solve`] tries all offsets: complete, for small problems;
//! * [`Problem::violations`] judges offsets, whoever found them.
//!
//! Source: single-core equivalence, section 2.4 and Figs. 8, 9, 16 and 17; the heuristic's details are in its
//! reference 4 (Kim, Yoon, Bradford, Sha: Integrated Modular Avionics (IMA) Partition Scheduling with Conflict-Free I/O
//! for Multicore Avionics Systems, COMPSAC 2014), which is not among the sources: they are remembered, and where this
//! crate decides for itself, its pages say so.
#![forbid(unsafe_code)]

pub mod draw;
pub mod exact;
pub mod hos;
mod model;
mod piece;
mod place;
mod verdict;

pub use model::{Device, Error, Leg, Partition, Problem, Step, Transfer, UNITS_MAX};
pub use piece::{Piece, gcd};
pub use verdict::{Impossible, Offsets, Resource, Violation};

#[cfg(test)]
mod example;
