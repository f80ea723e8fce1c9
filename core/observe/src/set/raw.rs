//! PMCTrack's raw strings: `pmc0,pmc3=0x2e,umask3=0x41`.
//!
//! A counter without a code is one of the fixed counters of Intel's processors: 0 instructions, 1 cycles,
//! 2 reference cycles. Stock Linux places events itself, so the number only says which code a flag belongs to.

use super::{DEFAULT_WINDOW, EventGroup, ParseError, RawCode, RawLayout, number};
use crate::event::{Code, CountedEvent, Filter, Generic};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::ToString;
use core::num::NonZeroU64;

const KEYS: [&str; 16] = [
    "pmc", "umask", "um", "cmask", "cm", "usr", "os", "edge", "inv", "any", "ebs", "config1", "c1",
    "config2", "c2", "coretype",
];

/// True where every item has the form of a raw string and one of them names a counter.
pub(super) fn looks_raw(items: &[&str]) -> bool {
    items.iter().all(|item| token(item).is_some()) && items.iter().any(|item| item.starts_with("pmc"))
}

/// Key, counter and value of an item. `coretype` has no counter.
fn token(item: &str) -> Option<(&'static str, u8, Option<&str>)> {
    let (left, value) = item.split_once('=').map_or((item, None), |(left, value)| (left, Some(value)));
    if left == "coretype" {
        return Some(("coretype", 0, value));
    }
    KEYS.iter().filter(|key| **key != "coretype").find_map(|key| {
        let counter = left.strip_prefix(key)?;
        let counter = counter.bytes().all(|b| b.is_ascii_digit()).then(|| counter.parse().ok())??;
        Some((*key, counter, value))
    })
}

#[derive(Default)]
struct Counter {
    raw: RawCode,
    coded: bool,
    user: Option<bool>,
    kernel: Option<bool>,
    every: Option<NonZeroU64>,
    core_type: Option<u8>,
}

pub(super) fn parse(items: &[&str], layout: RawLayout) -> Result<EventGroup, ParseError> {
    let mut counters: BTreeMap<(Option<u8>, u8), Counter> = BTreeMap::new();
    let mut core_type = None;
    for (i, item) in items.iter().enumerate() {
        let position = i + 1;
        let Some((key, index, value)) = token(item) else { return Err(ParseError::Empty { position }) };
        if key == "coretype" {
            core_type = Some(read(value, position, "a core type, 0 to 255", 255)? as u8);
            continue;
        }
        if key == "pmc" {
            let counter = Counter { core_type, ..first(value, position)? };
            if counters.insert((core_type, index), counter).is_some() {
                return Err(ParseError::Twice { position, name: format!("pmc{index}") });
            }
            continue;
        }
        let Some(counter) = counters.get_mut(&(core_type, index)) else {
            return Err(ParseError::NoCounter { position, counter: index });
        };
        flag(key, value, position, layout, item, counter)?;
    }
    let events = counters.into_iter().map(|((_, index), counter)| finish(index, &counter, layout));
    Ok(EventGroup { events: events.collect::<Result<_, _>>()? })
}

fn first(value: Option<&str>, position: usize) -> Result<Counter, ParseError> {
    let mut counter = Counter::default();
    if value.is_some() {
        counter.raw.event = hexadecimal(value, position, "an event code", u64::MAX)?;
        counter.coded = true;
    }
    Ok(counter)
}

fn flag(
    key: &str,
    value: Option<&str>,
    position: usize,
    layout: RawLayout,
    item: &str,
    counter: &mut Counter,
) -> Result<(), ParseError> {
    let truth = || Ok(value.is_none() || read(value, position, "0 or 1", 1)? == 1);
    match key {
        "usr" => counter.user = Some(truth()?),
        "os" => counter.kernel = Some(truth()?),
        "ebs" => {
            let window = if value.is_none() {
                DEFAULT_WINDOW
            } else {
                read(value, position, "a number of events", u64::MAX >> 1)?
            };
            let zero = ParseError::Value {
                position,
                expected: "a number of events above 0",
                found: "0".to_string(),
            };
            counter.every = Some(NonZeroU64::new(window).ok_or(zero)?);
        }
        "config1" | "c1" => {
            counter.raw.config1 = hexadecimal(value, position, "a configuration word", u64::MAX)?
        }
        "config2" | "c2" => {
            counter.raw.config2 = hexadecimal(value, position, "a configuration word", u64::MAX)?
        }
        _ if layout == RawLayout::Plain => {
            return Err(ParseError::Flag { position, flag: item.into(), layout });
        }
        "umask" | "um" => counter.raw.umask = hexadecimal(value, position, "a unit mask, 0 to 0xff", 0xff)?,
        "cmask" | "cm" => {
            counter.raw.cmask = hexadecimal(value, position, "a counter mask, 0 to 0xff", 0xff)?
        }
        "edge" => counter.raw.edge = truth()?,
        "inv" => counter.raw.invert = truth()?,
        _ => counter.raw.any = truth()?,
    }
    Ok(())
}

fn finish(index: u8, counter: &Counter, layout: RawLayout) -> Result<CountedEvent, ParseError> {
    let fixed = [Generic::Instructions, Generic::Cycles, Generic::ReferenceCycles];
    let code = match (counter.coded, fixed.get(usize::from(index))) {
        (true, _) => counter.raw.code(layout),
        (false, Some(event)) => Code::Generic(*event),
        (false, None) => {
            let expected = "a code, as in pmc3=0x2e: only counters 0 to 2 are fixed";
            return Err(ParseError::Value { position: 1, expected, found: format!("pmc{index}") });
        }
    };
    let mut event = CountedEvent::new(format!("pmc{index}"), code);
    // User mode counts unless it is turned off (PMCTrack).
    event.filter =
        Some(Filter { user: counter.user.unwrap_or(true), kernel: counter.kernel.unwrap_or(false) });
    event.counter = Some(index);
    event.every = counter.every;
    event.core_type = counter.core_type;
    Ok(event)
}

fn read(value: Option<&str>, position: usize, expected: &'static str, max: u64) -> Result<u64, ParseError> {
    let text = value.unwrap_or("");
    number(text).filter(|number| *number <= max).ok_or_else(|| ParseError::Value {
        position,
        expected,
        found: text.into(),
    })
}

/// Raw strings write codes in hexadecimal, with or without `0x`.
fn hexadecimal(
    value: Option<&str>,
    position: usize,
    expected: &'static str,
    max: u64,
) -> Result<u64, ParseError> {
    let text = value.unwrap_or("");
    u64::from_str_radix(text.trim_start_matches("0x"), 16)
        .ok()
        .filter(|number| *number <= max)
        .ok_or_else(|| ParseError::Value { position, expected, found: text.into() })
}
