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

mod array;
mod cache;
mod capture;
mod coherence;
mod error;
mod file;
mod format;
mod geometry;
mod input;
mod pages;
mod profile;
mod reference;
mod text;
mod writer;

pub use cache::{CacheCounts, CacheReport, Simulation, cache};
pub use capture::{Progress, RecordError, RecordOptions, RecordSummary, record};
pub use coherence::{Caches, CoherenceReport, CoreCounts, NoSuchProtocol, Protocol, coherence};
pub use error::{Flaw, TraceError};
pub use file::{FileReader, Header, LARGEST_FILE, decode, load};
pub use format::Format;
pub use geometry::{CacheSpec, Feed, Geometry, GeometryError, GeometryFlaw};
pub use input::{ByteStream, Source, open, source};
pub use profile::{CurvePoint, PageCount, Profile, ProfileReport, profile};
pub use reference::{Counts, Reference};
pub use solo_replacement::Replacement;
pub use text::TextReader;
pub use writer::{TraceWriter, WriterOptions};
