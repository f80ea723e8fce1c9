//! Traces as text.
//!
//! ```text
//! lackey   `I  04001000,3`  ` L 1ffe,8`  ` S 1ffe,8`  ` M 1ffe,8`     kind, hexadecimal address, size
//!          also bare: `L 1ffe,8`
//! din      `0 1ffe` `1 1ffe` `2 4001000`                                read, write, fetch; a third column of
//!                                                                       data is ignored
//! cores    `3 R 1ffe` `3 W 0x1ffe`                                      core, kind, address
//! DRAM     `0x1ffe READ 12` `0x1ffe WRITE 15`                           address, kind, clock
//! ```
//!
//! Lines that begin with `==`, `--` (valgrind's own) or `#` and empty lines are skipped. The first reference
//! decides the form of the whole trace. A reference without a size touches one byte, so one line.

use crate::error::{Flaw, TraceError};
use crate::format::Format;
use crate::reference::Reference;
use solo_model::{CoreId, CoreSet};
use solo_workload::image::TraceKind;
use std::io::{ErrorKind, Read};
use std::ops::Range;

/// The longest line that is looked at.
const LINE_MAX: usize = 4096;
/// How much of a malformed line an error shows.
const EXCERPT: usize = 60;
/// The largest reference: the largest that a processor's instruction makes, the saving of its whole extended
/// state, takes some ten thousand bytes.
const SIZE_MAX: u64 = 65_536;
const BUFFER: usize = 256 << 10;
/// How many references a batch holds.
pub(crate) const BATCH: usize = 8192;

/// Reads a trace as text.
#[derive(Debug)]
pub struct TextReader<R> {
    input: R,
    buffer: Vec<u8>,
    /// The part of the buffer that has been read and not parsed.
    pending: Range<usize>,
    /// The input has no more bytes.
    ended: bool,
    /// Inside a skipped line that is longer than the buffer.
    skipping: bool,
    line: u64,
    format: Option<Format>,
    announced: Option<u64>,
    cores: u16,
}

impl<R: Read> TextReader<R> {
    /// Reads from `input`.
    pub fn new(input: R) -> Self {
        Self {
            input,
            buffer: vec![0; BUFFER],
            pending: 0..0,
            ended: false,
            skipping: false,
            line: 0,
            format: None,
            announced: None,
            cores: CoreSet::CAPACITY as u16,
        }
    }

    /// Takes references of cores 0 to `cores` - 1 and refuses all others.
    pub(crate) const fn limit_cores(&mut self, cores: u16) {
        self.cores = cores;
    }

    /// The lines read so far.
    pub const fn lines(&self) -> u64 {
        self.line
    }

    /// The number of instructions that valgrind says it has executed: it stands at the end of a trace.
    pub const fn announced_instructions(&self) -> Option<u64> {
        self.announced
    }

    /// Clears `batch` and fills it with the next references; an empty batch is the end.
    ///
    /// # Errors
    /// At the first line that is no reference, and when reading fails. Then `batch` holds the references
    /// before it that no earlier batch had.
    pub fn fill(&mut self, batch: &mut Vec<Reference>) -> Result<(), TraceError> {
        batch.clear();
        loop {
            self.parse(batch)?;
            if batch.len() >= BATCH || self.ended && self.pending.is_empty() {
                return Ok(());
            }
            self.refill()?;
        }
    }

