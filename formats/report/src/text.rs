//! Numbers as people read them: three significant digits, a unit, no more precision than there is.

use solo_model::{Bandwidth, Counts, Duration, EventId};

/// A unit of time that suits a group of numbers, so that they can be compared at a glance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TimeUnit {
    pub(crate) name: &'static str,
    pub(crate) nanoseconds: u64,
}

const TIME_UNITS: [TimeUnit; 4] = [
    TimeUnit { name: "s", nanoseconds: 1_000_000_000 },
    TimeUnit { name: "ms", nanoseconds: 1_000_000 },
    TimeUnit { name: "us", nanoseconds: 1_000 },
    TimeUnit { name: "ns", nanoseconds: 1 },
];

impl TimeUnit {
    /// The largest unit in which `longest` is at least one.
    pub(crate) fn for_longest(longest: Duration) -> Self {
        TIME_UNITS.into_iter().find(|unit| longest.get() >= unit.nanoseconds).unwrap_or(TIME_UNITS[3])
    }
    /// `duration` in this unit, without the unit.
    pub(crate) fn number(self, duration: Duration) -> String {
        three_digits(duration.get() as f64 / self.nanoseconds as f64)
    }
    /// `duration` in this unit, with the unit.
    pub(crate) fn text(self, duration: Duration) -> String {
        format!("{} {}", self.number(duration), self.name)
    }
}

/// Three significant digits, but never fewer than all digits before the point.
pub(crate) fn three_digits(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        _ if size == 0.0 => return "0".into(),
        _ if size < 0.01 => 4,
        _ if size < 0.1 => 3,
        _ if size < 9.995 => 2,
        _ if size < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

/// A duration in the unit that suits it.
pub(crate) fn time(duration: Duration) -> String {
    TimeUnit::for_longest(duration).text(duration)
}

/// A data rate in the unit that suits it.
pub(crate) fn rate(rate: Bandwidth) -> String {
    let units = [(1_000_000_000, "GB/s"), (1_000_000, "MB/s"), (1_000, "kB/s")];
    let value = rate.get();
    match units.into_iter().find(|(size, _)| value >= *size) {
        Some((size, name)) => format!("{} {name}", three_digits(value as f64 / size as f64)),
        None => format!("{value} B/s"),
    }
}

/// A rate that stands beside one that somebody asked for, in units of the same kind: MiB/s beside MiB/s.
pub(crate) fn rate_like(rate: Bandwidth, asked: Bandwidth) -> String {
    let Some((size, name)) = asked.binary_unit() else { return self::rate(rate) };
    format!("{} {name}", three_digits(rate.get() as f64 / size as f64))
}

/// A rate that somebody asked for, as it was written.
pub(crate) fn asked_rate(rate: Bandwidth) -> String {
    match rate.binary_unit() {
        Some((size, name)) => format!("{} {name}", rate.get() / size),
        None => self::rate(rate),
    }
}

/// A count with the suffixes k, M, G.
pub(crate) fn count(value: u64) -> String {
    let units = [(1_000_000_000, " G"), (1_000_000, " M"), (10_000, " k")];
    match units.into_iter().find(|(size, _)| value >= *size) {
        Some((size, name)) => {
            let size = if size == 10_000 { 1_000 } else { size };
            format!("{}{name}", three_digits(value as f64 / size as f64))
        }
        None => value.to_string(),
    }
}

/// The same of what may not have been counted.
pub(crate) fn count_or_dash(value: Option<u64>) -> String {
    value.map_or_else(|| "-".into(), count)
}

/// Instructions in a cycle; a dash where either was not counted.
pub(crate) fn per_cycle(counts: &Counts) -> String {
    let (instructions, cycles) = (counts.get(EventId::INSTRUCTIONS), counts.get(EventId::CYCLES));
    match (instructions, cycles.filter(|cycles| *cycles > 0)) {
        (Some(instructions), Some(cycles)) => format!("{:.2}", instructions as f64 / cycles as f64),
        _ => "-".into(),
    }
}

/// `part` of `whole` in per cent with one decimal, or none from ten per cent up to whole numbers; exact zero
/// and exact hundred are the only ones shown as such.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".into();
    }
    let tenths = u128::from(part) * 1000 / u128::from(whole);
    match tenths {
        0 if part > 0 => "< 0.1 %".into(),
        _ if tenths % 10 == 0 && u128::from(part) * 1000 == tenths * u128::from(whole) => {
            format!("{} %", tenths / 10)
        }
        _ => {
            let rounded = (u128::from(part) * 1000 + u128::from(whole) / 2) / u128::from(whole);
            let rounded = if rounded == 1000 && part < whole { 999 } else { rounded };
            format!("{}.{} %", rounded / 10, rounded % 10)
        }
    }
}

