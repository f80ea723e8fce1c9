//! An event of a model's table.

/// Where an event is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// On this fixed counter, and on no other.
    Fixed(u8),
    /// On any programmable counter, by this code.
    Code(u64),
}

/// An event of a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mnemonic {
    /// Its name; a part of it stands behind a dot: `llc_misses.prefetch`.
    pub name: &'static str,
    /// Where it is counted.
    pub place: Place,
    /// Flags of its counter.
    pub flags: &'static [(&'static str, u64)],
}

pub(super) const fn fixed(name: &'static str, counter: u8) -> Mnemonic {
    Mnemonic { name, place: Place::Fixed(counter), flags: &[] }
}

pub(super) const fn plain(name: &'static str, code: u64) -> Mnemonic {
    Mnemonic { name, place: Place::Code(code), flags: &[] }
}

pub(super) const fn flagged(
    name: &'static str,
    code: u64,
    flags: &'static [(&'static str, u64)],
) -> Mnemonic {
    Mnemonic { name, place: Place::Code(code), flags }
}

/// An event with a unit mask.
macro_rules! masked {
    ($name:literal, $code:literal, $mask:literal) => {
        crate::mnemonics::row::flagged($name, $code, &[("umask", $mask)])
    };
}
pub(super) use masked;
