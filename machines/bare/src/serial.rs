//! Frames among the text of a serial line, where there is no debug console: on a PC.
//!
//! ```text
//!   solo: 2 cores by x2APIC [0, 2], ...          for people
//!   solo@1c0000009f3a...                         bytes of the frame stream, two hexadecimal digits each
//! ```
//!
//! What a line lost or changed is noticed by the frames' own lengths and checksums ([`crate::frame`]).

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};

/// What lines of the frame stream begin with.
const MARK: &str = "solo@";

/// Writes `bytes` as a line of the frame stream.
///
/// # Errors
/// Those of `line`.
pub(crate) fn write_line(line: &mut impl Write, bytes: &[u8]) -> fmt::Result {
    line.write_str(MARK)?;
    bytes.iter().try_for_each(|byte| write!(line, "{byte:02x}"))?;
    line.write_str("\n")
}

/// The frame stream and the text for people that a serial line carried. A line of the stream ends at the first character that
/// is no digit.
pub fn take_apart(heard: &str) -> (Vec<u8>, String) {
    let (mut stream, mut text) = (Vec::new(), String::new());
    for line in heard.lines() {
        match line.trim_start_matches('\r').strip_prefix(MARK) {
            Some(digits) => stream.extend(digits.as_bytes().chunks_exact(2).map_while(byte_of)),
            None => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    (stream, text)
}

fn byte_of(digits: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(*digits.get(at)?).to_digit(16);
    u8::try_from(digit(0)? << 4 | digit(1)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_survive_a_line_that_carries_text_as_well(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..6),
        ) {
            let mut heard = String::new();
            for piece in &pieces {
                heard.push_str("solo: a word for people\r\n");
                write_line(&mut heard, piece).unwrap();
            }
            let (stream, text) = take_apart(&heard);
            prop_assert_eq!(stream, pieces.concat());
            prop_assert_eq!(text, "solo: a word for people\n".repeat(pieces.len()));
        }

        #[test]
        fn no_line_panics(heard in "(solo@[0-9a-g\\PC]{0,9}\n){0,5}") {
            let _ = take_apart(&heard);
        }
    }
}
