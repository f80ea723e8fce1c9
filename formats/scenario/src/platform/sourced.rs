//! Values that carry the key of their source: `ways = "16 @P"`.
//!
//! A simulated chip is as good as its numbers, so no number stands in a platform file without saying where it
//! comes from (research note on simulators, section 3).

use crate::code::Code;
use crate::fields::{At, Fields, Problems, parse_quantity, push_unit_error, word};
use crate::tree::{Table, Value};
use crate::units::Quantity;
use std::cell::RefCell;
use std::ops::Range;

/// What messages call the top of the file.
pub(super) const TOP: &str = "the platform";

/// A value of a platform file as it stands there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourcedValue {
    /// Where it stands, as in `cache L2: ways`.
    pub key: String,
    /// The value, with its unit.
    pub value: String,
    /// Where it comes from: the key of its source and what that stands for.
    pub source: String,
}

/// Reads sourced values and keeps which value has which source.
pub(crate) struct Sourced<'t> {
    known: Vec<(&'t str, &'t str)>,
    found: RefCell<Vec<SourcedValue>>,
}

impl<'t> Sourced<'t> {
    /// Reads the table of sources: key to explanation.
    pub(crate) fn read(problems: &Problems, table: &'t Table) -> Self {
        let mut known = Vec::new();
        for entry in &table.entries {
            match &entry.node.value {
                Value::String(text) if !text.trim().is_empty() => {
                    known.push((entry.key.as_str(), text.as_str()));
                }
                _ => problems.push(
                    problems
                        .error(Code::Source, format!("source `{}` has no text", entry.key), &entry.node.span)
                        .label("say what this source is")
                        .expected("a string that names the paper, manual or measurement"),
                ),
            }
        }
        Self { known, found: RefCell::default() }
    }

    /// Each value with its source, in the order of reading.
    pub(crate) fn into_values(self) -> Vec<SourcedValue> {
        self.found.into_inner()
    }

    /// A value's text without its source key; complains where the key is missing.
    pub(crate) fn text(&self, fields: &Fields<'t>, key: &'t str, example: &str) -> Option<At<&'t str>> {
        let found = fields.required_string(key, &format!("{key} = \"{example} @G\""))?;
        let problems = fields.problems;
        let Some((value, source)) = found.value.rsplit_once('@') else {
            problems.push(
                problems
                    .error(Code::Source, format!("`{key}` of {} names no source", fields.what), &found.span)
                    .label("where does this value come from?")
                    .expected(format!("the value, a space and a key of [sources]: \"{} @G\"", found.value))
                    .help(
                        "G is the usual key for a guess; a platform with guesses is never called validated",
                    ),
            );
            return None;
        };
        let source = source.trim();
        let Some((_, text)) = self.known.iter().find(|(known, _)| *known == source) else {
            let names: Vec<&str> = self.known.iter().map(|(known, _)| *known).collect();
            problems.push(
                problems
                    .error(Code::Source, format!("`{key}` has the unknown source `{source}`"), &found.span)
                    .label("this source is not explained")
                    .expected(format!("a key of [sources]: {}", names.join(", "))),
            );
            return None;
        };
        let path = if fields.what == TOP { key.to_owned() } else { format!("{}: {key}", fields.what) };
        let value = value.trim();
        let source = format!("{source}: {text}");
        self.found.borrow_mut().push(SourcedValue { key: path, value: value.to_owned(), source });
        Some(At { value, span: found.span })
    }

    /// A quantity with a unit.
    pub(crate) fn quantity<Q: Quantity>(&self, fields: &Fields<'t>, key: &'t str) -> Option<At<Q>> {
        let found = self.text(fields, key, Q::KIND.example)?;
        match parse_quantity::<Q>(found.value) {
            Ok(value) => Some(At { value, span: found.span }),
            Err(error) => {
                push_unit_error(fields.problems, &found.span, key, found.value, Q::KIND, &error);
                None
            }
        }
    }

    /// A quantity above zero.
    pub(crate) fn positive<Q: Quantity + PartialEq>(
        &self,
        fields: &Fields<'t>,
        key: &'static str,
    ) -> Option<At<Q>> {
        let found = self.quantity::<Q>(fields, key)?;
        crate::fields::positive(fields.problems, found, key)
    }

    /// A whole number without a unit, from `least` to `most`.
    pub(crate) fn number(
        &self,
        fields: &Fields<'t>,
        key: &'static str,
        least: u64,
        most: u64,
    ) -> Option<At<u64>> {
        let found = self.text(fields, key, "4")?;
        number(fields.problems, found.value, &found.span, key, least, most)
            .map(|value| At { value, span: found.span })
    }

    /// One of some words.
    pub(crate) fn word<T: Copy>(
        &self,
        fields: &Fields<'t>,
        key: &'static str,
        words: &[(&'static str, T)],
    ) -> Option<At<T>> {
        let found = self.text(fields, key, words.first().map_or("", |(name, _)| name))?;
        word(fields.problems, &found, key, words)
    }
}

/// A whole number in a text.
pub(crate) fn number(
    problems: &Problems,
    text: &str,
    span: &Range<usize>,
    key: &str,
    least: u64,
    most: u64,
) -> Option<u64> {
    let value = text.parse().ok().filter(|n| (least..=most).contains(n));
    if value.is_none() {
        problems.push(
            problems
                .error(Code::OutOfRange, format!("`{key}` = \"{text}\" is not usable"), span)
                .label("not a number in range")
                .expected(format!("a whole number from {least} to {most}")),
        );
    }
    value
}
