//! JSON as people write it for rt-app: with comments, with commas before a closing bracket, and with keys that come twice.
//!
//! `serde_json` reads it. What it would refuse is blanked out before, byte for byte, so that places stay where they are; members are
//! kept in their order, for the order of events is the program.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::cell::Cell;
use std::fmt;
use std::io::{self, Read};
use std::ops::Range;

/// A value.
#[derive(Debug)]
pub(super) enum Json {
    Null,
    Boolean(bool),
    /// `None` where it is no whole number of 64 bits.
    Number(Option<i64>),
    Text(String),
    List(Vec<Json>),
    Object(Vec<Member>),
}

/// A key with its place, and its value.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) key: String,
    pub(super) span: Range<usize>,
    pub(super) value: Json,
}

impl Json {
    /// What kind of value it is, with its article.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Boolean(_) => "a truth value",
            Self::Number(Some(_)) => "a whole number",
            Self::Number(None) => "a number that is not whole or does not fit",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }
}

/// Reads a text.
///
/// # Errors
/// What is wrong with it, and the place where that shows.
pub(super) fn parse(text: &str) -> Result<Json, (String, usize)> {
    let plain = plain(text);
    let read = Cell::new(0);
    let counting = Counting { left: plain.as_bytes(), read: &read };
    let mut deserializer = serde_json::Deserializer::from_reader(counting);
    let seed = Seed { text: &plain, read: &read };
    let parsed = seed.deserialize(&mut deserializer).and_then(|json| deserializer.end().map(|()| json));
    parsed.map_err(|error| {
        let message = error.to_string();
        // The place is told by the message's caller.
        let message = message.split(" at line ").next().unwrap_or_default().to_owned();
        (message, read.get().saturating_sub(1))
    })
}

/// The text with blanks for comments and for commas that nothing follows.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut comma = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let comment = match (c, rest.peek()) {
            ('/', Some('*')) => Some(true),
            ('/', Some('/')) => Some(false),
            _ => None,
        };
        if let Some(block) = comment {
            out.push(' ');
            skip_comment(&mut rest, block, &mut out);
            continue;
        }
        match c {
            '"' => {
                out.push(c);
                copy_text(&mut rest, &mut out);
                comma = None;
            }
            ',' => {
                comma = Some(out.len());
                out.push(c);
            }
            '}' | ']' => {
                if let Some(at) = comma.take() {
                    out.replace_range(at..=at, " ");
                }
                out.push(c);
            }
            c => {
                if !c.is_whitespace() {
                    comma = None;
                }
                out.push(c);
            }
        }
    }
    out
}

type Chars<'t> = std::iter::Peekable<std::str::Chars<'t>>;

/// Blanks a comment to its end, whose first sign was taken.
fn skip_comment(rest: &mut Chars<'_>, block: bool, out: &mut String) {
    let mut before = ' ';
    // The star that begins a comment does not end it.
    let mut taken = 0_usize;
    for c in rest.by_ref() {
        let blank = if c == '\n' { "\n".to_owned() } else { " ".repeat(c.len_utf8()) };
        out.push_str(&blank);
        taken = taken.saturating_add(1);
        if (!block && c == '\n') || (block && c == '/' && before == '*' && taken > 2) {
            return;
        }
        before = c;
    }
}

/// Copies a text to its closing quote.
fn copy_text(rest: &mut Chars<'_>, out: &mut String) {
    let mut escaped = false;
    for c in rest.by_ref() {
        out.push(c);
        if c == '"' && !escaped {
            return;
        }
        escaped = c == '\\' && !escaped;
    }
}

/// Hands out a text byte by byte and counts.
struct Counting<'t> {
    left: &'t [u8],
    read: &'t Cell<usize>,
}

impl Read for Counting<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        // One at a time: what was handed out was looked at.
        let most = into.len().min(1);
        let taken = Read::read(&mut self.left, into.get_mut(..most).unwrap_or_default())?;
        self.read.set(self.read.get().saturating_add(taken));
        Ok(taken)
    }
}

/// Reads a value and knows how far the text was read.
#[derive(Clone, Copy)]
struct Seed<'t> {
    text: &'t str,
    read: &'t Cell<usize>,
}

impl Seed<'_> {
    /// Where a key stands that has just been read.
    fn key_span(&self, key: &str) -> Range<usize> {
        let end = self.read.get();
        let start = end.saturating_sub(key.len().saturating_add(2));
        let quoted =
            self.text.get(start..end).is_some_and(|text| text.starts_with('"') && text.ends_with('"'));
        // A key with an escape is longer in the text.
        if quoted { start..end } else { end.saturating_sub(1)..end }
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Json;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }
    fn visit_bool<E: Error>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Boolean(value))
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(Some(value)))
    }
    fn visit_u64<E: Error>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(i64::try_from(value).ok()))
    }
    fn visit_f64<E: Error>(self, _: f64) -> Result<Json, E> {
        Ok(Json::Number(None))
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Json::List(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut members = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            let span = self.key_span(&key);
            members.push(Member { span, value: map.next_value_seed(self)?, key });
        }
        Ok(Json::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_late_commas_and_repeated_keys_are_read_with_their_places() {
        let text = "{ /* \"no\": 1, */ // neither {\n \"run\" : 1, \"a,}/*\" : [1, 2,], \"run\":{\"x\\\"\":null,},\n}";
        let Json::Object(members) = parse(text).unwrap() else { panic!("an object") };
        let keys: Vec<&str> = members.iter().map(|member| member.key.as_str()).collect();
        assert_eq!(keys, ["run", "a,}/*", "run"]);
        assert!(members.iter().all(|member| text[member.span.clone()] == format!("\"{}\"", member.key)));
        assert!(members[0].span.start < members[2].span.start);
        assert!(matches!(&members[1].value, Json::List(items) if items.len() == 2));
        assert!(matches!(&members[2].value, Json::Object(inner) if inner[0].key == "x\""));
    }

    #[test]
    fn what_is_no_json_is_told_with_its_place() {
        for (text, at) in [("{\"a\": }", 6), ("{\"a\": 1} x", 9), ("[1", 1), ("", 0), ("{\"a\" /*/ : 1}", 12)]
        {
            let (message, found) = parse(text).unwrap_err();
            assert!(!message.is_empty() && !message.contains("line"), "{message}");
            assert_eq!(found, at, "{text}: {message}");
        }
        assert!(parse(&"[".repeat(100_000)).unwrap_err().0.contains("recursion"));
        assert!(matches!(parse("1e3"), Ok(Json::Number(None))));
    }
}
