//! Text from elsewhere, made fit for a terminal, a log or a page.
//!
//! A name may come from a file, a program or another host. Shown as it is, it could move the cursor, set the title of
//! the terminal, turn the text around it or begin a line of its own.

use core::fmt::{self, Write};

/// True for characters that do something instead of being seen: control characters, line and paragraph separators,
/// marks that turn the direction of writing around, and characters without width.
pub const fn is_hidden(c: char) -> bool {
    matches!(c,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' // control characters of ASCII and ISO 8859-1
        | '\u{ad}' // soft hyphen
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' // direction
        | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}' // no width
        | '\u{2028}' | '\u{2029}' // separators
        | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' // annotations and what is no character
        | '\u{e0000}'..='\u{e007f}') // tags
}

/// A text that is shown with its hidden characters written out: a line break as `\n`, an escape as `\u{1b}`.
///
/// ```
/// use solo_model::text::Printable;
/// assert_eq!(Printable("a\u{1b}[2J\nb").to_string(), "a\\u{1b}[2J\\nb");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Printable<'t>(pub &'t str);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            if is_hidden(c) {
                c.escape_default().try_for_each(|c| f.write_char(c))?
            } else {
                f.write_char(c)?
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn what_can_be_seen_stays() {
        for text in ["frame", "Bild größer", "画面", "a \"b\" \\ c", "µs — ok", "e\u{301}"] {
            assert_eq!(Printable(text).to_string(), text);
        }
    }

    #[test]
    fn what_acts_on_a_terminal_is_written_out() {
        for c in ('\0'..='\u{10ffff}').filter(|&c| c.is_control()) {
            assert!(is_hidden(c), "{c:?}");
        }
        assert_eq!(Printable("a\r\n\tb").to_string(), "a\\r\\n\\tb");
        assert_eq!(Printable("\u{202e}abc\u{2066}").to_string(), "\\u{202e}abc\\u{2066}");
        assert_eq!(Printable("\u{9b}2J").to_string(), "\\u{9b}2J");
    }
}
