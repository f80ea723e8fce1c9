//! What a job does to processor and memory, as streams of operations.
//!
//! A task's [`Work`](solo_model::work::Work) is a description; [`Program`] turns it into the stream of
//! operations of each job. The stream is the same on every machine: the simulated machine looks each access
//! up in its caches, bare metal and Linux perform it on real memory.
//!
//! ```
//! use solo_model::work::{Buffer, Pattern, Step, Touch, Work};
//! use solo_model::{BufferId, Bytes, Duration, PerMille, TaskId};
//! use solo_workload::{Op, Program};
//!
//! let sweep = Touch {
//!     pattern: Pattern::Sweep,
//!     buffer: BufferId(0),
//!     accesses: 64,
//!     stride: Bytes::new(4),
//!     writes: PerMille::new(250).unwrap(),
//!     think: Duration::ZERO,
//! };
//! let work = Work { steps: vec![Step::Touch(sweep)] };
//! let buffers = [Buffer { name: "frame".into(), size: Bytes::from_kib(4) }];
//! let mut program = Program::new(&work, TaskId(0), &buffers, Bytes::new(64), 1, &[]).unwrap();
//! // 64 elements of 4 bytes lie in four lines of 64 bytes: four operations, 16 accesses each.
//! let Some(Op::Access(first)) = program.next() else { panic!() };
//! assert_eq!((first.count, first.writes, first.stride), (16, 4, Bytes::new(4)));
//! ```
//!
//! Nothing allocates after construction, nothing panics on a description that construction accepted, and
//! equal seeds give equal streams. Adding a pattern: one more case in `stream/pass.rs`.
#![no_std]
#![forbid(unsafe_code)]
// Whatever stands in a file is an error, never a panic: no index out of range, no cut within a character, no overflow.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::string_slice, clippy::arithmetic_side_effects))]

extern crate alloc;

mod compile;
mod error;
pub mod image;
#[allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "walks what was compiled, within buffers that were checked"
)]
mod stream;

pub use error::WorkError;
pub use image::{Cursor, ImageError, TraceImage};
pub use solo_model::SplitMix64;
pub use stream::{Access, AccessKind, Cycle, Op, Program, Spread};
