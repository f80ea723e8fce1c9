//! The vocabulary of observation: what is counted, in which sets, and what is derived from it.
//!
//! * [`event`]: a thing to count and its encoding
//! * [`catalog`]: how the canonical events are counted on Linux and Arm, and what other tools call them
//! * [`processors`]: the codes of x86 processors
//! * [`set`]: events that are counted at the same time, and how such sets are written
//! * [`expr`]: metrics by expression over counted columns, in [fixed point](fixed), made [ready](formula) for a kernel
//! * [`monitor`]: what turns samples into the metrics that policies ask for
//! * [`module`]: monitoring modules and their virtual counters
//! * [`rotation`], [`rounds`]: event sets that take turns, and rounds of them in one phase of a program
//! * [`rmid`]: which process has which id of those by which lines of a cache are told apart
//! * [`curve`]: a curve that never rises, from samples of it
//! * [`plan`]: who has which counter
//!
//! Nothing here opens a file, reads a clock or touches a counter. A machine does that: stock Linux in `linux`.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod catalog;
pub mod curve;
pub mod event;
pub mod expr;
pub mod formula;
pub mod module;
pub mod monitor;
pub mod plan;
pub mod processors;
pub mod rmid;
pub mod rotation;
pub mod rounds;
pub mod set;

pub use event::{Cache, CacheResult, Code, CountedEvent, Filter, Generic, Software};
pub use expr::{Expression, Metric, Operator};
pub use module::{Input, MonitoringModule, VirtualCounter};
pub use monitor::{
    Board, Count, Derived, Estimate, Heard, HitmRate, Ipc, IpcSampling, Monitor, MonitorError, MonitorValue,
    Multiplexed, Rate,
};
pub use plan::{CounterPlan, PlanError, User};
pub use rmid::RmidPool;
pub use set::{EventGroup, Names, NoNames, ParseError, parse_set};
pub use solo_model::fixed;
pub use solo_model::sample::Subject;
pub use solo_model::{Fixed, MetricId};
