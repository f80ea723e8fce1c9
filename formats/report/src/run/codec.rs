//! The record stream as bytes.
//!
//! ```text
//! file    = MAGIC frame* end
//! frame   = raw length u32 | packed length u32 | CRC-32 of the packed bytes u32 | packed bytes
//! end     = 0 u32 | 40 u32 | CRC-32 u32 | number of records u64 | BLAKE3 of all raw bytes, 32 bytes
//! ```
//!
//! All numbers are little-endian. The packed bytes are an LZ4 block of `raw length` bytes: records encoded
//! with postcard, one after the other. The hash is taken over the encoded records without the frames, so it
//! does not depend on where frames begin.

use super::error::Damage;
use solo_model::{EventSet, Record};
use std::fmt;
use std::io::{self, Read, Write};

/// The first bytes of a record file; the last of them is the format's version.
pub(crate) const MAGIC: [u8; 8] = *b"SOLOREC\x02";
/// A frame is closed when it holds this many raw bytes.
const FRAME: usize = 128 << 10;
/// A longer raw frame is taken for damage rather than allocated: a frame overshoots by less than a record.
const FRAME_MAX: u32 = 1 << 20;
const END_LENGTH: u32 = 40;
const HEADER_LENGTH: u64 = 12;

/// The BLAKE3 hash of a run's encoded records.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RecordHash([u8; 32]);

impl RecordHash {
    /// The raw bytes.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for RecordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(blake3::Hash::from_bytes(self.0).to_hex().as_str())
    }
}

impl fmt::Debug for RecordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordHash({self})")
    }
}

/// Hashes a stream of records as a run directory would, without one.
///
/// Two runs behaved alike if and only if their hashes are equal: `solo replay` compares them.
#[derive(Default)]
pub struct RecordHasher {
    hasher: blake3::Hasher,
    encoded: Vec<u8>,
    records: u64,
}

impl RecordHasher {
    /// A hasher that has seen no record.
    pub fn new() -> Self {
        Self::default()
    }
    /// Takes in the next record.
    pub fn add(&mut self, record: &Record) {
        self.encoded.clear();
        encode(record, &mut self.encoded);
        self.hasher.update(&self.encoded);
        self.records = self.records.saturating_add(1);
    }
    /// The number of records seen.
    pub const fn records(&self) -> u64 {
        self.records
    }
    /// The hash of all records seen so far.
    pub fn finish(&self) -> RecordHash {
        RecordHash(*self.hasher.finalize().as_bytes())
    }
}

/// Appends the encoding of `record`.
fn encode(record: &Record, to: &mut Vec<u8>) {
    // Writing plain data into memory cannot fail: postcard's errors are full buffers and unsized sequences.
    let written = postcard::to_io(record, to);
    debug_assert!(written.is_ok());
}

/// Writes frames.
pub(crate) struct FrameWriter<W> {
    out: W,
    raw: Vec<u8>,
    hasher: blake3::Hasher,
    records: u64,
}

impl<W: Write> FrameWriter<W> {
    pub(crate) fn new(mut out: W) -> io::Result<Self> {
        out.write_all(&MAGIC)?;
        Ok(Self { out, raw: Vec::with_capacity(FRAME + 4096), hasher: blake3::Hasher::new(), records: 0 })
    }

    pub(crate) fn write(&mut self, record: &Record) -> io::Result<()> {
        encode(record, &mut self.raw);
        self.records = self.records.saturating_add(1);
        if self.raw.len() >= FRAME { self.flush_frame() } else { Ok(()) }
    }

    fn flush_frame(&mut self) -> io::Result<()> {
        if self.raw.is_empty() {
            return Ok(());
        }
        self.hasher.update(&self.raw);
        let packed = lz4_flex::block::compress(&self.raw);
        write_frame(&mut self.out, self.raw.len() as u32, &packed)?;
        self.raw.clear();
        Ok(())
    }

    /// Writes what is left and the end; gives back the writer, the number of records and their hash.
    pub(crate) fn finish(mut self) -> io::Result<(W, u64, RecordHash)> {
        self.flush_frame()?;
        let hash = RecordHash(*self.hasher.finalize().as_bytes());
        let mut end = [0; END_LENGTH as usize];
        end[..8].copy_from_slice(&self.records.to_le_bytes());
        end[8..].copy_from_slice(hash.bytes());
        write_frame(&mut self.out, 0, &end)?;
        self.out.flush()?;
        Ok((self.out, self.records, hash))
    }
}

