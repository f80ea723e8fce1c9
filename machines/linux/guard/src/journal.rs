//! The journal: what was found and what is about to be written, on disk before it is written.
//!
//! A line is a checksum of itself and of the line before, and what it says as JSON. A guard that is killed while it
//! writes leaves a last line that is no line: its change was not made. A wrong line anywhere else was written by
//! nobody of this house.

use crate::error::GuardError;
use crate::seen::Identity;
use crate::setting::Setting;
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use solo_store::{Dir, StoreError};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The journal's name in its folder.
pub const JOURNAL: &str = "guard.journal";

/// A journal's size at most, in bytes. A change takes about 200, and a value that was written once is not written again.
const LONGEST: u64 = 1 << 20;
/// A value's length at most, in bytes.
pub(crate) const VALUE_MAX: usize = 4096;
const VERSION: u32 = 1;
/// Hexadecimal digits of a checksum.
const DIGITS: usize = 16;

/// What a line says.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Line {
    /// The first one.
    Guard {
        /// The form of the others.
        version: u32,
        /// The run of the machine.
        boot: String,
    },
    /// A change that is about to be made.
    Change(Change),
}

/// A change that is about to be made.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    pub(crate) setting: Setting,
    pub(crate) identity: Identity,
    /// What it says before.
    pub(crate) found: String,
    /// What is written.
    pub(crate) wanted: String,
}

/// What a journal held when it was opened.
#[derive(Debug, Default)]
pub(crate) struct Past {
    /// The run of the machine that wrote it; `None` for an empty one.
    pub(crate) boot: Option<String>,
    pub(crate) changes: Vec<Change>,
    /// The first line that is not what a guard wrote.
    pub(crate) damaged: Option<usize>,
}

/// Where lines go: a file, or a test's.
pub(crate) trait Disk {
    /// Adds bytes at the end and brings them to the disk.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Cuts to a length and brings that to the disk.
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

impl Disk for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.seek(SeekFrom::End(0))?;
        self.write_all(bytes)?;
        self.sync_data()
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)?;
        self.sync_all()
    }
}

/// An open, locked journal.
#[derive(Debug)]
pub(crate) struct Journal<D = File> {
    disk: D,
    path: PathBuf,
    length: u64,
    /// The checksum of the last line.
    last: String,
    /// Set where it is not known what is on disk: no change is made any more.
    broken: bool,
}

impl Journal {
    /// Opens and locks the journal of a folder that nobody else may write into, and reads it.
    pub(crate) fn open(folder: &Path) -> Result<(Self, Past), GuardError> {
        let dir = Dir::private(folder).map_err(GuardError::Journal)?;
        let mut file = dir.grow_own(JOURNAL).map_err(GuardError::Journal)?;
        let path = dir.path_of(JOURNAL);
        let failed =
            |source| GuardError::Journal(StoreError::Io { operation: "read", path: path.clone(), source });
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(GuardError::Busy(path)),
            Err(error) => return Err(failed(error.into())),
        }
        let mut bytes = Vec::new();
        (&mut file).take(LONGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
        let past = if bytes.len() as u64 > LONGEST {
            Past { damaged: Some(1), ..Past::default() }
        } else {
            read(&bytes)
        };
        let journal =
            Self { disk: file, path, length: bytes.len() as u64, last: String::new(), broken: false };
        Ok((journal, past))
    }
}

impl<D: Disk> Journal<D> {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Forgets all lines and begins anew.
    pub(crate) fn begin(&mut self, boot: &str) -> Result<(), GuardError> {
        self.clear()?;
        self.write(&Line::Guard { version: VERSION, boot: boot.to_owned() })
    }

    /// Forgets all lines.
    pub(crate) fn clear(&mut self) -> Result<(), GuardError> {
        let cut = self.disk.cut(0);
        self.broken = cut.is_err();
        cut.map_err(|error| self.failed(error))?;
        (self.length, self.last) = (0, String::new());
        Ok(())
    }

    /// Adds a line; it is on disk when this returns. On an error the journal is as before.
    pub(crate) fn write(&mut self, line: &Line) -> Result<(), GuardError> {
        if self.broken {
            return Err(self.failed(io::Error::other("an earlier line may not be on disk")));
        }
        let text = serde_json::to_string(line).map_err(|error| self.failed(error.into()))?;
        let sum = checksum(&self.last, text.as_bytes());
        let bytes = format!("{sum} {text}\n");
        if self.length + bytes.len() as u64 > LONGEST {
            return Err(GuardError::Full);
        }
        if let Err(error) = self.disk.append(bytes.as_bytes()) {
            self.broken = self.disk.cut(self.length).is_err();
            return Err(self.failed(error));
        }
        self.length += bytes.len() as u64;
        self.last = sum;
        Ok(())
    }

