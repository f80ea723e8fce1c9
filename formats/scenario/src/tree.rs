//! A TOML file as a tree in which every key and value knows its place, so that files can be merged before they
//! are checked and messages still point at the right line.

use crate::code::Code;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::Source;
use solo_model::text::is_hidden;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Files above this size are refused unread.
pub(crate) const LARGEST_FILE: usize = 16 << 20;

/// Tables with more keys are refused: no table here has a hundredth of them.
const MOST_KEYS: usize = 10_000;

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) span: Range<usize>,
    pub(crate) value: Value,
}

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    String(String),
    /// `None` where it does not fit.
    Integer(Option<i64>),
    Float,
    Boolean,
    Datetime,
    Array(Vec<Node>),
    Table(Table),
}

/// A key, its place and its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_span: Range<usize>,
    pub(crate) node: Node,
}

/// The entries of a table in the order of the file.
#[derive(Clone, Default, Debug)]
pub(crate) struct Table {
    pub(crate) entries: Vec<Entry>,
}

impl Table {
    /// The entry of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Takes an entry out.
    pub(crate) fn remove(&mut self, key: &str) -> Option<Entry> {
        let at = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(at))
    }

    /// Lays `over` over this table: tables merge key by key, everything else is replaced.
    pub(crate) fn merge(&mut self, over: &Self) {
        for new in &over.entries {
            let Some(old) = self.entries.iter_mut().find(|entry| entry.key == new.key) else {
                self.entries.push(new.clone());
                continue;
            };
            match (&mut old.node.value, &new.node.value) {
                (Value::Table(old), Value::Table(new)) => old.merge(new),
                _ => *old = new.clone(),
            }
        }
    }
}

impl Value {
    /// What kind of value it is, with its article.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::String(_) => "a string",
            Self::Integer(_) => "an integer",
            Self::Float => "a float",
            Self::Boolean => "a boolean",
            Self::Datetime => "a date",
            Self::Array(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

/// Reads a text as TOML.
pub(crate) fn read(source: &Source) -> Result<Table, Diagnostics> {
    if source.text().len() > LARGEST_FILE {
        let size = source.text().len() as u64;
        return Err(too_large(source, size, LARGEST_FILE as u64));
    }
    let (document, errors) = DeTable::parse_recoverable(source.text());
    if errors.is_empty() {
        let table = table(document.into_inner());
        let hidden = hidden_in(&table, source);
        if !hidden.is_empty() {
            return Err(Diagnostics::new(hidden));
        }
        return match overfull(&table) {
            Some(span) => Err(Diagnostic::error(
                Code::TooMany,
                format!("a table with more than {MOST_KEYS} keys"),
                source,
                span,
            )
            .label("one key too many")
            .into()),
            None => Ok(table),
        };
    }
    let mut problems: Vec<Diagnostic> = Vec::new();
    for error in errors {
        let end = source.text().len();
        let span = error.span().unwrap_or(end..end);
        if problems.iter().any(|problem| problem.span.start == span.start) {
            continue;
        }
        let headline = error.message().lines().next().unwrap_or("not TOML").to_owned();
        problems.push(
            Diagnostic::error(Code::Syntax, format!("not valid TOML: {headline}"), source, span)
                .label("TOML cannot be read from here"),
        );
    }
    Err(Diagnostics::new(problems))
}

/// The refusal of a file of `size` bytes of which `limit` are read.
pub(crate) fn too_large(source: &Source, size: u64, limit: u64) -> Diagnostics {
    Diagnostic::error(Code::FileTooLarge, format!("the file is {} MiB large", size >> 20), source, 0..0)
        .expected(format!("at most {} MiB", limit >> 20))
        .into()
}

/// A file with more of them is not looked through further.
const MOST_HIDDEN: usize = 8;

/// Complains about keys and strings with characters that do something instead of being seen. They would reach terminals,
/// logs and spreadsheets as parts of names, and in a file they deceive whoever reads it.
fn hidden_in(table: &Table, source: &Source) -> Vec<Diagnostic> {
    fn inside<'t>(node: &'t Node, found: &mut Vec<(&'t str, Range<usize>)>) {
        match &node.value {
            Value::String(text) => found.push((text, node.span.clone())),
            Value::Array(items) => items.iter().for_each(|item| inside(item, found)),
            Value::Table(table) => of_table(table, found),
            Value::Integer(_) | Value::Float | Value::Boolean | Value::Datetime => {}
        }
    }
    fn of_table<'t>(table: &'t Table, found: &mut Vec<(&'t str, Range<usize>)>) {
        for entry in &table.entries {
            found.push((&entry.key, entry.key_span.clone()));
            inside(&entry.node, found);
        }
    }
    let mut texts = Vec::new();
    of_table(table, &mut texts);
    let hidden =
        texts.into_iter().filter_map(|(text, span)| Some((text.chars().find(|&c| is_hidden(c))?, span)));
    let problem = |(c, span): (char, Range<usize>)| {
        let headline = format!("a text holds the character U+{:04X}, which can't be seen", u32::from(c));
        Diagnostic::error(Code::HiddenCharacter, headline, source, span)
            .label("in this text")
            .expected("letters, digits, signs and plain spaces")
    };
    hidden.take(MOST_HIDDEN).map(problem).collect()
}

/// The place of the first key too many.
fn overfull(table: &Table) -> Option<Range<usize>> {
    fn inside(node: &Node) -> Option<Range<usize>> {
        match &node.value {
            Value::Table(table) => overfull(table),
            Value::Array(items) => items.iter().find_map(inside),
            _ => None,
        }
    }
    let here = table.entries.get(MOST_KEYS).map(|entry| entry.key_span.clone());
    here.or_else(|| table.entries.iter().find_map(|entry| inside(&entry.node)))
}

fn table(read: DeTable<'_>) -> Table {
    let mut entries: Vec<Entry> = read
        .into_iter()
        .map(|(key, value)| Entry {
            key_span: key.span(),
            key: key.into_inner().into_owned(),
            node: node(value),
        })
        .collect();
    entries.sort_by_key(|entry| entry.key_span.start);
    Table { entries }
}

fn node(read: Spanned<DeValue<'_>>) -> Node {
    let span = read.span();
    let value = match read.into_inner() {
        DeValue::String(text) => Value::String(text.into_owned()),
        DeValue::Integer(number) => Value::Integer(i64::from_str_radix(number.as_str(), number.radix()).ok()),
        DeValue::Float(_) => Value::Float,
        DeValue::Boolean(_) => Value::Boolean,
        DeValue::Datetime(_) => Value::Datetime,
        DeValue::Array(items) => Value::Array(items.into_iter().map(node).collect()),
        DeValue::Table(entries) => Value::Table(table(entries)),
    };
    Node { span, value }
}
