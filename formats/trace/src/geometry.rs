//! Cache geometries as text: `32K:8:64:lru`, and which references go to which cache: `D=32K:8:64:lru`.

use solo_replacement::Replacement;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The shortest line: addresses of shorter ones leave no room for a state beside them.
const LINE_MIN: u64 = 16;
/// The longest line: recorded traces keep what lies in one page together, and no more.
const LINE_MAX: u64 = 4096;
/// The largest cache: its simulation takes up to a fifth of its size with lines of 64 bytes.
const SIZE_MAX: u64 = 4 << 30;

/// The shape of one cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    sets: u64,
    ways: u32,
    line: u64,
    replacement: Replacement,
}

impl Geometry {
    /// How many sets; at least one.
    pub const fn sets(&self) -> u64 {
        self.sets
    }
    /// How many ways; at least one.
    pub const fn ways(&self) -> u32 {
        self.ways
    }
    /// The bytes of a line; a power of two from 16 to 4096.
    pub const fn line(&self) -> u64 {
        self.line
    }
    /// Which way a miss replaces.
    pub const fn replacement(&self) -> Replacement {
        self.replacement
    }
}

impl fmt::Display for Geometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As the size was when it was read, at most 4 GiB.
        let bytes = self.sets.saturating_mul(self.ways.into()).saturating_mul(self.line);
        let (number, unit) = match bytes {
            _ if bytes.is_multiple_of(1 << 30) => (bytes >> 30, "G"),
            _ if bytes.is_multiple_of(1 << 20) => (bytes >> 20, "M"),
            _ if bytes.is_multiple_of(1 << 10) => (bytes >> 10, "K"),
            _ => (bytes, ""),
        };
        write!(f, "{number}{unit}:{}:{}:{}", self.ways, self.line, self.replacement.name())
    }
}

/// What is wrong with the text of a geometry.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("`{text}`: {flaw}")]
pub struct GeometryError {
    /// The text, or the part of it that is wrong.
    pub text: String,
    /// What is wrong.
    pub flaw: GeometryFlaw,
}

/// What is wrong with the text of a geometry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum GeometryFlaw {
    /// Not four parts.
    #[error("a cache is SIZE:WAYS:LINE:REPLACEMENT, for example 32K:8:64:lru")]
    Shape,
    /// The size can't be read or is out of range.
    #[error("a cache's size is a number of bytes with K, M or G behind it, above zero and at most 4G")]
    Size,
    /// The ways can't be read.
    #[error("the number of ways is a whole number above zero")]
    Ways,
    /// The line is none.
    #[error("a line is a power of two from 16 to 4096 bytes")]
    Line,
    /// No such policy.
    #[error("a replacement policy is one of {}", names())]
    Replacement,
    /// The sets don't come out even.
    #[error("the size is no multiple of ways x line")]
    Uneven,
    /// No kind in front.
    #[error("a cache begins with D=, I=, U= (data, instructions, both) or H= (split first level + others)")]
    Kind,
    /// Several levels of a single cache.
    #[error("only H= has several levels")]
    Levels,
}

impl FromStr for Geometry {
    type Err = GeometryError;

    fn from_str(text: &str) -> Result<Self, GeometryError> {
        let wrong = |part: &str, flaw| GeometryError { text: part.to_string(), flaw };
        let parts: Vec<&str> = text.split(':').collect();
        let [size, ways, line, replacement] = parts[..] else {
            return Err(wrong(text, GeometryFlaw::Shape));
        };
        let bytes = parse_size(size).filter(|bytes| (1..=SIZE_MAX).contains(bytes));
        let bytes = bytes.ok_or_else(|| wrong(size, GeometryFlaw::Size))?;
        let count = ways.parse().ok().filter(|ways: &u32| *ways > 0);
        let ways = count.ok_or_else(|| wrong(ways, GeometryFlaw::Ways))?;
        let length = line.parse().ok();
        let length = length
            .filter(|line: &u64| line.is_power_of_two() && (LINE_MIN..=LINE_MAX).contains(line))
            .ok_or_else(|| wrong(line, GeometryFlaw::Line))?;
        let policy = Replacement::NAMES.iter().find(|(name, _)| *name == replacement);
        let policy = policy.ok_or_else(|| wrong(replacement, GeometryFlaw::Replacement))?.1;
        let way_set = u64::from(ways).checked_mul(length).filter(|&way_set| bytes.is_multiple_of(way_set));
        let sets = way_set.and_then(|way_set| bytes.checked_div(way_set));
        let sets = sets.ok_or_else(|| wrong(text, GeometryFlaw::Uneven))?;
        Ok(Self { sets, ways, line: length, replacement: policy })
    }
}

