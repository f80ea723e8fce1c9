//! `solo top`: what a watch says, live on a terminal, or a recording of one.
//!
//! * [`track`]: messages to frames
//! * [`totals`]: the sums of all frames
//! * [`view`]: a frame's counts by core, thread, process or cgroup
//! * [`state`]: what is shown, and what keys do
//! * [`draw`]: the state on a terminal
//! * [`terminal`]: keys and drawings, the only part that does input and output

pub(crate) mod draw;
pub(crate) mod state;
pub(crate) mod terminal;
pub(crate) mod totals;
pub(crate) mod track;
pub(crate) mod view;

#[cfg(test)]
mod tests;
