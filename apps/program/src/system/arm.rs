//! Counters of a core of 64-bit Arm: what is left of the mediator in its caller ([`diluted`]).
#![allow(unsafe_code)]

use solo_aarch64::pmu::diluted;
use solo_aarch64::{Arm64, Source};
use solo_bare::lock::SpinLock;
use solo_bare::rtos::Source as _;

/// How many counters there are, and the common events that they count, a bit each; of a processor whose counters count.
static FOUND: SpinLock<Arm64, Option<(u8, u64)>> = SpinLock::new(None);

/// Looks for counters, before there is a kernel.
pub(super) fn look() {
    *FOUND.lock() = Source::find(false).map(|found| found.counts());
}

/// True where counter `counter` counts this event.
pub(super) fn counts(counter: u8, event: u16, _mask: u8) -> bool {
    let Some((general, common)) = *FOUND.lock() else { return false };
    event < 64 && common >> event & 1 == 1 && counter < general.min(3)
}

/// Lets `counter`, 0 to 2, count the event from now on, on the core that asks.
#[inline(always)]
pub(super) fn start(counter: u8, event: u16, _mask: u8) {
    // SAFETY: programs run at exception level 1. A processor without this counter was refused by `counts`.
    unsafe {
        match counter {
            0 => diluted::program::<0>(event),
            1 => diluted::program::<1>(event),
            _ => diluted::program::<2>(event),
        }
    }
}

/// What `counter`, 0 to 2, of the core that asks has counted: 32 bits.
#[inline(always)]
pub(super) fn read(counter: u8) -> u64 {
    // SAFETY: as above.
    unsafe {
        match counter {
            0 => diluted::read::<0>(),
            1 => diluted::read::<1>(),
            _ => diluted::read::<2>(),
        }
    }
}
