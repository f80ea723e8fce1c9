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

/// What an error of the operating system says, without the number that Rust adds to it: "No such process" and not "No such process
/// (os error 3)". All that users read of such errors goes through this.
///
/// ```
/// use solo_model::text::Unnumbered;
/// assert_eq!(Unnumbered(std::io::Error::from_raw_os_error(3)).to_string(), "No such process");
/// assert_eq!(Unnumbered("cpu1: Invalid argument (os error 22); give up").to_string(), "cpu1: Invalid argument; give up");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unnumbered<T>(pub T);

impl<T: fmt::Display> fmt::Display for Unnumbered<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = alloc::format!("{}", self.0);
        let mut left = text.as_str();
        while let Some((before, behind)) = left.split_once(" (os error ") {
            f.write_str(before)?;
            left = behind.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
            left = left.strip_prefix(')').unwrap_or(left);
        }
        f.write_str(left)
    }
}

/// A number of things: the noun takes its plural where there is not exactly one. All that users read counts with it.
///
/// ```
/// use solo_model::text::counted;
/// assert_eq!(counted(1, "row").to_string(), "1 row");
/// assert_eq!(counted(0_usize, "access").to_string(), "0 accesses");
/// assert_eq!(counted(2_u64, "row of a query").to_string(), "2 rows of a query");
/// ```
pub fn counted(count: impl TryInto<u64>, noun: &str) -> Counted<'_> {
    Counted { count: count.try_into().unwrap_or(u64::MAX), noun }
}

/// What [`counted`] shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counted<'n> {
    count: u64,
    noun: &'n str,
}

impl fmt::Display for Counted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, noun } = *self;
        // What stands behind the noun (`row of a query`) stays as it is.
        let (noun, rest) = noun.split_once(" of ").map_or((noun, None), |(noun, rest)| (noun, Some(rest)));
        write!(f, "{count} {}", plural(noun, count).0)?;
        f.write_str(plural(noun, count).1)?;
        rest.map_or(Ok(()), |rest| write!(f, " of {rest}"))
    }
}

/// Ascending numbers with neighbors as one range; `any` for none.
///
/// ```
/// use solo_model::text::Ranges;
/// assert_eq!(Ranges(&[0, 1, 2, 7, 9, 10]).to_string(), "0-2, 7, 9-10");
/// assert_eq!(Ranges(&[]).to_string(), "any");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ranges<'n>(pub &'n [u16]);

impl fmt::Display for Ranges<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("any");
        }
        for (at, run) in self.0.chunk_by(|a, b| a.checked_add(1) == Some(*b)).enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            match run {
                [first, .., last] => write!(f, "{comma}{first}-{last}")?,
                [one] => write!(f, "{comma}{one}")?,
                [] => {}
            }
        }
        Ok(())
    }
}

/// The stem of a noun and its ending for so many.
fn plural(noun: &str, count: u64) -> (&str, &'static str) {
    let after_vowel = |stem: &str| stem.ends_with(['a', 'e', 'i', 'o', 'u']);
    match noun.strip_suffix('y') {
        _ if count == 1 => (noun, ""),
        Some(stem) if !after_vowel(stem) => (stem, "ies"),
        _ if noun.ends_with("ss") || noun.ends_with("ch") || noun.ends_with("sh") || noun.ends_with('x') => {
            (noun, "es")
        }
        _ => (noun, "s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn nouns_follow_their_number() {
        for (count, noun, shown) in [
            (0, "job", "0 jobs"),
            (1, "job", "1 job"),
            (2, "job", "2 jobs"),
            (1, "access", "1 access"),
            (3, "access", "3 accesses"),
            (2, "fetch", "2 fetches"),
            (2, "entry", "2 entries"),
            (2, "day", "2 days"),
            (2, "more row", "2 more rows"),
            (1, "job of `a`", "1 job of `a`"),
            (2, "job of `a`", "2 jobs of `a`"),
        ] {
            assert_eq!(counted(count, noun).to_string(), shown);
        }
        assert_eq!(counted(u128::MAX, "job").to_string(), "18446744073709551615 jobs");
    }

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
