//! How fast cores of different kinds compute: `compute = "4ms"` is a time on the platform's reference kind, and takes
//! accordingly longer or shorter elsewhere.
//!
//! ```text
//!   time on a core = time on the reference x (clock x instructions a cycle of the reference) / (those of the core)
//! ```
//! This is the speedup factor of work that misses nothing (PMCTrack 4.1: `IPS_big / IPS_small`).

use crate::estimate::{Asymmetry, Model};
use crate::id::{CoreId, CoreSet, KindId};
use crate::platform::{CoreKind, Platform};
use crate::units::{Duration, Frequency, Picoseconds};
use alloc::vec::Vec;

/// How fast a core computes, against one of the reference kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RelativeSpeed {
    /// Instructions in a second when nothing misses, of the core and of the reference; both above zero.
    own: u64,
    reference: u64,
}

impl RelativeSpeed {
    /// That of the reference kind itself.
    pub const REFERENCE: Self = Self { own: 1, reference: 1 };

    /// The speed of cores of kind `own`.
    pub fn new(own: &CoreKind, reference: &CoreKind) -> Self {
        Self { own: own.rate(), reference: reference.rate_at(reference.described_clock()) }
    }

    /// True where computing takes as long as on the reference kind.
    pub const fn is_reference(self) -> bool {
        self.own == self.reference
    }

    /// True where it computes no faster than `other`.
    pub(crate) const fn is_at_most(self, other: Self) -> bool {
        self.own as u128 * other.reference as u128 <= other.own as u128 * self.reference as u128
    }

    /// What takes `on_reference` on the reference kind takes this long here; rounded down.
    #[inline]
    pub const fn time(self, on_reference: Picoseconds) -> Picoseconds {
        if self.is_reference() {
            return on_reference;
        }
        Picoseconds::new(scaled(on_reference.get(), self.reference, self.own))
    }

    /// What takes `here` takes this long on the reference kind; rounded down.
    #[inline]
    pub const fn on_reference(self, here: Picoseconds) -> Picoseconds {
        if self.is_reference() {
            return here;
        }
        Picoseconds::new(scaled(here.get(), self.own, self.reference))
    }

    /// The most whole nanoseconds that `on_reference` takes here, in however many pieces.
    pub const fn longest(self, on_reference: Duration) -> Duration {
        if self.is_reference() {
            return on_reference;
        }
        let up = (on_reference.get() as u128 * self.reference as u128).div_ceil(self.own as u128);
        Duration::new(if up > u64::MAX as u128 { u64::MAX } else { up as u64 })
    }

    /// The fewest nanoseconds that `on_reference` takes here, in however many pieces: of each piece, which is a nanosecond or more,
    /// less than a picosecond is cut off.
    pub const fn shortest(self, on_reference: Duration) -> Duration {
        if self.is_reference() {
            return on_reference;
        }
        let whole = scaled(on_reference.get(), self.reference, self.own);
        Duration::new(whole.saturating_sub(on_reference.get() / 1000 + 1))
    }

    /// The longest computation of the reference kind that takes no more than `here`.
    pub const fn within(self, here: Duration) -> Duration {
        if self.is_reference() {
            return here;
        }
        Duration::new(scaled(here.get(), self.own, self.reference))
    }
}

/// `number * times / per`, rounded down; the largest number where it is larger.
const fn scaled(number: u64, times: u64, per: u64) -> u64 {
    let scaled = number as u128 * times as u128 / per as u128;
    if scaled > u64::MAX as u128 { u64::MAX } else { scaled as u64 }
}

impl Platform {
    /// How fast a core computes.
    ///
    /// # Panics
    /// If the core is not of this platform.
    pub fn speed(&self, core: CoreId) -> RelativeSpeed {
        let own = self.kind(core);
        RelativeSpeed::new(own, self.kinds.get(usize::from(self.reference)).unwrap_or(own))
    }

    /// The speed of the slowest of `cores`; of the reference kind where there are none.
    ///
    /// # Panics
    /// If one of them is not of this platform.
    pub fn slowest(&self, cores: CoreSet) -> RelativeSpeed {
        let speeds = cores.iter().map(|core| self.speed(core));
        let slower = |a: RelativeSpeed, b| if a.is_at_most(b) { a } else { b };
        speeds.reduce(slower).unwrap_or(RelativeSpeed::REFERENCE)
    }

    /// The speed of the fastest of `cores`; of the reference kind where there are none.
    ///
    /// # Panics
    /// If one of them is not of this platform.
    pub fn fastest(&self, cores: CoreSet) -> RelativeSpeed {
        let speeds = cores.iter().map(|core| self.speed(core));
        let faster = |a: RelativeSpeed, b: RelativeSpeed| if a.is_at_most(b) { b } else { a };
        speeds.reduce(faster).unwrap_or(RelativeSpeed::REFERENCE)
    }
}

impl CoreKind {
    /// The clock that it is described at.
    pub(crate) fn described_clock(&self) -> Frequency {
        self.described_at.unwrap_or(self.clock)
    }

    /// How many instructions it executes in 1,000 seconds when nothing misses; above zero.
    pub fn rate(&self) -> u64 {
        self.rate_at(self.clock)
    }

    fn rate_at(&self, clock: Frequency) -> u64 {
        clock.get().saturating_mul(self.instructions_per_kilocycle.into()).max(1)
    }
}

