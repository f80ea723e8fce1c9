//! Folders that commands fill.

use crate::dir::Dir;
use crate::error::StoreError;
use crate::kind::Kind;
use crate::ledger::{Entry, LEDGER, Ledger};
use crate::name;
use crate::read;
use crate::whole::{WholeFile, is_part_of};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What becomes of what a folder holds already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Replace {
    /// It stays, and the folder is refused.
    Never,
    /// What a command has written is removed; anything else stays, and the folder is refused.
    Ours,
}

/// A folder that this process fills. It is locked until the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Folder {
    dir: Dir,
    ledger: Arc<Held>,
}

/// The list of a folder, for as long as the folder is in use.
#[derive(Debug)]
struct Held {
    dir: Dir,
    ledger: Mutex<Ledger>,
    /// The folder is new: nobody misses it if nothing is written.
    made: bool,
}

impl Drop for Held {
    /// A folder that was taken and stayed empty is given back as it was found.
    fn drop(&mut self) {
        let ledger = self.ledger.get_mut().unwrap_or_else(PoisonError::into_inner);
        if ledger.entries().is_empty() && self.dir.names().is_ok_and(|names| names == [LEDGER]) {
            // What stays behind is an empty folder with a list.
            let _ = self.dir.remove_file(LEDGER);
            if self.made {
                let _ = std::fs::remove_dir(self.dir.path());
            }
        }
    }
}

/// Comparisons hold runs; nothing that a command writes lies deeper.
const DEEPEST: u32 = 3;

impl Folder {
    /// Takes the folder at `path` for oneself; it is made where it does not exist.
    ///
    /// # Errors
    /// [`StoreError::Occupied`] where it holds something and `replace` says so; [`StoreError::Foreign`] where it holds
    /// what no command has written: then nothing at all is removed; [`StoreError::Busy`]; [`StoreError::Io`].
    pub fn claim(path: &Path, kind: Kind, replace: Replace) -> Result<Self, StoreError> {
        let made = !path.exists();
        Self::claim_dir(Dir::make(path)?, made, kind, replace)
    }

    /// Takes the folder of that name in `above`; no link is followed.
    ///
    /// # Errors
    /// As [`Folder::claim`].
    pub fn claim_below(above: &Dir, name: &str, kind: Kind, replace: Replace) -> Result<Self, StoreError> {
        let made = !above.has(name)?;
        Self::claim_dir(above.make_below(name)?, made, kind, replace)
    }

    fn claim_dir(dir: Dir, made: bool, kind: Kind, replace: Replace) -> Result<Self, StoreError> {
        let occupied = || StoreError::Occupied { path: dir.path().to_owned() };
        // A folder of somebody else's does not even get a list.
        let found = dir.names()?;
        if let Some(first) = found.first().filter(|_| !found.iter().any(|name| name == LEDGER)) {
            return Err(match replace {
                Replace::Never => occupied(),
                Replace::Ours => StoreError::Foreign { path: dir.path().to_owned(), found: first.clone() },
            });
        }
        let Some(mut ledger) = Ledger::open(&dir, true)? else { return Err(occupied()) };
        let begun = ledger.kind().is_some() || dir.names()?.iter().any(|name| name != LEDGER);
        if begun && replace == Replace::Never {
            return Err(occupied());
        }
        examine(&dir, &ledger, DEEPEST)?;
        empty(&dir, &ledger, DEEPEST)?;
        ledger.begin(kind, &dir)?;
        Ok(Self::new(dir, ledger, made))
    }

    fn new(dir: Dir, ledger: Ledger, made: bool) -> Self {
        let held = Held { dir: dir.clone(), ledger: Mutex::new(ledger), made };
        Self { dir, ledger: Arc::new(held) }
    }

    /// Opens a folder that a command has filled, for more: a study that goes on, a page beside a run.
    ///
    /// # Errors
    /// [`StoreError::Foreign`] where no command has filled it; [`StoreError::Busy`]; [`StoreError::Io`].
    pub(crate) fn reopen(path: &Path) -> Result<Self, StoreError> {
        let dir = Dir::open(path)?;
        let foreign = |found: &str| StoreError::Foreign { path: path.to_owned(), found: found.to_owned() };
        match Ledger::open(&dir, false)? {
            Some(ledger) if ledger.kind().is_some() => Ok(Self::new(dir, ledger, false)),
            _ => Err(foreign(dir.names()?.first().map_or(".", String::as_str))),
        }
    }

    /// A folder in this one, for a part of its own.
    ///
    /// # Errors
    /// [`StoreError::Name`]; as [`Folder::claim`]: whatever has this name already is refused.
    pub fn below(&self, name: &str, kind: Kind) -> Result<Self, StoreError> {
        self.list(name, Entry::Folder)?;
        Self::claim_below(&self.dir, name, kind, Replace::Never)
    }

    /// What a command has filled a folder with; `None` for any other folder.
    pub fn kind_of(dir: &Dir) -> Option<Kind> {
        Ledger::kind_of(dir)
    }

