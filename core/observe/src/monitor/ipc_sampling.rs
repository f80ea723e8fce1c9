//! Speedup factors measured: instructions per cycle on either kind of core.

use super::{Derived, Monitor, MonitorError, Registered};
use solo_model::estimate::Asymmetry;
use solo_model::listening::Observed;
use solo_model::sample::{Sample, Why};
use solo_model::{EventId, EventSet, EventTable, Fixed, KindId, MetricId};

/// Samples that a kind must have had before anything is concluded of it.
const WARM_UP: u32 = 5;
/// What is believed until then, and the range of what is believed after it, in thousandths.
const INITIAL: u64 = 2_500;
const RANGE: core::ops::RangeInclusive<u64> = 1_000..=7_000;
/// How much of an average stays when a sample comes, in hundredths.
const STAYS: u64 = 35;

/// The speedup factor of a task, `IPC_big f / IPC_small`, with running averages of the instructions per cycle that it had on either
/// kind of core (PMCTrack 4.1: *IPC sampling*; averages, warm-up and range as in PMCTrack's module). `f` is the clock of the big kind by
/// that of the small one, so that it is a quotient of instructions per second.
///
/// A task that stays on one kind is not known on the other, and what was measured there long ago may be of another phase.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IpcSampling {
    metric: MetricId,
    wants: EventSet,
    kinds: [KindId; 2],
    /// `f` in thousandths.
    clock_ratio: u64,
    /// Of the big and the small kind: instructions in a thousand cycles, and how many samples.
    averages: [(u64, u32); 2],
}

impl IpcSampling {
    /// The monitor that fills `metric`.
    pub fn new(metric: MetricId, asymmetry: &Asymmetry) -> Self {
        Self {
            metric,
            wants: EventSet::EMPTY.with(EventId::INSTRUCTIONS).with(EventId::CYCLES),
            kinds: [asymmetry.big, asymmetry.small],
            clock_ratio: asymmetry.clock_ratio.into(),
            averages: [(0, 0); 2],
        }
    }

    /// The factor in thousandths.
    fn factor(&self) -> u64 {
        let [(big, on_big), (small, on_small)] = self.averages;
        if on_big < WARM_UP || on_small < WARM_UP || small == 0 {
            return INITIAL;
        }
        let factor = u128::from(big) * u128::from(self.clock_ratio) / u128::from(small);
        u64::try_from(factor).unwrap_or(u64::MAX).clamp(*RANGE.start(), *RANGE.end())
    }
}

impl Monitor for IpcSampling {
    fn wants(&self) -> &EventSet {
        &self.wants
    }

    fn sample(&mut self, _: &Sample) -> Derived {
        Derived::NONE
    }

    fn sample_on(&mut self, kind: KindId, sample: &Sample) -> Derived {
        // What a switch has cut short is too little to go by.
        let counts = || Some((sample.counts.get(EventId::INSTRUCTIONS)?, sample.counts.get(EventId::CYCLES)?));
        let Some((instructions, cycles)) = counts().filter(|(_, cycles)| *cycles > 0 && sample.why == Why::Tick)
        else {
            return Derived::NONE;
        };
        let ipc = u64::try_from(u128::from(instructions) * 1000 / u128::from(cycles)).unwrap_or(u64::MAX);
        let ipc = ipc.min(u64::from(u32::MAX));
        let place = self.kinds.iter().position(|known| *known == kind);
        if let Some((average, samples)) = place.and_then(|place| self.averages.get_mut(place)) {
            *average = if *samples == 0 { ipc } else { (STAYS * *average + (100 - STAYS) * ipc) / 100 };
            *samples = samples.saturating_add(1);
        }
        Derived::one(self.metric, Fixed::from(self.factor()).divide(Fixed::from(1000_u64)))
    }
}

impl Registered for IpcSampling {
    fn of(metric: MetricId, observed: &Observed, _: &EventTable) -> Result<Self, MonitorError> {
        observed.asymmetry.as_ref().map(|kinds| Self::new(metric, kinds)).ok_or(MonitorError::OneKind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::{CoreId, Duration, Instant};

    fn sample(ipc: u64, why: Why) -> Sample {
        let counts = [(EventId::INSTRUCTIONS, ipc * 10), (EventId::CYCLES, 10_000)].into_iter().collect();
        Sample { why, ..Sample::of_core(CoreId(0), Instant::ZERO, Duration::from_millis(200), counts) }
    }

    /// By hand: clocks as 2 to 1; on the big kind 1500, then 500: 0.35 x 1500 + 0.65 x 500 = 850; on the small one 500.
    #[test]
    fn the_factor_is_that_of_running_averages_after_five_samples_on_each_kind() {
        let asymmetry = Asymmetry { big: KindId(1), small: KindId(0), clock_ratio: 2000, model: None };
        let mut monitor = IpcSampling::new(MetricId(0), &asymmetry);
        let mut take = |kind, ipc, why| {
            let derived = monitor.sample_on(KindId(kind), &sample(ipc, why));
            derived.get(MetricId(0)).map(|factor| factor.units() / (Fixed::SCALE / 1000))
        };
        for _ in 0..5 {
            assert_eq!(take(1, 1500, Why::Tick), Some(2500));
        }
        assert_eq!(take(0, 500, Why::Migration), None, "cut short");
        for _ in 0..4 {
            assert_eq!(take(0, 500, Why::Tick), Some(2500), "not warm yet");
        }
        assert_eq!(take(0, 500, Why::Tick), Some(6000));
        assert_eq!(take(1, 500, Why::Tick), Some(3400));
        assert_eq!(take(7, 9000, Why::Tick), Some(3400), "of a kind that is neither");
        for _ in 0..40 {
            take(1, 100, Why::Tick);
        }
        assert_eq!(take(1, 100, Why::Tick), Some(1000), "never below one");
        for _ in 0..40 {
            take(1, 60_000, Why::Tick);
        }
        assert_eq!(take(1, 60_000, Why::Tick), Some(7000), "never above seven");
    }
}
