//! Clocks in steps, each with its supply voltage (dynamic voltage and frequency scaling).
//!
//! ```text
//!   energy of an event     proportional to V^2          the charge of C V is moved across V
//!   power of what is on    proportional to V            a leakage current that does not change (a simplification)
//! ```
//! A platform is described at one clock. Another one is set for all cores of a kind before anything runs; nothing changes it later.

use crate::id::KindId;
use crate::platform::{ClockStep, Platform};
use crate::units::{Energy, Frequency, Power, Voltage};

impl Platform {
    /// Lets all cores of a kind have this clock and the supply that it needs. False where the kind has no such step; then nothing
    /// has changed.
    pub fn set_clock(&mut self, kind: KindId, clock: Frequency) -> bool {
        let Some(of) = self.kinds.get_mut(kind.index()) else { return false };
        let step = |clock: Frequency| of.steps.iter().copied().find(|step| step.clock == clock);
        let (Some(before), Some(after)) = (step(of.clock), step(clock)) else { return false };
        let (from, to) = (before.voltage, after.voltage);
        of.described_at = of.described_at.or(Some(of.clock)).filter(|described| *described != clock);
        of.clock = clock;
        for (_, cost) in &mut of.energy {
            *cost = Energy::new(scaled(scaled(cost.get(), from, to), from, to));
        }
        if let Some(cluster) = self.power.as_mut().and_then(|power| power.clusters.get_mut(kind.index())) {
            for power in [&mut cluster.on, &mut cluster.gated, &mut cluster.shared] {
                *power = Power::new(scaled(power.get(), from, to));
            }
        }
        true
    }
}

/// `value x to / from`, rounded to the nearest.
fn scaled(value: u64, from: Voltage, to: Voltage) -> u64 {
    let from = u128::from(from.get().max(1));
    let scaled = (u128::from(value) * u128::from(to.get()) + from / 2) / from;
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

impl ClockStep {
    /// The most millivolts of a step.
    pub const VOLTAGE_MAX: Voltage = Voltage::new(10_000);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::chip;
    use crate::power::ClusterPower;
    use crate::units::{Duration, Picoseconds};
    use crate::{CoreId, EventId, Phase, PowerModel};
    use alloc::vec;

    fn platform() -> Platform {
        let mut platform = chip(2);
        let step = |mhz: u64, mv: u64| ClockStep {
            clock: Frequency::new(mhz * 1_000_000),
            voltage: Voltage::new(mv),
        };
        platform.kinds[0].steps = vec![step(500, 800), step(1000, 1000)];
        platform.kinds[0].energy = vec![(EventId::CYCLES, Energy::new(100_000))];
        let cluster = ClusterPower { on: Power::new(100), gated: Power::new(10), shared: Power::new(50) };
        platform.power = Some(PowerModel { clusters: vec![cluster], dram: None });
        platform
    }

    #[test]
    fn half_the_clock_takes_twice_the_time_and_less_energy_each() {
        let described = platform();
        let mut slow = described.clone();
        assert!(slow.set_clock(KindId(0), Frequency::new(500_000_000)));
        let speed = slow.speed(CoreId(0));
        assert_eq!(speed.time(Picoseconds::new(7)), Picoseconds::new(14));
        // 0.64 of 100 pJ, 0.8 of the powers.
        assert_eq!(slow.kinds[0].energy[0].1, Energy::new(64_000));
        let cluster = slow.power.as_ref().expect("one").clusters[0];
        assert_eq!(
            (cluster.on, cluster.gated, cluster.shared),
            (Power::new(80), Power::new(8), Power::new(40))
        );
        // What a step of a program is told to take on the reference stays what it was.
        let phase = Phase::default();
        assert_eq!(phase.on_reference(&slow, 1000), phase.on_reference(&described, 1000));
        assert_eq!(phase.longest(&slow, KindId(0), 1000), Duration::new(2001));
        // And back.
        assert!(slow.set_clock(KindId(0), Frequency::new(1_000_000_000)));
        assert_eq!(slow, described);
    }

    #[test]
    fn a_clock_that_is_no_step_changes_nothing() {
        let mut platform = platform();
        let before = platform.clone();
        assert!(!platform.set_clock(KindId(0), Frequency::new(600_000_000)));
        assert!(!platform.set_clock(KindId(7), Frequency::new(500_000_000)));
        assert_eq!(platform, before);
        assert!(!chip(1).set_clock(KindId(0), Frequency::new(1_000_000_000)), "no steps at all");
    }
}
