//! Typed access to the keys of a table; every complaint becomes a diagnostic at the right place.

use crate::code::Code;
use crate::diagnostic::{Diagnostic, Severity, clip};
use crate::nearest::nearest;
use crate::source::Source;
use crate::tree::{Entry, Node, Table, Value};
use crate::units::{Kind, Quantity, UnitError};
use solo_model::Fixed;
use solo_plan::{Said, Wish};
use std::cell::{Cell, RefCell};
use std::ops::Range;

/// More problems than this in one file are not kept.
const MOST_KEPT: usize = 200;

/// Collects problems while a file is checked.
#[derive(Debug)]
pub(crate) struct Problems {
    pub(crate) source: Source,
    /// What a caller laid over the file: its places begin behind the file's end.
    over: Source,
    /// Which variant is being checked, for the messages.
    pub(crate) variant: RefCell<Option<String>>,
    list: RefCell<Vec<Kept>>,
    /// The scenario has more tasks or steps than fit.
    oversized: Cell<bool>,
}

/// A problem that was found.
#[derive(Debug)]
struct Kept {
    /// Its headline before the variant was added.
    headline: String,
    /// The variant in which it was found first.
    variant: Option<String>,
    problem: Diagnostic,
}

impl Problems {
    pub(crate) fn new(source: &Source) -> Self {
        Self::under(source, Source::new("", ""))
    }

    /// With a text that is laid over the file.
    pub(crate) fn under(source: &Source, over: Source) -> Self {
        Self {
            source: source.clone(),
            over,
            variant: RefCell::new(None),
            list: RefCell::new(Vec::new()),
            oversized: Cell::new(false),
        }
    }

    /// Where the places of what is laid over the file begin.
    pub(crate) fn beyond(&self) -> usize {
        self.source.text().len().saturating_add(1)
    }

    /// The text that a place lies in, and where there.
    fn locate(&self, span: &Range<usize>) -> (&Source, Range<usize>) {
        let beyond = self.beyond();
        match span.start.checked_sub(beyond) {
            Some(start) => (&self.over, start..span.end.saturating_sub(beyond)),
            None => (&self.source, span.clone()),
        }
    }

    /// The text of a place.
    pub(crate) fn text_at(&self, span: &Range<usize>) -> &str {
        let (source, span) = self.locate(span);
        source.slice(span)
    }

    /// An error at a span of this file, to be completed and pushed.
    pub(crate) fn error(&self, code: Code, headline: impl Into<String>, span: &Range<usize>) -> Diagnostic {
        let (source, span) = self.locate(span);
        Diagnostic::error(code, headline, source, span)
    }

    /// Keeps a problem, once: variants repeat what is wrong in the scenario itself.
    pub(crate) fn push(&self, mut problem: Diagnostic) {
        let mut list = self.list.borrow_mut();
        let variant = self.variant.borrow().clone();
        let same = |kept: &Kept| {
            let known = &kept.problem;
            // Each variant that is refused is told why.
            let told = kept.variant.is_none() || kept.variant == variant || !problem.code.refuses();
            known.code == problem.code
                && known.span == problem.span
                && kept.headline == problem.headline
                && known.source == problem.source
                && told
        };
        if list.len() >= MOST_KEPT || list.iter().any(same) {
            return;
        }
        let headline = problem.headline.clone();
        if let Some(variant) = &variant {
            problem.headline = format!("{} (in variant `{variant}`)", problem.headline);
        }
        list.push(Kept { headline, variant, problem });
    }

    /// Keeps all of a report on another file.
    pub(crate) fn extend(&self, problems: impl IntoIterator<Item = Diagnostic>) {
        for problem in problems {
            self.push(problem);
        }
    }

    /// True where further problems would not be kept, so that nobody need look for them.
    pub(crate) fn is_full(&self) -> bool {
        self.list.borrow().len() >= MOST_KEPT
    }

    /// Remembers that the scenario is too large, so that nobody need look at its variants.
    pub(crate) fn refuse_size(&self) {
        self.oversized.set(true);
    }

    /// True where the scenario is too large, by [`refuse_size`](Self::refuse_size).
    pub(crate) fn is_oversized(&self) -> bool {
        self.oversized.get()
    }

    /// The number of errors so far.
    pub(crate) fn errors(&self) -> usize {
        self.list.borrow().iter().filter(|kept| kept.problem.severity == Severity::Error).count()
    }

