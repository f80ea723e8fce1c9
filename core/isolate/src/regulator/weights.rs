//! Budgets by weight: the guaranteed bandwidth, divided among the cores that count.
//!
//! A core counts where a hard or soft task lives, idle or not, for such a task must have its share at the instant at which it wakes
//! up; a core of best-effort tasks counts while it has something to run. So `Q_i = floor(G w_i / W)` with `W` over the cores that count
//! when the period begins, and no core that counts ever has less than its share of all weights together. A core that wakes up inside a
//! period without counting gets `min(G w_i / W, what nobody holds)`, `W` over all cores with weights.

use super::config::{Allowance, Config};
use super::direction::{Direction, PerDirection};
use solo_model::{CoreId, CoreSet, Events};

/// How the guaranteed bandwidth is divided in a period.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Weights {
    /// The cores that have a share.
    counting: CoreSet,
    /// The sum of their weights.
    sum: PerDirection<u64>,
    /// The cores that woke up since, and what they were given.
    woken: CoreSet,
    granted: PerDirection<Events>,
}

impl Weights {
    /// A period begins in which these cores count.
    pub(super) fn open(&mut self, config: &Config, counting: CoreSet) {
        self.counting = counting;
        self.woken = CoreSet::EMPTY;
        self.granted = PerDirection::default();
        for direction in Direction::ALL {
            self.sum[direction] = counting.iter().map(|core| weight_of(config, core, direction)).sum();
        }
    }

    /// The share of a core with this weight; nothing where it doesn't count.
    pub(super) fn share(&self, config: &Config, core: CoreId, direction: Direction, weight: u32) -> Events {
        if !self.counting.contains(core) {
            return Events::ZERO;
        }
        part(config.guaranteed, weight, self.sum[direction])
    }

    /// What a core gets in each direction that has something to run from here on: nothing where it counts or has woken up before, for then
    /// it has its share already.
    pub(super) fn wake(&mut self, config: &Config, core: CoreId) -> PerDirection<Events> {
        let mut granted = PerDirection::default();
        if self.counting.contains(core) || self.woken.contains(core) {
            return granted;
        }
        self.woken = self.woken.with(core);
        let all = || (0..config.cores.len()).map(|core| CoreId(core as u16));
        for direction in Direction::ALL {
            let weight = weight_of(config, core, direction);
            let sum = all().map(|core| weight_of(config, core, direction)).sum();
            let held = if self.sum[direction] == 0 { self.granted[direction] } else { config.guaranteed };
            let own = part(config.guaranteed, weight as u32, sum);
            granted[direction] = own.min(config.guaranteed.saturating_sub(held));
            self.granted[direction] += granted[direction];
        }
        granted
    }
}

fn weight_of(config: &Config, core: CoreId, direction: Direction) -> u64 {
    match config.cores.get(core.index()).copied().flatten().map(|own| own[direction]) {
        Some(Allowance::Weight(weight)) => u64::from(weight),
        _ => 0,
    }
}

fn part(whole: Events, weight: u32, sum: u64) -> Events {
    let share = u128::from(whole.get()) * u128::from(weight) / u128::from(sum.max(1));
    Events::new(u64::try_from(share).unwrap_or(u64::MAX))
}
