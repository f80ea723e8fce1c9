//! One file for each command.

mod addresses;
pub(crate) mod check;
pub(crate) mod compare;
mod curves;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod doctor;
mod dram;
pub(crate) mod events;
pub(crate) mod explain;
pub(crate) mod generate;
mod known;
pub(crate) mod measure;
pub(crate) mod pack;
mod pfm_events;
pub(crate) mod platforms;
pub(crate) mod plot;
pub(crate) mod prove;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod study;
pub(crate) mod top;
pub(crate) mod trace;
pub(crate) mod watch;
