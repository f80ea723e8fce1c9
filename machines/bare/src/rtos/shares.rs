//! The counters of one core where its emulator counts the instructions of all cores together.
//!
//! A counter of instructions then counts too much and interrupts too early. Its value becomes what the core has taken as its own
//! ([`crate::turns`]), and an interrupt before that has come to what was asked for asks for the rest: the others can use
//! no more of that than is left, so that there are few of them.

use super::port::{Counters, Port};
use super::turns;
use solo_hal::CounterId;
use solo_model::{CoreId, EventId};

/// The most counters that a core can have.
const MOST: usize = 32;

/// What the counters of a core have counted of its own.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Shares([Share; MOST]);

/// A counter.
#[derive(Clone, Copy, Default, Debug)]
struct Share {
    /// What the core had executed when the counter stood at zero; `None` for one that counts something else.
    zero: Option<u64>,
    /// What the core will have executed when the counter is to interrupt.
    due: u64,
}

impl Shares {
    fn of(&mut self, counter: CounterId) -> Option<&mut Share> {
        self.0.get_mut(usize::from(counter.0)).filter(|share| share.zero.is_some())
    }

    /// `counter` counts `event` from zero.
    pub(super) fn configure<P: Port>(&mut self, core: CoreId, counter: CounterId, event: EventId) {
        if let Some(share) = self.0.get_mut(usize::from(counter.0)) {
            let zero = (event == EventId::INSTRUCTIONS).then(|| turns::own::<P>(core));
            *share = Share { zero, due: 0 };
        }
    }

    /// What `counter` has counted; `None` where it counts something else.
    pub(super) fn value<P: Port>(&self, core: CoreId, counter: CounterId) -> Option<u64> {
        let zero = self.0.get(usize::from(counter.0))?.zero?;
        Some(turns::own::<P>(core).wrapping_sub(zero))
    }

    /// `counter` stands at `value`.
    pub(super) fn write<P: Port>(&mut self, core: CoreId, counter: CounterId, value: u64) {
        if let Some(share) = self.of(counter) {
            share.zero = Some(turns::own::<P>(core).wrapping_sub(value));
        }
    }

    /// `counter` is to interrupt after so many; never, where there is no number.
    pub(super) fn interrupt_after<P: Port>(&mut self, core: CoreId, counter: CounterId, events: u64) {
        if let Some(share) = self.of(counter) {
            share.due = turns::own::<P>(core).saturating_add(events);
        }
    }

    /// Of the counters `reached`, a bit each, those that have not counted enough of their core's own: they go on.
    pub(super) fn go_on<P: Port>(&self, core: CoreId, counters: &mut impl Counters, reached: u32) -> u32 {
        let mut early = 0;
        for (counter, share) in (0..).map(CounterId).zip(&self.0) {
            if reached >> counter.0 & 1 == 0 || share.zero.is_none() {
                continue;
            }
            let left = share.due.saturating_sub(turns::own::<P>(core));
            if left > 0 && counters.interrupt_after(counter, left).is_ok() {
                early |= 1 << counter.0;
            }
        }
        early
    }
}
