//! A folder by its descriptor: what lies in it is reached without following links.

use crate::error::StoreError;
use crate::name::is_component;
use crate::read;
use crate::whole::WholeFile;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An open folder. Files in it are named by one component; links among them are refused, never followed.
#[derive(Clone, Debug)]
pub struct Dir {
    fd: Arc<OwnedFd>,
    path: PathBuf,
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Dir {
    /// Opens the folder that a user named.
    ///
    /// # Errors
    /// [`StoreError::Io`], also where it is no folder.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let fd = rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(StoreError::io("open", path))?;
        Ok(Self { fd: Arc::new(fd), path: path.to_owned() })
    }

    /// Opens the folder that a user named; makes it, and those above it, where it does not exist.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn make(path: &Path) -> Result<Self, StoreError> {
        std::fs::create_dir_all(path).map_err(StoreError::std("create", path))?;
        Self::open(path)
    }

    /// Opens a folder into which only its owner, who is the caller, may write; makes it, and those above it, where it does not
    /// exist. For what a program with rights goes on to trust.
    ///
    /// # Errors
    /// [`StoreError::Shared`] where others own it or may write into it; [`StoreError::Io`].
    pub fn private(path: &Path) -> Result<Self, StoreError> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(path).map_err(StoreError::std("create", path))?;
        let dir = Self::open(path)?;
        let stat = rustix::fs::fstat(&*dir.fd).map_err(StoreError::io("read", path))?;
        if is_shared(&stat) {
            return Err(StoreError::Shared { path: path.to_owned() });
        }
        Ok(dir)
    }

    /// Its path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of something in it, for messages.
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A folder in this one, made where it does not exist.
    ///
    /// # Errors
    /// [`StoreError::Name`], [`StoreError::Io`] (also where a link or a file has this name).
    pub(crate) fn make_below(&self, name: &str) -> Result<Self, StoreError> {
        let path = self.checked(name)?;
        match rustix::fs::mkdirat(&*self.fd, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => self.below(name),
            Err(error) => Err(StoreError::io("create", &path)(error)),
        }
    }

    /// A folder in this one that was not there before; `None` where something has this name, whatever it is.
    ///
    /// # Errors
    /// [`StoreError::Name`], [`StoreError::Io`].
    pub fn new_below(&self, name: &str) -> Result<Option<Self>, StoreError> {
        let path = self.checked(name)?;
        match rustix::fs::mkdirat(&*self.fd, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => self.below(name).map(Some),
            Err(Errno::EXIST) => Ok(None),
            Err(error) => Err(StoreError::io("create", &path)(error)),
        }
    }

    /// A folder in this one.
    ///
    /// # Errors
    /// [`StoreError::Name`], [`StoreError::Io`] (also where a link or a file has this name).
    pub fn below(&self, name: &str) -> Result<Self, StoreError> {
        let path = self.checked(name)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&*self.fd, name, flags, Mode::empty());
        Ok(Self { fd: Arc::new(fd.map_err(StoreError::io("open", &path))?), path })
    }

    /// Begins a file that takes its name when it is whole, in place of what has this name by then.
    ///
    /// # Errors
    /// [`StoreError::Name`], [`StoreError::Io`].
    pub fn create(&self, name: &str) -> Result<WholeFile, StoreError> {
        self.checked(name)?;
        WholeFile::create(Arc::clone(&self.fd), &self.path, name)
    }

    /// Writes a whole file.
    ///
    /// # Errors
    /// [`StoreError::Name`], [`StoreError::Io`]; then nothing has changed under this name.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf, StoreError> {
        let mut file = self.create(name)?;
        file.write_all(content).map_err(StoreError::std("write", &self.path_of(name)))?;
        file.commit()
    }

    /// A file that is filled under its own name while others read it: new, or what was begun there before, kept as it
    /// is and open for reading and writing.
    ///
    /// # Errors
    /// [`StoreError::Name`], [`StoreError::Io`], [`StoreError::NotAFile`] where something else has this name.
    pub fn grow(&self, name: &str) -> Result<File, StoreError> {
        self.growing(name, 0o666)
    }

    /// The same, of a file that its owner alone, who is the caller, may read and write, whatever the umask.
    ///
    /// # Errors
    /// As [`Self::grow`], and [`StoreError::Shared`] where the file that is there is another's or others may write into it.
    pub fn grow_own(&self, name: &str) -> Result<File, StoreError> {
        let file = self.growing(name, 0o600)?;
        let path = self.path_of(name);
        let stat = rustix::fs::fstat(&file).map_err(StoreError::io("read", &path))?;
        if is_shared(&stat) { Err(StoreError::Shared { path }) } else { Ok(file) }
    }

    fn growing(&self, name: &str, mode: u32) -> Result<File, StoreError> {
        let path = self.checked(name)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let failed = StoreError::io("open", &path);
        if let Some(what) = self.stat(name)?.as_ref().and_then(read::kind) {
            return Err(StoreError::NotAFile { path, what });
        }
        let file = rustix::fs::openat(&*self.fd, name, flags, Mode::from_raw_mode(mode)).map_err(failed)?;
        Ok(File::from(file))
    }

    /// Gives a file that is there a new content in one write, as settings of the kernel are set: no other file takes its place.
    ///
    /// # Errors
    /// [`StoreError::Name`], [`StoreError::Io`], [`StoreError::NotAFile`] where something else has this name.
    pub fn set(&self, name: &str, content: &[u8]) -> Result<(), StoreError> {
        let mut file = self.setter(name)?;
        let path = self.path_of(name);
        let failed = StoreError::std("set", &path);
        match file.write(content) {
            Ok(written) if written == content.len() => Ok(()),
            Ok(_) => Err(failed(std::io::Error::new(std::io::ErrorKind::WriteZero, "only a part was taken"))),
            Err(error) => Err(failed(error)),
        }
    }

    /// Opens a file that is there for writes like [`Self::set`]'s: a setting that is set again and again.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn setter(&self, name: &str) -> Result<File, StoreError> {
        let path = self.checked(name)?;
        if let Some(what) = self.stat(name)?.as_ref().and_then(read::kind) {
            return Err(StoreError::NotAFile { path, what });
        }
        let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        rustix::fs::openat(&*self.fd, name, flags, Mode::empty())
            .map(File::from)
            .map_err(StoreError::io("set", &path))
    }

    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// As [`read::open`]; links are refused.
    pub fn file(&self, name: &str) -> Result<File, StoreError> {
        let path = self.checked(name)?;
        read::open_at(&*self.fd, Path::new(name), &path, OFlags::NOFOLLOW)
    }

    /// The content of a file of at most `limit` bytes.
    ///
    /// # Errors
    /// As [`read::bytes`]; links are refused.
    pub fn bytes(&self, name: &str, limit: u64) -> Result<Vec<u8>, StoreError> {
        read::all(self.file(name)?, &self.path_of(name), limit)
    }

    /// The content of a text file of at most `limit` bytes.
    ///
    /// # Errors
    /// As [`read::text`]; links are refused.
    pub fn text(&self, name: &str, limit: u64) -> Result<String, StoreError> {
        read::as_text(self.bytes(name, limit)?, &self.path_of(name))
    }

    /// The names of all that lies in it, sorted. Names that are no UTF-8 appear with replacement characters.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn names(&self) -> Result<Vec<String>, StoreError> {
        let failed = StoreError::io("read", &self.path);
        let entries = rustix::fs::Dir::read_from(&*self.fd).map_err(&failed)?;
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(&failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// What lies under a name, links not followed.
    pub(crate) fn stat(&self, name: &str) -> Result<Option<Stat>, StoreError> {
        let path = self.checked(name)?;
        match rustix::fs::statat(&*self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(StoreError::io("read", &path)(error)),
        }
    }

    /// True where something lies under a name.
    ///
    /// # Errors
    /// [`StoreError::Name`], [`StoreError::Io`].
    pub fn has(&self, name: &str) -> Result<bool, StoreError> {
        Ok(self.stat(name)?.is_some())
    }

    pub(crate) fn remove_file(&self, name: &str) -> Result<(), StoreError> {
        self.remove(name, AtFlags::empty())
    }

    pub(crate) fn remove_folder(&self, name: &str) -> Result<(), StoreError> {
        self.remove(name, AtFlags::REMOVEDIR)
    }

    fn remove(&self, name: &str, flags: AtFlags) -> Result<(), StoreError> {
        let path = self.checked(name)?;
        rustix::fs::unlinkat(&*self.fd, name, flags).map_err(StoreError::io("remove", &path))
    }

    fn checked(&self, name: &str) -> Result<PathBuf, StoreError> {
        if is_component(name) {
            Ok(self.path_of(name))
        } else {
            Err(StoreError::Name { name: name.to_owned() })
        }
    }
}

/// True for what somebody else owns or others may write into.
fn is_shared(stat: &rustix::fs::Stat) -> bool {
    stat.st_uid != rustix::process::geteuid().as_raw() || stat.st_mode & 0o022 != 0
}
