//! Text from elsewhere on its way to a terminal, a log or a page.

use alloc::string::String;
use core::fmt::Write;

/// The text with everything escaped that would not show as itself: control characters (a terminal obeys them), marks that
/// turn the direction of writing (they make text look like another), and separators of lines (they make one line look
/// like two).
///
/// ```
/// assert_eq!(solo_observe::printable("a\u{1b}[2Jb\nc"), "a\\u{1b}[2Jb\\nc");
/// assert_eq!(solo_observe::printable("Größe 1 µs"), "Größe 1 µs");
/// ```
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if is_hidden(c) => {
                // Writing to a string does not fail.
                let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
            }
            c => shown.push(c),
        }
    }
    shown
}

/// True where a character is obeyed or changes its neighbors instead of being shown.
pub const fn is_hidden(c: char) -> bool {
    c.is_ascii_control()
        || matches!(c,
            // C1 controls; soft hyphen; Arabic letter mark.
            '\u{80}'..='\u{9f}' | '\u{ad}' | '\u{61c}'
            // Zero-width and direction marks; line and paragraph separators; embeddings, overrides.
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            // Word joiner, invisible operators, isolates, deprecated formats; byte order mark; annotations; tags.
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig {
            cases: 256, failure_persistence: None, ..Default::default()
        })]
        #[test]
        fn nothing_is_obeyed_and_plain_text_stays(text in ".{0,40}", raw in proptest::collection::vec(0_u32..0x800, 0..40)) {
            let raw: String = raw.into_iter().filter_map(char::from_u32).collect();
            for text in [text, raw] {
                let shown = printable(&text);
                proptest::prop_assert!(!shown.chars().any(|c| c.is_control() || is_hidden(c)));
                if !text.chars().any(is_hidden) {
                    proptest::prop_assert_eq!(shown, text);
                }
            }
        }
    }
}
