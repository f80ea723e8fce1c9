//! Monitoring modules (PMCTrack 2.2): what turns raw readings into virtual counters.
//!
//! A module names the inputs that it wants; the machine reads them at each sample and hands them over. So a
//! module opens no file and knows no machine: the same module runs on the simulated machine, in the kernel and
//! on stock Linux, and a test feeds it text. Any number of modules are active together.
//!
//! ```text
//!          inputs()                 sample(span, readings)
//!  module ─────────▶ machine reads ──────────────────────▶ module ──▶ one value a virtual counter, or none
//! ```

use alloc::string::String;
use alloc::vec::Vec;
use solo_model::Duration;

/// Something that a module wants to be read at each sample.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Input {
    /// What a file of the machine says, by its absolute path.
    File(String),
    /// What an event of the current set counted in the interval, by its canonical name.
    Count(String),
}

/// What a machine found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reading {
    /// A file's text.
    Text(String),
    /// A count.
    Count(u64),
    /// The file can't be read, or the event is not in the current set.
    Absent,
}

impl Reading {
    /// The text as a whole number, or the count.
    pub fn number(&self) -> Option<i64> {
        match self {
            Self::Text(text) => text.trim().parse().ok(),
            Self::Count(count) => i64::try_from(*count).ok(),
            Self::Absent => None,
        }
    }
}

/// How a virtual counter reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// What came together in the interval: energy, faults.
    Sum,
    /// What was so at the interval's end: a temperature, a frequency.
    Level,
}

/// One column that a module fills.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VirtualCounter {
    /// The name, with its unit last: `energy_package_uj`.
    pub name: String,
    /// What it means, in a line.
    pub meaning: String,
    /// How it reads.
    pub kind: Kind,
}

/// A state machine from readings to virtual counters.
pub trait MonitoringModule {
    /// The name that a user asks for it by.
    fn name(&self) -> &str;
    /// The virtual counters that it fills, the same at every call.
    fn counters(&self) -> &[VirtualCounter];
    /// What it wants to be read at each sample, the same at every call.
    fn inputs(&self) -> &[Input];
    /// Takes the readings of its inputs after an interval and pushes one value for each of its counters, `None`
    /// where there is none. The first call has an empty interval: there is nothing to compare with yet.
    fn sample(&mut self, span: Duration, readings: &[Reading], values: &mut Vec<Option<i64>>);
}

/// The growth of a counter that wraps at `range` (0 for one that does not) since the last reading.
///
/// RAPL's energy counters wrap within minutes (powercap's `max_energy_range_uj`).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Growth {
    last: Option<i64>,
}

impl Growth {
    /// What was added since the last call; `None` at the first one and after an absent reading.
    pub fn since(&mut self, now: Option<i64>, range: i64) -> Option<i64> {
        let before = core::mem::replace(&mut self.last, now)?;
        let now = now?;
        match now.checked_sub(before)? {
            grown if grown >= 0 => Some(grown),
            _ if range > 0 => range.checked_sub(before)?.checked_add(now),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_survives_a_wrap_and_a_gap() {
        let mut growth = Growth::default();
        assert_eq!(growth.since(Some(90), 100), None);
        assert_eq!(growth.since(Some(95), 100), Some(5));
        assert_eq!(growth.since(Some(3), 100), Some(8));
        assert_eq!(growth.since(None, 100), None);
        assert_eq!(growth.since(Some(9), 100), None);
        assert_eq!(growth.since(Some(2), 0), None);
    }
}
