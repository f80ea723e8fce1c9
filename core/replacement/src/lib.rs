//! Which line leaves a full set of a cache: one file a policy, and one line of [`policies!`] below.
//!
//! The simulated machine and the functional caches under recorded programs ask the same tables, and platform files and
//! `solo trace cache` know the policies by the same names. A cache asks its policy only when no way of the set is empty;
//! empty ways are filled first, lowest first.
//!
//! Here is no clock, no input or output, no floating point and no hash order; tables are allocated when they are built.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod allowed;
mod policy;
mod recency;
mod replacer;

pub use allowed::Allowed;
use policy::{Policy, policies};
pub use replacer::Replacer;

policies! {
    /// The least recently used.
    Lru = "lru": lru { LruMatrix, LruOrder; LruStamps }
    /// The one that came first.
    Fifo = "fifo": fifo { ; Fifo }
    /// The one that a binary tree of bits points at; an access turns the bits on its path away. Where the number of ways
    /// is no power of two, branches without ways are never taken.
    TreePlru = "tree-plru" or "plru": tree_plru { TreePlru }
    /// One drawn by the cache's own generator, from a seed.
    Random = "random": random { ; Random }
    /// The lowest that was not used since all others were: one bit a way.
    NotRecentlyUsed = "not-recently-used" or "nru": nru { ; NotRecentlyUsed }
}