    /// Takes out what refuses single variants: their names, each with its errors. Nothing, where anything else is wrong
    /// with the file.
    pub(crate) fn take_refusals(&self) -> Vec<(String, Vec<Diagnostic>)> {
        let mut list = self.list.borrow_mut();
        let error = |kept: &&Kept| kept.problem.severity == Severity::Error;
        let refuses = |kept: &Kept| kept.variant.is_some() && kept.problem.code.refuses();
        if list.len() >= MOST_KEPT || !list.iter().filter(error).all(refuses) {
            return Vec::new();
        }
        let mut refused: Vec<(String, Vec<Diagnostic>)> = Vec::new();
        for Kept { variant, problem, .. } in list.extract_if(.., |kept| error(&&*kept)) {
            let variant = variant.unwrap_or_default();
            match refused.iter_mut().find(|(name, _)| *name == variant) {
                Some((_, problems)) => problems.push(problem),
                None => refused.push((variant, vec![problem])),
            }
        }
        refused
    }

    /// Errors and warnings.
    pub(crate) fn finish(self) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
        let problems = self.list.into_inner().into_iter().map(|kept| kept.problem);
        problems.partition(|problem| problem.severity == Severity::Error)
    }
}

/// A value with its place.
#[derive(Clone, Debug)]
pub(crate) struct At<T> {
    pub(crate) value: T,
    pub(crate) span: Range<usize>,
}

impl<T> At<T> {
    /// As a wish.
    pub(crate) fn wish(self) -> Wish<T> {
        Wish::new(self.value, self.span)
    }
}

/// The keys of one table while it is read. Every key that is asked for counts as known.
#[derive(Debug)]
pub(crate) struct Fields<'t> {
    pub(crate) problems: &'t Problems,
    table: &'t Table,
    /// Where the table begins: complaints about missing keys point here.
    pub(crate) span: Range<usize>,
    /// What the table describes, for messages: "task `frame`".
    pub(crate) what: String,
    asked: RefCell<Vec<&'t str>>,
}

impl<'t> Fields<'t> {
    pub(crate) fn new(
        problems: &'t Problems,
        table: &'t Table,
        span: Range<usize>,
        what: impl Into<String>,
    ) -> Self {
        Self { problems, table, span, what: what.into(), asked: RefCell::new(Vec::new()) }
    }

    /// The entry of a key.
    pub(crate) fn get(&self, key: &'t str) -> Option<&'t Entry> {
        self.asked.borrow_mut().push(key);
        self.table.get(key)
    }

    /// True where the key is present, right or wrong.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.table.get(key).is_some()
    }

