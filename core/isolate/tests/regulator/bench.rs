//! A little machine for the regulator: counters that only grow, cores that do what they are told.

use solo_isolate::regulator::{
    Allowance, Config, CounterValue, DIRECTIONS, Decision, Direction, PerDirection, Regulator, TaskConfig,
    Throttle,
};
use solo_model::isolation::{Donation, Prediction, Reclaim, Sharing, WrongDonation};
use solo_model::{CoreId, Duration, EventId, Events, Instant, TaskId};

pub(crate) const MS: Duration = Duration::from_millis(1);

/// Every core `budget` events a millisecond of one direction, task `i` on core `i`, nothing else on.
pub(crate) fn config(budgets: &[u64]) -> Config {
    let fixed = |&events: &u64| {
        Some(PerDirection([Allowance::Fixed { events: Events::new(events), fraction: 0 }; DIRECTIONS]))
    };
    Config {
        period: MS,
        directions: 1,
        events: PerDirection([EventId::LLC_MISSES; DIRECTIONS]),
        counter_width: 48,
        cores: budgets.iter().map(fixed).collect(),
        steps: Vec::new(),
        tasks: vec![TaskConfig::NONE; budgets.len()],
        idle_donates: vec![Donation::Surplus; budgets.len()],
        sharing: Sharing::None,
        reclaim: Reclaim::Off,
        prediction: Prediction::EwmaHalf,
        quantum: Events::new(1000),
        wrong_donation: WrongDonation::Overdraw,
        carry_over: false,
        charge_per_mille: 0,
        guaranteed: Events::new(budgets.iter().sum()),
        in_flight: Events::ZERO,
    }
}

/// A machine of some cores.
pub(crate) struct Bench {
    pub(crate) regulator: Regulator,
    pub(crate) now: Instant,
    /// What the counters have counted since the start.
    pub(crate) counts: Vec<PerDirection<u64>>,
    pub(crate) last: Vec<Option<Decision>>,
    width: u32,
}

impl Bench {
    /// All cores have begun the first period and run their tasks.
    pub(crate) fn new(config: Config) -> Self {
        Self::from(config, 0)
    }

    /// With counters that stand at `first` at the start.
    pub(crate) fn from(config: Config, first: u64) -> Self {
        let cores = config.cores.len();
        let mut bench = Self {
            width: u32::from(config.counter_width),
            regulator: Regulator::new(config),
            now: Instant::ZERO,
            counts: vec![PerDirection([first; DIRECTIONS]); cores],
            last: vec![None; cores],
        };
        for core in 0..cores {
            let _ = bench.on_period(core);
            let _ = bench.run(core, Some(core as u32));
        }
        bench
    }

    fn counters(&self, core: usize) -> PerDirection<CounterValue> {
        let mask = if self.width >= 64 { u64::MAX } else { (1 << self.width) - 1 };
        PerDirection(self.counts[core].0.map(|count| CounterValue(count & mask)))
    }

    fn keep(&mut self, core: usize, decision: Decision) -> Decision {
        self.last[core] = Some(decision);
        for other in decision.call.iter() {
            assert_ne!(other.index(), core, "a core does not call itself");
            let _ = self.on_period(other.index());
        }
        decision
    }

    pub(crate) fn on_period(&mut self, core: usize) -> Decision {
        let decision = self.regulator.on_period(CoreId(core as u16), self.now, self.counters(core));
        self.keep(core, decision)
    }

    pub(crate) fn run(&mut self, core: usize, task: Option<u32>) -> Decision {
        if self.regulator.is_due(CoreId(core as u16), self.now) {
            let _ = self.on_period(core);
        }
        let (counters, task) = (self.counters(core), task.map(TaskId));
        let decision = self.regulator.switched(CoreId(core as u16), self.now, counters, task);
        self.keep(core, decision)
    }

    pub(crate) fn overflow(&mut self, core: usize) -> Decision {
        let decision = self.regulator.overflow(CoreId(core as u16), self.now, self.counters(core));
        self.keep(core, decision)
    }

    /// The counters of a core go on without anybody noticing.
    pub(crate) fn count(&mut self, core: usize, direction: Direction, events: u64) {
        self.counts[core][direction] = self.counts[core][direction].wrapping_add(events);
    }

    /// The core reads up to `events` lines, takes each overflow as it was armed and stops when it is told to;
    /// what it read.
    pub(crate) fn read(&mut self, core: usize, events: u64) -> u64 {
        self.work(core, Direction::Reads, events)
    }

    pub(crate) fn work(&mut self, core: usize, direction: Direction, events: u64) -> u64 {
        let mut done = 0;
        while done < events && self.throttle(core) == Throttle::Off {
            let armed = self.last[core].expect("it has begun").arm[direction];
            let step = armed.map_or(events - done, |armed| armed.get().min(events - done));
            self.count(core, direction, step);
            done += step;
            if armed.is_some_and(|armed| armed.get() == step) {
                let _ = self.overflow(core);
            } else if let Some(last) = &mut self.last[core] {
                last.arm[direction] = armed.map(|armed| armed.saturating_sub(Events::new(step)));
            }
        }
        done
    }

    pub(crate) fn throttle(&self, core: usize) -> Throttle {
        self.last[core].map_or(Throttle::Off, |decision| decision.throttle)
    }

    /// The next period begins on all cores at its time; the reports of the one before.
    pub(crate) fn next_period(&mut self) {
        self.now = self.regulator.next_boundary();
        for core in 0..self.counts.len() {
            let _ = self.on_period(core);
        }
    }

    pub(crate) fn limit(&self, core: usize) -> u64 {
        self.regulator.limit(CoreId(core as u16), Direction::Reads).expect("a core").get()
    }
}
