//! Records set aside until their turn comes.

use super::codec::{FrameReader, FrameWriter, ReadError};
use super::error::RunError;
use solo_model::Record;
use std::fs::File;
use std::io::{BufReader, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

/// A file without a name that takes records and gives them back, checked; it vanishes with its user.
pub struct Spool {
    dir: PathBuf,
    records: FrameWriter<BufWriter<File>>,
}

impl Spool {
    /// An empty spool on the disk of `dir`.
    ///
    /// # Errors
    /// [`RunError::Io`] where no file can be made there.
    pub fn new(dir: &Path) -> Result<Self, RunError> {
        let failed = |error| RunError::io("create", dir, error);
        let file = tempfile::tempfile_in(dir).map_err(failed)?;
        Ok(Self { dir: dir.to_owned(), records: FrameWriter::new(BufWriter::new(file)).map_err(failed)? })
    }

    /// Appends a record.
    ///
    /// # Errors
    /// [`RunError::Io`], for example on a full disk.
    pub fn write(&mut self, record: &Record) -> Result<(), RunError> {
        self.records.write(record).map_err(|error| RunError::io("write", &self.dir, error))
    }

    /// Gives all records to `take` in their order, until it says `false`.
    ///
    /// # Errors
    /// [`RunError::Io`] and [`RunError::Damaged`].
    pub fn read(self, mut take: impl FnMut(Record) -> bool) -> Result<(), RunError> {
        let dir = self.dir;
        let failed = |error| RunError::io("read", &dir, error);
        let (mut buffered, ..) = self.records.finish().map_err(failed)?;
        buffered.flush().map_err(failed)?;
        let mut file = buffered.into_inner().map_err(|error| failed(error.into_error()))?;
        file.rewind().map_err(failed)?;
        let lost = |error| match error {
            ReadError::Io(error) => RunError::io("read", &dir, error),
            ReadError::Damage(what) => RunError::damaged(&dir, what),
        };
        let mut reader = FrameReader::new(BufReader::new(file)).map_err(lost)?;
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
        let record = |at| Record::Dropped(DroppedRecord { at: Instant::new(at), count: at });
        let dir = tempfile::tempdir().unwrap();
        let mut spool = Spool::new(dir.path()).unwrap();
        (0..100_000).for_each(|at| spool.write(&record(at)).unwrap());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "the file has no name");
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
