//! Task sets, drawn and judged.

pub mod draw;
pub(crate) mod judge;
