//! Names and codes with flags: `llc_misses:u`, `0x2e:umask=0x41:ebs=100000`, `coretype=1`.

use super::{DEFAULT_WINDOW, EventGroup, Names, ParseError, RawCode, RawLayout, number};
use crate::catalog;
use crate::event::{Code, CountedEvent, Filter};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::num::NonZeroU64;

pub(super) fn parse(items: &[&str], names: &dyn Names, layout: RawLayout) -> Result<EventGroup, ParseError> {
    let mut events = Vec::new();
    let mut core_type = None;
    for (i, item) in items.iter().enumerate() {
        let position = i + 1;
        if item.is_empty() {
            return Err(ParseError::Empty { position });
        }
        if let Some(value) = item.strip_prefix("coretype=") {
            let found =
                || ParseError::Value { position, expected: "a core type, 0 to 255", found: value.into() };
            core_type = Some(number(value).and_then(|v| u8::try_from(v).ok()).ok_or_else(found)?);
            continue;
        }
        let mut event = one(item, position, names, layout)?;
        event.core_type = core_type;
        events.push(event);
    }
    Ok(EventGroup { events })
}

/// What stands before the flags.
enum Head {
    Known(String, Code),
    Raw,
}

fn one(
    item: &str,
    position: usize,
    names: &dyn Names,
    layout: RawLayout,
) -> Result<CountedEvent, ParseError> {
    let (head, flags) = head(item, position, names)?;
    let mut raw = RawCode::default();
    let mut event = match head {
        Head::Known(name, code) => CountedEvent::new(name, code),
        Head::Raw => {
            let text = item.split(':').next().unwrap_or(item);
            raw.event = number(text).ok_or_else(|| unknown(text, position))?;
            CountedEvent::new(String::new(), raw.code(layout))
        }
    };
    let is_raw = event.name.is_empty();
    for flag in flags {
        apply(flag, position, layout, is_raw, &mut event, &mut raw)?;
    }
    if is_raw {
        event.code = raw.code(layout);
        let Code::Raw { config, .. } = event.code else { return Err(unknown(item, position)) };
        event.name = format!("r{config:x}");
    }
    Ok(event)
}

/// The event that an item names, and the flags that are left.
fn head<'a>(item: &'a str, position: usize, names: &dyn Names) -> Result<(Head, Vec<&'a str>), ParseError> {
    if let Some((pmu, rest)) = item.split_once('/') {
        let (terms, flags) = rest.split_once('/').ok_or_else(|| ParseError::Value {
            position,
            expected: "pmu/terms/ with a closing slash",
            found: item.into(),
        })?;
        let code = Code::Pmu { pmu: pmu.into(), terms: terms.into() };
        let flags = flags.split(':').filter(|flag| !flag.is_empty()).collect();
        return Ok((Head::Known(format!("{pmu}/{terms}/"), code), flags));
    }
    let mut parts = item.split(':');
    let first = parts.next().unwrap_or(item);
    if number(first).is_some() && first.starts_with("0x") {
        return Ok((Head::Raw, parts.collect()));
    }
    if let Some((event, definition)) =
        catalog::find(first).and_then(|event| Some((event, event.canonical()?)))
    {
        let code = catalog::perf(event).map(Code::from).or_else(|| names.canonical(event));
        let name = definition.name.to_string();
        return match code {
            Some(code) => Ok((Head::Known(name, code), parts.collect())),
            None => Err(ParseError::NotHere { position, loads: of_loads(&name), name }),
        };
    }
    // Others' names may hold colons themselves: the longest that is known counts.
    let mut end = item.len();
    loop {
        if let Some(code) = names.find(&item[..end]) {
            let flags = item[end..].split(':').filter(|flag| !flag.is_empty()).collect();
            return Ok((Head::Known(item[..end].to_string(), code), flags));
        }
        match item[..end].rfind(':') {
            Some(colon) => end = colon,
            None => break,
        }
    }
    Err(unknown(first, position))
}

fn apply(
    flag: &str,
    position: usize,
    layout: RawLayout,
    is_raw: bool,
    event: &mut CountedEvent,
    raw: &mut RawCode,
) -> Result<(), ParseError> {
    let (key, value) = flag.split_once('=').map_or((flag, None), |(key, value)| (key, Some(value)));
    let no_flag = || ParseError::Flag { position, flag: flag.into(), layout };
    let value_of = |expected: &'static str, max: u64| match value {
        None => Ok(1),
        Some(text) => number(text).filter(|number| *number <= max).ok_or_else(|| ParseError::Value {
            position,
            expected,
            found: text.into(),
        }),
    };
    let filter = |event: &CountedEvent| event.filter.unwrap_or(Filter { user: false, kernel: false });
    match key {
        "u" | "usr" => event.filter = Some(Filter { user: value_of("0 or 1", 1)? == 1, ..filter(event) }),
        "k" | "os" => event.filter = Some(Filter { kernel: value_of("0 or 1", 1)? == 1, ..filter(event) }),
        "uk" | "ku" if value.is_none() => event.filter = Some(Filter::ALL),
        "pmc" => event.counter = Some(value_of("a counter, 0 to 63", 63)? as u8),
        "ebs" => {
            let window =
                if value.is_none() { DEFAULT_WINDOW } else { value_of("a number of events", u64::MAX >> 1)? };
            let found =
                || ParseError::Value { position, expected: "a number of events above 0", found: flag.into() };
            event.every = Some(NonZeroU64::new(window).ok_or_else(found)?);
        }
        _ if !is_raw || layout == RawLayout::Plain => return Err(no_flag()),
        "umask" => raw.umask = value_of("a unit mask, 0 to 0xff", 0xff)?,
        "cmask" => raw.cmask = value_of("a counter mask, 0 to 0xff", 0xff)?,
        "edge" => raw.edge = value_of("0 or 1", 1)? == 1,
        "inv" => raw.invert = value_of("0 or 1", 1)? == 1,
        "any" => raw.any = value_of("0 or 1", 1)? == 1,
        _ => return Err(no_flag()),
    }
    Ok(())
}

fn unknown(name: &str, position: usize) -> ParseError {
    ParseError::Unknown { position, name: name.into(), near: near(name) }
}

/// The event of the loads alone, where the kernel can count it: `l1_load_misses` for `l1_misses`.
fn of_loads(name: &str) -> Option<String> {
    let loads = name.replacen('_', "_load_", 1);
    catalog::find(&loads).and_then(catalog::perf).map(|_| loads)
}

/// The known name that differs from `name` in at most two letters.
fn near(name: &str) -> Option<String> {
    let wanted = catalog::normal(name);
    let names = catalog::ENTRIES
        .iter()
        .flat_map(|entry| core::iter::once(entry.name()).chain(entry.aliases.iter().copied()));
    let best =
        names.map(|known| (distance(&wanted, &catalog::normal(known)), known)).min_by_key(|(d, _)| *d)?;
    (best.0 <= 2).then(|| best.1.to_string())
}

/// Letters to insert, remove or change (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
