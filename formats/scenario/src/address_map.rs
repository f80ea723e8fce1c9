//! Address maps as other tools write them: `map.txt` (DRAMA++, newer PALLOC) and PALLOC's mask with `xor` lines.
//!
//! ```text
//!   map.txt          8            one function a line: the numbers of the address bits that are XORed
//!                    19
//!                    11 20 25
//!
//!   PALLOC           palloc_mask 0x00183000      each bit is a function
//!                    xor 13 17                   bit 13 is XORed with bit 17
//! ```

use solo_model::platform::XorBits;

/// Why a text is no address map.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AddressMapError {
    /// Something that is no bit number from 0 to 63.
    #[error("line {line}: `{found}` is no address bit; bits are numbers from 0 to 63")]
    NoBit {
        /// The line, from 1.
        line: usize,
        /// What stands there.
        found: String,
    },
    /// A bit that stands twice in one function, which cancels out.
    #[error("line {line}: bit {bit} stands twice")]
    Twice {
        /// The line, from 1.
        line: usize,
        /// The bit.
        bit: u32,
    },
    /// A line that PALLOC does not know.
    #[error("line {line}: `{found}` is neither `palloc_mask 0x...` nor `xor BIT BIT`")]
    UnknownLine {
        /// The line, from 1.
        line: usize,
        /// What stands there.
        found: String,
    },
    /// A bit is XORed that the mask does not have.
    #[error("line {line}: bit {bit} is not in palloc_mask")]
    NotInMask {
        /// The line, from 1.
        line: usize,
        /// The bit.
        bit: u32,
    },
    /// More functions than an address has bits: some say nothing new.
    #[error("line {line}: a function too many; 64 tell all addresses apart")]
    TooMany {
        /// The line, from 1.
        line: usize,
    },
    /// No function at all.
    #[error("no address bit in the whole text")]
    Empty,
}

/// As many functions as an address has bits.
const MOST_FUNCTIONS: usize = 64;

/// The lines that say anything, with their numbers; what follows a `#` does not.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    fn said(line: &str) -> &str {
        line.split_once('#').map_or(line, |(said, _)| said).trim()
    }
    (1..).zip(text.lines()).map(|(number, line)| (number, said(line))).filter(|(_, line)| !line.is_empty())
}

fn bit(line: usize, word: &str) -> Result<u32, AddressMapError> {
    let number = word.parse::<u32>().ok().filter(|&bit| bit < 64);
    number.ok_or_else(|| AddressMapError::NoBit { line, found: word.to_owned() })
}

/// Reads a `map.txt`.
///
/// # Errors
/// If a line holds anything but bit numbers, a bit twice, no line holds any, or more than 64 do.
fn parse_map(text: &str) -> Result<Vec<XorBits>, AddressMapError> {
    let mut functions = Vec::new();
    for (line, words) in lines(text) {
        let mut mask = 0_u64;
        for word in words.split([' ', '\t', ',']).filter(|word| !word.is_empty()) {
            let bit = bit(line, word)?;
            if mask >> bit & 1 == 1 {
                return Err(AddressMapError::Twice { line, bit });
            }
            mask |= 1 << bit;
        }
        if functions.len() == MOST_FUNCTIONS {
            return Err(AddressMapError::TooMany { line });
        }
        functions.push(XorBits(mask));
    }
    if functions.is_empty() { Err(AddressMapError::Empty) } else { Ok(functions) }
}

/// Writes a `map.txt`; [`parse_map`] reads it back unchanged.
pub fn print_map(functions: &[XorBits]) -> String {
    let line = |function: &XorBits| {
        let bits = (0..64).filter(|bit| function.0 >> bit & 1 == 1).map(|bit: u32| bit.to_string());
        bits.collect::<Vec<_>>().join(" ") + "\n"
    };
    functions.iter().map(line).collect()
}

/// Reads PALLOC's `palloc_mask` and `xor` lines: a function for each bit of the mask, the lowest first.
///
/// # Errors
/// If a line is neither, a bit is none or not in the mask, or there is no mask.
fn parse_palloc(text: &str) -> Result<Vec<XorBits>, AddressMapError> {
    let unknown = |line, found: &str| AddressMapError::UnknownLine { line, found: found.to_owned() };
    let mut mask = 0_u64;
    let mut pairs = Vec::new();
    for (line, said) in lines(text) {
        let words: Vec<&str> = said.split_whitespace().collect();
        match words[..] {
            ["palloc_mask", number] => {
                let digits = number.strip_prefix("0x").unwrap_or(number);
                mask = u64::from_str_radix(digits, 16).map_err(|_| unknown(line, said))?;
            }
            ["xor", a, b] => pairs.push((line, bit(line, a)?, bit(line, b)?)),
            _ => return Err(unknown(line, said)),
        }
    }
    if mask == 0 {
        return Err(AddressMapError::Empty);
    }
    let mut functions: Vec<(u32, u64)> =
        (0..64).filter(|bit| mask >> bit & 1 == 1).map(|bit| (bit, 1 << bit)).collect();
    for (line, a, b) in pairs {
        let function = functions.iter_mut().find(|(own, _)| *own == a);
        let (_, function) = function.ok_or(AddressMapError::NotInMask { line, bit: a })?;
        if *function >> b & 1 == 1 {
            return Err(AddressMapError::Twice { line, bit: b });
        }
        *function |= 1 << b;
    }
    Ok(functions.into_iter().map(|(_, function)| XorBits(function)).collect())
}

