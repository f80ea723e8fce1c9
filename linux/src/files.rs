//! The files through which Linux describes itself, real or made up.
//!
//! Everything that only reads sysfs, procfs, resctrl or powercap takes a [`Files`], so that a test can stand in
//! for any machine: other vendors, virtual machines without counters, containers without rights.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

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

impl Files for Host {
    fn read(&self, path: &str) -> io::Result<String> {
        std::fs::read(self.at(path)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn bytes(&self, path: &str) -> io::Result<Vec<u8>> {
        std::fs::read(self.at(path))
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
/// use solo_linux::files::{Fake, Files};
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
            None => Err(io::ErrorKind::NotFound.into()),
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
