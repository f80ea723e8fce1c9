//! Cores whose clock stands for part of the time: duty-cycle modulation.
//!
//! ```text
//!   3/8   ■■■□□□□□■■■□□□□□    a window of eight slots; ■ the clock runs, □ it stands and the core does nothing
//! ```
//! The clock stands at the beginning of a window. What memory is bringing goes on its way, an operation that has begun is done
//! first, and interrupts wait until the clock runs. Chips do this in windows of some microseconds, of which their manuals say
//! little; a slot of one microsecond is our choice.

use crate::core::{Activity, SimCore};
use solo_model::{CoreId, DutyCycle, Picoseconds};

/// The length of a slot.
const SLOT: Picoseconds = Picoseconds::new(1_000_000);
/// The slots of a window.
const SLOTS: u64 = 8;

/// The duty cycle of each core.
pub(crate) struct Modulation {
    duties: Vec<DutyCycle>,
    /// When the next window begins; never while all clocks run.
    next: Picoseconds,
}

impl Modulation {
    /// All clocks run.
    pub(crate) fn new(cores: usize) -> Self {
        Self { duties: vec![DutyCycle::FULL; cores], next: Picoseconds::MAX }
    }

    /// When there is something to do.
    pub(crate) fn next(&self) -> Picoseconds {
        self.next
    }

    /// The clock of `core` runs for so much of the time from the next window after `now` on.
    pub(crate) fn set(&mut self, core: CoreId, duty: DutyCycle, now: Picoseconds) {
        self.duties[core.index()] = duty;
        let window = SLOT * SLOTS;
        let all = self.duties.iter().all(|duty| *duty == DutyCycle::FULL);
        self.next = if all { Picoseconds::MAX } else { window * (now.get() / window.get() + 1) };
    }

    /// A window begins: the cores whose clocks stand, and for how long.
    pub(crate) fn begin(&mut self) -> impl Iterator<Item = (usize, Picoseconds)> + '_ {
        self.next = self.next.saturating_add(SLOT * SLOTS);
        let stands = |duty: &DutyCycle| SLOT * (SLOTS - u64::from(duty.eighths()));
        self.duties.iter().map(stands).enumerate().filter(|(_, stands)| !stands.is_zero())
    }
}

impl SimCore {
    /// The clock stands from `now` on. Returns for how long the core had waited for memory before that and was not charged yet.
    pub(crate) fn stand(&mut self, now: Picoseconds, length: Picoseconds) -> Picoseconds {
        let mut before = Picoseconds::ZERO;
        if !matches!(self.activity, Activity::Fetching | Activity::Computing { .. }) {
            before = now.saturating_sub(self.time);
            self.spend(before);
            self.waited += before;
        }
        self.time += length;
        before
    }
}
