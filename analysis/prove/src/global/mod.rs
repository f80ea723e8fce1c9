//! Global earliest deadline first and global fixed priorities on `m` identical cores.

pub mod any;
pub mod bak;
pub mod bak05;
pub mod bar;
pub mod bcl;
pub mod bcli;
pub mod ffdbf;
pub mod gfb;
pub mod gfp;
pub mod gfp_dm;
pub mod gfp_rm;
pub mod load;
pub mod rta;
pub mod tardiness;
pub mod uniform;

pub(crate) mod columns;
#[cfg(test)]
mod drawn;
pub(crate) mod interference;
mod search;

use crate::exact::max_ratio;
use crate::task::TaskSet;

/// The largest density `C / min(D, T)` of a task, as a fraction.
pub(crate) fn densest(set: &TaskSet) -> Option<(u64, u64)> {
    max_ratio(set.tasks().iter().map(|task| (task.c(), task.window().get())))
}
