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
        | '\u{34f}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}' // no width
        | '\u{180b}'..='\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' // variants of what stands before
        | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}' // letters without ink
        | '\u{2028}' | '\u{2029}' // separators
        | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' // annotations and what is no character
        | '\u{e0000}'..='\u{e007f}') // tags
}

/// A text, a path or whatever can be shown, with its hidden characters written out: a line break as `\n`, an escape as `\u{1b}`.
///
/// ```
/// use solo_model::text::Printable;
/// assert_eq!(Printable("a\u{1b}[2J\nb").to_string(), "a\\u{1b}[2J\\nb");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Printable<T>(pub T);

impl<T: fmt::Display> fmt::Display for Printable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaping(f), "{}", self.0)
    }
}

/// Passes characters on, hidden ones written out.
struct Escaping<'f, 'a>(&'f mut fmt::Formatter<'a>);

impl fmt::Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().try_for_each(|c| {
            if is_hidden(c) {
                c.escape_default().try_for_each(|c| self.0.write_char(c))
            } else {
                self.0.write_char(c)
            }
        })
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
        assert_eq!(Printable(format_args!("{}-{}", 1, '\n')).to_string(), "1-\\n");
    }

    /// Two names that look alike are a trap for whoever reads a report.
    #[test]
    fn what_leaves_no_ink_is_written_out() {
        for c in "\u{34f}\u{115f}\u{180e}\u{2800}\u{3164}\u{fe0f}\u{ffa0}\u{e0100}".chars() {
            assert!(is_hidden(c), "{c:?}");
        }
    }
}
