//! How much of everything a program can have.

/// The most threads.
pub(crate) const MOST_THREADS: usize = 64;

/// The colors of pages: those of a last-level cache of 2 MiB in 16 ways, with pages of 4 KiB.
pub(crate) const COLORS: u16 = 32;
