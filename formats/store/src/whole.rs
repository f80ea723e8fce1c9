//! A file that appears under its name when it is whole.

use crate::error::StoreError;
use crate::name::LONGEST;
use crate::name::begin;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What stands between a file's name and the number of an unfinished one beside it.
const PART: &str = ".part-";

/// What is added to the name of a file that never became whole and is kept.
const PARTIAL: &str = ".partial";

/// A file under a temporary name beside its place, which nobody else has opened or could have prepared. It takes its
/// name, and the place of what had it, when it is committed. Dropped before, it vanishes.
#[derive(Debug)]
#[must_use = "a file that is not committed vanishes"]
pub struct WholeFile {
    /// Its folder.
    at: Arc<OwnedFd>,
    path: PathBuf,
    name: String,
    temporary: String,
    file: File,
    kept: bool,
}

impl WholeFile {
    pub(crate) fn create(at: Arc<OwnedFd>, folder: &Path, name: &str) -> Result<Self, StoreError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let path = folder.join(name);
        let failed = StoreError::io("create", &path);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let temporary = temporary(name, std::process::id(), count);
            match rustix::fs::openat(&*at, &*temporary, flags, Mode::from_raw_mode(0o666)) {
                Ok(file) => {
                    let (name, file) = (name.to_owned(), file.into());
                    return Ok(Self { at, path, name, temporary, file, kept: false });
                }
                // Somebody has planted it, or a process of this number was killed here.
                Err(Errno::EXIST) => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// The path that it will have.
    pub fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Another handle of the same open file, for writers that want one of their own.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn handle(&self) -> Result<File, StoreError> {
        self.file.try_clone().map_err(StoreError::std("open", &self.path()))
    }

    /// Keeps what was written so far as `NAME.partial`, where the rest can't be written; returns its path.
    ///
    /// # Errors
    /// [`StoreError::Io`]; then nothing is kept.
    pub fn set_aside(mut self) -> Result<PathBuf, StoreError> {
        let mut path = self.path.clone().into_os_string();
        path.push(PARTIAL);
        let (path, name) = (PathBuf::from(path), format!("{}{PARTIAL}", self.name));
        let dir = &*self.at;
        rustix::fs::renameat(dir, &*self.temporary, dir, &*name).map_err(StoreError::io("keep", &path))?;
        self.kept = true;
        Ok(path)
    }

    /// Brings the content to the disk and gives the file its name; returns its path.
    ///
    /// # Errors
    /// [`StoreError::Io`], for example on a full disk; then what had the name before still has it.
    pub fn commit(mut self) -> Result<PathBuf, StoreError> {
        let path = self.path();
        let failed = StoreError::io("write", &path);
        self.file.sync_all().map_err(StoreError::std("write", &path))?;
        let dir = &*self.at;
        rustix::fs::renameat(dir, &*self.temporary, dir, &*self.name).map_err(&failed)?;
        self.kept = true;
        // The name itself is on disk only when its folder is. Some file systems can't say so, which is no failure.
        let _ = rustix::fs::fsync(dir);
        Ok(path)
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if !self.kept {
            // Whatever stopped the writer is told by it.
            let _ = rustix::fs::unlinkat(&*self.at, &*self.temporary, AtFlags::empty());
        }
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for WholeFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// The name of an unfinished file: hidden, and never longer than a name may be.
fn temporary(name: &str, process: u32, count: u64) -> String {
    format!(".{}{PART}{process}-{count}", begin(name, LONGEST - 40))
}

/// True for what a process that was killed leaves of a file of this name.
pub(crate) fn is_part_of(found: &str, name: &str) -> bool {
    let parts = found.strip_prefix('.').and_then(|rest| rest.rsplit_once(PART));
    parts.is_some_and(|(begin, number)| {
        (begin == name || (begin.len() > 200 && name.starts_with(begin)))
            && number.chars().all(|c| c.is_ascii_digit() || c == '-')
    })
}
