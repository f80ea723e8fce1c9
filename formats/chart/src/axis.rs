//! From values to positions, and the round numbers beside an axis.

use crate::{Places, Scale, Series};

/// Labels below a chart at most, more or less.
const LABELS: usize = 12;

/// The next of 1, 2, 5 times a power of ten at or above `least`, which is above zero.
pub fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power);
    steps.into_iter().find(|step| *step >= least * 0.999).unwrap_or(least)
}

/// A coordinate with one decimal, as short as it can be.
pub fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    match text.strip_suffix(".0") {
        Some("-0") => "0".into(),
        Some(whole) => whole.into(),
        None => text,
    }
}

/// A number with at most four digits that count and a power of ten where it is far from one.
pub fn short(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        String::from("0")
    } else if (0.01..100_000.0).contains(&size) {
        let decimals = (3 - size.log10().floor() as i32).clamp(0, 5) as usize;
        let text = format!("{value:.decimals$}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    } else {
        let text = format!("{value:.2e}");
        text.replace(".00e", "e").replace("0e", "e")
    }
}

/// The values between which a chart lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    least: f64,
    most: f64,
    scale: Scale,
}

impl Range {
    pub(crate) fn of(series: &[Series], scale: Scale) -> Self {
        let values = || series.iter().flat_map(|series| series.values.iter().flatten().copied());
        let finite = || values().filter(|value| value.is_finite());
        let (least, most) = match scale {
            Scale::Share => (0.0, 1.0),
            Scale::Linear => {
                let most = finite().fold(0.0, f64::max);
                (0.0, if most > 0.0 { most } else { 1.0 })
            }
            Scale::Logarithmic => {
                let positive = || finite().filter(|value| *value > 0.0);
                let least = positive().fold(f64::MAX, f64::min).min(1e300);
                let most = positive().fold(f64::MIN_POSITIVE, f64::max);
                let (least, most) = if least > most { (1.0, 10.0) } else { (least, most) };
                let (low, high) = (least.log10().floor(), most.log10().ceil());
                let high = if high > low { high } else { low + 1.0 };
                (10_f64.powf(low), 10_f64.powf(high))
            }
        };
        Self { least, most, scale }
    }

    pub(crate) fn shows(&self, value: f64) -> bool {
        value.is_finite() && (self.scale != Scale::Logarithmic || value > 0.0)
    }

    /// How far up a value lies, 0 to 1.
    pub(crate) fn share(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear | Scale::Share => value / self.most,
            Scale::Logarithmic => {
                (value.log10() - self.least.log10()) / (self.most.log10() - self.least.log10())
            }
        }
    }

    pub(crate) fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear | Scale::Share => multiples(0.0, self.most, round_step(self.most / 5.0)),
            Scale::Logarithmic => {
                let (low, high) = (self.least.log10().round() as i32, self.most.log10().round() as i32);
                let step = ((high - low) / 8 + 1) as usize;
                (low..=high).step_by(step).map(|power| 10_f64.powi(power)).collect()
            }
        }
    }
}

/// Where the places of a chart lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Across<'p> {
    places: &'p Places,
    /// The least number, and from it to the most.
    least: f64,
    span: f64,
}

impl<'p> Across<'p> {
    pub(crate) fn of(places: &'p Places) -> Self {
        let (least, most) = match places {
            Places::Named(_) => (0.0, 0.0),
            Places::Numbers(numbers) => (
                numbers.iter().copied().fold(f64::INFINITY, f64::min),
                numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            ),
        };
        let some = most > least && (most - least).is_finite();
        Self { places, least, span: if some { most - least } else { 0.0 } }
    }

    /// How far right a place lies, 0 to 1; names stand in the middle of their part.
    pub(crate) fn share(&self, place: usize) -> f64 {
        match self.places {
            Places::Named(_) => (place as f64 + 0.5) * self.pitch(),
            Places::Numbers(numbers) => numbers.get(place).map_or(0.5, |number| self.at(*number)),
        }
    }

    /// The part of one of the places.
    pub(crate) fn pitch(&self) -> f64 {
        1.0 / self.places.len().max(1) as f64
    }

