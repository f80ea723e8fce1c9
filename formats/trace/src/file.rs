//! The compact trace file.
//!
//! ```text
//! header   8 bytes   magic
//!          u32       version
//!          u32       flags: bit 0, fetches are recorded; bit 1, recording stopped at a limit
//!          u64 x 7   pages, records, instructions; fetches, reads, writes, modifies of the program
//!          u32       length of the command line that follows
//!          u32       CRC-32 of all header bytes before, then the command line
//!          ...       the command line, its words separated by zero bytes
//! block    u32       compressed length; zero ends the file
//!          u32       length, at most 1 MiB
//!          u32       records
//!          u32       CRC-32 of the uncompressed bytes
//!          ...       zstd frame of: varint, how many pages are new; for each the zigzag varint of the distance
//!                    of its number from the last new page's; then records as `solo_workload::image` has them
//! ```
//!
//! Numbers are little-endian. Pages are numbered in the order of their first touch and a record refers to the
//! new number, so a replay needs no more memory than the program touched; the old numbers give each record
//! its address back.

use crate::error::TraceError;
use crate::format::VERSION;
use crate::reference::{Counts, Reference};
use serde::Serialize;
use solo_model::CoreId;
use solo_store::read;
use solo_workload::TraceImage;
use solo_workload::image::{Decoder, PAGE, TraceAccess};
use std::io::{BufReader, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

pub(crate) const MAGIC: &[u8] = b"\x89SOLOTR\n";
pub(crate) const FLAG_FETCHES: u32 = 1;
pub(crate) const FLAG_LIMITED: u32 = 2;
/// The bytes of a header without its command line.
pub(crate) const HEADER_BYTES: usize = 8 + 4 + 4 + 7 * 8 + 4 + 4;
/// The longest command line that is kept.
pub(crate) const COMMAND_MAX: usize = 64 << 10;
/// The most bytes of a block before compression.
pub(crate) const BLOCK_MAX: usize = 1 << 20;

/// The most pages of a file that is read: 64 GiB of memory that a program touched, whose list takes 128 MiB.
const PAGES_READ: u64 = 1 << 24;
const PAGE_BITS: u32 = PAGE.get().trailing_zeros();
const OFFSET_BITS: u64 = (1 << PAGE_BITS) - 1;

/// What a compact file says about its program.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Header {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Instruction fetches are among the records.
    pub fetches_recorded: bool,
    /// Recording stopped before the program ended.
    pub limited: bool,
    /// Pages of 4096 bytes that the records touch.
    pub pages: u64,
    /// Records; a reference that crosses a page makes one for each page.
    pub records: u64,
    /// Instructions executed.
    pub instructions: u64,
    /// References that the program made.
    pub counts: Counts,
}

impl Header {
    /// The bytes of the header, command line included.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut command = self.command.join("\0").into_bytes();
        command.truncate(COMMAND_MAX);
        let flags = if self.fetches_recorded { FLAG_FETCHES } else { 0 }
            | if self.limited { FLAG_LIMITED } else { 0 };
        let Counts { fetches, reads, writes, modifies } = self.counts;
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        for number in [self.pages, self.records, self.instructions, fetches, reads, writes, modifies] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend((command.len() as u32).to_le_bytes());
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&bytes);
        checksum.update(&command);
        bytes.extend(checksum.finalize().to_le_bytes());
        bytes.extend(command);
        bytes
    }

    fn read(input: &mut impl Read) -> Result<Self, TraceError> {
        let mut fixed = [0; HEADER_BYTES];
        read_exactly(input, &mut fixed)?;
        let summed = fixed.get(..HEADER_BYTES - 4).unwrap_or_default();
        let Some(mut rest) = fixed.strip_prefix(MAGIC) else {
            return Err(TraceError::Damaged { what: "it does not begin like one" });
        };
        let version = take_u32(&mut rest)?;
        if version != VERSION {
            return Err(TraceError::Version { version });
        }
        let flags = take_u32(&mut rest)?;
        let mut numbers = [0; 7];
        for number in &mut numbers {
            *number = take_u64(&mut rest)?;
        }
        let [pages, records, instructions, fetches, reads, writes, modifies] = numbers;
        let (length, expected) = (take_u32(&mut rest)? as usize, take_u32(&mut rest)?);
        if length > COMMAND_MAX {
            return Err(TraceError::Damaged { what: "the command line is too long" });
        }
        let mut command = vec![0; length];
        read_exactly(input, &mut command)?;
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(summed);
        checksum.update(&command);
        if checksum.finalize() != expected {
            return Err(TraceError::Damaged { what: "the header's checksum is wrong" });
        }
        let counts = Counts { fetches, reads, writes, modifies };
        let words = command.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        Ok(Self {
            command: if command.is_empty() { Vec::new() } else { words.collect() },
            fetches_recorded: flags & FLAG_FETCHES != 0,
            limited: flags & FLAG_LIMITED != 0,
            pages,
            records,
            instructions,
            counts,
        })
    }
}

