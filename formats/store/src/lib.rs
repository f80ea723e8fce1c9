//! Every path that Solocore writes, and every file that it reads whole.
//!
//! Scenarios come from elsewhere, folders for temporary files are shared, disks fill up and commands are stopped at any
//! moment. So all commands write through this crate, and it alone knows how:
//!
//! * [`name`]: any text becomes the name of one file, and back
//! * [`Folder`]: a folder that a command fills, locked while it is in use, with a list of what was written into it, so
//!   that `--force` removes just that
//! * [`WholeFile`]: a file that appears under its name when it is whole, and not before
//! * [`read`]: files with a limit of their size; devices, pipes and folders are none
//!
//! Inside a folder nothing is ever followed: files are opened relative to the folder's descriptor, without links.
#![forbid(unsafe_code)]
// Whatever stands in a file is an error, never a panic: no index out of range, no cut within a character, no overflow.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::string_slice, clippy::arithmetic_side_effects))]

mod dir;
mod error;
mod folder;
mod journal;
mod kind;
mod ledger;
pub mod name;
mod output;
mod place;
pub mod read;
mod whole;

pub use dir::Dir;
pub use error::{NotAFile, StoreError, system_reason};
pub use folder::{Folder, Found, Replace, folders_in};
pub use journal::Journal;
pub use kind::Kind;
pub use output::Output;
pub use place::TargetFolder;
pub use whole::WholeFile;
