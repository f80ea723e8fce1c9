//! From quantities to positions, and the round numbers beside an axis.

use crate::text::TimeUnit;
use solo_chart::axis::round_step;
use solo_model::Duration;

/// The width of every chart in user units; its height follows from what it shows.
pub(super) const WIDTH: f64 = 960.0;
/// Where plots begin: room for labels on the left.
pub(super) const LEFT: f64 = 132.0;
/// Where plots end.
pub(super) const RIGHT: f64 = WIDTH - 12.0;

/// A linear time axis from `LEFT` to `RIGHT`.
#[derive(Clone, Copy)]
pub(super) struct TimeScale {
    pub(super) from: f64,
    pub(super) to: f64,
}

/// A round number on an axis.
pub(super) struct Tick {
    pub(super) x: f64,
    pub(super) label: String,
}

impl TimeScale {
    /// An axis over `from..=to` nanoseconds; at least one nanosecond long.
    pub(super) fn new(from: f64, to: f64) -> Self {
        Self { from, to: to.max(from + 1.0) }
    }

    /// The position of a time in nanoseconds, within the plot.
    pub(super) fn x(&self, nanoseconds: f64) -> f64 {
        let share = (nanoseconds - self.from) / (self.to - self.from);
        LEFT + share.clamp(0.0, 1.0) * (RIGHT - LEFT)
    }

    /// Four to nine round times, the last with the unit.
    pub(super) fn ticks(&self) -> Vec<Tick> {
        let step = round_step(((self.to - self.from) / 6.0).max(1.0));
        let longest = self.to.abs().max(self.from.abs());
        let unit = TimeUnit::for_longest(Duration::new(longest as u64));
        let size = unit.nanoseconds as f64;
        let decimals = (size / step).log10().ceil().clamp(0.0, 3.0) as usize;
        let mut ticks = Vec::new();
        let mut index = (self.from / step).ceil();
        while index * step <= self.to + step * 1e-6 && ticks.len() < 20 {
            let value = index * step;
            // Without this a zero may come out as "-0".
            let shown = if value == 0.0 { 0.0 } else { value / size };
            ticks.push(Tick { x: self.x(value), label: format!("{shown:.decimals$}") });
            index += 1.0;
        }
        if let Some(last) = ticks.last_mut() {
            last.label += &format!(" {}", unit.name);
        }
        ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_in_one_unit() {
        let labels = |from: f64, to: f64| -> Vec<String> {
            TimeScale::new(from, to).ticks().into_iter().map(|tick| tick.label).collect()
        };
        assert_eq!(labels(9.4e6, 15e6), ["10", "11", "12", "13", "14", "15 ms"]);
        assert_eq!(labels(-500.0, 1500.0), ["-0.5", "0.0", "0.5", "1.0", "1.5 us"]);
        assert_eq!(labels(0.0, 20e9), ["0", "5", "10", "15", "20 s"]);
    }

    #[test]
    fn positions_stay_within_the_plot() {
        let scale = TimeScale::new(0.0, 10.0);
        assert_eq!((scale.x(-5.0), scale.x(0.0), scale.x(10.0), scale.x(99.0)), (LEFT, LEFT, RIGHT, RIGHT));
    }
}
