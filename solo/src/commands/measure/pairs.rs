//! Files of timed address pairs: two addresses and a time on each line.
//!
//! ```text
//!   # cycles of one access, both read by turns
//!   0x12345000 0x0badc0c0 233
//! ```

use crate::commands::addresses::number;
use crate::exit::Failure;
use solo_isolate::map::Measured;
use solo_model::Cycles;
use solo_model::text::Printable;
use solo_store::{Output, read};
use std::fmt::Write;
use std::path::Path;

/// Ten million pairs.
const LARGEST_FILE: u64 = 512 << 20;

/// Reads a file of pairs.
pub(super) fn load(path: &Path) -> Result<Vec<Measured>, Failure> {
    let text = read::text(path, LARGEST_FILE)?;
    let times =
        parse(&text).map_err(|wrong| Failure::Usage(format!("{}: {wrong}", Printable(path.display()))))?;
    if times.is_empty() {
        return Err(Failure::Usage(format!("{}: no pair in it; {EXPECTED}", Printable(path.display()))));
    }
    Ok(times)
}

/// Writes a file of pairs, which [`load`] reads back.
pub(super) fn save(path: &Path, times: &[Measured]) -> Result<(), Failure> {
    let mut text = String::from("# address, address, cycles until both are read\n");
    for Measured { a, b, time } in times {
        let _ = writeln!(text, "{a:#x} {b:#x} {}", time.get());
    }
    Output::write(path, text.as_bytes())?;
    Ok(())
}

const EXPECTED: &str = "expected lines of two addresses and a time, for example `0x12345000 0x0badc0c0 233`";

fn parse(text: &str) -> Result<Vec<Measured>, String> {
    let mut times = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let said = line.split('#').next().unwrap_or_default().trim();
        if said.is_empty() {
            continue;
        }
        let words: Vec<&str> = said.split([' ', '\t', ',']).filter(|word| !word.is_empty()).collect();
        let numbers: Option<Vec<u64>> = words.iter().map(|word| number(word)).collect();
        match numbers.as_deref() {
            Some(&[a, b, time]) => times.push(Measured { a, b, time: Cycles::new(time) }),
            _ => return Err(format!("line {}: `{said}`: {EXPECTED}", at + 1)),
        }
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_two_addresses_and_a_time() {
        let times = parse("# pairs\n0x1000 8192 233 # slow\n\n0x2000,0x3000,100\n").unwrap();
        let measured = |a, b, time| Measured { a, b, time: Cycles::new(time) };
        assert_eq!(times, [measured(0x1000, 0x2000, 233), measured(0x2000, 0x3000, 100)]);
        for wrong in
            ["0x1000 0x2000", "0x1000 0x2000 slow", "1 2 3 4", "-1 2 3", "0x 1 2", "1 2 99999999999999999999"]
        {
            let error = parse(&format!("1 2 3\n{wrong}")).unwrap_err();
            assert!(error.starts_with("line 2: "), "{error}");
        }
    }
}
