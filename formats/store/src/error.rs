//! What can go wrong with paths and files.

use solo_model::text::{Printable, Unnumbered};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What lies where a file was expected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotAFile {
    /// A folder.
    Folder,
    /// A named pipe.
    Pipe,
    /// A device, for example a terminal or `/dev/zero`.
    Device,
    /// A socket.
    Socket,
    /// A symbolic link where none may be followed.
    Link,
    /// Something else.
    Other,
}

impl fmt::Display for NotAFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Folder => "a folder",
            Self::Pipe => "a named pipe",
            Self::Device => "a device",
            Self::Socket => "a socket",
            Self::Link => "a symbolic link",
            Self::Other => "no regular file",
        })
    }
}

/// Why something could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system refused.
    #[error("cannot {operation} {}: {}", Printable(path.display()), system_reason(source))]
    Io {
        /// What was tried, as a verb.
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The answer.
        source: io::Error,
    },
    /// The folder holds something, and it was not asked to replace it.
    #[error("{} already holds something", Printable(.path.display()))]
    Occupied {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds something that no command has written: it is never removed.
    #[error("{} holds `{found}`, which solo did not write there", Printable(path.display()))]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// The first such thing by name.
        found: String,
    },
    /// Another command is writing into the folder.
    #[error("{} is in use: another command is writing into it", Printable(path.display()))]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// Not a regular file.
    #[error("{} is {what}, not a file", Printable(path.display()))]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// What it is.
        what: NotAFile,
    },
    /// A file above the limit for its kind.
    #[error("{} is larger than {}", Printable(path.display()), size(*limit))]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit in bytes.
        limit: u64,
    },
    /// A file that should be text.
    #[error("{} is not UTF-8 text (line {line})", Printable(path.display()))]
    NotText {
        /// The file.
        path: PathBuf,
        /// The first line that is not, from 1.
        line: usize,
    },
    /// A folder or a file that has to be its user's own.
    #[error("{} belongs to somebody else, or others may write into it", Printable(path.display()))]
    Shared {
        /// The folder or the file.
        path: PathBuf,
    },
    /// A name that is no name of a single file.
    #[error("`{}` is not the name of a file", name.escape_default())]
    Name {
        /// The name.
        name: String,
    },
}

impl StoreError {
    /// The refusal of the operating system, as an error.
    pub(crate) fn io(operation: &'static str, path: &Path) -> impl Fn(rustix::io::Errno) -> Self + use<> {
        let path = path.to_owned();
        move |errno| Self::Io { operation, path: path.clone(), source: errno.into() }
    }

    /// The same for an error of the standard library.
    pub(crate) fn std(operation: &'static str, path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { operation, path: path.clone(), source }
    }

    /// The reason without the path, for a message that names it elsewhere: "no such file or folder".
    pub fn reason(&self) -> String {
        match self {
            Self::Io { source, .. } => system_reason(source),
            Self::NotAFile { what, .. } => format!("it is {what}, not a file"),
            Self::TooLarge { limit, .. } => format!("it is larger than {}", size(*limit)),
            Self::NotText { line, .. } => format!("it is not UTF-8 text (line {line})"),
            other => other.to_string(),
        }
    }

    /// True where nothing lies at the path.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..0x10_0000 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

/// What the operating system says of a file or folder, in words and without its number.
///
/// ```
/// let error = std::fs::read("/no/such/file").unwrap_err();
/// assert_eq!(solo_store::system_reason(&error), "no such file or folder");
/// ```
pub fn system_reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull => "the disk is full".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        io::ErrorKind::NotFound => "no such file or folder".into(),
        io::ErrorKind::AlreadyExists => "it exists already".into(),
        io::ErrorKind::NotADirectory => "not a folder".into(),
        io::ErrorKind::IsADirectory => "it is a folder".into(),
        io::ErrorKind::ReadOnlyFilesystem => "the disk can only be read".into(),
        io::ErrorKind::InvalidFilename => "the system takes no such name".into(),
        _ => Unnumbered(error).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Neither the names that Rust gives to kinds of errors nor numbers of a system reach a reader.
    #[test]
    fn what_the_system_says_is_told_in_words() {
        for number in 1..134 {
            let said = system_reason(&io::Error::from_raw_os_error(number));
            assert!(!said.contains("os error") && !said.contains("entity"), "{number}: {said}");
        }
        for kind in [io::ErrorKind::NotFound, io::ErrorKind::AlreadyExists] {
            assert!(!system_reason(&kind.into()).contains("entity"), "{kind:?}");
        }
    }
}
