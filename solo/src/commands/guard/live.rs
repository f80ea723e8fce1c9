//! How far budgets and limits have come, in files that watches read: `solo top -V guard`, `solo serve -V guard`.

use crate::exit::Failure;
use solo_guard::limits::LimitProgress;
use solo_guard::occupier::Progress;
use solo_model::Bandwidth;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The folder in the guard's own.
const FOLDER: &str = "live";
/// How often files are written.
const EACH: Duration = Duration::from_millis(100);
/// What stands in a file in place of a number that is not known: as long as one, and a watch reads no number in it.
const UNKNOWN: &str = "             unknown";

/// What is shown of a budget or of a limit, a file each, as `solo_watch` knows them.
pub(super) trait Shown<const N: usize> {
    /// The names of the files.
    const FILES: [&'static str; N];

    /// What each says; nothing where that is not known.
    fn numbers(&self) -> [Option<u64>; N];
}

impl Shown<4> for Progress {
    const FILES: [&'static str; 4] = ["budget", "events", "exceeded_periods", "stopped_ns"];

    fn numbers(&self) -> [Option<u64>; 4] {
        let Self { periods: _, events, reserved, stopped, exceeded } = *self;
        [reserved, events, exceeded, stopped.get()].map(Some)
    }
}

impl Shown<3> for LimitProgress {
    const FILES: [&'static str; 3] = ["limit", "rate", "intervals_above"];

    fn numbers(&self) -> [Option<u64>; 3] {
        let Self { limit, rate, above } = *self;
        [limit.map(Bandwidth::get), rate.map(Bandwidth::get), Some(above)]
    }
}

/// Takes away what a guard that was killed has left of them.
pub(super) fn clear(state: &Path) -> Result<(), Failure> {
    let folder = state.join(FOLDER);
    match fs::remove_dir_all(&folder) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(Failure::File { action: "remove", path: folder, source })
        }
        _ => Ok(()),
    }
}

/// The files of all budgets or limits, `N` of each.
pub(super) struct Board<const N: usize> {
    folder: PathBuf,
    rows: Vec<[File; N]>,
    written: Option<Instant>,
}

impl<const N: usize> Board<N> {
    /// Files for those of these names, in the guard's folder; those of an earlier guard go.
    pub(super) fn make<S: Shown<N>>(state: &Path, names: &[String]) -> Result<Self, Failure> {
        clear(state)?;
        let folder = state.join(FOLDER);
        let failed = |source| Failure::File { action: "write", path: folder.clone(), source };
        let row = |name: &String| -> io::Result<[File; N]> {
            let place = folder.join(name);
            fs::create_dir_all(&place)?;
            let files = S::FILES.iter().map(|file| File::create_new(place.join(file)));
            let files: Vec<File> = files.collect::<io::Result<_>>()?;
            files.try_into().map_err(|_| io::Error::other("a file for each number"))
        };
        let rows = names.iter().map(row).collect::<io::Result<_>>().map_err(failed)?;
        Ok(Self { folder, rows, written: None })
    }

    /// Writes where everybody is, a tenth of a second apart.
    pub(super) fn write<S: Shown<N>>(&mut self, progress: impl Iterator<Item = S>) {
        if self.written.is_some_and(|written| written.elapsed() < EACH) {
            return;
        }
        self.written = Some(Instant::now());
        for (files, one) in self.rows.iter().zip(progress) {
            for (file, number) in files.iter().zip(one.numbers()) {
                // Always as many digits: whoever reads meanwhile sees the number before or this one. A full disk keeps the number before.
                let text = number.map_or_else(|| UNKNOWN.to_owned(), |number| format!("{number:020}"));
                let _ = file.write_at(format!("{text}\n").as_bytes(), 0);
            }
        }
    }
}

impl<const N: usize> Drop for Board<N> {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
