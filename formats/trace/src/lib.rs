//! Memory traces of real programs.
//!
//! * [`open`] reads a trace in any form that this crate knows: the text of valgrind's lackey, din,
//!   `CORE R|W ADDRESS`, each also compressed with gzip, xz or zstd, and this crate's own compact file. All
//!   come as batches of [`Reference`]s, in bounded memory.
//! * [`record`] runs a program under valgrind and stores what it does to memory in a compact file.
//! * [`cache`] counts the misses that any number of caches would have, [`coherence`] what private caches do to
//!   each other, [`profile`] how the program reuses its memory.
//! * [`load`] makes a compact file replayable by [`solo_workload`].
#![forbid(unsafe_code)]
// Whatever stands in a file is an error, never a panic: no index out of range, no cut within a character, no overflow.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::string_slice, clippy::arithmetic_side_effects))]

mod error;
mod file;
mod format;
#[allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "works on references that were read; an index is a set times the ways, of as many as were made"
)]
mod functional;
mod geometry;
mod input;
#[allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "counts and writes what was read"
)]
mod recording;
mod reference;
mod text;

pub use error::{Flaw, TraceError};
pub use file::{FileReader, Header, LARGEST_FILE, decode, load};
pub use format::Format;
pub use functional::cache::{CacheCounts, CacheReport, Simulation, cache};
pub use functional::coherence::{Caches, CoherenceReport, CoreCounts, NoSuchProtocol, Protocol, coherence};
pub use functional::profile::{CurvePoint, PageCount, Profile, ProfileReport, profile};
pub use geometry::{CacheSpec, Feed, Geometry, GeometryError, GeometryFlaw};
pub use input::{ByteStream, Source, open, source};
pub use recording::capture::{Progress, RecordError, RecordOptions, RecordSummary, record};
pub use recording::writer::{TraceWriter, WriterOptions};
pub use reference::{Counts, Reference};
pub use solo_replacement::Replacement;
pub use text::TextReader;
