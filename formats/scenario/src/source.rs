//! A text that diagnostics point into.

use solo_model::text::{Printable, is_hidden};
use std::ops::Range;
use std::sync::Arc;

/// Lines longer than this are not quoted: a message never fills more than a screen.
const LONGEST_QUOTED_LINE: usize = 2_000;

/// A file's name and text. Cloning is cheap: every diagnostic holds one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source(Arc<Inner>);

#[derive(PartialEq, Eq, Debug)]
struct Inner {
    name: String,
    text: String,
    /// Where each line begins.
    lines: Vec<usize>,
    quotable: bool,
    /// The text as it may be shown, byte for byte as long; `None` where that is the text itself.
    shown: Option<String>,
}

/// A position for people: both count from 1, columns in characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Source {
    /// A text under the name that messages show.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let after_breaks = (1..).zip(text.bytes()).filter(|&(_, byte)| byte == b'\n').map(|(after, _)| after);
        let lines: Vec<usize> = std::iter::once(0).chain(after_breaks).collect();
        let quotable = text.lines().all(|line| line.len() <= LONGEST_QUOTED_LINE);
        let shown = shown(&text);
        let name = Printable(&name.into()).to_string();
        Self(Arc::new(Inner { name, text, lines, quotable, shown }))
    }

    /// The text with question marks for what a terminal would act on; places in it are those in the text.
    pub(crate) fn shown(&self) -> &str {
        self.0.shown.as_deref().unwrap_or(&self.0.text)
    }

    /// The name that messages show.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// False where a line is too long to be shown to a person.
    pub(crate) fn is_quotable(&self) -> bool {
        self.0.quotable
    }

    /// The nearest span that lies inside the text and cuts no character in two.
    pub(crate) fn clamp(&self, span: Range<usize>) -> Range<usize> {
        let text = self.text();
        let whole = |at: &usize| text.is_char_boundary(*at);
        let start = (0..=span.start.min(text.len())).rev().find(whole).unwrap_or(0);
        start..(span.end.clamp(start, text.len())..).find(whole).unwrap_or(start)
    }

    /// The text of a span; empty where it lies outside.
    pub fn slice(&self, span: Range<usize>) -> &str {
        self.text().get(self.clamp(span)).unwrap_or_default()
    }

    /// Line and column of a byte offset.
    pub fn position(&self, offset: usize) -> Position {
        let offset = self.clamp(offset..offset).start;
        let line = self.0.lines.partition_point(|&start| start <= offset);
        let start = line.checked_sub(1).and_then(|line| self.0.lines.get(line)).copied().unwrap_or(0);
        let before = self.text().get(start..offset).unwrap_or_default();
        Position { line, column: before.chars().count().saturating_add(1) }
    }
}

/// The text as it may be shown, where that is another.
fn shown(text: &str) -> Option<String> {
    let acts = |(at, c): (usize, char)| match c {
        '\n' | '\t' => false,
        '\r' => !text.get(at..).is_some_and(|rest| rest.starts_with("\r\n")),
        c => is_hidden(c),
    };
    text.char_indices().any(acts).then(|| {
        let mut shown = String::with_capacity(text.len());
        for (at, c) in text.char_indices() {
            if acts((at, c)) { shown.extend(std::iter::repeat_n('?', c.len_utf8())) } else { shown.push(c) }
        }
        shown
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_from_one() {
        let source = Source::new("a.toml", "a = 1\nµ = 2\n");
        assert_eq!(source.position(0), Position { line: 1, column: 1 });
        assert_eq!(source.position(9), Position { line: 2, column: 3 });
        assert_eq!(source.position(999), Position { line: 3, column: 1 });
    }

    #[test]
    fn spans_never_cut_a_character() {
        let source = Source::new("a.toml", "µs");
        assert_eq!(source.slice(1..2), "µ");
        assert_eq!(source.slice(2..99), "s");
    }
}