fn write_frame(out: &mut impl Write, raw_length: u32, packed: &[u8]) -> io::Result<()> {
    out.write_all(&raw_length.to_le_bytes())?;
    out.write_all(&(packed.len() as u32).to_le_bytes())?;
    out.write_all(&crc32fast::hash(packed).to_le_bytes())?;
    out.write_all(packed)
}

/// Why reading stopped.
#[derive(Debug)]
pub(crate) enum ReadError {
    Io(io::Error),
    Damage(Damage),
}

impl From<Damage> for ReadError {
    fn from(damage: Damage) -> Self {
        Self::Damage(damage)
    }
}

/// Reads frames and checks them; after the last record it checks the count and the hash.
pub(crate) struct FrameReader<R> {
    input: R,
    /// The events that records may count.
    known: EventSet,
    /// Where the current frame begins.
    frame: u64,
    /// Where the next frame begins.
    offset: u64,
    raw: Vec<u8>,
    used: usize,
    hasher: blake3::Hasher,
    records: u64,
    end: Option<(u64, RecordHash)>,
}

impl<R: Read> FrameReader<R> {
    /// Reads records that may count the events of `known`, and no others.
    pub(crate) fn new(mut input: R, known: EventSet) -> Result<Self, ReadError> {
        let mut magic = [0; MAGIC.len()];
        let begun = fill(&mut input, &mut magic).map_err(ReadError::Io)?;
        let (name, version) = (MAGIC.split_last(), magic.split_last());
        match (begun == magic.len(), name, version) {
            (true, _, _) if magic == MAGIC => {}
            (true, Some((&known, name)), Some((&found, own))) if own == name => {
                return Err(Damage::Version { found, known }.into());
            }
            _ => return Err(Damage::Magic.into()),
        }
        let offset = MAGIC.len() as u64;
        Ok(Self {
            input,
            known,
            frame: offset,
            offset,
            raw: Vec::new(),
            used: 0,
            hasher: blake3::Hasher::new(),
            records: 0,
            end: None,
        })
    }

    /// The next record; `None` after the last one, when the end of the file proved right.
    pub(crate) fn next(&mut self) -> Result<Option<Record>, ReadError> {
        while self.used == self.raw.len() {
            if self.end.is_some() {
                return Ok(None);
            }
            self.read_frame()?;
        }
        let rest = self.raw.get(self.used..).unwrap_or_default();
        let (record, left): (Record, _) =
            postcard::take_from_bytes(rest).map_err(|_| Damage::Content { offset: self.frame })?;
        if record.counts().is_some_and(|counts| !counts.set().is_within(&self.known)) {
            return Err(Damage::Stranger { offset: self.frame }.into());
        }
        self.used = self.raw.len().saturating_sub(left.len());
        self.records = self.records.saturating_add(1);
        Ok(Some(record))
    }

    /// The count and hash that the file states, once its end was reached.
    pub(crate) fn end(&self) -> Option<(u64, RecordHash)> {
        self.end
    }

    /// What the frames come from.
    pub(crate) fn input(&self) -> &R {
        &self.input
    }

    fn read_frame(&mut self) -> Result<(), ReadError> {
        let offset = self.offset;
        self.frame = offset;
        let raw_length = self.word(offset)?;
        let packed_length = self.word(offset)?;
        let checksum = self.word(offset)?;
        if raw_length > FRAME_MAX || packed_length > FRAME_MAX * 2 {
            return Err(Damage::Content { offset }.into());
        }
        let mut packed = vec![0; packed_length as usize];
        self.read_exactly(&mut packed, offset)?;
        if crc32fast::hash(&packed) != checksum {
            return Err(Damage::Checksum { offset }.into());
        }
        self.offset = offset.saturating_add(HEADER_LENGTH).saturating_add(packed_length.into());
        if raw_length == 0 {
            return self.read_end(&packed, offset);
        }
        self.raw = lz4_flex::block::decompress(&packed, raw_length as usize)
            .ok()
            .filter(|raw| raw.len() == raw_length as usize)
            .ok_or(Damage::Content { offset })?;
        self.used = 0;
        self.hasher.update(&self.raw);
        Ok(())
    }

