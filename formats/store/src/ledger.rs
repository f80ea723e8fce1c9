//! The list of what a command has written into a folder, which is also the folder's mark and its lock.
//!
//! ```text
//! {"solo":"folder","schema":1,"kind":"run"}
//! {"file":"scenario.toml"}
//! {"folder":"corun"}
//! ```
//!
//! A line is written before the thing that it names. So what a killed command left is listed, and a name that is not
//! listed belongs to somebody else.

use crate::dir::Dir;
use crate::error::StoreError;
use crate::kind::Kind;
use crate::name::is_component;
use crate::read::whole_lines;
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

/// The file's name; no other file of a folder begins with a dot.
pub(crate) const LEDGER: &str = ".solo";

/// The version of the list.
const SCHEMA: u32 = 1;

/// How every list begins.
const BEGIN: &[u8] = b"{\"solo\":\"folder\",\"schema\":";

/// No command writes so much: a longer list is none.
const LONGEST: u64 = 16 << 20;

#[derive(Serialize, Deserialize)]
struct Header {
    solo: String,
    schema: u32,
    kind: Kind,
}

/// What a listed name is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Entry {
    File,
    Folder,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    File(String),
    Folder(String),
}

/// An open, locked list.
#[derive(Debug)]
pub(crate) struct Ledger {
    file: File,
    entries: BTreeMap<String, Entry>,
    kind: Option<Kind>,
}

impl Ledger {
    /// Opens and locks the list of a folder; makes an empty one where there is none and `make` says so. `None` where
    /// there is none.
    pub(crate) fn open(dir: &Dir, make: bool) -> Result<Option<Self>, StoreError> {
        loop {
            if !make && !dir.has(LEDGER)? {
                return Ok(None);
            }
            let file = dir.grow(LEDGER)?;
            lock(&file, dir)?;
            if is_the_one(&file, dir)? {
                return Self::read(file, dir).map(Some);
            }
            // Whoever held it has removed it with its folder's content.
        }
    }

    fn read(mut file: File, dir: &Dir) -> Result<Self, StoreError> {
        let failed = StoreError::std("read", dir.path());
        let foreign = || StoreError::Foreign { path: dir.path().to_owned(), found: LEDGER.to_owned() };
        let mut text = Vec::new();
        (&mut file).take(LONGEST + 1).read_to_end(&mut text).map_err(&failed)?;
        if text.len() as u64 > LONGEST {
            return Err(foreign());
        }
        // A kill can cut the last line, whose thing was then not made.
        let whole = whole_lines(&text);
        file.seek(SeekFrom::Start(whole as u64)).map_err(&failed)?;
        let begins = |text: &[u8]| text.starts_with(BEGIN) || BEGIN.starts_with(text);
        if !begins(&text) {
            return Err(foreign());
        }
        let mut ledger = Self { file, entries: BTreeMap::new(), kind: None };
        let whole = text.get(..whole).unwrap_or_default();
        let mut lines = whole.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        let Some(header) = lines.next() else { return Ok(ledger) };
        let header: Header = serde_json::from_slice(header).map_err(|_| foreign())?;
        if header.solo != "folder" || header.schema != SCHEMA {
            return Err(foreign());
        }
        ledger.kind = Some(header.kind);
        for line in lines {
            let (name, entry) = match serde_json::from_slice(line).map_err(|_| foreign())? {
                Line::File(name) => (name, Entry::File),
                Line::Folder(name) => (name, Entry::Folder),
            };
            if !is_component(&name) {
                return Err(foreign());
            }
            ledger.entries.insert(name, entry);
        }
        Ok(ledger)
    }

    /// What kind of folder it is by its list, without a lock; `None` without a list of ours.
    pub(crate) fn kind_of(dir: &Dir) -> Option<Kind> {
        let text = dir.bytes(LEDGER, LONGEST).ok()?;
        let header: Header = serde_json::from_slice(text.split(|&byte| byte == b'\n').next()?).ok()?;
        (header.solo == "folder" && header.schema == SCHEMA).then_some(header.kind)
    }

    /// What kind of folder it is; `None` for one that nobody has begun to fill.
    pub(crate) fn kind(&self) -> Option<Kind> {
        self.kind
    }

    /// What was written into the folder.
    pub(crate) fn entries(&self) -> &BTreeMap<String, Entry> {
        &self.entries
    }

    /// Begins anew.
    pub(crate) fn begin(&mut self, kind: Kind, dir: &Dir) -> Result<(), StoreError> {
        let failed = StoreError::std("write", dir.path());
        self.file.set_len(0).and_then(|()| self.file.rewind()).map_err(&failed)?;
        self.entries.clear();
        self.kind = Some(kind);
        self.line(&Header { solo: "folder".into(), schema: SCHEMA, kind }, dir)
    }

    /// Lists a name, before anything is written under it.
    pub(crate) fn add(&mut self, name: &str, entry: Entry, dir: &Dir) -> Result<(), StoreError> {
        if self.entries.get(name) == Some(&entry) {
            return Ok(());
        }
        match entry {
            Entry::File => self.line(&Line::File(name.to_owned()), dir)?,
            Entry::Folder => self.line(&Line::Folder(name.to_owned()), dir)?,
        }
        self.entries.insert(name.to_owned(), entry);
        Ok(())
    }

    fn line(&mut self, line: &impl Serialize, dir: &Dir) -> Result<(), StoreError> {
        let failed = StoreError::std("write", dir.path());
        let mut text = serde_json::to_vec(line).map_err(|error| failed(error.into()))?;
        text.push(b'\n');
        self.file.write_all(&text).map_err(failed)
    }
}

/// Takes the lock, which the kernel gives back when the process ends, however it ends.
fn lock(file: &File, dir: &Dir) -> Result<(), StoreError> {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(StoreError::Busy { path: dir.path().to_owned() }),
        Err(error) => Err(StoreError::io("lock", dir.path())(error)),
    }
}

/// True where the open file is still the one in the folder.
fn is_the_one(file: &File, dir: &Dir) -> Result<bool, StoreError> {
    let open = rustix::fs::fstat(file).map_err(StoreError::io("read", dir.path()))?;
    let there = dir.stat(LEDGER)?;
    Ok(there.is_some_and(|there| there.st_ino == open.st_ino && there.st_dev == open.st_dev))
}