    /// The keys that stand in the table, in its order.
    pub(crate) fn entries(&self) -> &'t [Entry] {
        &self.table.entries
    }

    /// The place of a key's value, else of the table.
    pub(crate) fn span_of(&self, key: &str) -> Range<usize> {
        self.table.get(key).map_or(self.span.clone(), |entry| entry.node.span.clone())
    }

    /// Complains that a key is missing.
    pub(crate) fn missing(&self, key: &str, example: &str) {
        self.problems.push(
            self.problems
                .error(Code::MissingKey, format!("{} has no `{key}`", self.what), &self.span)
                .label(format!("`{key}` is missing here"))
                .help(format!("add a line such as `{example}`")),
        );
    }

    /// A string.
    pub(crate) fn string(&self, key: &'t str) -> Option<At<&'t str>> {
        let entry = self.get(key)?;
        string(self.problems, &entry.node, key)
    }

    /// A string that is not empty and must be there.
    pub(crate) fn required_string(&self, key: &'t str, example: &str) -> Option<At<&'t str>> {
        if !self.has(key) {
            self.asked.borrow_mut().push(key);
            self.missing(key, example);
            return None;
        }
        let found = self.string(key)?;
        if found.value.trim().is_empty() {
            self.problems.push(
                self.problems
                    .error(Code::Empty, format!("`{key}` of {} is empty", self.what), &found.span)
                    .label("nothing stands here")
                    .expected(format!("for example `{example}`")),
            );
            return None;
        }
        Some(found)
    }

    /// A quantity with a unit.
    pub(crate) fn quantity<Q: Quantity>(&self, key: &'t str) -> Option<At<Q>> {
        let entry = self.get(key)?;
        quantity(self.problems, &entry.node, key)
    }

    /// A quantity with a unit, above zero.
    pub(crate) fn positive<Q: Quantity + PartialEq>(&self, key: &'t str) -> Option<At<Q>> {
        let found = self.quantity::<Q>(key)?;
        positive(self.problems, found, key)
    }

    /// An integer from `least` to `most`.
    pub(crate) fn integer(&self, key: &'t str, least: u64, most: u64) -> Option<At<u64>> {
        let entry = self.get(key)?;
        integer(self.problems, &entry.node, key, least, most)
    }

    /// One of some words.
    pub(crate) fn word<T: Copy>(&self, key: &'t str, words: &[(&str, T)]) -> Option<At<T>> {
        let found = self.string(key)?;
        word(self.problems, &found, key, words)
    }

    /// A table.
    pub(crate) fn table(&self, key: &'t str, example: &str) -> Option<At<&'t Table>> {
        let entry = self.get(key)?;
        match &entry.node.value {
            Value::Table(table) => Some(At { value: table, span: entry.node.span.clone() }),
            _ => {
                wrong_type(self.problems, &entry.node, key, "a table", example);
                None
            }
        }
    }

    /// A list.
    pub(crate) fn list(&self, key: &'t str, example: &str) -> Option<&'t [Node]> {
        let entry = self.get(key)?;
        match &entry.node.value {
            Value::Array(items) => Some(items),
            _ => {
                wrong_type(self.problems, &entry.node, key, "a list", example);
                None
            }
        }
    }

    /// The tables of `[[key]]`, each with its place.
    pub(crate) fn tables(&self, key: &'t str, example: &str) -> Vec<At<&'t Table>> {
        let mut tables = Vec::new();
        for item in self.list(key, example).unwrap_or_default() {
            match &item.value {
                Value::Table(table) => tables.push(At { value: table, span: item.span.clone() }),
                _ => wrong_type(self.problems, item, key, "a table", example),
            }
        }
        tables
    }

    /// What the table says of a key of which `found` was read.
    pub(crate) fn said<T>(&self, key: &str, found: Option<At<T>>) -> Said<T> {
        match found {
            Some(found) => Said::This(found.wish()),
            None if self.has(key) => Said::Unreadable,
            None => Said::Nothing,
        }
    }

    /// Complains about every key that nobody asked for.
    pub(crate) fn finish(self) {
        let asked = self.asked.into_inner();
        for entry in &self.table.entries {
            if self.problems.is_full() {
                return;
            }
            if !asked.contains(&entry.key.as_str()) {
                unknown_key(self.problems, entry, &self.what, &asked);
            }
        }
    }
}

/// Complains about a key that does not exist.
pub(crate) fn unknown_key(problems: &Problems, entry: &Entry, what: &str, known: &[&str]) {
    let mut known: Vec<&str> = known.to_vec();
    known.sort_unstable();
    known.dedup();
    let label = match nearest(&entry.key, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => String::from("not known here"),
    };
    problems.push(
        problems
            .error(Code::UnknownKey, format!("unknown key `{}` in {what}", clip(&entry.key)), &entry.key_span)
            .label(label)
            .help(format!("known keys: {}", known.join(", "))),
    );
}

/// Complains about the type of a value.
pub(crate) fn wrong_type(problems: &Problems, node: &Node, key: &str, expected: &str, example: &str) {
    problems.push(
        problems
            .error(Code::WrongType, format!("`{key}` is {}", node.value.kind()), &node.span)
            .label(format!("{} is found here", node.value.kind()))
            .expected(format!("{expected}, for example `{example}`")),
    );
}

/// The string in a node.
pub(crate) fn string<'t>(problems: &Problems, node: &'t Node, key: &str) -> Option<At<&'t str>> {
    match &node.value {
        Value::String(text) => Some(At { value: text, span: node.span.clone() }),
        _ => {
            wrong_type(problems, node, key, "a string", &format!("{key} = \"...\""));
            None
        }
    }
}

/// The quantity in a node.
pub(crate) fn quantity<Q: Quantity>(problems: &Problems, node: &Node, key: &str) -> Option<At<Q>> {
    let kind = Q::KIND;
    let example = format!("{key} = \"{}\"", kind.example);
    match &node.value {
        Value::String(text) => {
            let parsed = parse_quantity(text);
            parsed
                .map_err(|error| push_unit_error(problems, &node.span, key, text, kind, &error))
                .ok()
                .map(|value| At { value, span: node.span.clone() })
        }
        Value::Integer(_) | Value::Float => {
            let number = problems.text_at(&node.span).to_owned();
            problems.push(
                problems
                    .error(Code::BareNumber, format!("`{key}` is a number without a unit"), &node.span)
                    .label("which unit?")
                    .expected(format!("{} in quotes with its unit: {}", kind.name, kind.known()))
                    .help(format!("write `{key} = \"{number}{}\"` or another unit", common_unit(kind))),
            );
            None
        }
        _ => {
            wrong_type(problems, node, key, &format!("{} in quotes", kind.name), &example);
            None
        }
    }
}

/// A text as a quantity of type `Q`.
pub(crate) fn parse_quantity<Q: Quantity>(text: &str) -> Result<Q, UnitError> {
    Q::from_raw(Q::KIND.parse(text)?).ok_or(UnitError::TooLarge)
}

/// The unit of a kind's example.
fn common_unit(kind: Kind) -> &'static str {
    kind.example.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
}

/// Complains about a text that is no quantity.
pub(crate) fn push_unit_error(
    problems: &Problems,
    span: &Range<usize>,
    key: &str,
    text: &str,
    kind: Kind,
    error: &UnitError,
) {
    let code = match error {
        UnitError::NoNumber => Code::NotAQuantity,
        UnitError::Negative => Code::Negative,
        UnitError::NoUnit { .. } => Code::NoUnit,
        UnitError::UnknownUnit { .. } => Code::UnknownUnit,
        UnitError::TooFine { .. } => Code::TooFine,
        UnitError::TooLarge => Code::TooLarge,
    };
    let label = match error {
        UnitError::NoUnit { .. } => String::from("which unit?"),
        UnitError::UnknownUnit { unit } => match kind.meant(unit) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("`{}` is no unit of {}", clip(unit), kind.name.trim_start_matches("a ")),
        },
        other => format!("this {other}"),
    };
    let expected = match error {
        UnitError::TooLarge if kind.units == crate::units::SHARE.units => String::from("0% to 100%"),
        UnitError::TooLarge => {
            format!("at most {}{}", u64::MAX, kind.smallest())
        }
        _ => format!("{} such as \"{}\"; units: {}", kind.name, kind.example, kind.known()),
    };
    problems.push(
        problems
            .error(code, format!("`{key}` = \"{}\" {error}", clip(text)), span)
            .label(label)
            .expected(expected),
    );
}

