//! Counters of a core of x86-64: what is left of the mediator in its caller ([`diluted`]).
//!
//! They have Intel's layout, for that has to be known when a program is compiled; on other processors there are none.

#![allow(unsafe_code)]

use solo_bare::lock::SpinLock;
use solo_bare::rtos::Source as _;
use solo_model::EventId;
use solo_x86_64::pmu::diluted::{self, Intel};
use solo_x86_64::pmu::registers::Processor;
use solo_x86_64::pmu::{Description, Kind, Select, events};
use solo_x86_64::{Source, X86};

/// The unit of this processor, where one counts.
static FOUND: SpinLock<X86, Option<Description>> = SpinLock::new(None);

/// Looks for counters, before there is a kernel.
pub(super) fn look() {
    if let Some(Source::Processor(found)) = Source::find(false) {
        *FOUND.lock() = Some(found);
    }
}

/// True where general counter `counter` counts this architectural event.
pub(super) fn counts(counter: u8, event: u16, mask: u8) -> bool {
    let Some(found) = *FOUND.lock() else { return false };
    // By its own name this unit may count an event of these by another code, which a program would not write.
    let known = [EventId::INSTRUCTIONS, EventId::CYCLES, EventId::LLC_MISSES];
    let mut known = known.iter().filter_map(|event| events::select(&found, *event));
    let there = known.any(|select| select == Select::new(event, mask));
    matches!(found.kind, Kind::Intel(_)) && there && counter < found.general
}

/// Lets `counter` count the event from now on, on the core that asks.
#[inline(always)]
pub(super) fn start(counter: u8, event: u16, mask: u8) {
    // SAFETY: programs run in ring 0. A processor without these registers was refused by `counts`.
    diluted::program::<Intel>(&mut unsafe { Processor::own() }, counter, Select::new(event, mask));
}

/// What `counter` of the core that asks has counted.
#[inline(always)]
pub(super) fn read(counter: u8) -> u64 {
    // SAFETY: as above.
    diluted::read(&unsafe { Processor::own() }, counter)
}