impl Platform {
    /// The fastest and the slowest kind of core; nothing where all cores compute equally fast.
    pub fn big_and_small(&self) -> Option<(KindId, KindId)> {
        let kinds =
            self.core_set().iter().map(|core| (KindId(self.cores[core.index()].kind), self.speed(core)));
        let (mut big, mut small) = (kinds.clone().next()?, kinds.clone().next()?);
        for kind in kinds {
            if !kind.1.is_at_most(big.1) {
                big = kind;
            }
            if !small.1.is_at_most(kind.1) {
                small = kind;
            }
        }
        (big.0 != small.0).then_some((big.0, small.0))
    }

    /// How a factor between its kinds of cores is meant, and what it is estimated from; nothing where all cores are alike.
    pub fn asymmetry(&self, model: Option<Model>) -> Option<Asymmetry> {
        let (big, small) = self.big_and_small()?;
        let clock = |kind: KindId| self.kinds.get(kind.index()).map_or(1, |kind| kind.clock.get());
        let ratio = u128::from(clock(big)).saturating_mul(1000).checked_div(clock(small).into())?;
        Some(Asymmetry { big, small, clock_ratio: u32::try_from(ratio).unwrap_or(u32::MAX), model })
    }

    /// Cores that compute equally fast, the fastest first.
    pub fn speeds(&self) -> Vec<CoreSet> {
        let (mut left, mut speeds) = (self.core_set(), Vec::new());
        while !left.is_empty() {
            let fastest = self.fastest(left);
            let equal = left.iter().filter(|core| fastest.is_at_most(self.speed(*core)));
            let equal: CoreSet = equal.collect();
            left = CoreSet::from_bits(left.bits() & !equal.bits());
            speeds.push(equal);
        }
        speeds
    }

    /// True where not all of these cores compute equally fast.
    pub fn differ(&self, cores: CoreSet) -> bool {
        !self.fastest(cores).is_at_most(self.slowest(cores))
    }

    /// The cores that compute as fast as the fastest kind.
    pub fn big_cores(&self) -> CoreSet {
        let fastest = self.fastest(self.core_set());
        self.core_set().iter().filter(|core| fastest.is_at_most(self.speed(*core))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::chip;
    use crate::platform::Core;
    use crate::{Duration, SplitMix64};

    /// Two cores of 1 GHz, the second kind as fast as said.
    fn two(megahertz: u64, instructions_per_kilocycle: u32) -> Platform {
        let mut platform = chip(2);
        let clock = Frequency::new(megahertz * 1_000_000);
        platform.kinds.push(CoreKind { clock, instructions_per_kilocycle, ..platform.kinds[0].clone() });
        platform.cores[1] = Core { kind: 1, ..platform.cores[1] };
        platform
    }

    #[test]
    fn a_core_of_half_the_speed_takes_twice_as_long() {
        let (ps, ns) = (Picoseconds::new, Duration::new);
        for half in [two(500, 1000), two(1000, 500), two(250, 2000)] {
            let speed = half.speed(CoreId(1));
            assert_eq!((speed.time(ps(7)), speed.on_reference(ps(15))), (ps(14), ps(7)));
            assert_eq!((speed.longest(ns(7)), speed.within(ns(15))), (ns(14), ns(7)));
            assert!(!speed.is_reference() && half.speed(CoreId(0)).is_reference());
            let both = half.core_set();
            assert_eq!(half.speeds(), [0, 1].map(|core| CoreSet::only(CoreId(core))));
            assert_eq!((half.slowest(both), half.fastest(both)), (speed, half.speed(CoreId(0))));
            assert_eq!(half.big_and_small(), Some((KindId(0), KindId(1))));
            assert_eq!(half.big_cores(), CoreSet::only(CoreId(0)));
        }
        // Seen from the slow one, the other takes half as long.
        let half = Platform { reference: 1, ..two(500, 1000) };
        assert_eq!(half.speed(CoreId(0)).time(ps(7)), ps(3));
        assert!(half.speed(CoreId(1)).is_reference());
        assert_eq!(half.slowest(CoreSet::EMPTY), RelativeSpeed::REFERENCE);
    }

    /// Bounds hold whatever the pieces, and are no looser than a nanosecond and a thousandth.
    #[test]
    fn a_computation_in_pieces_lies_between_its_bounds() {
        let mut random = SplitMix64::new(5);
        for _ in 0..2_000 {
            let platform = two(1 + random.below(4000), 1 + random.below(4000) as u32);
            let speed = platform.speed(CoreId(1));
            let (mut whole, mut taken) = (Duration::ZERO, Picoseconds::ZERO);
            for _ in 0..=random.below(40) {
                let piece = Duration::new(1 + random.below(20));
                whole += piece;
                taken += speed.time(piece.picoseconds());
            }
            assert!(taken <= speed.longest(whole).picoseconds(), "{speed:?} {whole}");
            assert!(speed.shortest(whole).picoseconds() <= taken, "{speed:?} {whole}");
            assert!(speed.longest(speed.within(whole)) <= whole, "{speed:?} {whole}");
            let exact = speed.time(whole.picoseconds());
            assert!(
                speed.longest(whole).picoseconds() <= exact + Picoseconds::new(1001),
                "{speed:?} {whole}"
            );
        }
    }
}