/// A quantity that must not be zero.
pub(crate) fn positive<Q: Quantity + PartialEq>(
    problems: &Problems,
    found: At<Q>,
    key: &str,
) -> Option<At<Q>> {
    if Q::from_raw(0).is_some_and(|zero| zero == found.value) {
        problems.push(
            problems
                .error(Code::Zero, format!("`{key}` is zero"), &found.span)
                .label("must be above zero")
                .expected(format!("{} such as \"{}\"", Q::KIND.name, Q::KIND.example)),
        );
        return None;
    }
    Some(found)
}

/// The integer in a node, from `least` to `most`.
pub(crate) fn integer(problems: &Problems, node: &Node, key: &str, least: u64, most: u64) -> Option<At<u64>> {
    let Value::Integer(number) = &node.value else {
        wrong_type(
            problems,
            node,
            key,
            "a whole number without quotes",
            &format!("{key} = {}", least.max(1)),
        );
        return None;
    };
    let fits = |n: &u64| (least..=most).contains(n);
    match number.and_then(|n| u64::try_from(n).ok()).filter(fits) {
        Some(value) => Some(At { value, span: node.span.clone() }),
        None => {
            let found = clip(problems.text_at(&node.span));
            let code = match number {
                Some(0) => Code::Zero,
                Some(..0) => Code::Negative,
                _ => Code::OutOfRange,
            };
            problems.push(
                problems
                    .error(code, format!("`{key}` = {found} is out of range"), &node.span)
                    .label("out of range")
                    .expected(format!("a whole number from {least} to {most}")),
            );
            None
        }
    }
}

/// A number that may have a fraction, as it is written, from zero to `most`.
pub(crate) fn decimal(problems: &Problems, node: &Node, key: &str, most: u64) -> Option<At<Fixed>> {
    if !matches!(node.value, Value::Float) {
        return integer(problems, node, key, 0, most)
            .map(|found| At { value: Fixed::from(found.value), span: found.span });
    }
    let read = Fixed::parse(&problems.text_at(&node.span).replace('_', ""));
    let read = read.filter(|read| (Fixed::ZERO..=Fixed::from(most)).contains(read));
    if read.is_none() {
        let found = clip(problems.text_at(&node.span));
        problems.push(
            problems
                .error(Code::OutOfRange, format!("`{key}` = {found} is out of range"), &node.span)
                .label("out of range")
                .expected(format!("a number from 0 to {most}, for example `{key} = 1.5`")),
        );
    }
    read.map(|value| At { value, span: node.span.clone() })
}

/// One of some words.
pub(crate) fn word<T: Copy>(
    problems: &Problems,
    found: &At<&str>,
    key: &str,
    words: &[(&str, T)],
) -> Option<At<T>> {
    if let Some(&(_, value)) = words.iter().find(|(word, _)| *word == found.value) {
        return Some(At { value, span: found.span.clone() });
    }
    let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let label = match nearest(found.value, names.iter().copied()) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => String::from("not one of the words known here"),
    };
    problems.push(
        problems
            .error(Code::UnknownWord, format!("`{key}` = \"{}\" is unknown", clip(found.value)), &found.span)
            .label(label)
            .expected(format!("one of {}", names.join(", "))),
    );
    None
}