    /// Moves references from the buffer to `batch` until one or the other is exhausted.
    fn parse(&mut self, batch: &mut Vec<Reference>) -> Result<(), TraceError> {
        while batch.len() < BATCH {
            let pending = self.buffer.get(self.pending.clone()).unwrap_or_default();
            if let Some(format) = self.format
                && let Some((reference, length)) = quick(pending, format)
                && reference.core.0 < self.cores
            {
                batch.push(reference);
                self.pending.start = self.pending.start.saturating_add(length);
                self.line = self.line.saturating_add(1);
                continue;
            }
            let (line, length) = match memchr::memchr(b'\n', pending) {
                Some(length) => (pending.get(..length).unwrap_or_default(), length.saturating_add(1)),
                None if self.ended && !pending.is_empty() => (pending, pending.len()),
                None => return Ok(()),
            };
            let begins = self.pending.start;
            let parsed = if self.skipping { Ok(None) } else { parse_line(line, self.format) };
            let parsed = parsed.and_then(|found| match found {
                Some((one, _)) if one.core.0 >= self.cores => Err(Flaw::CoreBeyond(self.cores)),
                found => Ok(found),
            });
            if line.starts_with(b"==") {
                self.announced = announcement(line).or(self.announced);
            }
            self.pending.start = begins.saturating_add(length);
            self.skipping = false;
            self.line = self.line.saturating_add(1);
            match parsed {
                Ok(Some((reference, format))) => {
                    self.format = Some(format);
                    batch.push(reference);
                }
                Ok(None) => {}
                Err(flaw) => {
                    let text = excerpt(self.buffer.get(begins..).unwrap_or_default());
                    return Err(TraceError::Malformed { line: self.line, text, flaw });
                }
            }
        }
        Ok(())
    }

    /// Reads more bytes behind those that are pending: a line without its end.
    fn refill(&mut self) -> Result<(), TraceError> {
        let pending = self.buffer.get(self.pending.clone()).unwrap_or_default();
        if pending.len() > LINE_MAX {
            if !self.skipping && !skippable(pending) {
                let (line, text) = (self.line.saturating_add(1), excerpt(pending));
                return Err(TraceError::Malformed { line, text, flaw: Flaw::TooLong });
            }
            self.skipping = true;
            self.pending.start = self.pending.end;
        }
        self.buffer.copy_within(self.pending.clone(), 0);
        self.pending = 0..self.pending.len();
        loop {
            match self.input.read(self.buffer.get_mut(self.pending.end..).unwrap_or_default()) {
                Ok(0) => self.ended = true,
                Ok(count) => self.pending.end = self.pending.end.saturating_add(count),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(source) => return Err(TraceError::Read { line: self.line, source }),
            }
            return Ok(());
        }
    }
}

/// The longest line that [`quick`] looks at, and some: lackey's space, kind, two spaces, 16 digits, comma, 4 digits, end.
const HEAD: usize = 32;

/// The values of hexadecimal digits; 255 for all other bytes.
#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "made before the program runs")]
const HEX: [u8; 256] = {
    let mut table = [255; 256];
    let mut value = 0;
    while value < 16 {
        let digit = b"0123456789abcdef"[value];
        table[digit as usize] = value as u8;
        table[digit.to_ascii_uppercase() as usize] = value as u8;
        value += 1;
    }
    table
};

/// The reference at the beginning of `bytes` and the length of its line, if it has the usual form of `format` and more
/// bytes follow. Whatever else it may be, [`parse_line`] decides.
#[inline]
fn quick(bytes: &[u8], format: Format) -> Option<(Reference, usize)> {
    let (head, _) = bytes.split_first_chunk::<HEAD>()?;
    match format {
        Format::Lackey => quick_lackey(head),
        Format::Din => quick_din(head),
        Format::Cores => quick_cores(head),
        Format::Dram => None,
    }
}

#[inline]
fn quick_lackey(head: &[u8; HEAD]) -> Option<(Reference, usize)> {
    let line = head.strip_prefix(b" ").unwrap_or(head);
    let [letter, b' ', rest @ ..] = line else { return None };
    let kind = lackey_kind(*letter)?;
    let (address, mut rest) = quick_address(rest.strip_prefix(b" ").unwrap_or(rest), b',')?;
    let mut size = 0_u32;
    for _ in 0..4 {
        let [digit @ b'0'..=b'9', behind @ ..] = rest else { break };
        size = size.wrapping_mul(10).wrapping_add(u32::from(digit & 15));
        rest = behind;
    }
    let rest = rest.strip_prefix(b"\n")?;
    address.checked_add(u64::from(size.checked_sub(1)?))?;
    Some((Reference { address, size, kind, core: CoreId(0) }, length(rest)))
}

