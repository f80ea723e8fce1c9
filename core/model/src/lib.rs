//! The words that every part of Solocore shares.
//!
//! Plain data and integer arithmetic: no clock, no input or output, no floating point, no hash order.
//! Allocation happens when a value is built, never when it is consulted. One word means one thing here and
//! everywhere else:
//!
//! * [`units`]: time, cycles, bytes, rates, each a type of its own
//! * [`id`]: cores, tasks, threads, jobs, sets of cores
//! * [`task`]: what a task promises and what is promised to it
//! * [`spacing`]: when jobs of a sporadic task are released
//! * [`work`]: what a job does to the processor and the memory, as a description
//! * [`policy`]: how tasks share cores, as a description
//! * [`platform`]: cores, caches, DRAM and counters of a chip
//! * [`event`]: hardware events, tables of them, and what was counted of some
//! * [`overhead`]: the sources of run-time overhead (thesis 2.5)
//! * [`caps`]: what a machine is able to do
//! * [`check`]: the limits of numbers without which no machine can work
//! * [`device`]: devices that move data between themselves and memory
//! * [`experiment`]: a resolved scenario, ready for any machine
//! * [`fixed`]: numbers of metrics in fixed point
//! * [`listening`]: a scheduler that listens to counters, as a description
//! * [`occupancy`]: how much of a cache is held by whom, and what that is worth
//! * [`isolation`]: who owns which colors, banks, ways and locked pages, and how much bandwidth
//! * [`migration`]: tasks that go from core to core
//! * [`partition`]: partitions in time, windows of a cycle on each core
//! * [`subset`]: an experiment with fewer tasks
//! * [`record`]: what a machine reports back
//! * [`sample`]: what was counted in an interval, of whom and why
//! * [`replication`]: several runs told as one
//! * [`random`]: the generator behind everything random
//! * [`fixtures`]: chips to start from, for tests and examples
//! * [`text`]: text from elsewhere, made fit to be shown
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod application;
pub mod caps;
pub mod check;
mod clock;
pub mod device;
pub mod estimate;
pub mod event;
pub mod experiment;
pub mod fixed;
pub mod fixtures;
pub mod id;
pub mod isolation;
pub mod listening;
pub mod migration;
pub mod names;
pub mod occupancy;
pub mod overhead;
pub mod partition;
pub mod phase;
pub mod platform;
pub mod policy;
pub mod power;
pub mod random;
pub mod record;
pub mod replication;
pub mod sample;
pub mod spacing;
pub mod speed;
pub mod subset;
pub mod task;
pub mod text;
pub mod units;
pub mod work;

pub use application::Application;
pub use caps::Caps;
pub use device::{Device, Direction};
pub use event::{Counts, EventId, EventSet, EventTable, Signal, SignalCounts};
pub use experiment::Experiment;
pub use fixed::Fixed;
pub use id::{
    ApplicationId, Bank, BufferId, Color, CoreId, CoreSet, DeviceId, JobIndex, KindId, LockId, PartitionId,
    TaskId, ThreadId,
};
pub use isolation::Isolation;
pub use listening::{Listening, MetricId, MonitorKind};
pub use names::{Explain, TaskNames};
pub use occupancy::{DutyCycle, MissRateCurve, Recycling, Rmid};
pub use overhead::{Overhead, OverheadTable};
pub use phase::Phase;
pub use platform::Platform;
pub use policy::{Criterion, Policy, Scope};
pub use power::{Consumer, EnergyRecord, PowerDomain, PowerModel};
pub use random::SplitMix64;
pub use record::{JobRecord, Record};
pub use sample::Sample;
pub use speed::RelativeSpeed;
pub use task::{Migration, Task, TaskClass};
pub use units::{
    Bandwidth, BandwidthBeside, Bytes, Cycles, Duration, Energy, Events, Frequency, Instant, PerMille,
    Picoseconds, Power, Voltage,
};
pub use work::Execute;