    /// Begins a file that appears when it is whole.
    ///
    /// # Errors
    /// [`StoreError::Name`], [`StoreError::Io`].
    pub fn create(&self, name: &str) -> Result<WholeFile, StoreError> {
        self.list(name, Entry::File)?;
        self.dir.create(name)
    }

    /// Writes a whole file.
    ///
    /// # Errors
    /// As [`Folder::create`]; then nothing has changed under this name.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf, StoreError> {
        self.list(name, Entry::File)?;
        self.dir.write(name, content)
    }

    /// A file that grows under its own name while others read it, see [`Dir::grow`].
    ///
    /// # Errors
    /// As [`Dir::grow`].
    pub fn grow(&self, name: &str) -> Result<File, StoreError> {
        self.list(name, Entry::File)?;
        self.dir.grow(name)
    }

    /// The folder, for reading.
    pub fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Its path, for messages.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    fn list(&self, name: &str, entry: Entry) -> Result<(), StoreError> {
        if !name::is_component(name) {
            return Err(StoreError::Name { name: name.to_owned() });
        }
        self.ledger().add(name, entry, &self.dir)
    }

    /// A thread that failed while it held the list has left whole lines.
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes what commands have written into the folder, and the folder itself.
    ///
    /// # Errors
    /// As [`Folder::claim`] with [`Replace::Ours`]: where anything else lies in it, nothing is removed.
    pub fn remove(path: &Path) -> Result<(), StoreError> {
        let dir = Dir::open(path)?;
        let Some(ledger) = Ledger::open(&dir, false)?.filter(|ledger| ledger.kind().is_some()) else {
            let found = dir.names()?.into_iter().next().unwrap_or_default();
            return Err(StoreError::Foreign { path: path.to_owned(), found });
        };
        examine(&dir, &ledger, DEEPEST)?;
        empty(&dir, &ledger, DEEPEST)?;
        dir.remove_file(LEDGER)?;
        std::fs::remove_dir(path).map_err(StoreError::std("remove", path))
    }
}

/// A folder that commands have filled, as found in a folder of such folders.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// Its path.
    pub path: PathBuf,
    /// What it holds.
    pub kind: Kind,
    /// True while a command writes into it.
    pub busy: bool,
}

/// The folders in `path` that commands have filled, by name.
///
/// # Errors
/// [`StoreError::Io`] where `path` can't be read.
pub fn folders_in(path: &Path) -> Result<Vec<Found>, StoreError> {
    let above = Dir::open(path)?;
    let found = above.names()?.into_iter().filter_map(|name| {
        let dir = above.below(&name).ok()?;
        let kind = Ledger::kind_of(&dir)?;
        let busy = matches!(Ledger::open(&dir, false), Err(StoreError::Busy { .. }));
        Some(Found { path: dir.path().to_owned(), kind, busy })
    });
    Ok(found.collect())
}

/// Makes sure that everything in a folder was written by a command, and that no other command is at it.
fn examine(dir: &Dir, ledger: &Ledger, deep: u32) -> Result<(), StoreError> {
    for found in dir.names()? {
        let foreign = || StoreError::Foreign { path: dir.path().to_owned(), found: found.clone() };
        match listed(dir, ledger, &found)? {
            Some(Entry::File) => {}
            Some(Entry::Folder) => {
                let deeper = deep.checked_sub(1).ok_or_else(foreign)?;
                let below = dir.below(&found)?;
                match Ledger::open(&below, false)? {
                    Some(ledger) => examine(&below, &ledger, deeper)?,
                    // Its command was killed between the folder and its list.
                    None if below.names()?.is_empty() => {}
                    None => return Err(foreign()),
                }
            }
            _ => return Err(foreign()),
        }
    }
    Ok(())
}

/// Removes what is listed, but the list.
fn empty(dir: &Dir, ledger: &Ledger, deep: u32) -> Result<(), StoreError> {
    for found in dir.names()? {
        match listed(dir, ledger, &found)? {
            Some(Entry::File) if found != LEDGER => dir.remove_file(&found)?,
            Some(Entry::Folder) => {
                let Some(deeper) = deep.checked_sub(1) else { continue };
                let below = dir.below(&found)?;
                if let Some(ledger) = Ledger::open(&below, false)? {
                    empty(&below, &ledger, deeper)?;
                    below.remove_file(LEDGER)?;
                }
                dir.remove_folder(&found)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// What a found name is by the list; `None` for what is not listed, or is something else than listed.
fn listed(dir: &Dir, ledger: &Ledger, found: &str) -> Result<Option<Entry>, StoreError> {
    if found == LEDGER {
        return Ok(Some(Entry::File));
    }
    let entries = ledger.entries();
    let entry = entries.get(found).copied().or_else(|| {
        let part = |(name, entry): (&String, &Entry)| *entry == Entry::File && is_part_of(found, name);
        entries.iter().any(part).then_some(Entry::File)
    });
    let Some(stat) = dir.stat(found)? else { return Ok(None) };
    let is_folder = read::kind(&stat) == Some(crate::NotAFile::Folder);
    Ok(entry.filter(|&entry| (entry == Entry::Folder) == is_folder))
}
