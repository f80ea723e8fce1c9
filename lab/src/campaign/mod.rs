//! Campaigns: many runs, or runs of a kind of their own, that measure one thing about a chip, a task or the kernel.

pub mod bandwidth;
pub mod calibrate;
pub mod counters;
pub mod cpmd;
pub mod lockdown;
pub mod map;
pub mod overheads;
pub mod wcet;