/// A number from the beginning of `bytes`.
fn take_u32(bytes: &mut &[u8]) -> Result<u32, TraceError> {
    take(bytes).map(u32::from_le_bytes)
}

fn take_u64(bytes: &mut &[u8]) -> Result<u64, TraceError> {
    take(bytes).map(u64::from_le_bytes)
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], TraceError> {
    let (number, rest) = bytes.split_first_chunk().ok_or(TraceError::Damaged { what: "it ends early" })?;
    *bytes = rest;
    Ok(*number)
}

fn read_exactly(input: &mut impl Read, bytes: &mut [u8]) -> Result<(), TraceError> {
    input.read_exact(bytes).map_err(|source| match source.kind() {
        ErrorKind::UnexpectedEof => TraceError::Damaged { what: "it ends early" },
        _ => TraceError::Read { line: 0, source },
    })
}

/// Reads a compact file.
#[derive(Debug)]
pub struct FileReader<R> {
    input: R,
    header: Header,
    /// The original number of each page.
    pages: Vec<u64>,
    decoder: Decoder,
    block: Vec<u8>,
    /// The first record of the block that has not been decoded.
    position: usize,
    /// Records of the block that have not been decoded.
    left: u32,
    /// Records in the blocks read so far.
    records: u64,
    ended: bool,
}

impl<R: Read> FileReader<R> {
    /// Reads the header from `input`.
    ///
    /// # Errors
    /// If it is damaged, of another version or can't be read.
    pub fn new(mut input: R) -> Result<Self, TraceError> {
        let header = Header::read(&mut input)?;
        Ok(Self {
            input,
            header,
            pages: Vec::new(),
            decoder: Decoder::default(),
            block: Vec::new(),
            position: 0,
            left: 0,
            records: 0,
            ended: false,
        })
    }

    /// What the file says about its program.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Clears `batch` and fills it with the next references; an empty batch is the end.
    ///
    /// # Errors
    /// If a block is damaged or can't be read.
    pub fn fill(&mut self, batch: &mut Vec<Reference>) -> Result<(), TraceError> {
        batch.clear();
        while batch.len() < crate::text::BATCH {
            if self.left == 0 {
                if !self.next_block()? {
                    break;
                }
                continue;
            }
            let TraceAccess { kind, offset, size, .. } = self.next_record()?;
            let beyond = TraceError::Damaged { what: "a record lies outside the program's pages" };
            let page = *self.pages.get((offset.get() >> PAGE_BITS) as usize).ok_or(beyond)?;
            // A page's number was at most the last one's, and an offset in it is below its size.
            let address = page << PAGE_BITS | offset.get() & OFFSET_BITS;
            batch.push(Reference { address, size: u32::from(size), kind, core: CoreId(0) });
        }
        Ok(())
    }

    /// The next record of the block, checked.
    fn next_record(&mut self) -> Result<TraceAccess, TraceError> {
        let malformed = TraceError::Damaged { what: "a record is malformed" };
        let access = self.decoder.decode(&self.block, &mut self.position).ok_or(malformed)?;
        if !access.lies_within(self.pages.len() as u64) {
            return Err(TraceError::Damaged { what: "a record lies outside the program's pages" });
        }
        self.left = self.left.saturating_sub(1);
        if self.left == 0 && self.position != self.block.len() {
            return Err(TraceError::Damaged { what: "a block holds more than its records" });
        }
        Ok(access)
    }

