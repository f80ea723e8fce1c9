//! Records set aside until their turn comes.

use super::codec::{FrameReader, FrameWriter, ReadError};
use super::error::RunError;
use solo_model::{EventSet, Record};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Cursor, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Takes records and gives them back, checked: a file without a name, or memory; it vanishes with its user.
pub struct Spool {
    /// What messages name.
    place: PathBuf,
    records: FrameWriter<BufWriter<Store>>,
}

/// Where the bytes lie.
enum Store {
    File(File),
    Memory(Cursor<Vec<u8>>),
}

impl Write for Store {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Memory(memory) => memory.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Memory(memory) => memory.flush(),
        }
    }
}

impl Read for Store {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(bytes),
            Self::Memory(memory) => memory.read(bytes),
        }
    }
}

impl Seek for Store {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::File(file) => file.seek(to),
            Self::Memory(memory) => memory.seek(to),
        }
    }
}

impl Spool {
    /// An empty spool on the disk of `dir`.
    ///
    /// # Errors
    /// [`RunError::Io`] where no file can be made there.
    pub fn new(dir: &Path) -> Result<Self, RunError> {
        let failed = |error| RunError::io("create", dir, error);
        let file = tempfile::tempfile_in(dir).map_err(failed)?;
        let store = BufWriter::new(Store::File(file));
        Ok(Self { place: dir.to_owned(), records: FrameWriter::new(store).map_err(failed)? })
    }

    /// An empty spool in memory, for those who want no file: records are kept packed.
    ///
    /// # Errors
    /// [`RunError::Io`], which memory never has a reason for.
    pub fn in_memory() -> Result<Self, RunError> {
        let place = PathBuf::from("memory");
        let store = BufWriter::new(Store::Memory(Cursor::default()));
        let records = FrameWriter::new(store).map_err(|error| RunError::io("create", &place, error))?;
        Ok(Self { place, records })
    }

    /// Appends a record.
    ///
    /// # Errors
    /// [`RunError::Io`], for example on a full disk.
    pub fn write(&mut self, record: &Record) -> Result<(), RunError> {
        self.records.write(record).map_err(|error| RunError::io("write", &self.place, error))
    }

    /// Gives all records to `take` in their order, until it says `false`.
    ///
    /// # Errors
    /// [`RunError::Io`] and [`RunError::Damaged`].
    pub fn read(self, mut take: impl FnMut(Record) -> bool) -> Result<(), RunError> {
        let dir = self.place;
        let failed = |error| RunError::io("read", &dir, error);
        let (mut buffered, ..) = self.records.finish().map_err(failed)?;
        buffered.flush().map_err(failed)?;
        let mut file = buffered.into_inner().map_err(|error| failed(error.into_error()))?;
        file.rewind().map_err(failed)?;
        let lost = |error| match error {
            ReadError::Io(error) => RunError::io("read", &dir, error),
            ReadError::Damage(what) => RunError::damaged(&dir, what),
        };
        let mut reader = FrameReader::new(BufReader::new(file), EventSet::ALL).map_err(lost)?;
        while let Some(record) = reader.next().map_err(lost)? {
            if !take(record) {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::Instant;
    use solo_model::record::DroppedRecord;

    #[test]
    fn what_went_in_comes_out() {
        let dir = tempfile::tempdir().unwrap();
        comes_out(Spool::new(dir.path()).unwrap());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "the file has no name");
        comes_out(Spool::in_memory().unwrap());
    }

    fn comes_out(mut spool: Spool) {
        let record = |at| Record::Dropped(DroppedRecord { at: Instant::new(at), count: at });
        (0..100_000).for_each(|at| spool.write(&record(at)).unwrap());
        let mut next = 0;
        spool
            .read(|found| {
                assert_eq!(found, record(next));
                next += 1;
                next < 90_000
            })
            .unwrap();
        assert_eq!(next, 90_000);
    }

    #[test]
    fn a_missing_folder_is_named() {
        let error = Spool::new(Path::new("/nowhere/at/all")).err().unwrap();
        assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
    }
}
