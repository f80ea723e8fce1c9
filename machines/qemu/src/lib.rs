//! Starts the bare-metal image under QEMU, hands it an experiment and reads what it reports.
//!
//! ```no_run
//! # fn experiment() -> solo_model::Experiment { panic!("the experiment of a scenario") }
//! let host = solo_qemu::Host::look()?;
//! let image = host.build_image()?;
//! let report = solo_qemu::Machine::default().run(&image, &experiment())?;
//! println!("{} records, digest {}", report.records.len(), report.digest);
//! # Ok::<(), solo_qemu::QemuError>(())
//! ```
//!
//! A run ends well only if the image says so: a hang meets the time limit, a reset or a panic is an error that
//! carries what was printed.
#![forbid(unsafe_code)]

mod bound;
mod elf;
mod error;
mod host;
mod machine;
mod medium;
mod needs;
pub mod pi;
pub mod placement;
mod program;
mod report;
mod session;
pub mod soak;

pub use bound::bound;
pub use error::{Missing, QemuError};
pub use host::{Host, Image};
pub use machine::{Accelerator, Board, Firmware, LocalApic, Machine};
pub use medium::Medium;
pub use program::{ProgramBuild, ProgramImage};
pub use report::{BootReport, refusal};
pub use session::run;
pub use solo_bare::caps::Found;
pub use solo_bare::frame::{
    Controller, Decoder, End, Entries, Hardware, Hello, ImageMessage, InstructionSet, Killed, Note,
    REPORT_VARIABLE, Refusal,
};
pub use solo_bare::geometry::Geometry;
pub use solo_bare::module::{BootOptions, Clock, Fault, Module, Provocation, STACK_RESERVE};
pub use solo_bare::placement::{ColorSource, Memory, MemoryUser, Pages};
