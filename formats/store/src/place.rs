//! Where files are written: a folder of ours, which lists them, or one of the user's.

use crate::dir::Dir;
use crate::error::StoreError;
use crate::folder::Folder;
use crate::whole::WholeFile;
use std::path::{Path, PathBuf};

/// An open folder that takes files.
#[derive(Clone, Debug)]
pub enum TargetFolder {
    /// A folder that a command has filled, or fills.
    Ours(Folder),
    /// Any other: what is written there is the user's from then on.
    Other(Dir),
}

impl TargetFolder {
    /// The folder at `path`, made with those above it where it does not exist.
    ///
    /// # Errors
    /// [`StoreError::Busy`] where another command writes into it; [`StoreError::Io`].
    pub fn at(path: &Path) -> Result<Self, StoreError> {
        let dir = Dir::make(path)?;
        match Folder::kind_of(&dir) {
            Some(_) => Folder::reopen(path).map(Self::Ours),
            None => Ok(Self::Other(dir)),
        }
    }

    /// Begins a file that appears when it is whole.
    ///
    /// # Errors
    /// [`StoreError::Name`], [`StoreError::Io`].
    pub fn create(&self, name: &str) -> Result<WholeFile, StoreError> {
        match self {
            Self::Ours(folder) => folder.create(name),
            Self::Other(dir) => dir.create(name),
        }
    }

    /// Writes a whole file.
    ///
    /// # Errors
    /// As [`TargetFolder::create`]; then nothing has changed under this name.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf, StoreError> {
        match self {
            Self::Ours(folder) => folder.write(name, content),
            Self::Other(dir) => dir.write(name, content),
        }
    }
}

impl From<Folder> for TargetFolder {
    fn from(folder: Folder) -> Self {
        Self::Ours(folder)
    }
}