    fn at(&self, number: f64) -> f64 {
        if self.span > 0.0 { (number - self.least) / self.span } else { 0.5 }
    }

    /// What is written below, and where.
    pub(crate) fn ticks(&self) -> Vec<(f64, String)> {
        match self.places {
            Places::Named(names) => {
                let step = names.len().div_ceil(LABELS).max(1);
                let shown = names.iter().enumerate().step_by(step);
                shown.map(|(at, name)| (self.share(at), name.clone())).collect()
            }
            Places::Numbers(_) if self.span > 0.0 => {
                let step = round_step(self.span / LABELS as f64);
                let ticks = multiples(self.least, self.least + self.span, step).into_iter();
                ticks.map(|tick| (self.at(tick), short(tick))).collect()
            }
            Places::Numbers(numbers) => {
                numbers.iter().take(1).map(|number| (self.at(*number), short(*number))).collect()
            }
        }
    }
}

/// The multiples of `step` from `least` to `most`; about twenty at most.
fn multiples(least: f64, most: f64, step: f64) -> Vec<f64> {
    let first = (least / step - 0.001).ceil();
    let ticks = (0..20).map(|tick| (first + f64::from(tick)) * step);
    ticks.take_while(|value| *value <= most + step * 0.001).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(scale: Scale, values: &[f64]) -> Range {
        let values = values.iter().map(|value| Some(*value)).collect();
        Range::of(&[Series { name: "s".into(), values }], scale)
    }

    #[test]
    fn heights_follow_the_scale() {
        let linear = range(Scale::Linear, &[0.0, 50.0, 100.0]);
        assert_eq!((linear.share(0.0), linear.share(50.0), linear.share(100.0)), (0.0, 0.5, 1.0));
        let logarithmic = range(Scale::Logarithmic, &[1.0, 100.0]);
        let shares = [1.0, 10.0, 100.0].map(|value| logarithmic.share(value));
        assert_eq!(shares, [0.0, 0.5, 1.0]);
        assert!(!logarithmic.shows(0.0) && linear.shows(0.0));
        assert_eq!(range(Scale::Share, &[0.1]).share(0.5), 0.5);
    }

    #[test]
    fn ticks_are_round() {
        let texts = |ticks: Vec<f64>| ticks.into_iter().map(short).collect::<Vec<_>>().join(" ");
        assert_eq!(texts(range(Scale::Share, &[]).ticks()), "0 0.2 0.4 0.6 0.8 1");
        assert_eq!(texts(range(Scale::Linear, &[97.0]).ticks()), "0 20 40 60 80");
        assert_eq!(texts(range(Scale::Logarithmic, &[2.0, 300.0]).ticks()), "1 10 100 1000");
        let numbers = Places::Numbers(vec![2.0, 2.1, 7.9, 8.0]);
        let ticks = Across::of(&numbers).ticks();
        assert_eq!(ticks.len(), 13);
        assert_eq!((ticks[1].clone(), ticks[12].clone()), ((0.5 / 6.0, "2.5".into()), (1.0, "8".into())));
    }

    #[test]
    fn numbers_lie_where_they_are_and_names_side_by_side() {
        let shares = |places: &Places| (0..3).map(|at| Across::of(places).share(at)).collect::<Vec<_>>();
        assert_eq!(shares(&Places::Numbers(vec![1.0, 2.0, 5.0])), [0.0, 0.25, 1.0]);
        let names = Places::Named(["a", "b", "c", "d"].map(String::from).to_vec());
        assert_eq!(shares(&names), [0.125, 0.375, 0.625]);
        assert_eq!(shares(&Places::Numbers(vec![3.0; 3])), [0.5; 3]);
    }

    #[test]
    fn numbers_are_short() {
        let texts = [0.0, 1.0, 1234.5, 0.5, 0.000_123, 2e9, 100_000.0].map(short);
        assert_eq!(texts, ["0", "1", "1234", "0.5", "1.23e-4", "2e9", "1e5"]);
        assert_eq!((px(3.0), px(-0.01), px(2.25)), ("3".into(), "0".into(), "2.2".into()));
    }
}
