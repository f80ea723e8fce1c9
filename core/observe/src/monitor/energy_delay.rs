//! The energy-delay product, of counters and meter that are read together.

use super::{Derived, Monitor, MonitorError, Registered};
use solo_model::listening::Observed;
use solo_model::sample::Sample;
use solo_model::{Energy, EventId, EventSet, EventTable, Fixed, MetricId};

/// Energy times time by instructions, in picojoule-seconds an instruction (PMCTrack, equations 4 and 5). The energy is all that the meters of
/// the platform have gone on by since the last sample of the same task or core, whoever used it: it is a program's own where that
/// program runs alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EnergyDelay {
    metric: MetricId,
    wants: EventSet,
}

impl EnergyDelay {
    /// The monitor that fills `metric`.
    pub fn new(metric: MetricId) -> Self {
        Self { metric, wants: EventSet::EMPTY.with(EventId::INSTRUCTIONS) }
    }
}

/// The energy of a sample, where a meter was read for it.
fn energy_of(sample: &Sample) -> Option<Energy> {
    let read = (*sample.virtuals.get(Sample::ENERGY)?)?;
    u64::try_from(read).ok().map(Energy::new)
}

impl Monitor for EnergyDelay {
    fn wants(&self) -> &EventSet {
        &self.wants
    }

    fn sample(&mut self, sample: &Sample) -> Derived {
        let product = || {
            let instructions = sample.counts.get(EventId::INSTRUCTIONS).filter(|count| *count > 0)?;
            // fJ ns are 1e-24 J s, which are 1e-12 pJ s: one unit of a `Fixed`.
            let product = i128::from(energy_of(sample)?.get()) * i128::from(sample.span.get());
            Some(Fixed::from_units(product / i128::from(instructions)))
        };
        Derived::one(self.metric, product())
    }
}

impl Registered for EnergyDelay {
    fn of(metric: MetricId, _: &Observed, _: &EventTable) -> Result<Self, MonitorError> {
        Ok(Self::new(metric))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::{CoreId, Duration, Instant};

    /// By hand: 0.2 J in 0.2 s for 400 million instructions are 1e-10 J s, or 100 pJ s, an instruction.
    #[test]
    fn energy_times_time_by_instructions() {
        let counts = [(EventId::INSTRUCTIONS, 400_000_000)].into_iter().collect();
        let mut sample = Sample::of_core(CoreId(0), Instant::ZERO, Duration::from_millis(200), counts);
        let mut monitor = EnergyDelay::new(MetricId(0));
        assert_eq!(monitor.sample(&sample).get(MetricId(0)), None, "no meter was read");
        sample.virtuals = alloc::vec![None, Some(200_000_000_000_000)];
        assert_eq!(monitor.sample(&sample).get(MetricId(0)), Some(Fixed::from(100_u64)));
        sample.counts = [(EventId::INSTRUCTIONS, 0)].into_iter().collect();
        assert_eq!(monitor.sample(&sample).get(MetricId(0)), None, "nothing retired");
    }
}
