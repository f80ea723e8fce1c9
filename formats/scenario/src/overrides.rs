//! What a caller wants otherwise than the file says, for example by options of a command line. It is laid over the file
//! before anything is checked, so that it meets the same limits as what is written there.

use crate::source::Source;
use crate::tree::{Entry, Node, Table, Value};
use std::ops::Range;

/// Which experiments of a scenario somebody means.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum Choice {
    /// The scenario as it stands.
    #[default]
    Base,
    /// The variants of these names.
    Named(Vec<String>),
    /// All variants; the scenario where it has none.
    Variants,
}

impl Choice {
    /// Whether the variant of this name is meant; the scenario as it stands has an empty one.
    fn includes(&self, variant: &str, has_variants: bool) -> bool {
        match self {
            Self::Base => variant.is_empty(),
            Self::Named(names) => names.iter().any(|name| name == variant),
            Self::Variants => variant.is_empty() != has_variants,
        }
    }
}

/// Values that take the place of a scenario's own.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Overrides {
    /// The seed, instead of `seed`.
    pub seed: Option<u64>,
    /// The jobs of each periodic task that end the run, instead of `jobs` or `duration`.
    pub jobs: Option<u64>,
    /// What they are laid over; what is not meant is checked as the file has it.
    pub of: Choice,
}

/// Overrides as entries of a tree, with a text of their own that messages point into.
pub(crate) struct Laid {
    of: Choice,
    entries: Vec<Entry>,
}

impl Overrides {
    /// The text that messages about them show.
    pub(crate) fn source(&self) -> Source {
        let words: Vec<String> = self.given().map(|(key, value)| format!("--{key} {value}")).collect();
        Source::new("command line", words.join(" "))
    }

    fn given(&self) -> impl Iterator<Item = (&'static str, u64)> {
        [("seed", self.seed), ("jobs", self.jobs)].into_iter().filter_map(|(key, value)| Some((key, value?)))
    }

    /// The entries; their places begin at `begin`.
    pub(crate) fn laid(&self, begin: usize) -> Laid {
        let mut at = begin;
        let entry = |(key, value): (&'static str, u64)| {
            // Two dashes and the key, a character between, the value, a character between.
            let after = |from: usize, length: usize| from.saturating_add(length);
            let key_span = at..after(at, after(key.len(), 2));
            let begin = after(key_span.end, 1);
            let span = begin..after(begin, value.to_string().len());
            at = after(span.end, 1);
            number(key, key_span, value, span)
        };
        Laid { of: self.of.clone(), entries: self.given().map(entry).collect() }
    }
}

fn number(key: &str, key_span: Range<usize>, value: u64, span: Range<usize>) -> Entry {
    let value = Value::Integer(i64::try_from(value).ok());
    Entry { key: key.to_owned(), key_span, node: Node { span, value } }
}

impl Laid {
    /// Lays them over the tree of a variant where they are meant for it.
    pub(crate) fn over(&self, tree: &mut Table, variant: &str, has_variants: bool) {
        if !self.of.includes(variant, has_variants) {
            return;
        }
        for entry in &self.entries {
            // The two ways to end a run exclude each other.
            if entry.key == "jobs" {
                tree.remove("duration");
            }
            tree.remove(&entry.key);
            tree.entries.push(entry.clone());
        }
    }
}
