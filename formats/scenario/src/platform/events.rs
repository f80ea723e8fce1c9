//! Events that only the platform's processor has: `[events]` of a platform file, a table each.
//!
//! ```toml
//! [events.ext_snoop_hitm]
//! meaning = "Bus transactions to which another agent answered that it holds the line modified."
//! unit    = "transactions"      # what one of it is; "times" without
//! signal  = "ext-snoop-hitm"    # what the simulated machine counts for it; absent where it has nothing
//! code    = "core:0x77:0x08"    # whose code, its number and mask; absent where nobody has said
//! ```

use crate::code::Code;
use crate::fields::{Fields, string};
use solo_model::event::{Definition, ProcessorCode, TableError, Unit};
use solo_model::{EventTable, Signal};

/// The canonical events and those of `[events]`; `None` where something is wrong with them.
pub(super) fn read(top: &Fields<'_>) -> Option<EventTable> {
    let mut events = EventTable::default();
    let Some(table) = top.table("events", "[events.my_event]") else {
        return (!top.has("events")).then_some(events);
    };
    let problems = top.problems;
    let before = problems.errors();
    for entry in &table.value.entries {
        let crate::tree::Value::Table(fields) = &entry.node.value else {
            crate::fields::wrong_type(problems, &entry.node, &entry.key, "a table", "[events.my_event]");
            continue;
        };
        let fields =
            Fields::new(problems, fields, entry.node.span.clone(), format!("the event `{}`", entry.key));
        let definition = definition(&fields, &entry.key);
        fields.finish();
        let Some(definition) = definition else { continue };
        if let Err(error) = events.define(definition) {
            let label = match error {
                TableError::Twice { .. } => "every platform has an event of this name",
                TableError::TooMany { .. } => "one too many",
                _ => "no name of an event",
            };
            problems.push(problems.error(Code::Event, error.to_string(), &entry.key_span).label(label));
        }
    }
    (problems.errors() == before).then_some(events)
}

fn definition(fields: &Fields<'_>, name: &str) -> Option<Definition> {
    let meaning = fields.required_string("meaning", "meaning = \"Lines that were asked for twice.\"");
    let units = Unit::ALL.map(|unit| (unit.name(), unit));
    let unit = fields.word("unit", &units).map_or(Unit::Times, |found| found.value);
    let signals = Signal::ALL.map(|signal| (signal.name(), signal));
    let signal = fields.word("signal", &signals).map(|found| found.value);
    let code = code(fields);
    Some(Definition {
        name: name.to_owned().into(),
        unit,
        meaning: meaning?.value.to_owned().into(),
        signal,
        code,
    })
}

/// `core:0x77:0x08`: whose code it is by libpfm4's name, a number and a mask.
fn code(fields: &Fields<'_>) -> Option<ProcessorCode> {
    let found = string(fields.problems, &fields.get("code")?.node, "code")?;
    let hex = |text: &str| u16::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    let read = |text: &str| {
        let (processor, code) = text.split_once(':').filter(|(processor, _)| !processor.is_empty())?;
        let (number, mask) = code.split_once(':').unwrap_or((code, "0x0"));
        let (number, mask) = (hex(number)?, u8::try_from(hex(mask)?).ok()?);
        Some(ProcessorCode { processor: processor.to_owned(), number, mask })
    };
    let code = read(found.value);
    if code.is_none() {
        let problems = fields.problems;
        problems.push(
            problems
                .error(Code::Event, "this is no code of an event", &found.span)
                .label("not a processor, a number and a mask")
                .expected(
                    "libpfm4's name of the processor, a number and a mask in hexadecimal: \"core:0x77:0x08\"",
                ),
        );
    }
    code
}
