//! How far budgets have come, in files that watches read: `solo top -V guard`, `solo serve -V guard`.

use crate::exit::Failure;
use solo_guard::occupier::Progress;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The folder in the guard's own.
const FOLDER: &str = "live";
/// How often files are written.
const EACH: Duration = Duration::from_millis(100);
/// What there is of each budget, a file each, as `solo_watch` knows them.
const FILES: [&str; 4] = ["budget", "events", "exceeded_periods", "stopped_ns"];

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

/// The files of all budgets.
pub(super) struct Board {
    folder: PathBuf,
    rows: Vec<[File; FILES.len()]>,
    written: Option<Instant>,
}

impl Board {
    /// Files for those of these names, in the guard's folder; those of an earlier guard go.
    pub(super) fn make(state: &Path, names: &[String]) -> Result<Self, Failure> {
        clear(state)?;
        let folder = state.join(FOLDER);
        let failed = |source| Failure::File { action: "write", path: folder.clone(), source };
        let row = |name: &String| -> io::Result<[File; FILES.len()]> {
            let place = folder.join(name);
            fs::create_dir_all(&place)?;
            let files = FILES.iter().map(|file| File::create_new(place.join(file)));
            let files: Vec<File> = files.collect::<io::Result<_>>()?;
            files.try_into().map_err(|_| io::Error::other("a file for each number"))
        };
        let rows = names.iter().map(row).collect::<io::Result<_>>().map_err(failed)?;
        Ok(Self { folder, rows, written: None })
    }

    /// Writes where everybody is, a tenth of a second apart.
    pub(super) fn write(&mut self, progress: impl Iterator<Item = Progress>) {
        if self.written.is_some_and(|written| written.elapsed() < EACH) {
            return;
        }
        self.written = Some(Instant::now());
        for (files, one) in self.rows.iter().zip(progress) {
            let Progress { periods: _, events, reserved, stopped, exceeded } = one;
            for (file, number) in files.iter().zip([reserved, events, exceeded, stopped.get()]) {
                // Always as many digits: whoever reads meanwhile sees the number before or this one. A full disk keeps the number before.
                let _ = file.write_at(format!("{number:020}\n").as_bytes(), 0);
            }
        }
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