#[inline]
fn quick_din(head: &[u8; HEAD]) -> Option<(Reference, usize)> {
    let [label, b' ', rest @ ..] = head else { return None };
    let kind = din_kind(*label)?;
    let (address, rest) = quick_address(rest, b'\n')?;
    Some((Reference { address, size: 1, kind, core: CoreId(0) }, length(rest)))
}

#[inline]
fn quick_cores(head: &[u8; HEAD]) -> Option<(Reference, usize)> {
    let (core, rest) = match head.as_slice() {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9', rest @ ..] => {
            (u16::from(tens & 15).wrapping_mul(10).wrapping_add(u16::from(ones & 15)), rest)
        }
        [ones @ b'0'..=b'9', rest @ ..] => (u16::from(ones & 15), rest),
        _ => return None,
    };
    let (kind, rest) = match rest {
        [b' ', b'R', b' ', rest @ ..] => (TraceKind::Read, rest),
        [b' ', b'W', b' ', rest @ ..] => (TraceKind::Write, rest),
        _ => return None,
    };
    let (address, rest) = quick_address(rest, b'\n')?;
    Some((Reference { address, size: 1, kind, core: CoreId(core) }, length(rest)))
}

/// The address of 1 to 16 digits at the beginning, and what follows the `end` behind it.
#[inline]
fn quick_address(mut rest: &[u8], end: u8) -> Option<(u64, &[u8])> {
    let (mut address, whole) = (0_u64, rest.len());
    for _ in 0..16 {
        let [digit, behind @ ..] = rest else { break };
        let Some(value) = hex(*digit) else { break };
        address = address << 4 | value;
        rest = behind;
    }
    let [found, behind @ ..] = rest else { return None };
    (*found == end && rest.len() < whole).then_some((address, behind))
}

/// The length of a line before `rest` of the [`HEAD`] that it begins.
#[inline]
const fn length(rest: &[u8]) -> usize {
    HEAD.saturating_sub(rest.len())
}

#[inline]
fn hex(digit: u8) -> Option<u64> {
    let value = HEX.get(usize::from(digit)).copied().unwrap_or(255);
    (value < 16).then_some(u64::from(value))
}

const fn din_kind(label: u8) -> Option<TraceKind> {
    match label {
        b'0' => Some(TraceKind::Read),
        b'1' => Some(TraceKind::Write),
        b'2' => Some(TraceKind::Fetch),
        _ => None,
    }
}

const fn lackey_kind(letter: u8) -> Option<TraceKind> {
    match letter {
        b'I' => Some(TraceKind::Fetch),
        b'L' => Some(TraceKind::Read),
        b'S' => Some(TraceKind::Write),
        b'M' => Some(TraceKind::Modify),
        _ => None,
    }
}

/// True for the beginning of a line that is no reference and does not claim to be one.
fn skippable(line: &[u8]) -> bool {
    line.starts_with(b"==") || line.starts_with(b"--") || line.starts_with(b"#")
}