/// `part` of `whole` in whole per cent, for sentences.
pub(crate) fn whole_percent(part: Duration, whole: Duration) -> String {
    let (part, whole) = (u128::from(part.get()), u128::from(whole.get().max(1)));
    match (part * 100 + whole / 2) / whole {
        0 => "under 1 %".into(),
        100 if part < whole => "over 99 %".into(),
        share => format!("{share} %"),
    }
}

/// `count` and the noun, in the plural where it needs one.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    solo_model::text::counted(count, noun).to_string()
}

/// A list in a sentence: `a, b and c`.
pub(crate) fn enumeration(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Thousandths as a factor with two decimals; a dash where there are none.
pub(crate) fn factor(per_mille: Option<u64>) -> String {
    per_mille.map_or("-".into(), |value| {
        let hundredths = (value + 5) / 10;
        format!("{}.{:02}", hundredths / 100, hundredths % 100)
    })
}

/// How many jobs missed a deadline, and the share of those that are judged.
pub(crate) fn misses_text(misses: u64, judged: u64, has_deadline: bool) -> String {
    match (has_deadline && judged > 0, misses) {
        (false, _) => "-".into(),
        (true, 0) => "0".into(),
        (true, misses) => format!("{misses} ({})", percent(misses, judged)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_show_three_digits() {
        let texts = [0, 999, 1_000, 10_220_000, 14_331_000, 99_960_000, 2_000_000_000].map(Duration::new);
        let texts = texts.map(time);
        assert_eq!(texts, ["0 ns", "999 ns", "1.00 us", "10.2 ms", "14.3 ms", "100 ms", "2.00 s"]);
    }

    #[test]
    fn a_share_is_never_rounded_to_none_or_all() {
        assert_eq!(percent(0, 10), "0 %");
        assert_eq!(percent(1, 1_000_000), "< 0.1 %");
        assert_eq!(percent(281, 1000), "28.1 %");
        assert_eq!(percent(999_999, 1_000_000), "99.9 %");
        assert_eq!(percent(10, 10), "100 %");
        assert_eq!(percent(1, 3), "33.3 %");
        assert_eq!(percent(1, 0), "-");
    }

    #[test]
    fn rates_and_counts_have_units() {
        assert_eq!(rate(Bandwidth::new(1_404_000_000)), "1.40 GB/s");
        assert_eq!(rate(Bandwidth::new(12)), "12 B/s");
        let mib = |rate: u64| Bandwidth::new(rate << 20);
        assert_eq!(asked_rate(mib(600)), "600 MiB/s");
        assert_eq!(asked_rate(mib(2 << 10)), "2 GiB/s");
        assert_eq!(asked_rate(Bandwidth::new(900_000_000)), "900 MB/s");
        assert_eq!(
            (rate_like(mib(300), mib(600)), rate_like(mib(1), Bandwidth::new(5_000_000))),
            ("300 MiB/s".into(), "1.05 MB/s".into())
        );
        assert_eq!(
            (mib(600).to_string(), Bandwidth::new(1_263_000_000).to_string()),
            ("600MiB/s".into(), "1.263GB/s".into())
        );
        assert_eq!([count(9_999), count(10_000), count(2_500_000)], ["9999", "10.0 k", "2.50 M"]);
    }
}