    fn failed(&self, source: io::Error) -> GuardError {
        GuardError::Journal(StoreError::Io { operation: "write", path: self.path.clone(), source })
    }
}

/// The first digits of the hash of a line and of the checksum before it.
fn checksum(before: &str, text: &[u8]) -> String {
    let mut hash = blake3::Hasher::new();
    hash.update(before.as_bytes()).update(b"\n").update(text);
    hash.finalize().to_hex().chars().take(DIGITS).collect()
}

/// Reads a journal up to the first line that is none.
fn read(bytes: &[u8]) -> Past {
    let mut past = Past::default();
    let mut last = String::new();
    let lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
    for (at, line) in lines.iter().enumerate() {
        let taken = parse(line, &last).filter(|(_, line)| matches!(line, Line::Guard { .. }) == (at == 0));
        match taken {
            Some((_, Line::Guard { version, .. })) if version != VERSION => {
                past.damaged = Some(1);
                return past;
            }
            Some((sum, Line::Guard { boot, .. })) => (past.boot, last) = (Some(boot), sum),
            Some((sum, Line::Change(change))) => {
                past.changes.push(change);
                last = sum;
            }
            // A kill cuts the last line, whose change was not made.
            None if at + 1 == lines.len() && begins(line) => {}
            None => {
                past.damaged = Some(at + 1);
                return past;
            }
        }
    }
    past
}

/// A line with its checksum.
fn parse(line: &[u8], last: &str) -> Option<(String, Line)> {
    let line = line.strip_suffix(b"\n")?;
    let (sum, text) = line.split_at_checked(DIGITS)?;
    let text = text.strip_prefix(b" ")?;
    let expected = checksum(last, text);
    if sum != expected.as_bytes() {
        return None;
    }
    let line: Line = serde_json::from_slice(text).ok()?;
    let fits = |value: &String| is_value(value);
    match &line {
        Line::Change(change) if !fits(&change.found) || !fits(&change.wanted) => None,
        _ => Some((expected, line)),
    }
}

/// True for what is left of a line that was cut. A disk may have given the file its length before its content, so zeros count.
fn begins(line: &[u8]) -> bool {
    let (line, ends) = line.strip_suffix(b"\n").map_or((line, false), |line| (line, true));
    // Only what has all its length has its end.
    (!ends || line.len() > DIGITS)
        && line.iter().take(DIGITS).all(|byte| byte.is_ascii_hexdigit() || *byte == 0)
        && line.iter().all(|byte| *byte >= b' ' || *byte == 0)
}

