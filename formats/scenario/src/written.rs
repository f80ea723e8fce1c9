//! A plan as a scenario file: the text that somebody wrote, with what was chosen for it.
//!
//! Everything that was written stays as it was written, comments and order included. Where copies of a pattern go to cores of their own
//! the pattern is written out, a table for each copy.

use solo_model::text::Printable;
use solo_model::{CoreId, Duration, Events};
use solo_plan::{Choices, CycleChoice, DeviceChoice, PagesChoice, WindowChoice, WishChoice};
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value, value};

/// Why a plan can't be written into a text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotWritable {
    /// The text is not what the plan was made from.
    #[error("this is not the scenario that was planned")]
    Other,
    /// Copies of a pattern go to cores of their own, and a variant speaks of the pattern.
    #[error(
        "the copies of `{}` go to cores of their own, and a variant names them together: write the tasks out", Printable(.0)
    )]
    Variant(String),
}

/// The scenario `text` with `choices` written into it.
///
/// # Errors
/// [`NotWritable`].
pub fn write_plan(text: &str, choices: &Choices) -> Result<String, NotWritable> {
    let mut document: DocumentMut = text.parse().map_err(|_| NotWritable::Other)?;
    let patterns: Vec<Pattern<'_>> =
        choices.unfolded.iter().map(|(name, copies)| Pattern::of(name, *copies, choices)).collect();
    let apart: Vec<&Pattern<'_>> = patterns.iter().filter(|pattern| pattern.common.is_none()).collect();
    if let Some(variants) = document.get("variant")
        && let Some(pattern) = apart.iter().find(|pattern| names(variants, pattern.name))
    {
        return Err(NotWritable::Variant(pattern.name.to_owned()));
    }
    match document.get_mut("task") {
        Some(Item::ArrayOfTables(tables)) => *tables = tasks(tables, &patterns, choices),
        Some(Item::Value(Value::Array(list))) => *list = inline(list, &patterns, choices)?,
        _ => return Err(NotWritable::Other),
    }
    if let Some(isolation) = document.get_mut("isolation").and_then(Item::as_table_like_mut) {
        for pattern in &apart {
            rename(isolation, pattern);
        }
    }
    devices(document.as_table_mut(), &patterns, &choices.devices)?;
    if !choices.pages.is_empty() {
        lockdown(document.as_table_mut(), &choices.pages)?;
    }
    if !choices.budgets.is_empty() {
        budgets(document.as_table_mut(), choices)?;
    }
    if !choices.cycles.is_empty() {
        cycles(document.as_table_mut(), &choices.cycles)?;
    }
    Ok(document.to_string())
}

/// A pattern of tasks, and what was chosen for its copies.
struct Pattern<'c> {
    name: &'c str,
    copies: Vec<&'c WishChoice>,
    /// What was chosen, where it is the same for all.
    common: Option<&'c WishChoice>,
}

impl<'c> Pattern<'c> {
    fn of(name: &'c str, copies: u64, choices: &'c Choices) -> Self {
        let called = |copy: u64| {
            let name = format!("{name}-{copy}");
            choices.tasks.iter().find(|choice| choice.name == name)
        };
        let copies: Vec<&WishChoice> = (0..copies).filter_map(called).collect();
        let first = copies.first().copied();
        let same = |choice: &&WishChoice| {
            first.is_some_and(|first| {
                first.core == choice.core
                    && first.colors == choice.colors
                    && first.banks == choice.banks
                    && first.offset == choice.offset
            })
        };
        let common = first.filter(|_| copies.iter().all(same));
        Self { name, copies, common }
    }
}

/// What becomes of one table.
enum Becomes<'c> {
    Itself(Option<&'c WishChoice>),
    Copies(&'c [&'c WishChoice]),
}

fn becomes<'c>(table: &dyn TableLike, patterns: &'c [Pattern<'_>], choices: &'c Choices) -> Becomes<'c> {
    let name = table.get("name").and_then(Item::as_str).unwrap_or_default();
    match patterns.iter().find(|pattern| pattern.name == name) {
        Some(Pattern { common: None, copies, .. }) => Becomes::Copies(copies),
        Some(Pattern { common, .. }) => Becomes::Itself(*common),
        None => Becomes::Itself(choices.tasks.iter().find(|choice| choice.name == name)),
    }
}

