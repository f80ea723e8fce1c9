//! The files through which Linux describes itself, real or made up.
//!
//! Everything that only reads sysfs, procfs, resctrl or powercap takes a [`Files`], so that a test can stand in
//! for any machine: other vendors, virtual machines without counters, containers without rights.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// More than any text of sysfs or procfs has.
const TEXT_MAX: u64 = 16 << 20;
/// More than any kernel's types (BTF) take.
const BYTES_MAX: u64 = 256 << 20;

/// A tree of small text files.
pub trait Files {
    /// What a file says.
    ///
    /// # Errors
    /// What the system says: not there, not allowed.
    fn read(&self, path: &str) -> io::Result<String>;

    /// What a file holds, where that is no text.
    ///
    /// # Errors
    /// As for [`Files::read`].
    fn bytes(&self, path: &str) -> io::Result<Vec<u8>> {
        self.read(path).map(String::into_bytes)
    }

    /// The names in a folder, in order; empty where there is no such folder.
    fn list(&self, path: &str) -> Vec<String>;

    /// True where there is a file or folder.
    fn exists(&self, path: &str) -> bool;

    /// The trimmed text of a file; `None` where it can't be read.
    fn text(&self, path: &str) -> Option<String> {
        self.read(path).ok().map(|text| text.trim().to_owned())
    }

    /// A file's number; `None` where there is none.
    fn number(&self, path: &str) -> Option<i64> {
        self.text(path)?.parse().ok()
    }
}

/// The files of this machine, or those below another root.
#[derive(Clone, Debug)]
pub struct Host {
    root: PathBuf,
}

impl Host {
    /// This machine.
    pub fn new() -> Self {
        Self::below("/")
    }

    /// The tree below `root`: `root`/sys, `root`/proc.
    pub fn below(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }
}

impl Default for Host {
    fn default() -> Self {
        Self::new()
    }
}

/// The content of a regular file. Users name files too (modules): a pipe that nobody writes to and a device that never
/// ends are refused, and nothing is waited for.
fn regular(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let is_file = |metadata: std::fs::Metadata| match metadata.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")),
    };
    // A device may do something when it is opened: it is looked at first.
    is_file(std::fs::metadata(path)?)?;
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    is_file(file.metadata()?)?;
    let mut content = Vec::new();
    file.take(limit + 1).read_to_end(&mut content)?;
    if content.len() as u64 > limit {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {limit} bytes")));
    }
    Ok(content)
}

impl Files for Host {
    fn read(&self, path: &str) -> io::Result<String> {
        regular(&self.at(path), TEXT_MAX).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn bytes(&self, path: &str) -> io::Result<Vec<u8>> {
        regular(&self.at(path), BYTES_MAX)
    }

    fn list(&self, path: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.at(path)) else { return Vec::new() };
        let names = entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()));
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    fn exists(&self, path: &str) -> bool {
        self.at(path).exists()
    }
}

/// Files that exist in memory only.
///
/// ```
/// use solo_perf::files::{Fake, Files};
/// let machine = Fake::new().with("/proc/sys/kernel/perf_event_paranoid", "2\n");
/// assert_eq!(machine.number("/proc/sys/kernel/perf_event_paranoid"), Some(2));
/// assert_eq!(machine.list("/proc/sys/kernel"), ["perf_event_paranoid"]);
/// ```
#[derive(Clone, Default, Debug)]
pub struct Fake {
    files: BTreeMap<PathBuf, Result<String, io::ErrorKind>>,
}

impl Fake {
    /// No files.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more file; its folders come with it.
    #[must_use]
    pub fn with(mut self, path: &str, text: &str) -> Self {
        self.files.insert(path.into(), Ok(text.to_owned()));
        self
    }

    /// A file that is there and refuses to be read.
    #[must_use]
    pub fn refusing(mut self, path: &str, kind: io::ErrorKind) -> Self {
        self.files.insert(path.into(), Err(kind));
        self
    }

    /// Changes what a file says, or takes it away.
    pub fn set(&mut self, path: &str, text: Option<&str>) {
        match text {
            Some(text) => self.files.insert(path.into(), Ok(text.to_owned())),
            None => self.files.remove(Path::new(path)),
        };
    }
}

impl Files for Fake {
    fn read(&self, path: &str) -> io::Result<String> {
        match self.files.get(Path::new(path)) {
            Some(Ok(text)) => Ok(text.clone()),
            Some(Err(kind)) => Err((*kind).into()),
            None => Err(io::Error::new(io::ErrorKind::NotFound, "no such file")),
        }
    }

    fn list(&self, path: &str) -> Vec<String> {
        let below = self.files.keys().filter_map(|file| file.strip_prefix(path).ok());
        let mut names: Vec<String> = below
            .filter_map(|rest| Some(rest.components().next()?.as_os_str().to_string_lossy().into_owned()))
            .collect();
        names.dedup();
        names
    }

    fn exists(&self, path: &str) -> bool {
        self.files.keys().any(|file| file.starts_with(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_read_without_end_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        for path in ["/dev/zero", "/proc", &pipe.to_string_lossy()] {
            assert!(Host::new().read(path).is_err(), "{path}");
        }
        assert!(Host::new().read("/proc/self/status").unwrap().contains("Tgid"));
        // Its end is 8 TiB away.
        let huge = folder.path().join("huge");
        File::create(&huge).unwrap().set_len(1 << 43).unwrap();
        let refused = Host::new().read(&huge.to_string_lossy()).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::FileTooLarge);
    }
}
