//! Which selection of this unit counts an event; the codes themselves are in `solo_observe::processors::x86`.

use super::describe::{Description, Kind};
use super::select::Select;
use solo_model::EventId;
use solo_model::event::ProcessorCode;
use solo_observe::processors::Microarchitecture;
use solo_observe::processors::x86::ARCHITECTURAL;

/// How a unit counts `event` with a general counter; `None` where it can't.
pub fn select(unit: &Description, event: EventId) -> Option<Select> {
    if matches!(unit.kind, Kind::Intel(_)) {
        let there = |(bit, _): &&(u32, _)| unit.absent & 1 << bit == 0;
        let found = ARCHITECTURAL.iter().filter(there).find(|(_, code)| code.event == event);
        if let Some((_, code)) = found {
            return Some(Select::new(code.number, code.mask));
        }
    }
    let codes = unit.microarchitecture.map_or(&[] as &[_], Microarchitecture::codes);
    codes.iter().find(|code| code.event == event).map(|code| Select::new(code.number, code.mask))
}

/// How a unit counts an event of a platform's own; `None` where it is another processor than the platform's.
pub fn select_own(unit: &Description, code: &ProcessorCode) -> Option<Select> {
    let same = unit.microarchitecture.is_some_and(|microarchitecture| microarchitecture.has(code));
    same.then(|| Select::new(code.number, code.mask))
}

/// The event that a fixed counter of Intel's counts, where there is a word for it.
pub const fn of_fixed(counter: u8) -> Option<EventId> {
    match counter {
        0 => Some(EventId::INSTRUCTIONS),
        1 => Some(EventId::CYCLES),
        _ => None,
    }
}
