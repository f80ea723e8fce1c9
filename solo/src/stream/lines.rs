//! Lines of whatever a program prints: a binary, a progress bar that never breaks its line, an endless row of zeros.

use solo_model::text::Printable;
use std::io::{BufRead, BufReader, Read};

/// What is shown of a line, in bytes; the rest is counted.
const SHOWN_MAX: usize = 4096;

/// Hands on every line, made fit for a terminal and cut, until the end or until `give` says that nobody listens. A carriage
/// return ends a line too, for progress bars do without breaks.
pub(super) fn each(from: impl Read, give: &mut dyn FnMut(String) -> bool) {
    let mut reader = BufReader::with_capacity(1 << 16, from);
    let mut line = Line::default();
    loop {
        let piece = match reader.fill_buf() {
            Ok([]) => break,
            Ok(piece) => piece,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        let length = piece.len();
        let mut rest = piece;
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (text, after) = rest.split_at(end);
            line.add(text);
            let (sign, after) = after.split_at(1);
            rest = after;
            // The second half of a break of two characters breaks nothing.
            let second_half = sign == b"\n" && line.after_return;
            if !second_half && !give(line.take()) {
                return;
            }
            line.after_return = sign == b"\r";
        }
        line.add(rest);
        reader.consume(length);
    }
    if !line.is_empty() {
        give(line.take());
    }
}

#[derive(Default)]
struct Line {
    shown: Vec<u8>,
    cut: u64,
    after_return: bool,
}

impl Line {
    fn add(&mut self, text: &[u8]) {
        let some = text.len().min(SHOWN_MAX - self.shown.len());
        self.shown.extend_from_slice(&text[..some]);
        self.cut += (text.len() - some) as u64;
        self.after_return &= text.is_empty();
    }

    fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    fn take(&mut self) -> String {
        let text = String::from_utf8_lossy(&self.shown).replace('\t', "    ");
        let more = if self.cut > 0 { format!(" ... and {} bytes more", self.cut) } else { String::new() };
        let text = format!("{}{more}", Printable(&text));
        *self = Self::default();
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(from: impl Read) -> Vec<String> {
        let mut lines = Vec::new();
        each(from, &mut |line| {
            lines.push(line);
            true
        });
        lines
    }

    #[test]
    fn breaks_returns_and_both_end_a_line() {
        assert_eq!(all(&b"a\nb\r\nc\r10 %\r20 %\n\nd"[..]), ["a", "b", "c", "10 %", "20 %", "", "d"]);
        assert_eq!(all(&b""[..]), [] as [&str; 0]);
        assert_eq!(all(&b"\n\n"[..]), ["", ""]);
        assert_eq!(all(&b"a\x1b]0;PWNED\x07\tb\xff\n"[..]), ["a\\u{1b}]0;PWNED\\u{7}    b\u{fffd}"]);
    }

    #[test]
    fn a_line_without_end_takes_no_room() {
        let zeros = std::io::repeat(0).take(3 << 30);
        let lines = all(zeros.chain(&b"\nnext\n"[..]));
        let more = (3_u64 << 30) - SHOWN_MAX as u64;
        assert_eq!(lines.len(), 2);
        assert!(lines[0].ends_with(&format!("\\u{{0}} ... and {more} bytes more")), "{}", lines[0].len());
        assert!(lines[0].len() < 8 * SHOWN_MAX);
        assert_eq!(lines[1], "next");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..Default::default() })]
        /// As the standard library splits lines, whatever pieces they come in.
        #[test]
        fn plain_lines_come_as_they_are(text in "[a-c\n]{0,60}", piece in 1_usize..5) {
            struct Slow<'a>(&'a [u8], usize);
            impl Read for Slow<'_> {
                fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
                    let some = self.0.len().min(self.1);
                    into[..some].copy_from_slice(&self.0[..some]);
                    self.0 = &self.0[some..];
                    Ok(some)
                }
            }
            prop_assert_eq!(all(Slow(text.as_bytes(), piece)), text.lines().collect::<Vec<_>>());
        }
    }
}
