//! Task sets of the distributions that the examples draw from.

use solo_prove::{Task, TaskSet};

/// Numbers that look random and are the same each time (xorshift64).
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }
}

/// A set of the distribution whose utilisation just stays below `cap` (thesis 5.1, without the slack filter), periods
/// in microseconds, deadlines equal to them.
pub(crate) fn draw_set(utilizations: &str, periods: &str, cores: u32, cap: f64, draw: &mut Draw) -> TaskSet {
    let (low, high) = match periods {
        "short" => (3e3, 33e3),
        "moderate" => (10e3, 100e3),
        "tiny" => (2.0, 24.0),
        _ => (50e3, 250e3),
    };
    let (mut tasks, mut used) = (Vec::new(), 0.0);
    loop {
        let share = match utilizations {
            "uni-light" => draw.between(0.001, 0.1),
            "uni-medium" => draw.between(0.1, 0.4),
            "bimo-light" if draw.unit() < 8.0 / 9.0 => draw.between(0.001, 0.1),
            _ => draw.between(0.5, 0.9),
        };
        if used + share > cap {
            return TaskSet::new(cores, tasks).expect("the distributions stay within the limits");
        }
        used += share;
        let t = draw.between(low, high);
        tasks.push(Task::implicit(((t * share) as u64).max(1), t as u64));
    }
}
