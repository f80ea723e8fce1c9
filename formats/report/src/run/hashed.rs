//! The hash of a file's bytes, taken while they pass.

use std::io::{self, Read, Write};

/// A file whose bytes are hashed on their way.
#[derive(Debug)]
pub(crate) struct Hashed<F> {
    file: F,
    hasher: blake3::Hasher,
}

impl<F> Hashed<F> {
    pub(crate) fn new(file: F) -> Self {
        Self { file, hasher: blake3::Hasher::new() }
    }

    /// The BLAKE3 hash of what has passed, in hex.
    pub(crate) fn hash(&self) -> String {
        self.hasher.finalize().to_hex().to_string()
    }

    /// The file and the hash of what has passed.
    pub(crate) fn into_parts(self) -> (F, String) {
        let hash = self.hash();
        (self.file, hash)
    }
}

impl<F: Write> Write for Hashed<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hasher.update(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl<F: Read> Read for Hashed<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.hasher.update(buffer.get(..read).unwrap_or_default());
        Ok(read)
    }
}
