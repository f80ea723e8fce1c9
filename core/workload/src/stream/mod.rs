//! The stream of operations of each job: what was compiled, walked without allocating.

mod cycle;
mod op;
pub(crate) mod pass;
pub(crate) mod player;
mod program;
mod rows;

pub use cycle::Cycle;
pub use op::{Access, AccessKind, Op, Spread};
pub use program::Program;
