//! Files of JSON lines that grow with the work and from which work that was stopped goes on.

use crate::dir::Dir;
use crate::error::StoreError;
use crate::read::whole_lines;
use serde::Serialize;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A journal that is open for more. A line is written as a whole behind the last; a kill can cut the last one only, which
/// is removed when the journal is opened again. One process at a time writes a journal.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Opens the journal `name` in `dir`, or begins it; with the whole lines that it holds.
    ///
    /// # Errors
    /// [`StoreError::Busy`] where another process writes it; [`StoreError::Io`].
    pub fn open(dir: &Path, name: &str) -> Result<(Self, Vec<u8>), StoreError> {
        let path = dir.join(name);
        let mut file = Dir::make(dir)?.grow(name)?;
        rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| StoreError::Busy { path: path.clone() })?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(StoreError::std("read", &path))?;
        let whole = whole_lines(&text);
        text.truncate(whole);
        file.set_len(whole as u64).map_err(StoreError::std("write", &path))?;
        file.seek(SeekFrom::End(0)).map_err(StoreError::std("write", &path))?;
        Ok((Self { path, file }, text))
    }

    /// Adds a line.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn add(&mut self, line: &impl Serialize) -> Result<(), StoreError> {
        let failed = StoreError::std("write", &self.path);
        let mut text = match serde_json::to_vec(line) {
            Ok(text) => text,
            Err(error) => return Err(failed(error.into())),
        };
        text.push(b'\n');
        self.file.write_all(&text).map_err(failed)
    }

    /// Brings what was added to the disk.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn sync(&self) -> Result<(), StoreError> {
        self.file.sync_data().map_err(StoreError::std("write", &self.path))
    }

    /// Its path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