/// The reference on `line`, if it is not one to skip, and its form.
fn parse_line(line: &[u8], format: Option<Format>) -> Result<Option<(Reference, Format)>, Flaw> {
    if skippable(line) {
        return Ok(None);
    }
    let line = line.trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    if line.len() > LINE_MAX {
        return Err(Flaw::TooLong);
    }
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let (first, second) = (words.next().unwrap_or_default(), words.next());
    let found = match (first, second) {
        ([letter], _) if lackey_kind(*letter).is_some() => Format::Lackey,
        ([b'0'..=b'9', ..], Some([b'R' | b'W'])) => Format::Cores,
        ([b'0'..=b'9', ..], Some(b"READ" | b"WRITE")) => Format::Dram,
        ([b'0'..=b'9'], _) => Format::Din,
        ([b'0'..=b'9', ..], _) => return Err(Flaw::Kind),
        _ => return Err(Flaw::Unknown),
    };
    if let Some(format) = format.filter(|format| *format != found) {
        return Err(Flaw::Mixed(format));
    }
    let second = second.ok_or(Flaw::Address)?;
    let reference = match found {
        Format::Lackey => lackey(first, second)?,
        Format::Din => din(first, second)?,
        Format::Cores => cores(first, second, words.next().ok_or(Flaw::Address)?)?,
        Format::Dram => dram(first, second)?,
    };
    let ignored = match found {
        Format::Din => words.next().map(hexadecimal),
        Format::Dram => words.next().map(decimal),
        Format::Lackey | Format::Cores => None,
    };
    if words.next().is_some() || ignored == Some(None) {
        return Err(Flaw::Trailing);
    }
    reference.address.checked_add(u64::from(reference.size.saturating_sub(1))).ok_or(Flaw::Wraps)?;
    Ok(Some((reference, found)))
}

fn lackey(kind: &[u8], place: &[u8]) -> Result<Reference, Flaw> {
    let kind = kind.first().and_then(|&letter| lackey_kind(letter)).ok_or(Flaw::Kind)?;
    let mut parts = place.splitn(2, |&byte| byte == b',');
    let (address, size) = (parts.next().unwrap_or_default(), parts.next().ok_or(Flaw::Size)?);
    let address = hexadecimal(address).ok_or(Flaw::Address)?;
    let size = decimal(size).filter(|size| (1..=SIZE_MAX).contains(size)).ok_or(Flaw::Size)?;
    Ok(Reference { address, size: size as u32, kind, core: CoreId(0) })
}

fn din(label: &[u8], address: &[u8]) -> Result<Reference, Flaw> {
    let kind = label.first().and_then(|&label| din_kind(label)).ok_or(Flaw::Kind)?;
    let address = hexadecimal(address).ok_or(Flaw::Address)?;
    Ok(Reference { address, size: 1, kind, core: CoreId(0) })
}

fn cores(core: &[u8], kind: &[u8], address: &[u8]) -> Result<Reference, Flaw> {
    let core = decimal(core).filter(|core| *core < CoreSet::CAPACITY as u64).ok_or(Flaw::Core)?;
    let kind = if kind == b"R" { TraceKind::Read } else { TraceKind::Write };
    let address = hexadecimal(address).ok_or(Flaw::Address)?;
    Ok(Reference { address, size: 1, kind, core: CoreId(core as u16) })
}

fn dram(address: &[u8], kind: &[u8]) -> Result<Reference, Flaw> {
    let kind = if kind == b"READ" { TraceKind::Read } else { TraceKind::Write };
    let address = hexadecimal(address).ok_or(Flaw::Address)?;
    Ok(Reference { address, size: 1, kind, core: CoreId(0) })
}

fn hexadecimal(digits: &[u8]) -> Option<u64> {
    let digits = digits.strip_prefix(b"0x").or_else(|| digits.strip_prefix(b"0X")).unwrap_or(digits);
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |value, &digit| match hex(digit)? {
        _ if value >> 60 != 0 => None,
        digit => Some(value << 4 | digit),
    })
}

fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |value, &digit| {
        let digit = digit.is_ascii_digit().then_some(u64::from(digit & 15))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

/// The number in valgrind's line `==PID==   guest instrs:  127,599`.
fn announcement(line: &[u8]) -> Option<u64> {
    let line = std::str::from_utf8(line).ok()?;
    let (_, number) = line.split_once("guest instrs:")?;
    number.trim().replace(',', "").parse().ok()
}

/// The beginning of the first line of `bytes`, printable.
fn excerpt(bytes: &[u8]) -> String {
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let text: String =
        line.iter().take(EXCERPT).flat_map(|byte| byte.escape_ascii()).map(char::from).collect();
    if line.len() > EXCERPT { text + "..." } else { text }
}
