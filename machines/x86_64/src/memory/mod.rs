//! Memory: heaps, the page that must not be touched, and what a run maps for itself.
//!
//! ```text
//!   0      page 0: not mapped
//!   1 MiB  image ┐
//!          RAM   │ each address to itself, in large pages. The general heap has all RAM; while a run lasts, it
//!   3 GiB        ┘ lends the run a piece, whose frames are shared out by color
//!   3 GiB  devices
//!   4 GiB  window: the run's stacks, buffers and heaps, page by page on those frames, holes between them
//! ```

mod heap;
mod image;
mod run;
mod stacks;
mod window;

pub use heap::{allocations, close_system_heap, give_to_heap, size_of_system_heap};
pub use image::{FORGET_VECTOR, forget};
pub use run::{Need, RunMemory, finish_run, keep, with_run};
pub use stacks::Stacks;
pub use window::{guard_null, translate};

/// The size of a page.
pub const PAGE: u64 = 4096;