    fn read_end(&mut self, end: &[u8], offset: u64) -> Result<(), ReadError> {
        let (count, hash) = parse_end(end).ok_or(Damage::Content { offset })?;
        let mut byte = [0];
        if fill(&mut self.input, &mut byte).map_err(ReadError::Io)? != 0 {
            return Err(Damage::Trailing { offset: self.offset }.into());
        }
        if count != self.records {
            return Err(Damage::Count { expected: count, found: self.records }.into());
        }
        let found = RecordHash(*self.hasher.finalize().as_bytes());
        if found != hash {
            return Err(Damage::Hash { expected: hash.to_string(), found: found.to_string() }.into());
        }
        self.raw.clear();
        self.used = 0;
        self.end = Some((count, hash));
        Ok(())
    }

    /// A number of a frame's header.
    fn word(&mut self, offset: u64) -> Result<u32, ReadError> {
        let mut bytes = [0; 4];
        self.read_exactly(&mut bytes, offset)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn read_exactly(&mut self, buffer: &mut [u8], offset: u64) -> Result<(), ReadError> {
        if fill(&mut self.input, buffer).map_err(ReadError::Io)? < buffer.len() {
            return Err(Damage::Truncated { offset }.into());
        }
        Ok(())
    }
}

fn parse_end(end: &[u8]) -> Option<(u64, RecordHash)> {
    let (count, hash) = end.split_at_checked(8)?;
    Some((u64::from_le_bytes(count.try_into().ok()?), RecordHash(hash.try_into().ok()?)))
}

/// Reads until the buffer is full or the input ends; the number of bytes read.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0_usize;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match input.read(rest) {
            Ok(0) => break,
            Ok(count) => filled = filled.saturating_add(count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::Instant;
    use solo_model::record::DroppedRecord;

    /// A disk that is full after some bytes.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if bytes.len() > self.0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.0 -= bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn record(i: u64) -> Record {
        Record::Dropped(DroppedRecord { at: Instant::new(i * 1000), count: i * i })
    }

    fn written(count: u64) -> Vec<u8> {
        let mut writer = FrameWriter::new(Vec::new()).unwrap();
        (0..count).for_each(|i| writer.write(&record(i)).unwrap());
        writer.finish().unwrap().0
    }

    fn read(bytes: &[u8]) -> Result<Vec<Record>, ReadError> {
        let mut reader = FrameReader::new(bytes, EventSet::ALL)?;
        let mut records = Vec::new();
        while let Some(record) = reader.next()? {
            records.push(record);
        }
        Ok(records)
    }

    #[test]
    fn what_was_written_is_read() {
        for count in [0, 1, 100, 40_000] {
            let records = read(&written(count)).unwrap();
            assert_eq!(records, (0..count).map(record).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_hash_needs_no_file() {
        let mut hasher = RecordHasher::new();
        let mut writer = FrameWriter::new(Vec::new()).unwrap();
        for i in 0..30_000 {
            hasher.add(&record(i));
            writer.write(&record(i)).unwrap();
        }
        let (_, count, hash) = writer.finish().unwrap();
        assert_eq!((count, hash), (hasher.records(), hasher.finish()));
    }

    #[test]
    fn a_file_cut_anywhere_is_refused() {
        let whole = written(300);
        for length in 0..whole.len() {
            assert!(read(&whole[..length]).is_err(), "cut at {length}");
        }
    }

    #[test]
    fn a_flipped_bit_anywhere_is_refused() {
        let whole = written(300);
        for position in 0..whole.len() * 8 {
            let mut damaged = whole.clone();
            damaged[position / 8] ^= 1 << (position % 8);
            assert!(read(&damaged).is_err(), "bit {position}");
        }
    }

    #[test]
    fn bytes_after_the_end_are_refused() {
        let mut longer = written(3);
        longer.push(0);
        assert!(matches!(read(&longer), Err(ReadError::Damage(Damage::Trailing { .. }))));
    }

    #[test]
    fn records_of_another_format_are_told_from_damage() {
        let mut old = written(3);
        old[7] = 1;
        assert!(matches!(read(&old), Err(ReadError::Damage(Damage::Version { found: 1, known: 2 }))));
        old[6] ^= 1;
        assert!(matches!(read(&old), Err(ReadError::Damage(Damage::Magic))));
    }

    #[test]
    fn a_full_disk_is_reported_as_such() {
        let mut writer = FrameWriter::new(Full(1000)).unwrap();
        let failed = (0..100_000).find_map(|i| writer.write(&record(i)).err());
        assert_eq!(failed.unwrap().kind(), io::ErrorKind::StorageFull);
    }
}