fn tasks(tables: &ArrayOfTables, patterns: &[Pattern<'_>], choices: &Choices) -> ArrayOfTables {
    let mut written = ArrayOfTables::new();
    for table in tables.iter() {
        match becomes(table, patterns, choices) {
            Becomes::Itself(choice) => {
                let mut table = table.clone();
                choose(&mut table, choice);
                written.push(table);
            }
            Becomes::Copies(copies) => {
                for (at, copy) in copies.iter().enumerate() {
                    let mut table = table.clone();
                    if at > 0 {
                        follow(&mut table);
                        table.decor_mut().set_prefix("\n");
                    }
                    call(&mut table, copy);
                    written.push(table);
                }
            }
        }
    }
    written
}

/// The table and those inside come behind what was written before.
fn follow(table: &mut Table) {
    table.set_position(None);
    for (_, item) in table.iter_mut() {
        match item {
            Item::Table(inner) => follow(inner),
            Item::ArrayOfTables(inner) => inner.iter_mut().for_each(follow),
            _ => {}
        }
    }
}

fn inline(list: &Array, patterns: &[Pattern<'_>], choices: &Choices) -> Result<Array, NotWritable> {
    let mut written = list.clone();
    written.clear();
    for item in list.iter() {
        let table = item.as_inline_table().ok_or(NotWritable::Other)?;
        let mut push = |table: InlineTable, first: bool| {
            let mut new = Value::InlineTable(table);
            if !first {
                *new.decor_mut() = toml_edit::Decor::new("\n", "");
            }
            written.push_formatted(new);
        };
        match becomes(table, patterns, choices) {
            Becomes::Itself(choice) => {
                let mut table = table.clone();
                choose(&mut table, choice);
                push(table, true);
            }
            Becomes::Copies(copies) => {
                for (at, copy) in copies.iter().enumerate() {
                    let mut table = table.clone();
                    call(&mut table, copy);
                    push(table, at == 0);
                }
            }
        }
    }
    Ok(written)
}

/// Makes a table that of one copy.
fn call(table: &mut dyn TableLike, copy: &WishChoice) {
    table.remove("copies");
    table.insert("name", value(copy.name.as_str()));
    choose(table, Some(copy));
}

fn choose(table: &mut dyn TableLike, choice: Option<&WishChoice>) {
    let Some(choice) = choice else { return };
    if let Some(CoreId(core)) = choice.core {
        table.insert("core", value(i64::from(core)));
    }
    if let Some(offset) = choice.offset {
        table.insert("offset", value(exactly(offset)));
    }
    if let Some(colors) = &choice.colors {
        table.insert("colors", value(ranges(colors)));
    }
    if let Some(banks) = &choice.banks {
        table.insert("banks", value(ranges(banks)));
    }
}

/// Ascending numbers as a list like `0-3, 7`.
pub(crate) fn ranges(numbers: &[u16]) -> String {
    let mut runs: Vec<(u16, u16)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let run = |&(first, last): &(u16, u16)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    runs.iter().map(run).collect::<Vec<_>>().join(", ")
}

/// Whether a name stands anywhere in an item, as a key or as a string.
fn names(item: &Item, name: &str) -> bool {
    let in_value = |value: &Value| value_names(value, name);
    match item {
        Item::None => false,
        Item::Value(value) => in_value(value),
        Item::Table(table) => table.iter().any(|(key, item)| key == name || names(item, name)),
        Item::ArrayOfTables(tables) => {
            tables.iter().any(|table| table.iter().any(|(key, item)| key == name || names(item, name)))
        }
    }
}

fn value_names(value: &Value, name: &str) -> bool {
    match value {
        Value::String(text) => text.value() == name,
        Value::Array(list) => list.iter().any(|value| value_names(value, name)),
        Value::InlineTable(table) => table.iter().any(|(key, value)| key == name || value_names(value, name)),
        _ => false,
    }
}

/// What isolation says of a pattern it says of its copies.
fn rename(isolation: &mut dyn TableLike, pattern: &Pattern<'_>) {
    for key in ["colors", "banks", "ways", "lockdown"] {
        let Some(table) = isolation.get_mut(key).and_then(Item::as_table_like_mut) else { continue };
        if let Some(said) = table.remove(pattern.name) {
            for copy in &pattern.copies {
                table.insert(&copy.name, said.clone());
            }
        }
    }
    let Some(partitions) = isolation.get_mut("partitions").and_then(Item::as_table_like_mut) else { return };
    for (_, item) in partitions.iter_mut() {
        let Some(members) = item.as_array_mut() else { continue };
        let known: Vec<String> = members.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        if !known.iter().any(|name| name == pattern.name) {
            continue;
        }
        members.clear();
        for name in known {
            if name == pattern.name {
                members.extend(pattern.copies.iter().map(|copy| copy.name.as_str()));
            } else {
                members.push(name);
            }
        }
    }
}

/// Writes the slots of `[[device]]`, and to whom one belongs that belonged to a pattern.
fn devices(
    document: &mut Table,
    patterns: &[Pattern<'_>],
    choices: &[DeviceChoice],
) -> Result<(), NotWritable> {
    let write = |table: &mut dyn TableLike| {
        let apart = |name: &str| {
            let of = |pattern: &&Pattern<'_>| pattern.common.is_none() && pattern.name == name;
            patterns.iter().find(of).and_then(|pattern| Some(pattern.copies.first()?.name.clone()))
        };
        for key in ["owner", "releases"] {
            if let Some(first) = table.get(key).and_then(Item::as_str).and_then(apart) {
                table.insert(key, value(first));
            }
        }
        let name = table.get("name").and_then(Item::as_str).unwrap_or_default();
        let Some(choice) = choices.iter().find(|choice| choice.name == name) else { return };
        let said = [
            ("offset", Some(exactly(choice.offset))),
            ("physical-offset", choice.physical_offset.map(exactly)),
        ];
        for (key, time) in said {
            if let (Some(time), None) = (time, table.get(key)) {
                table.insert(key, value(time));
            }
        }
        if table.get("core").is_none() {
            table.insert("core", value(i64::from(choice.core.0)));
        }
    };
    match document.get_mut("device") {
        Some(Item::ArrayOfTables(tables)) => tables.iter_mut().for_each(|table| write(table)),
        Some(Item::Value(Value::Array(list))) => {
            for item in list.iter_mut() {
                write(item.as_inline_table_mut().ok_or(NotWritable::Other)?);
            }
        }
        None if choices.is_empty() => {}
        _ => return Err(NotWritable::Other),
    }
    Ok(())
}

/// Writes `[[isolation.cycle]]`.
fn cycles(document: &mut Table, choices: &[CycleChoice]) -> Result<(), NotWritable> {
    let isolation = isolation(document);
    let inline = isolation.is_inline_table();
    let isolation = isolation.as_table_like_mut().ok_or(NotWritable::Other)?;
    let empty = if inline {
        Item::Value(Value::Array(Array::new()))
    } else {
        Item::ArrayOfTables(ArrayOfTables::new())
    };
    match isolation.entry("cycle").or_insert(empty) {
        Item::ArrayOfTables(tables) => {
            for choice in choices {
                let mut table = Table::new();
                cycle(&mut table, choice);
                tables.push(table);
            }
        }
        Item::Value(Value::Array(list)) => {
            for choice in choices {
                let mut table = InlineTable::new();
                cycle(&mut table, choice);
                list.push(table);
            }
        }
        _ => return Err(NotWritable::Other),
    }
    Ok(())
}

fn cycle(table: &mut dyn TableLike, choice: &CycleChoice) {
    table.insert("core", value(i64::from(choice.core.0)));
    table.insert("length", value(exactly(choice.length)));
    let window = |window: &WindowChoice| {
        let mut row = InlineTable::new();
        row.insert("partition", window.partition.as_str().into());
        row.insert("begin", exactly(window.begin).into());
        row.insert("length", exactly(window.length).into());
        let mut row = Value::InlineTable(row);
        *row.decor_mut() = toml_edit::Decor::new("\n    ", "");
        row
    };
    let mut windows = Array::new();
    for row in choice.windows.iter().map(window) {
        windows.push_formatted(row);
    }
    windows.set_trailing("\n");
    windows.set_trailing_comma(true);
    table.insert("windows", value(windows));
}

/// A time in the largest unit of which it is a whole number.
fn exactly(time: Duration) -> String {
    match time.get() {
        0 => "0ms".to_owned(),
        ns if ns % 1_000_000 == 0 => format!("{}ms", ns / 1_000_000),
        ns if ns % 1_000 == 0 => format!("{}us", ns / 1_000),
        ns => format!("{ns}ns"),
    }
}

/// The table `isolation`.
fn isolation(document: &mut Table) -> &mut Item {
    let mut implied = Table::new();
    implied.set_implicit(true);
    document.entry("isolation").or_insert(Item::Table(implied))
}

/// Writes `[isolation.lockdown]`.
fn lockdown(document: &mut Table, choices: &[PagesChoice]) -> Result<(), NotWritable> {
    let isolation = isolation(document);
    let inline = isolation.is_inline_table();
    let isolation = isolation.as_table_like_mut().ok_or(NotWritable::Other)?;
    let empty =
        if inline { Item::Value(Value::InlineTable(InlineTable::new())) } else { Item::Table(Table::new()) };
    let lockdown = isolation.entry("lockdown").or_insert(empty);
    let lockdown = lockdown.as_table_like_mut().ok_or(NotWritable::Other)?;
    lockdown.insert("when", value("partition"));
    for choice in choices {
        lockdown.insert(&choice.task, value(i64::try_from(choice.pages).unwrap_or(i64::MAX)));
    }
    Ok(())
}

/// Writes `[isolation.bandwidth]`.
fn budgets(document: &mut Table, choices: &Choices) -> Result<(), NotWritable> {
    let isolation = isolation(document);
    let inline = isolation.is_inline_table();
    let isolation = isolation.as_table_like_mut().ok_or(NotWritable::Other)?;
    let empty =
        if inline { Item::Value(Value::InlineTable(InlineTable::new())) } else { Item::Table(Table::new()) };
    let bandwidth = isolation.entry("bandwidth").or_insert(empty);
    let bandwidth = bandwidth.as_table_like_mut().ok_or(NotWritable::Other)?;
    if let Some(period) = choices.period {
        bandwidth.insert("period", value(format!("{}ns", period.get())));
    }
    let cores = bandwidth.entry("cores").or_insert(Item::Value(Value::InlineTable(InlineTable::new())));
    let cores = cores.as_table_like_mut().ok_or(NotWritable::Other)?;
    for &(CoreId(core), events) in &choices.budgets {
        let events: Events = events;
        cores.insert(&core.to_string(), value(i64::try_from(events.get()).unwrap_or(i64::MAX)));
    }
    Ok(())
}
