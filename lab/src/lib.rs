//! The laboratory: what it takes to run scenarios and to learn from runs, as a library. It is for programs that do
//! what the command line does: the command line itself, a Python package, tests.
//!
//! An [`Experiment`](solo_model::Experiment) leaves nothing to decide; a [`Simulation`] runs it. Experiments come from
//! scenario files ([`solo_scenario`]), or are made by hand.
//!
//! ```
//! use solo_lab::{Control, run};
//! use solo_scenario::{Platforms, load};
//!
//! # let file = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/neighbor.toml"));
//! let mut experiment = load(file, &Platforms::builtin())?.base;
//! let beside_others = run(&experiment, &Control::silent())?;
//! experiment.retain_tasks(|task| task.name == "control");
//! let alone = run(&experiment, &Control::silent())?;
//! for report in [&beside_others, &alone] {
//!     let control = &report.tasks[0];
//!     println!("p99 of {}: {}", control.name, control.response.p99().ok_or("no job")?);
//! }
//! # assert!(alone.tasks[0].response.p99() < beside_others.tasks[0].response.p99());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! * [`run`], [`Simulation`]: one experiment on the simulated machine, in memory or into a run directory
//! * [`compare`](mod@compare): several side by side
//! * [`sweep`]: one at many points, resumed where it was stopped
//! * [`explore`]: policies that are tried out, as values that nobody has registered
//! * [`metal`]: on bare metal, under QEMU or on a PC
//! * [`linux`]: as threads of this Linux
//! * [`campaign`]: bandwidth, address maps, lockdown curves, calibration, counters, overheads
//! * [`bounds`](mod@bounds): what is proved, beside what is observed
//! * [`gains`](mod@gains): what applications gain and lose on big and small cores
//! * [`diagnosis`]: mechanisms that a run shows to be without effect
//!
//! [`Progress`] hears how far long work is and [`Cancel`] stops it. Results are values, failures are
//! [`LabError`]s that carry data. Nothing here prints, ends the process, reads its arguments or installs a handler, and
//! no file is written unless a folder is given.
#![forbid(unsafe_code)]

mod alone;
pub mod bounds;
pub mod campaign;
pub mod compare;
mod control;
pub mod diagnosis;
mod error;
pub mod evaluation;
pub mod explore;
mod factors;
pub mod gains;
pub mod linux;
pub mod metal;
mod once;
mod points;
pub mod program;
mod program_error;
mod ranked;
mod recordings;
mod replicate;
mod simulate;
pub mod sweep;

pub use bounds::bounds;
pub use compare::{Compared, ComparedRun, compare, compare_into, name_of};
pub use control::{Cancel, Control, Progress, Step};
pub use error::{CampaignError, JournalFault, LabError, MachineLack, Named};
pub use gains::gains;
pub use recordings::Recordings;
pub use simulate::{Origin, Simulation, host, run};
