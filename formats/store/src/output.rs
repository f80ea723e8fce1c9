//! A single file where the user wants it.

use crate::dir::Dir;
use crate::error::{NotAFile, StoreError};
use crate::read;
use crate::whole::WholeFile;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that a command writes outside of folders of its own: `--save`, `-o`, `--write`.
#[derive(Debug)]
#[must_use = "an output that is not committed vanishes"]
pub enum Output {
    /// A regular file, which appears when it is whole.
    Whole(WholeFile),
    /// A device or pipe that lies there already, such as `/dev/stdout`.
    Stream {
        /// The open device.
        file: File,
        /// Its path.
        path: PathBuf,
    },
}

impl Output {
    /// Begins the file at `path`. The folders above are the user's and may be links; the file itself may not. Never waits: opening a
    /// pipe that nobody reads would, deaf to signals.
    ///
    /// # Errors
    /// [`StoreError::NotAFile`] where a folder or a link to a file lies there; [`StoreError::Io`].
    pub fn create(path: &Path) -> Result<Self, StoreError> {
        let failed = StoreError::io("write", path);
        let lies_there = match rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => read::kind(&stat),
            Err(Errno::NOENT) => None,
            Err(error) => return Err(failed(error)),
        };
        let target = match lies_there {
            None => return Ok(Self::Whole(whole(path)?)),
            // `/dev/stdout` is a link to what standard output is: a terminal, a pipe, a file.
            Some(NotAFile::Link) if is_own_stream(path) => None,
            Some(NotAFile::Link) => {
                let target = rustix::fs::statat(CWD, path, AtFlags::empty()).ok();
                target.as_ref().and_then(read::kind).or(Some(NotAFile::Link))
            }
            other => other,
        };
        let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOCTTY;
        match target {
            None | Some(NotAFile::Device) => {
                let file = rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(failed)?;
                Ok(Self::Stream { file: file.into(), path: path.to_owned() })
            }
            Some(NotAFile::Pipe) => {
                let file = match rustix::fs::openat(CWD, path, flags | OFlags::NONBLOCK, Mode::empty()) {
                    Err(Errno::NXIO) => {
                        let nobody = io::Error::other("nobody reads this pipe; start its reader first");
                        return Err(StoreError::std("write", path)(nobody));
                    }
                    other => other.map_err(&failed)?,
                };
                // A reader may be slow.
                rustix::fs::fcntl_setfl(&file, OFlags::empty()).map_err(failed)?;
                Ok(Self::Stream { file: file.into(), path: path.to_owned() })
            }
            Some(what) => Err(StoreError::NotAFile { path: path.to_owned(), what }),
        }
    }

    /// True where a file lies at `path` that [`Output::create`] would replace.
    pub fn replaces(path: &Path) -> bool {
        rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| read::kind(&stat).is_none())
    }

    /// Writes all of a file.
    ///
    /// # Errors
    /// As [`Output::create`].
    pub fn write(path: &Path, content: &[u8]) -> Result<PathBuf, StoreError> {
        let mut output = Self::create(path)?;
        output.write_all(content).map_err(StoreError::std("write", path))?;
        output.commit()
    }

    /// Another handle of the same open file.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn handle(&self) -> Result<File, StoreError> {
        match self {
            Self::Whole(file) => file.handle(),
            Self::Stream { file, path } => file.try_clone().map_err(StoreError::std("open", path)),
        }
    }

    /// Keeps what was written so far beside the place, see [`WholeFile::set_aside`]; `None` for a device or pipe, which has
    /// it already.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn set_aside(self) -> Result<Option<PathBuf>, StoreError> {
        match self {
            Self::Whole(file) => file.set_aside().map(Some),
            Self::Stream { .. } => Ok(None),
        }
    }

    /// Brings everything to the disk; the file appears. Returns its path.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn commit(self) -> Result<PathBuf, StoreError> {
        match self {
            Self::Whole(file) => file.commit(),
            Self::Stream { mut file, path } => {
                file.flush().map_err(StoreError::std("write", &path))?;
                Ok(path)
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Whole(file) => file.write(bytes),
            Self::Stream { file, .. } => file.write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Whole(file) => file.flush(),
            Self::Stream { file, .. } => file.flush(),
        }
    }
}

/// True for the names that the kernel gives to the streams of this process.
fn is_own_stream(path: &Path) -> bool {
    let numbered = |folder: &str| path.starts_with(folder) && path.components().count() > 3;
    [Path::new("/dev/stdout"), Path::new("/dev/stderr")].contains(&path)
        || numbered("/dev/fd")
        || numbered("/proc/self/fd")
}

fn whole(path: &Path) -> Result<WholeFile, StoreError> {
    let bad_name = || StoreError::Name { name: path.display().to_string() };
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(bad_name)?;
    Dir::open(path.parent().unwrap_or(Path::new("")))?.create(name)
}
