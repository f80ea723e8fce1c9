//! Opening a trace of any form.

use crate::error::TraceError;
use crate::file::{FileReader, MAGIC};
use crate::reference::Reference;
use crate::text::TextReader;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

/// The most memory that decompression may take: the `xz -9` and `zstd --ultra` presets fit in.
const DECOMPRESSION_MEMORY: u64 = 256 << 20;
/// The largest window of a zstd frame, as a power of two.
const ZSTD_WINDOW_LOG: u32 = 27;

/// A stream of bytes that a trace comes from.
pub type ByteStream = Box<dyn Read + Send>;

/// A trace being read.
pub enum Source {
    /// Text, decompressed where it was compressed.
    Text(TextReader<ByteStream>),
    /// A compact file.
    File(FileReader<ByteStream>),
}

impl Source {
    /// Clears `batch` and fills it with the next references; an empty batch is the end.
    ///
    /// # Errors
    /// When the trace is malformed or can't be read: see [`TraceError`].
    pub fn fill(&mut self, batch: &mut Vec<Reference>) -> Result<(), TraceError> {
        match self {
            Self::Text(text) => text.fill(batch),
            Self::File(file) => file.fill(batch),
        }
    }

    /// Takes references of cores 0 to `cores` - 1 and refuses all others.
    pub(crate) const fn limit_cores(&mut self, cores: u16) {
        match self {
            Self::Text(text) => text.limit_cores(cores),
            // A compact file holds one core's references.
            Self::File(_) => {}
        }
    }

    /// Hands every reference to `each`.
    ///
    /// # Errors
    /// As [`Source::fill`].
    pub fn for_each(&mut self, mut each: impl FnMut(&Reference)) -> Result<(), TraceError> {
        let mut batch = Vec::new();
        loop {
            self.fill(&mut batch)?;
            if batch.is_empty() {
                return Ok(());
            }
            batch.iter().for_each(&mut each);
        }
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Text(_) => "Source::Text",
            Self::File(_) => "Source::File",
        })
    }
}

/// Opens the trace at `path`; `-` is the standard input.
///
/// # Errors
/// If the file can't be opened or its header is damaged.
pub fn open(path: &Path) -> Result<Source, TraceError> {
    if path.as_os_str() == "-" {
        return source(Box::new(io::stdin()));
    }
    let failed = |source| TraceError::Open { path: path.to_path_buf(), source };
    source(Box::new(File::open(path).map_err(failed)?))
}

/// The trace in `bytes`; its first bytes tell compressed, compact and plain traces apart.
///
/// # Errors
/// If the first bytes can't be read or are those of a damaged compact file.
pub fn source(mut bytes: ByteStream) -> Result<Source, TraceError> {
    let failed = |source| TraceError::Read { line: 0, source };
    let mut magic = Vec::with_capacity(MAGIC.len());
    (&mut bytes).take(MAGIC.len() as u64).read_to_end(&mut magic).map_err(failed)?;
    let whole: ByteStream = Box::new(Cursor::new(magic.clone()).chain(bytes));
    if magic.starts_with(MAGIC) {
        let whole: ByteStream = Box::new(BufReader::with_capacity(1 << 18, whole));
        return Ok(Source::File(FileReader::new(whole)?));
    }
    let text: ByteStream = if magic.starts_with(&[0x1f, 0x8b]) {
        Box::new(flate2::read::MultiGzDecoder::new(whole))
    } else if magic.starts_with(b"\xfd7zXZ\0") {
        let stream =
            liblzma::stream::Stream::new_stream_decoder(DECOMPRESSION_MEMORY, liblzma::stream::CONCATENATED);
        let stream = stream.map_err(|error| failed(error.into()))?;
        Box::new(liblzma::read::XzDecoder::new_stream(whole, stream))
    } else if magic.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        let mut decoder = zstd::Decoder::new(whole).map_err(failed)?;
        decoder.window_log_max(ZSTD_WINDOW_LOG).map_err(failed)?;
        Box::new(decoder)
    } else {
        whole
    };
    Ok(Source::Text(TextReader::new(text)))
}
