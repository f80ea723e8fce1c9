//! Counters, in memory of C's.

use crate::pointers::behind;
use solo_app::{Cycles, Instructions, LastLevelMisses, PerfMon};

/// What stands before a counter that was found.
const FOUND: u64 = 0x534f_4c4f_434f_554e;

/// A counter of one event.
enum Counter {
    Instructions(PerfMon<Instructions>),
    Cycles(PerfMon<Cycles>),
    LastLevelMisses(PerfMon<LastLevelMisses>),
}

/// `solo_counter` of the header.
#[repr(C)]
pub(crate) struct Place {
    mark: u64,
    counter: core::mem::MaybeUninit<Counter>,
}

/// What the header sets aside.
const _: () =
    assert!(size_of::<Place>() <= 24 * size_of::<u64>() && align_of::<Place>() <= align_of::<u64>());

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_counter_find(place: *mut Place, event: u32) -> bool {
    let found = match event {
        0 => PerfMon::find().map(Counter::Instructions),
        1 => PerfMon::find().map(Counter::Cycles),
        2 => PerfMon::find().map(Counter::LastLevelMisses),
        _ => None,
    };
    let mark = if found.is_some() { FOUND } else { 0 };
    let counter = found.map_or(core::mem::MaybeUninit::uninit(), core::mem::MaybeUninit::new);
    if !place.is_null() {
        // SAFETY: the header sets aside as much.
        unsafe { place.write(Place { mark, counter }) };
    }
    mark == FOUND && !place.is_null()
}

/// The counter at a place; where none was found the thread ends.
fn found<'c>(place: *mut Place) -> &'c mut Counter {
    match behind(place) {
        // SAFETY: the mark says that it was written.
        Some(place) if place.mark == FOUND => unsafe { place.counter.assume_init_mut() },
        _ => panic!("it uses a counter that was not found"),
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_counter_start(place: *mut Place) {
    match found(place) {
        Counter::Instructions(counter) => counter.start(),
        Counter::Cycles(counter) => counter.start(),
        Counter::LastLevelMisses(counter) => counter.start(),
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_counter_read(place: *mut Place) -> u64 {
    match found(place) {
        Counter::Instructions(counter) => counter.read(),
        Counter::Cycles(counter) => counter.read(),
        Counter::LastLevelMisses(counter) => counter.read(),
    }
}
