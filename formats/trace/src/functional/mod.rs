//! What caches would do to a program's references, and how the program reuses its memory: counted, without times.

mod array;
pub(crate) mod cache;
pub(crate) mod coherence;
pub(crate) mod pages;
pub(crate) mod profile;
