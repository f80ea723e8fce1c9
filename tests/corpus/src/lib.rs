//! Scheduling cases that every machine must reproduce.
//!
//! A case is a TOML file in `/corpus`: a small machine, a policy, tasks, and what must happen. `/corpus/README.md`
//! describes the format. A machine runs [`Case::experiment`] and gives its records to [`Case::check`]; the
//! [`ideal`] machine, with exact times and kernel paths that cost nothing, shows that the kernel itself
//! keeps every case.
//!
//! ```
//! # let folder = solo_corpus::folder();
//! for case in solo_corpus::load_folder(&folder).expect("the corpus is readable") {
//!     let run = solo_corpus::ideal::run(&case.experiment(), &Default::default()).expect("admitted");
//!     case.check(&run.records).unwrap_or_else(|mismatch| panic!("{mismatch}"));
//! }
//! ```
#![forbid(unsafe_code)]

mod budget;
mod case;
mod check;
mod listen;
mod need;
mod parse;
mod schedule;
mod windows;

pub use case::{Case, Expectation, JobName, LoadError, folder, load_folder};
pub use check::{Allowance, Mismatch};
pub use need::Need;
pub use parse::ParseError;
pub use schedule::{Schedule, Segment};
pub use solo_ideal as ideal;
pub use solo_ideal::ideal_platform;

/// The chapter's code, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/write-your-own-policy.md")]
pub(crate) struct WriteYourOwnPolicy;

/// The same for policies that listen.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/write-your-own-placement.md")]
pub(crate) struct WriteYourOwnPlacement;
