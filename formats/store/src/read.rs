//! Files that are read whole, within a limit.
//!
//! A path may name anything: a device that never ends, a pipe that nobody writes to, a folder. What is opened is
//! looked at before a byte is read, and no more is read than its kind of file may hold, whatever its size says.

use crate::error::{NotAFile, StoreError};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::Path;

/// The largest scenario, platform, study or other file that people write: 64 MiB.
pub const TEXT: u64 = 64 << 20;

/// Opens a regular file for reading. Never waits, as opening a pipe would.
///
/// # Errors
/// [`StoreError::NotAFile`] for a device, a pipe, a folder; [`StoreError::Io`].
pub fn open(path: &Path) -> Result<File, StoreError> {
    open_at(CWD, path, path, OFlags::empty())
}

/// The content of a regular file of at most `limit` bytes.
///
/// # Errors
/// As [`open`]; [`StoreError::TooLarge`].
pub fn bytes(path: &Path, limit: u64) -> Result<Vec<u8>, StoreError> {
    all(open(path)?, path, limit)
}

/// The content of a text file of at most `limit` bytes.
///
/// # Errors
/// As [`bytes`]; [`StoreError::NotText`].
pub fn text(path: &Path, limit: u64) -> Result<String, StoreError> {
    as_text(bytes(path, limit)?, path)
}

/// True where the file lies in the folder or below it, links followed: its content is the folder's owner's to show.
pub fn lies_in(file: &Path, folder: &Path) -> bool {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    match (file.canonicalize(), folder.canonicalize()) {
        (Ok(file), Ok(folder)) => file.starts_with(folder),
        _ => false,
    }
}

/// Opens a regular file below a folder; `shown` is its path in messages.
pub(crate) fn open_at(at: impl AsFd, name: &Path, shown: &Path, more: OFlags) -> Result<File, StoreError> {
    let failed = StoreError::io("read", shown);
    // A device may do something when it is opened (a tape, a terminal): it is looked at first, and again after.
    let follow = if more.contains(OFlags::NOFOLLOW) { AtFlags::SYMLINK_NOFOLLOW } else { AtFlags::empty() };
    regular(&rustix::fs::statat(&at, name, follow).map_err(&failed)?, shown)?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY | more;
    let file = rustix::fs::openat(&at, name, flags, Mode::empty()).map_err(&failed)?;
    regular(&rustix::fs::fstat(&file).map_err(&failed)?, shown)?;
    Ok(File::from(file))
}

/// All of a file that was opened.
pub(crate) fn all(file: File, shown: &Path, limit: u64) -> Result<Vec<u8>, StoreError> {
    let failed = StoreError::std("read", shown);
    let too_large = || StoreError::TooLarge { path: shown.to_owned(), limit };
    let said = file.metadata().map_err(&failed)?.len();
    if said > limit {
        return Err(too_large());
    }
    let mut content = Vec::with_capacity(usize::try_from(said).unwrap_or(0));
    // Files of /proc say that they are empty, and any file may grow.
    file.take(limit.saturating_add(1)).read_to_end(&mut content).map_err(&failed)?;
    if content.len() as u64 > limit { Err(too_large()) } else { Ok(content) }
}

/// The length of the lines of `text` that have an end.
pub(crate) fn whole_lines(text: &[u8]) -> usize {
    text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at.saturating_add(1))
}

/// Bytes as text.
pub(crate) fn as_text(content: Vec<u8>, shown: &Path) -> Result<String, StoreError> {
    String::from_utf8(content).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let breaks = error.as_bytes().iter().take(good).filter(|&&byte| byte == b'\n').count();
        StoreError::NotText { path: shown.to_owned(), line: breaks.saturating_add(1) }
    })
}

/// Refuses everything but a regular file.
fn regular(stat: &Stat, shown: &Path) -> Result<(), StoreError> {
    match kind(stat) {
        None => Ok(()),
        Some(what) => Err(StoreError::NotAFile { path: shown.to_owned(), what }),
    }
}

/// What lies there, if it is not a regular file.
pub(crate) fn kind(stat: &Stat) -> Option<NotAFile> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => None,
        FileType::Directory => Some(NotAFile::Folder),
        FileType::Fifo => Some(NotAFile::Pipe),
        FileType::CharacterDevice | FileType::BlockDevice => Some(NotAFile::Device),
        FileType::Socket => Some(NotAFile::Socket),
        FileType::Symlink => Some(NotAFile::Link),
        _ => Some(NotAFile::Other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        let cases = [
            (Path::new("/dev/zero"), NotAFile::Device),
            (folder.path(), NotAFile::Folder),
            (pipe.as_path(), NotAFile::Pipe),
        ];
        for (path, expected) in cases {
            match bytes(path, TEXT) {
                Err(StoreError::NotAFile { what, .. }) => assert_eq!(what, expected),
                other => panic!("{}: {other:?}", path.display()),
            }
        }
        assert!(bytes(&folder.path().join("nothing"), TEXT).unwrap_err().is_not_found());
    }

    #[test]
    fn the_limit_holds_whatever_the_size_says() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "0123456789").unwrap();
        assert_eq!(text(&path, 10).unwrap(), "0123456789");
        assert!(matches!(bytes(&path, 9), Err(StoreError::TooLarge { limit: 9, .. })));
        // It says that it is empty.
        assert!(matches!(bytes(Path::new("/proc/self/maps"), 9), Err(StoreError::TooLarge { .. })));
    }

    #[test]
    fn what_is_no_text_is_named_by_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"a\nb\n\xff").unwrap();
        assert!(matches!(text(&path, TEXT), Err(StoreError::NotText { line: 3, .. })));
    }
}