    /// Reads a block and takes in its new pages. False at the end of the file.
    fn next_block(&mut self) -> Result<bool, TraceError> {
        if self.ended {
            return Ok(false);
        }
        let mut first = [0; 4];
        read_exactly(&mut self.input, &mut first)?;
        let compressed = u32::from_le_bytes(first) as usize;
        if compressed == 0 {
            self.ended = true;
            return self.check_end().map(|()| false);
        }
        let mut head = [0; 12];
        read_exactly(&mut self.input, &mut head)?;
        let mut head = &head[..];
        let (length, records, checksum) =
            (take_u32(&mut head)? as usize, take_u32(&mut head)?, take_u32(&mut head)?);
        if length > BLOCK_MAX || compressed > zstd::zstd_safe::compress_bound(BLOCK_MAX) || records == 0 {
            return Err(TraceError::Damaged { what: "a block has an impossible size" });
        }
        let mut frame = vec![0; compressed];
        read_exactly(&mut self.input, &mut frame)?;
        let damaged = |_| TraceError::Damaged { what: "a block cannot be decompressed" };
        self.block = zstd::bulk::decompress(&frame, length).map_err(damaged)?;
        if self.block.len() != length || crc32fast::hash(&self.block) != checksum {
            return Err(TraceError::Damaged { what: "a block's checksum is wrong" });
        }
        self.take_pages().ok_or(TraceError::Damaged { what: "a block's list of pages is malformed" })?;
        self.left = records;
        self.records = self.records.saturating_add(records.into());
        Ok(true)
    }

    /// Takes the new pages from the beginning of the block.
    fn take_pages(&mut self) -> Option<()> {
        self.position = 0;
        let new = take_varint(&self.block, &mut self.position)?;
        let mut page = self.pages.last().copied().unwrap_or(0);
        for _ in 0..new {
            let zigzag = take_varint(&self.block, &mut self.position)?;
            page = page.wrapping_add((zigzag >> 1) ^ (zigzag & 1).wrapping_neg());
            if page > u64::MAX >> PAGE_BITS || self.pages.len() as u64 == PAGES_READ {
                return None;
            }
            self.pages.push(page);
        }
        Some(())
    }

    fn check_end(&mut self) -> Result<(), TraceError> {
        if self.records != self.header.records || self.pages.len() as u64 != self.header.pages {
            return Err(TraceError::Damaged { what: "it holds other counts than its header says" });
        }
        let mut more = [0];
        match self.input.read(&mut more) {
            Ok(0) => Ok(()),
            Ok(_) => Err(TraceError::Damaged { what: "it goes on after its end" }),
            Err(source) => Err(TraceError::Read { line: 0, source }),
        }
    }

    /// The whole trace, ready to be replayed.
    ///
    /// # Errors
    /// If a block is damaged or can't be read.
    pub(crate) fn into_image(mut self) -> Result<TraceImage, TraceError> {
        let mut bytes = Vec::new();
        while self.next_block()? {
            let records = self.block.get(self.position..).unwrap_or_default();
            if bytes.len().saturating_add(records.len()) > LARGEST_IMAGE {
                return Err(TraceError::TooLong { most: LARGEST_IMAGE });
            }
            bytes.extend_from_slice(records);
        }
        let image = TraceImage::new(bytes, self.header.pages)?;
        if image.records() != self.header.records {
            return Err(TraceError::Damaged { what: "it holds other counts than its header says" });
        }
        Ok(image)
    }
}

/// The most bytes of records that are kept in memory for a replay: 1 GiB, some hundred million references. A file of a megabyte may
/// unpack to as much as that.
const LARGEST_IMAGE: usize = 1 << 30;

/// The largest compact file that is replayed, in bytes: 1 GiB, for it is read as a whole.
pub const LARGEST_FILE: u64 = 1 << 30;

/// Makes the content of a compact file ready for replay; `path` names it in messages.
///
/// # Errors
/// If it is another kind of file or is damaged.
pub fn decode(bytes: &[u8], path: &Path) -> Result<(Header, Arc<TraceImage>), TraceError> {
    if !bytes.starts_with(MAGIC) {
        return Err(TraceError::NotRecorded { path: path.to_path_buf() });
    }
    let reader = FileReader::new(bytes)?;
    let header = reader.header().clone();
    Ok((header, Arc::new(reader.into_image()?)))
}

/// Loads a compact file for replay.
///
/// # Errors
/// If the file can't be opened, is another kind of file or is damaged.
pub fn load(path: &Path) -> Result<(Header, Arc<TraceImage>), TraceError> {
    let failed = |source| TraceError::Open { path: path.to_path_buf(), source };
    let mut input = BufReader::with_capacity(1 << 18, read::open(path)?);
    let magic = std::io::BufRead::fill_buf(&mut input).map_err(failed)?;
    if !magic.starts_with(MAGIC) {
        return Err(TraceError::NotRecorded { path: path.to_path_buf() });
    }
    let reader = FileReader::new(input)?;
    let header = reader.header().clone();
    Ok((header, Arc::new(reader.into_image()?)))
}

pub(crate) fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take_varint(bytes: &[u8], position: &mut usize) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*position)?;
        *position = position.saturating_add(1);
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}