/// Reads either form: PALLOC's where a line begins with a word of it, a `map.txt` otherwise.
///
/// # Errors
/// As [`parse_palloc`] and [`parse_map`].
pub fn parse(text: &str) -> Result<Vec<XorBits>, AddressMapError> {
    let palloc = lines(text).any(|(_, line)| line.starts_with("palloc_mask") || line.starts_with("xor"));
    if palloc { parse_palloc(text) } else { parse_map(text) }
}

/// Writes functions as PALLOC's mask and `xor` lines; `None` where no bit of a function can stand for it
/// because another function takes it.
pub fn print_palloc(functions: &[XorBits]) -> Option<String> {
    let mut own: Vec<u32> = Vec::new();
    for function in functions {
        let free = (0..64).find(|bit| function.0 >> bit & 1 == 1 && !own.contains(bit))?;
        // PALLOC numbers its functions from the lowest bit of the mask.
        if own.last().is_some_and(|&last| last > free) {
            return None;
        }
        own.push(free);
    }
    let mask = own.iter().fold(0_u64, |mask, bit| mask | 1 << bit);
    let mut text = format!("palloc_mask {mask:#010x}\n");
    for (function, own) in functions.iter().zip(&own) {
        for other in (0..64).filter(|bit| bit != own && function.0 >> bit & 1 == 1) {
            text += &format!("xor {own} {other}\n");
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    fn masks(functions: &[XorBits]) -> Vec<u64> {
        functions.iter().map(|function| function.0).collect()
    }

    #[test]
    fn the_published_examples_are_read() {
        let map = parse_map("8\n19\n11 20 25\n").unwrap();
        assert_eq!(masks(&map), [1 << 8, 1 << 19, 1 << 11 | 1 << 20 | 1 << 25]);
        let mask = parse_palloc("palloc_mask 0x00183000").unwrap();
        assert_eq!(masks(&mask), [1 << 12, 1 << 13, 1 << 19, 1 << 20]);
        assert_eq!((parse("8\n19\n11 20 25\n"), parse("palloc_mask 0x00183000")), (Ok(map), Ok(mask)));
        let pairs = "palloc_mask 0x0001e000 # bits 13 to 16\nxor 13 17\nxor 14 18\nxor 15 19\nxor 16 20\n";
        let pairs = parse_palloc(pairs).unwrap();
        assert_eq!(
            masks(&pairs),
            [1 << 13 | 1 << 17, 1 << 14 | 1 << 18, 1 << 15 | 1 << 19, 1 << 16 | 1 << 20]
        );
    }

    /// Nor are there more banks than addresses: a line that is repeated without end is no map.
    #[test]
    fn more_functions_than_an_address_has_bits_are_none() {
        let all: String = (0..64).map(|bit| format!("{bit}\n")).collect();
        assert_eq!(parse(&all).map(|functions| functions.len()), Ok(64));
        assert_eq!(parse(&format!("{all}4 5\n")), Err(AddressMapError::TooMany { line: 65 }));
    }

    /// PALLOC reads maps through a buffer of 63 characters, so that longer ones are cut.
    #[test]
    fn a_long_map_is_read_whole() {
        let functions: Vec<XorBits> = (0..10).map(|at| XorBits(0b1001_0000_0001 << (12 + at))).collect();
        let text = print_map(&functions);
        assert!(text.len() > 63, "{}", text.len());
        assert_eq!(parse_map(&text).unwrap(), functions);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let no_bit = |line, found: &str| AddressMapError::NoBit { line, found: found.into() };
        assert_eq!(parse_map("8\n\n64"), Err(no_bit(3, "64")));
        assert_eq!(parse_map("8 x"), Err(no_bit(1, "x")));
        assert_eq!(parse_map("8 9 8"), Err(AddressMapError::Twice { line: 1, bit: 8 }));
        assert_eq!(parse_map("# nothing\n"), Err(AddressMapError::Empty));
        assert_eq!(parse_palloc("xor 13 17"), Err(AddressMapError::Empty));
        let outside = parse_palloc("palloc_mask 0x1000\nxor 13 17");
        assert_eq!(outside, Err(AddressMapError::NotInMask { line: 2, bit: 13 }));
        assert!(matches!(parse_palloc("mask 12"), Err(AddressMapError::UnknownLine { line: 1, .. })));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

        #[test]
        fn what_is_written_is_read_back(functions in proptest::collection::vec(1_u64.., 1..20)) {
            let functions: Vec<XorBits> = functions.into_iter().map(XorBits).collect();
            prop_assert_eq!(parse_map(&print_map(&functions)).unwrap(), functions.clone());
            if let Some(text) = print_palloc(&functions) {
                prop_assert_eq!(parse_palloc(&text).unwrap(), functions);
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,80}") {
            let _ = (parse_map(&text), parse_palloc(&text), parse(&text));
        }
    }
}