/// Every name of a replacement policy.
fn names() -> String {
    Replacement::NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

/// A number of bytes: `48K`, `1M`, `96KiB`, `2048`.
fn parse_size(text: &str) -> Option<u64> {
    let text = text.strip_suffix("iB").unwrap_or(text);
    let units = [('K', 10), ('k', 10), ('M', 20), ('m', 20), ('G', 30), ('g', 30)];
    let found = units.iter().find_map(|&(unit, shift)| Some((text.strip_suffix(unit)?, shift)));
    let (digits, shift) = found.unwrap_or((text, 0));
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Which references go to a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feed {
    /// Data only.
    Data,
    /// Instructions only.
    Instructions,
    /// Both.
    Unified,
    /// A first level for each, the other levels for both.
    Hierarchy,
}

/// A cache or hierarchy of caches to be simulated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CacheSpec {
    /// The text it was made from.
    pub text: String,
    /// Which references it sees.
    pub feed: Feed,
    /// The levels, the first one first; one unless it is a hierarchy.
    pub levels: Vec<Geometry>,
}

impl FromStr for CacheSpec {
    type Err = GeometryError;

    fn from_str(text: &str) -> Result<Self, GeometryError> {
        let wrong = |flaw| GeometryError { text: text.to_string(), flaw };
        let (kind, caches) = text.split_once('=').ok_or_else(|| wrong(GeometryFlaw::Kind))?;
        let feed = match kind {
            "D" => Feed::Data,
            "I" => Feed::Instructions,
            "U" => Feed::Unified,
            "H" => Feed::Hierarchy,
            _ => return Err(wrong(GeometryFlaw::Kind)),
        };
        let levels: Vec<Geometry> = caches.split('+').map(str::parse).collect::<Result<_, _>>()?;
        if levels.len() > 1 && feed != Feed::Hierarchy {
            return Err(wrong(GeometryFlaw::Levels));
        }
        Ok(Self { text: text.to_string(), feed, levels })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn geometries_are_read_and_printed() {
        for (text, sets, printed) in [
            ("32K:8:64:lru", 64, "32K:8:64:lru"),
            ("96K:24:64:plru", 64, "96K:24:64:tree-plru"),
            ("6MiB:24:64:fifo", 4096, "6M:24:64:fifo"),
            ("1536:3:32:nru", 16, "1536:3:32:not-recently-used"),
            ("3K:1:16:random", 192, "3K:1:16:random"),
        ] {
            let geometry: Geometry = text.parse().unwrap();
            assert_eq!((geometry.sets(), geometry.to_string().as_str()), (sets, printed));
        }
        let spec: CacheSpec = "H=32K:8:64:lru+256K:8:64:lru".parse().unwrap();
        assert_eq!((spec.feed, spec.levels.len()), (Feed::Hierarchy, 2));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, flaw) in [
            ("32K:8:64", GeometryFlaw::Shape),
            ("32K:8:64:lru:x", GeometryFlaw::Shape),
            ("0:8:64:lru", GeometryFlaw::Size),
            ("K:8:64:lru", GeometryFlaw::Size),
            ("-1K:8:64:lru", GeometryFlaw::Size),
            ("5G:8:64:lru", GeometryFlaw::Size),
            ("99999999999999999999G:8:64:lru", GeometryFlaw::Size),
            ("32K:0:64:lru", GeometryFlaw::Ways),
            ("32K:x:64:lru", GeometryFlaw::Ways),
            ("32K:8:48:lru", GeometryFlaw::Line),
            ("32K:8:8:lru", GeometryFlaw::Line),
            ("32K:8:64:mru", GeometryFlaw::Replacement),
            ("32K:7:64:lru", GeometryFlaw::Uneven),
        ] {
            assert_eq!(text.parse::<Geometry>().unwrap_err().flaw, flaw, "{text}");
        }
        for text in ["32K:8:64:lru", "X=32K:8:64:lru", ""] {
            assert_eq!(text.parse::<CacheSpec>().unwrap_err().flaw, GeometryFlaw::Kind);
        }
        let error = "D=1K:1:64:lru+2K:1:64:lru".parse::<CacheSpec>().unwrap_err();
        assert_eq!(error.flaw, GeometryFlaw::Levels);
    }
}
