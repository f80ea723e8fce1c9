//! A program that a compiler has linked (ELF, 64 bits, little endian): its bytes as loaders of plain images take them, and the
//! names of its functions.

use std::ops::Range;

const MAGIC: &[u8] = b"\x7fELF\x02\x01";
/// A segment that is loaded.
const LOAD: u64 = 1;
/// A section with symbols.
const SYMBOLS: u64 = 2;
/// A symbol that is a function, in the low half of its kind.
const FUNCTION: u64 = 2;
/// The largest plain image that is made: far above any program, far below a mistake.
const LARGEST: u64 = 256 << 20;

/// A linked program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Elf<'b>(&'b [u8]);

/// Its functions by where they lie, ascending.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Symbols(Vec<(Range<u64>, String)>);

impl<'b> Elf<'b> {
    /// `None` where `bytes` are none.
    pub(crate) fn new(bytes: &'b [u8]) -> Option<Self> {
        bytes.starts_with(MAGIC).then_some(Self(bytes))
    }

    fn number(&self, at: u64, bytes: u64) -> Option<u64> {
        let (at, end) = (usize::try_from(at).ok()?, usize::try_from(at.checked_add(bytes)?).ok()?);
        Some(self.0.get(at..end)?.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    /// A number in what begins at `at`.
    fn field(&self, at: u64, offset: u64, bytes: u64) -> Option<u64> {
        self.number(at.checked_add(offset)?, bytes)
    }

    /// Headers of a table: where each begins.
    fn table(&self, offset: u64, each: u64, count: u64) -> Option<impl Iterator<Item = u64> + use<>> {
        let (table, each, count) = (self.number(offset, 8)?, self.number(each, 2)?, self.number(count, 2)?);
        Some((0..count).map(move |index| table.saturating_add(index * each)))
    }

    /// What lies in memory when it is loaded, from its lowest address on; what has no bytes in the file is left away at the end.
    pub(crate) fn plain(&self) -> Option<Vec<u8>> {
        let loaded = self.table(0x20, 0x36, 0x38)?.filter(|&at| self.number(at, 4) == Some(LOAD));
        // By physical address: where in the file, and how much.
        let piece = |at| Some((self.field(at, 0x18, 8)?, self.field(at, 0x08, 8)?, self.field(at, 0x20, 8)?));
        let pieces: Vec<_> = loaded.map(piece).collect::<Option<_>>()?;
        let pieces: Vec<_> = pieces.into_iter().filter(|&(_, _, length)| length > 0).collect();
        let first = pieces.iter().map(|piece| piece.0).min()?;
        let end = pieces.iter().map(|piece| piece.0.saturating_add(piece.2)).max()?;
        let mut plain = vec![0; usize::try_from(end - first).ok().filter(|_| end - first <= LARGEST)?];
        for (address, offset, length) in pieces {
            let from = usize::try_from(offset).ok()?..usize::try_from(offset.checked_add(length)?).ok()?;
            let to = (address - first) as usize..(address - first + length) as usize;
            plain.get_mut(to)?.copy_from_slice(self.0.get(from)?);
        }
        Some(plain)
    }

    /// Its functions, where it tells of them.
    pub(crate) fn symbols(&self) -> Symbols {
        self.functions().unwrap_or_default()
    }

    fn functions(&self) -> Option<Symbols> {
        let mut found = Vec::new();
        let sections: Vec<u64> = self.table(0x28, 0x3a, 0x3c)?.collect();
        for &section in sections.iter().filter(|&&at| self.field(at, 4, 4) == Some(SYMBOLS)) {
            let (table, size) = (self.field(section, 0x18, 8)?, self.field(section, 0x20, 8)?);
            let names = *sections.get(usize::try_from(self.field(section, 0x28, 4)?).ok()?)?;
            let names = self.field(names, 0x18, 8)?;
            for symbol in (0..size / 24).map(|index| table.saturating_add(index * 24)) {
                let (name, kind) = (self.number(symbol, 4)?, self.field(symbol, 4, 1)?);
                let (address, length) = (self.field(symbol, 8, 8)?, self.field(symbol, 16, 8)?);
                if kind & 0xf == FUNCTION {
                    let text = self.0.get(usize::try_from(names.saturating_add(name)).ok()?..)?;
                    let text = text.split(|byte| *byte == 0).next()?;
                    let text = rustc_demangle::demangle(&String::from_utf8_lossy(text)).to_string();
                    found.push((address..address.saturating_add(length.max(1)), text));
                }
            }
        }
        found.sort_by_key(|(range, _)| range.start);
        Some(Symbols(found))
    }
}

impl Symbols {
    /// The function that an instruction lies in, and how far behind its beginning.
    pub(crate) fn at(&self, instruction: u64) -> Option<String> {
        let behind = self.0.partition_point(|(range, _)| range.start <= instruction);
        let (range, name) = self.0.get(behind.checked_sub(1)?)?;
        // Names end with a hash that says nothing.
        let name = match name.rsplit_once("::h") {
            Some((name, hash)) if hash.len() == 16 => name,
            _ => name,
        };
        range.contains(&instruction).then(|| format!("{name}+{:#x}", instruction - range.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_program_or_lies_is_refused() {
        assert_eq!(Elf::new(b"#!/bin/sh"), None);
        let mut lies = MAGIC.to_vec();
        lies.resize(64, 0xff);
        let elf = Elf::new(&lies).unwrap();
        assert_eq!((elf.plain(), elf.symbols()), (None, Symbols::default()));
    }

    #[test]
    fn segments_are_laid_where_they_belong_and_functions_are_found() {
        // A header, two segments and no section: the second lies 8 bytes above the first.
        let mut elf = vec![0; 64 + 2 * 56];
        elf[..MAGIC.len()].copy_from_slice(MAGIC);
        let mut put = |at: usize, value: u64, bytes: usize| {
            elf[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
        };
        put(0x20, 64, 8);
        put(0x36, 56, 2);
        put(0x38, 2, 2);
        for (index, (address, length)) in [(0x4000, 4), (0x4008, 2)].into_iter().enumerate() {
            let at = 64 + 56 * index;
            put(at, LOAD, 4);
            put(at + 0x18, address, 8);
            put(at + 0x08, 0, 8);
            put(at + 0x20, length, 8);
        }
        assert_eq!(Elf::new(&elf).unwrap().plain().unwrap(), b"\x7fELF\0\0\0\0\x7fE");
        let symbols = Symbols(vec![(10..20, "robot::steer::h0123456789abcdef".to_owned())]);
        assert_eq!(symbols.at(12).as_deref(), Some("robot::steer+0x2"));
        assert_eq!((symbols.at(9), symbols.at(20)), (None, None));
    }
}
