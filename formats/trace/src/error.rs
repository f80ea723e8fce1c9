//! What can be wrong with a trace.

use crate::format::Format;
use solo_model::text::Printable;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a trace can't be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file can't be opened.
    #[error("cannot open {}: {}", Printable(path.display()), solo_store::system_reason(source))]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is no file, or can't be opened.
    #[error("{0}")]
    Store(#[from] solo_store::StoreError),
    /// Reading or decompressing failed.
    #[error("cannot read the trace behind line {line}: {}", solo_store::system_reason(source))]
    Read {
        /// The lines read so far; 0 in a compact file.
        line: u64,
        /// What the system or the decompressor said.
        source: io::Error,
    },
    /// A line is no line of a trace.
    #[error("line {line}: {flaw}: `{text}`")]
    Malformed {
        /// The line, from 1.
        line: u64,
        /// Its beginning, printable.
        text: String,
        /// What is wrong.
        flaw: Flaw,
    },
    /// A profile would take too much memory.
    #[error("the trace has more than {most} {what}s; profile it with longer ones (`--{what}`)")]
    TooMuch {
        /// What there are too many of, and the option that makes them longer, and fewer.
        what: &'static str,
        /// How many there may be.
        most: usize,
    },
    /// A compact file is damaged.
    #[error("damaged trace file: {what}")]
    Damaged {
        /// What doesn't agree.
        what: &'static str,
    },
    /// A compact file of another version.
    #[error("the trace file has version {version}; this program reads version {ours}", ours = crate::format::VERSION)]
    Version {
        /// The file's version.
        version: u32,
    },
    /// A recording is too long to be kept in memory for a replay.
    #[error("the recording holds more than {} MiB of references, too many to replay; record fewer with `--limit`", most >> 20)]
    TooLong {
        /// The most bytes of them.
        most: usize,
    },
    /// The trace can't be replayed.
    #[error("the trace cannot be replayed: {0}")]
    Image(#[from] solo_workload::ImageError),
    /// Only compact files can be replayed.
    #[error("{} is no recorded trace (`solo record` makes one)", Printable(path.display()))]
    NotRecorded {
        /// The file.
        path: PathBuf,
    },
}

/// What is wrong with a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Flaw {
    /// The line is in none of the forms.
    #[error("not a memory reference (expected `L ADDRESS,SIZE`, `0 ADDRESS` or `CORE R ADDRESS`)")]
    Unknown,
    /// The line is in another form than those before it.
    #[error("a reference in another form than the {0} lines before it")]
    Mixed(Format),
    /// The kind is none of the form's.
    #[error("unknown kind of reference")]
    Kind,
    /// The address is missing, not hexadecimal, or has more than 64 bits.
    #[error("not a hexadecimal address of at most 64 bits")]
    Address,
    /// The size is missing or not from 1 to 65536.
    #[error("not a size from 1 to 65536 bytes")]
    Size,
    /// The reference ends beyond the last address.
    #[error("the reference reaches beyond the last address")]
    Wraps,
    /// The core is not from 0 to 63.
    #[error("not a core from 0 to 63")]
    Core,
    /// The core is beyond those of the machine that the trace is for.
    #[error("a core beyond the {0} there are")]
    CoreBeyond(u16),
    /// Something follows the reference.
    #[error("the line goes on after the reference")]
    Trailing,
    /// The line is longer than any reference.
    #[error("the line is longer than 4096 bytes")]
    TooLong,
}
