//! Random problems, for figures like the paper's Fig. 9. The paper's own parameters are in its reference 4 and not among
//! the sources, so those here are ours.

use crate::model::{Device, Partition, Transfer};
use solo_model::units::{Duration, PerMille};
use solo_model::{CoreId, SplitMix64};

/// Which problems are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Family {
    /// How many partitions, at least one.
    pub partitions: u16,
    /// How many of them share a core.
    pub per_core: u16,
    /// Of each core, by processing.
    pub utilization: PerMille,
}

/// A tenth of a millisecond: offsets are multiples of it.
const UNIT: Duration = Duration::from_micros(100);
/// Periods of 20 and 40 ms, in units.
const PERIODS: [u64; 2] = [200, 400];

impl Family {
    /// One of them. Each partition reads from one device and writes to another; there are half as many devices as
    /// partitions. A transfer takes one or two units of 0.1 ms, a device is busy for 2 to 10. What the partitions of a
    /// core have of it is drawn evenly and scaled to the utilization, and rounded down to units.
    pub fn draw(&self, random: &mut SplitMix64) -> Vec<Partition> {
        let (count, per_core) = (self.partitions.max(1), self.per_core.max(1));
        let devices = u64::from(count / 2 + 1);
        let mut partitions = Vec::new();
        for core in 0..count.div_ceil(per_core) {
            let here = per_core.min(count - core * per_core);
            let weights: Vec<u64> = (0..here).map(|_| 100 + random.below(900)).collect();
            let sum: u64 = weights.iter().sum();
            for weight in weights {
                let period = PERIODS.get(random.below(2) as usize).copied().unwrap_or(400);
                let units = period * u64::from(self.utilization.get()) * weight / (1000 * sum);
                let mut side = || {
                    Some(Transfer {
                        device: Device(random.below(devices) as u16),
                        physical: UNIT * (2 + random.below(9)),
                        transfer: UNIT * (1 + random.below(2)),
                    })
                };
                let (input, output) = (side(), side());
                let processing = UNIT * units.max(1);
                partitions.push(Partition {
                    input,
                    output,
                    ..Partition::new(CoreId(core), UNIT * period, processing)
                });
            }
        }
        partitions
    }
}
