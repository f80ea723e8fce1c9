//! How far budgets and limits have come, in files that watches read: `solo top -V guard`, `solo serve -V guard`.

use crate::exit::Failure;
use solo_guard::limits::LimitProgress;
use solo_guard::occupier::Progress;
use solo_model::Bandwidth;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::marker::PhantomData;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The folder in the guard's own.
const FOLDER: &str = "live";
/// How often files are written.
const EACH: Duration = Duration::from_millis(100);
/// What is shown of a budget or of a limit.
pub(super) trait Shown {
    /// The files, as `solo_watch` knows them.
    const FILES: &'static [&'static str];

    /// What each says; nothing where that is not known.
    fn numbers(&self) -> impl Iterator<Item = Option<u64>>;
}

impl Shown for Progress {
    const FILES: &'static [&'static str] = &["budget", "events", "exceeded_periods", "stopped_ns"];

    fn numbers(&self) -> impl Iterator<Item = Option<u64>> {
        let Self { periods: _, events, reserved, stopped, exceeded } = *self;
        [reserved, events, exceeded, stopped.get()].map(Some).into_iter()
    }
}

impl Shown for LimitProgress {
    const FILES: &'static [&'static str] = &["limit", "rate", "intervals_above"];

    fn numbers(&self) -> impl Iterator<Item = Option<u64>> {
        let Self { limit, rate, above } = *self;
        [limit.map(Bandwidth::get), rate.map(Bandwidth::get), Some(above)].into_iter()
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

/// The files of all budgets or limits.
pub(super) struct Board<S> {
    folder: PathBuf,
    rows: Vec<Vec<File>>,
    written: Option<Instant>,
    shown: PhantomData<S>,
}

impl<S: Shown> Board<S> {
    /// Files for those of these names, in the guard's folder; those of an earlier guard go.
    pub(super) fn make(state: &Path, names: &[String]) -> Result<Self, Failure> {
        clear(state)?;
        let folder = state.join(FOLDER);
        let failed = |source| Failure::File { action: "write", path: folder.clone(), source };
        let row = |name: &String| -> io::Result<Vec<File>> {
            let place = folder.join(name);
            DirBuilder::new().recursive(true).mode(0o755).create(&place)?;
            // Whatever the umask: nobody else writes into them.
            let mut options = File::options();
            options.write(true).create_new(true).mode(0o644);
            S::FILES.iter().map(|file| options.open(place.join(file))).collect()
        };
        let rows = names.iter().map(row).collect::<io::Result<_>>().map_err(failed)?;
        Ok(Self { folder, rows, written: None, shown: PhantomData })
    }

    /// Writes where everybody is who is still held, a tenth of a second apart.
    pub(super) fn write(&mut self, progress: impl Iterator<Item = Option<S>>) {
        if self.written.is_some_and(|written| written.elapsed() < EACH) {
            return;
        }
        self.written = Some(Instant::now());
        for (files, one) in self.rows.iter().zip(progress) {
            let Some(one) = one else { continue };
            for (file, number) in files.iter().zip(one.numbers()) {
                // Always as long: whoever reads meanwhile sees what was there before or this. A full disk keeps what was there before.
                let text =
                    number.map_or_else(|| format!("{:>20}", "unknown"), |number| format!("{number:020}"));
                let _ = file.write_at(format!("{text}\n").as_bytes(), 0);
            }
        }
    }
}

impl<S> Drop for Board<S> {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
