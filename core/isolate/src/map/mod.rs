//! Which cache sets and which DRAM bank a page frame lies in.
//!
//! ```text
//!   address   .... 21 20 19 18 17 16 15 14 13 12 | 11 ......... 0
//!   xeon L3               [      color: 7 bits  ] |    page
//!   xeon bank       ^  ^                     ^  ^ |   (bits 20, 19, 13, 12)
//! ```
//!
//! Colors and banks may share address bits, as here, so that not every color exists in every bank: a
//! [`MemoryMap`] knows which pairs do.

mod classes;
mod infer;
mod memory;
mod timing;

pub use classes::{Classes, SplitByPage};
pub use infer::{InferenceError, Inferred, Measured, Pair, infer, threshold};
pub use memory::{MapError, MemoryClass, MemoryMap};
pub use timing::{Group, Solved, Timed, solve};
