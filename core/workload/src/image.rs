//! A recorded program in memory: a few bytes an access, decoded on the fly.
//!
//! The recorder renumbers the pages of the program densely in the order of their first touch, so that a sparse
//! address space becomes one buffer. A record is
//!
//! ```text
//! control   1 byte    bits 0-1 kind: 0 read, 1 write, 2 modify, 3 fetch
//!                     bits 2-4 size: 0 to 6 mean 1, 2, 4, 8, 16, 32, 64 bytes; 7 means a varint follows
//!                     bits 5-7 instructions retired since the last record, this one's included: 0 to 6; 7
//!                              means a varint follows
//! distance  varint    zigzag of the distance to the offset where the last record of the same sort (fetch or
//!                     data) ended
//! size      varint    if announced
//! instrs    varint    if announced
//! ```
//!
//! where a varint is little-endian base 128. A record lies within one page.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use solo_model::{Bytes, Events};

/// The page size of recorded programs.
pub const PAGE: Bytes = Bytes::new(4096);
/// The most bytes that one record takes.
pub const RECORD_MAX: usize = 1 + 10 + 2 + 5;
/// The most pages: 2^36, which is a buffer of 2^48 bytes.
const PAGES_MAX: u64 = 1 << 36;

/// What a recorded instruction does to memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum TraceKind {
    /// Loads data.
    Read = 0,
    /// Stores data.
    Write = 1,
    /// Loads data and stores it back.
    Modify = 2,
    /// Is fetched.
    Fetch = 3,
}

/// One record of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceAccess {
    /// What is done.
    pub kind: TraceKind,
    /// The first byte, from the beginning of the densely renumbered memory.
    pub offset: Bytes,
    /// How many bytes, 1 to 4096; none beyond the page of the first.
    pub size: u16,
    /// Instructions retired since the last record; the one that makes this access is included if the trace
    /// holds no fetches.
    pub instructions: u32,
}

/// What is wrong with the bytes of a recorded program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImageError {
    /// A record ends early or holds a number that is too large.
    Malformed {
        /// The position of the record, in bytes.
        at: usize,
    },
    /// A record lies outside the program's pages, crosses a page or has no bytes.
    OutOfRange {
        /// The position of the record, in bytes.
        at: usize,
    },
    /// More pages than 2^36.
    TooManyPages {
        /// How many.
        pages: u64,
    },
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { at } => write!(f, "the record at byte {at} is cut off or malformed"),
            Self::OutOfRange { at } => {
                write!(f, "the record at byte {at} lies outside the program's memory or crosses a page")
            }
            Self::TooManyPages { pages } => write!(f, "{pages} pages; at most {PAGES_MAX} are possible"),
        }
    }
}

impl core::error::Error for ImageError {}

/// The predictor that writer and reader of records share.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Ends {
    data: u64,
    fetch: u64,
}

impl Ends {
    const fn of(&mut self, fetch: bool) -> &mut u64 {
        if fetch { &mut self.fetch } else { &mut self.data }
    }
}

/// Writes records.
#[derive(Clone, Default, Debug)]
pub struct Encoder {
    ends: Ends,
}

impl Encoder {
    /// Appends `access` to `out`.
    pub fn encode(&mut self, access: &TraceAccess, out: &mut Vec<u8>) {
        let size = match access.size {
            1 | 2 | 4 | 8 | 16 | 32 | 64 => access.size.trailing_zeros() as u8,
            _ => 7,
        };
        let instructions = access.instructions.min(7) as u8;
        out.push(access.kind as u8 | size << 2 | instructions << 5);
        let end = self.ends.of(access.kind == TraceKind::Fetch);
        let distance = access.offset.get().wrapping_sub(*end) as i64;
        push_varint(out, (distance << 1 ^ distance >> 63) as u64);
        *end = access.offset.get().wrapping_add(u64::from(access.size));
        if size == 7 {
            push_varint(out, u64::from(access.size));
        }
        if instructions == 7 {
            push_varint(out, u64::from(access.instructions));
        }
    }
}

/// Reads records.
#[derive(Clone, Default, Debug)]
pub struct Decoder {
    ends: Ends,
}

impl Decoder {
    /// Takes the record at `position` of `bytes` and moves `position` behind it; `None` if it is cut off or
    /// malformed, and then decoder and position are of no further use.
    #[inline]
    pub fn decode(&mut self, bytes: &[u8], position: &mut usize) -> Option<TraceAccess> {
        let control = *bytes.get(*position)?;
        *position = position.wrapping_add(1);
        let kind = match control & 3 {
            0 => TraceKind::Read,
            1 => TraceKind::Write,
            2 => TraceKind::Modify,
            _ => TraceKind::Fetch,
        };
        let zigzag = take_varint(bytes, position)?;
        let size = match control >> 2 & 7 {
            7 => u16::try_from(take_varint(bytes, position)?).ok()?,
            power => 1 << power,
        };
        let instructions = match control >> 5 {
            7 => u32::try_from(take_varint(bytes, position)?).ok()?,
            few => u32::from(few),
        };
        let end = self.ends.of(kind == TraceKind::Fetch);
        let offset = end.wrapping_add((zigzag >> 1) ^ (zigzag & 1).wrapping_neg());
        *end = offset.wrapping_add(u64::from(size));
        Some(TraceAccess { kind, offset: Bytes::new(offset), size, instructions })
    }
}

fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[inline]
fn take_varint(bytes: &[u8], position: &mut usize) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*position)?;
        *position = position.wrapping_add(1);
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            return None;
        }
        value |= bits << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// A recorded program, checked: every record decodes and lies inside the program's pages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceImage {
    bytes: Box<[u8]>,
    pages: u64,
    records: u64,
    instructions: u64,
}

impl TraceImage {
    /// Checks the records in `bytes` of a program that touches `pages` pages.
    ///
    /// # Errors
    /// At the first record that is malformed or lies outside the pages.
    pub fn new(bytes: Vec<u8>, pages: u64) -> Result<Self, ImageError> {
        if pages > PAGES_MAX {
            return Err(ImageError::TooManyPages { pages });
        }
        let mut decoder = Decoder::default();
        let (mut position, mut records, mut instructions) = (0, 0u64, 0u64);
        while position < bytes.len() {
            let at = position;
            let access = decoder.decode(&bytes, &mut position).ok_or(ImageError::Malformed { at })?;
            if !access.lies_within(pages) {
                return Err(ImageError::OutOfRange { at });
            }
            // Each takes a byte at least: neither sum comes near its end.
            records = records.saturating_add(1);
            instructions = instructions.saturating_add(access.instructions.into());
        }
        Ok(Self { bytes: bytes.into_boxed_slice(), pages, records, instructions })
    }

    /// The image of `accesses` as they come.
    ///
    /// # Errors
    /// If an access lies outside the pages, crosses a page or has no bytes.
    pub fn from_accesses<'a>(
        accesses: impl IntoIterator<Item = &'a TraceAccess>,
        pages: u64,
    ) -> Result<Self, ImageError> {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::default();
        for access in accesses {
            if !access.lies_within(pages) {
                return Err(ImageError::OutOfRange { at: bytes.len() });
            }
            encoder.encode(access, &mut bytes);
        }
        Self::new(bytes, pages)
    }

    /// The memory that the program touches.
    pub const fn memory(&self) -> Bytes {
        Bytes::new(self.pages.saturating_mul(PAGE.get()))
    }
    /// How many records there are.
    pub const fn records(&self) -> u64 {
        self.records
    }
    /// Instructions retired up to the last record.
    pub const fn instructions(&self) -> u64 {
        self.instructions
    }
    /// How often each page is accessed, the first page first: page ranks as Colored Lockdown takes them (SCE 2.3).
    /// Fetches count too, for they fill the last level alike.
    pub fn accesses_by_page(&self) -> Vec<Events> {
        let mut counts = alloc::vec![Events::ZERO; self.pages as usize];
        let (mut decoder, mut position) = (Decoder::default(), 0);
        while let Some(access) = decoder.decode(&self.bytes, &mut position) {
            if let Some(count) = counts.get_mut(access.page() as usize) {
                *count = count.saturating_add(Events::new(1));
            }
        }
        counts
    }
    /// The records as bytes, in the form that [`TraceImage::new`] takes.
    pub const fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl TraceAccess {
    /// The page that it begins in.
    const fn page(&self) -> u64 {
        self.offset.get() >> PAGE.get().trailing_zeros()
    }

    /// True if the access has bytes, all in one page, and the page is among the first `pages`.
    pub const fn lies_within(&self, pages: u64) -> bool {
        let start = self.offset.get() & (PAGE.get().wrapping_sub(1));
        self.size > 0 && self.page() < pages && start.saturating_add(self.size as u64) <= PAGE.get()
    }
}

/// A place in a recorded program.
#[derive(Clone, Debug)]
pub struct Cursor {
    image: Arc<TraceImage>,
    position: usize,
    decoder: Decoder,
}

impl Cursor {
    /// The beginning of `image`.
    pub fn new(image: Arc<TraceImage>) -> Self {
        Self { image, position: 0, decoder: Decoder::default() }
    }
    /// The next record; `None` at the end.
    #[inline]
    pub fn advance(&mut self) -> Option<TraceAccess> {
        self.decoder.decode(&self.image.bytes, &mut self.position)
    }
    /// Goes back to the beginning.
    pub fn rewind(&mut self) {
        self.position = 0;
        self.decoder = Decoder::default();
    }
}
