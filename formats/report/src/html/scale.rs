//! From quantities to positions, and the round numbers beside an axis.

use crate::text::TimeUnit;
use maud::{Markup, html};
use solo_chart::axis::{px, round_step};
use solo_model::Duration;

/// The width of every chart in user units; its height follows from what it shows.
pub(super) const WIDTH: f64 = 960.0;
/// Where plots begin: room for labels on the left.
pub(super) const LEFT: f64 = 132.0;
/// Where plots end.
pub(super) const RIGHT: f64 = WIDTH - 12.0;

/// A linear time axis.
#[derive(Clone, Copy)]
pub(super) struct TimeScale {
    pub(super) from: f64,
    pub(super) to: f64,
}

/// A round number on an axis.
pub(super) struct Tick {
    /// How far along the axis it lies, from 0 to 1.
    pub(super) share: f64,
    pub(super) label: String,
}

impl TimeScale {
    /// An axis over `from..=to` nanoseconds; at least one nanosecond long.
    pub(super) fn new(from: f64, to: f64) -> Self {
        Self { from, to: to.max(from + 1.0) }
    }

    /// How far along the axis a time in nanoseconds lies, from 0 to 1.
    pub(super) fn share(&self, nanoseconds: f64) -> f64 {
        ((nanoseconds - self.from) / (self.to - self.from)).clamp(0.0, 1.0)
    }

    /// The ticks' labels as words of the page, none of which leaves the axis.
    pub(super) fn labels(&self) -> Markup {
        html! {
            @for Tick { share, label } in self.ticks() {
                span.soft.first[share < 0.02].last[share > 0.95] style={"left:" (px(100.0 * share)) "%"} { (label) }
            }
        }
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
            ticks.push(Tick { share: self.share(value), label: format!("{shown:.decimals$}") });
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
        assert_eq!([-5.0, 0.0, 10.0, 99.0].map(|at| scale.share(at)), [0.0, 0.0, 1.0, 1.0]);
    }
}