/// True for what a setting may be given: text of several lines at most (schemata), nothing hidden.
pub(crate) fn is_value(value: &str) -> bool {
    value.len() <= VALUE_MAX && !value.chars().any(|c| c.is_control() && c != '\n' && c != '\t')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::{Group, Knob};

    /// A disk that has room for so many bytes, and takes a part of what is above.
    #[derive(Default)]
    struct Small {
        bytes: Vec<u8>,
        room: usize,
        refuses_cuts: bool,
    }

    impl Disk for Small {
        fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
            let fits = bytes.len().min(self.room - self.bytes.len());
            self.bytes.extend_from_slice(&bytes[..fits]);
            if fits < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        }
        fn cut(&mut self, length: u64) -> io::Result<()> {
            if self.refuses_cuts {
                return Err(io::ErrorKind::Other.into());
            }
            self.bytes.truncate(length as usize);
            Ok(())
        }
    }

    fn journal(room: usize) -> Journal<Small> {
        let disk = Small { room, ..Small::default() };
        Journal { disk, path: "journal".into(), length: 0, last: String::new(), broken: false }
    }

    fn change(number: u32) -> Change {
        let setting =
            Setting::Cgroup { group: Group::new(&format!("g{number}")).unwrap(), knob: Knob::Freeze };
        Change { setting, identity: Identity { device: 1, file: 2 }, found: "0".into(), wanted: "1".into() }
    }

    fn written(changes: u32) -> Vec<u8> {
        let mut journal = journal(1 << 20);
        journal.begin("boot").unwrap();
        for number in 0..changes {
            journal.write(&Line::Change(change(number))).unwrap();
        }
        journal.disk.bytes
    }

    #[test]
    fn a_line_for_which_there_is_no_room_leaves_the_journal_as_it_was() {
        let whole = written(3).len();
        for room in 0..whole {
            let mut journal = journal(room);
            let mut made = u32::from(journal.begin("boot").is_ok());
            while made > 0 && made < 4 {
                match journal.write(&Line::Change(change(made - 1))) {
                    Ok(()) => made += 1,
                    Err(_) => break,
                }
            }
            assert!(made < 4, "{room}");
            let past = read(&journal.disk.bytes);
            assert_eq!((past.changes.len() as u32, past.damaged), (made.saturating_sub(1), None), "{room}");
        }
    }

    #[test]
    fn after_a_line_that_may_or_may_not_be_on_disk_nothing_is_written() {
        let mut journal = journal(written(1).len() + 10);
        journal.begin("boot").unwrap();
        journal.write(&Line::Change(change(0))).unwrap();
        journal.disk.refuses_cuts = true;
        assert!(journal.write(&Line::Change(change(1))).is_err());
        (journal.disk.refuses_cuts, journal.disk.room) = (false, 1 << 20);
        let before = journal.disk.bytes.clone();
        assert!(journal.write(&Line::Change(change(2))).is_err());
        assert_eq!(journal.disk.bytes, before);
        journal.begin("boot").unwrap();
        journal.write(&Line::Change(change(2))).unwrap();
    }

    #[test]
    fn a_journal_cut_anywhere_holds_the_whole_lines_before() {
        let bytes = written(3);
        for cut in 0..=bytes.len() {
            let past = read(&bytes[..cut]);
            let lines = bytes[..cut].iter().filter(|&&byte| byte == b'\n').count();
            assert_eq!((past.changes.len(), past.damaged), (lines.saturating_sub(1), None), "{cut}");
        }
        // A file that had its length before its content.
        let mut zeros = bytes.clone();
        zeros.extend([0; 100]);
        assert_eq!((read(&zeros).changes.len(), read(&zeros).damaged), (3, None));
    }

    #[test]
    fn a_byte_changed_anywhere_but_in_the_last_line_is_damage_from_its_line_on() {
        let bytes = written(3);
        let last = bytes.len() - 1 - bytes.iter().rev().skip(1).position(|&byte| byte == b'\n').unwrap();
        for at in 0..last {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1;
            let past = read(&bytes);
            let line = bytes[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
            assert_eq!(past.damaged, Some(line), "byte {at}");
            assert_eq!(past.changes.len(), line.saturating_sub(2), "byte {at}");
        }
    }

    #[test]
    fn lines_taken_out_put_twice_or_put_elsewhere_are_damage() {
        let bytes = written(4);
        let lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
        let damaged =
            |order: &[usize]| read(&order.iter().map(|&at| lines[at]).collect::<Vec<_>>().concat()).damaged;
        assert_eq!(damaged(&[0, 1, 2, 3, 4]), None);
        assert_eq!(damaged(&[0, 2, 3, 4]), Some(2));
        assert_eq!(damaged(&[0, 1, 1, 2]), Some(3));
        assert_eq!(damaged(&[0, 2, 1, 3]), Some(2));
        assert_eq!(damaged(&[1, 2, 3]), Some(1));
        assert_eq!(damaged(&[0, 0, 1]), Some(2));
    }

    #[test]
    fn anything_at_all_is_read_without_harm() {
        let texts: [&[u8]; 6] = [
            b"\n\n",
            b"\xff\xfe\n\xff\n",
            b"hello\nworld\n",
            b"{}",
            b"0000000000000000 {}\nx\n",
            &[b'['; 9000],
        ];
        for text in texts {
            assert!(read(text).changes.is_empty());
        }
        assert_eq!(read(b"hello\nworld\n").damaged, Some(1));
        // A right checksum does not make a setting of what is none.
        for text in [
            r#"{"change":{"setting":{"path":"/etc/passwd"},"identity":{"device":1,"file":1},"found":"x","wanted":"y"}}"#,
            r#"{"change":{"setting":"real-time-runtime","identity":{"device":1,"file":1},"found":"\u001b[2J","wanted":"y"}}"#,
            r#"{"change":{"setting":"real-time-runtime","identity":{"device":1,"file":1},"found":"1","wanted":"y","x":1}}"#,
        ] {
            let header = r#"{"guard":{"version":1,"boot":"b"}}"#;
            let first = checksum("", header.as_bytes());
            let second = checksum(&first, text.as_bytes());
            let good = r#"{"change":{"setting":"real-time-runtime","identity":{"device":1,"file":1},"found":"1","wanted":"2"}}"#;
            let third = checksum(&second, good.as_bytes());
            let bytes = format!("{first} {header}\n{second} {text}\n{third} {good}\n");
            let past = read(bytes.as_bytes());
            assert_eq!((past.changes.len(), past.damaged), (0, Some(2)), "{text}");
        }
    }
}
