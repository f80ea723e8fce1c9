//! Charts as SVG that needs nothing else: lines or bars over named places, with a linear or a logarithmic scale.

use maud::{DOCTYPE, Markup, PreEscaped, html};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 44.0;
/// Series that share a row of the legend.
const ACROSS: usize = 3;

/// Colours that colour-blind readers can tell apart; dashes tell the rest.
const COLORS: [&str; 8] =
    ["#0065a3", "#b86e00", "#00795a", "#a8477f", "#6b4fb0", "#2f8bc0", "#7d7300", "#5b6570"];
const DASHES: [&str; 3] = ["", "6 3", "2 3"];

/// How values become heights.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// From zero.
    Linear,
    /// By powers of ten; values that are not above zero are left out.
    Logarithmic,
}

/// How a series is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// A line through its points.
    Line,
    /// Bars, those of several series side by side.
    Bars,
}

/// Values of one name, one for each place of the chart; `None` where there is none.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// What the legend calls it.
    pub name: String,
    /// Its values.
    pub values: Vec<Option<f64>>,
}

/// A chart.
#[derive(Clone, PartialEq, Debug)]
pub struct Chart {
    /// Above it.
    pub title: String,
    /// What the places are.
    pub across: String,
    /// What the values are, with their unit.
    pub up: String,
    /// The places, from left to right.
    pub places: Vec<String>,
    /// What is drawn.
    pub series: Vec<Series>,
    /// How values become heights.
    pub scale: Scale,
    /// Lines or bars.
    pub mark: Mark,
}

impl Chart {
    /// The chart as a file of its own.
    pub fn svg(&self) -> String {
        self.markup(true).into_string()
    }

    /// The chart as part of a page.
    fn markup(&self, alone: bool) -> Markup {
        let range = Range::of(self);
        let rows = self.series.len().div_ceil(ACROSS) as f64;
        let height = HEIGHT + rows * 16.0 + 8.0;
        let y = |value: f64| TOP + (1.0 - range.share(value)) * (HEIGHT - TOP - BOTTOM);
        html! {
            svg xmlns=[alone.then_some("http://www.w3.org/2000/svg")] viewBox={"0 0 " (WIDTH) " " (height)}
                role="img" aria-label=(self.title) font-family="system-ui, sans-serif" font-size="11" {
                @if alone { rect width="100%" height="100%" fill="#ffffff" {} }
                text x=(LEFT) y="16" font-size="13" fill="currentColor" { (self.title) }
                text x=(LEFT) y=(TOP - 4.0) fill="currentColor" { (self.up) }
                @for tick in range.ticks() {
                    line x1=(LEFT) x2=(WIDTH - RIGHT) y1=(px(y(tick))) y2=(px(y(tick))) stroke="#8884" {}
                    text x=(LEFT - 6.0) y=(px(y(tick) + 4.0)) text-anchor="end" fill="currentColor" { (short(tick)) }
                }
                @let step = self.places.len().div_ceil(12).max(1);
                @for (at, place) in self.places.iter().enumerate().filter(|(at, _)| at % step == 0) {
                    text x=(px(self.x(at))) y=(HEIGHT - BOTTOM + 16.0) text-anchor="middle" fill="currentColor" { (place) }
                }
                text x=(px((LEFT + WIDTH - RIGHT) / 2.0)) y=(HEIGHT - 10.0) text-anchor="middle" fill="currentColor" { (self.across) }
                @for (index, series) in self.series.iter().enumerate() {
                    @match self.mark {
                        Mark::Line => (self.line(index, series, &range, &y)),
                        Mark::Bars => (self.bars(index, series, &range, &y)),
                    }
                    @let (column, row) = ((index % ACROSS) as f64, (index / ACROSS) as f64);
                    @let (left, at) = (LEFT + column * (WIDTH - LEFT - RIGHT) / ACROSS as f64, HEIGHT + row * 16.0 + 4.0);
                    line x1=(px(left)) x2=(px(left + 22.0)) y1=(px(at - 4.0)) y2=(px(at - 4.0)) stroke=(color(index))
                        stroke-width="2" stroke-dasharray=[dash(index)] {}
                    text x=(px(left + 27.0)) y=(px(at)) fill="currentColor" { (series.name) }
                }
            }
        }
    }

    /// The middle of a place.
    fn x(&self, place: usize) -> f64 {
        LEFT + (place as f64 + 0.5) * self.pitch()
    }

    /// The distance between places.
    fn pitch(&self) -> f64 {
        (WIDTH - LEFT - RIGHT) / self.places.len().max(1) as f64
    }

    fn line(&self, index: usize, series: &Series, range: &Range, y: &dyn Fn(f64) -> f64) -> Markup {
        let drawn = series.values.iter().enumerate();
        let points: Vec<(f64, f64, f64)> = drawn
            .filter_map(|(at, value)| {
                value.filter(|value| range.shows(*value)).map(|v| (self.x(at), y(v), v))
            })
            .collect();
        let path =
            points.iter().map(|(x, y, _)| format!("{},{}", px(*x), px(*y))).collect::<Vec<_>>().join(" ");
        html! {
            polyline fill="none" stroke=(color(index)) stroke-width="1.6" stroke-dasharray=[dash(index)] points=(path) {}
            @if points.len() <= 64 {
                @for (x, y, value) in &points {
                    circle cx=(px(*x)) cy=(px(*y)) r="2.5" fill=(color(index)) { title { (series.name) ": " (short(*value)) } }
                }
            }
        }
    }

    fn bars(&self, index: usize, series: &Series, range: &Range, y: &dyn Fn(f64) -> f64) -> Markup {
        let width = self.pitch() * 0.8 / self.series.len().max(1) as f64;
        let floor = HEIGHT - BOTTOM;
        html! {
            @for (at, value) in series.values.iter().enumerate() {
                @if let Some(value) = value.filter(|value| range.shows(*value)) {
                    @let left = self.x(at) - self.pitch() * 0.4 + width * index as f64;
                    rect x=(px(left)) y=(px(y(value))) width=(px(width)) height=(px((floor - y(value)).max(0.5)))
                        fill=(color(index)) { title { (series.name) ": " (short(value)) } }
                }
            }
        }
    }
}

/// A page of charts with a text before each.
pub fn page(title: &str, charts: &[(String, Chart)]) -> String {
    let style = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;\
                 color-scheme:light dark}figure{margin:1.5rem 0}svg{width:100%;height:auto}";
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head { meta charset="utf-8"; title { (title) } style { (PreEscaped(style)) } }
            body {
                h1 { (title) }
                @for (text, chart) in charts {
                    figure { p { (text) } (chart.markup(false)) }
                }
            }
        }
    };
    page.into_string()
}

/// The values between which a chart lies.
struct Range {
    least: f64,
    most: f64,
    scale: Scale,
}

impl Range {
    fn of(chart: &Chart) -> Self {
        let values = || chart.series.iter().flat_map(|series| series.values.iter().flatten().copied());
        let finite = || values().filter(|value| value.is_finite());
        match chart.scale {
            Scale::Linear => {
                let most = finite().fold(0.0, f64::max);
                Self { least: 0.0, most: if most > 0.0 { most } else { 1.0 }, scale: chart.scale }
            }
            Scale::Logarithmic => {
                let positive = || finite().filter(|value| *value > 0.0);
                let least = positive().fold(f64::MAX, f64::min).min(1e300);
                let most = positive().fold(f64::MIN_POSITIVE, f64::max);
                let (least, most) = if least > most { (1.0, 10.0) } else { (least, most) };
                let (low, high) = (least.log10().floor(), most.log10().ceil());
                let high = if high > low { high } else { low + 1.0 };
                Self { least: 10_f64.powf(low), most: 10_f64.powf(high), scale: chart.scale }
            }
        }
    }

    fn shows(&self, value: f64) -> bool {
        value.is_finite() && (self.scale == Scale::Linear || value > 0.0)
    }

    fn share(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => value / self.most,
            Scale::Logarithmic => {
                (value.log10() - self.least.log10()) / (self.most.log10() - self.least.log10())
            }
        }
    }

    fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                let rough = self.most / 4.0;
                let power = 10_f64.powf(rough.log10().floor());
                let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|s| s * power).find(|s| *s >= rough * 0.999);
                let step = step.unwrap_or(rough);
                (0..=8)
                    .map(|tick| f64::from(tick) * step)
                    .take_while(|value| *value <= self.most * 1.001)
                    .collect()
            }
            Scale::Logarithmic => {
                let (low, high) = (self.least.log10().round() as i32, self.most.log10().round() as i32);
                let step = ((high - low) / 8 + 1) as usize;
                (low..=high).step_by(step).map(|power| 10_f64.powi(power)).collect()
            }
        }
    }
}

fn color(index: usize) -> &'static str {
    COLORS[index % COLORS.len()]
}

fn dash(index: usize) -> Option<&'static str> {
    Some(DASHES[index / COLORS.len() % DASHES.len()]).filter(|dash| !dash.is_empty())
}

/// A coordinate with one decimal.
fn px(value: f64) -> String {
    format!("{value:.1}")
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

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(scale: Scale, values: &[f64]) -> Chart {
        Chart {
            title: "a < b".into(),
            across: "size".into(),
            up: "count".into(),
            places: (0..values.len()).map(|place| place.to_string()).collect(),
            series: vec![Series { name: "s".into(), values: values.iter().map(|v| Some(*v)).collect() }],
            scale,
            mark: Mark::Line,
        }
    }

    #[test]
    fn heights_follow_the_scale() {
        let linear = Range::of(&chart(Scale::Linear, &[0.0, 50.0, 100.0]));
        assert_eq!((linear.share(0.0), linear.share(50.0), linear.share(100.0)), (0.0, 0.5, 1.0));
        let logarithmic = Range::of(&chart(Scale::Logarithmic, &[1.0, 100.0]));
        assert_eq!(
            (logarithmic.share(1.0), logarithmic.share(10.0), logarithmic.share(100.0)),
            (0.0, 0.5, 1.0)
        );
        assert!(!logarithmic.shows(0.0) && linear.shows(0.0));
    }

    #[test]
    fn no_values_break_a_chart() {
        let odd = [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300, 1e300];
        for scale in [Scale::Linear, Scale::Logarithmic] {
            for values in [&odd[..], &[], &odd[..1], &odd[4..5]] {
                for mark in [Mark::Line, Mark::Bars] {
                    let svg = Chart { mark, ..chart(scale, values) }.svg();
                    assert!(svg.starts_with("<svg") && svg.contains("a &lt; b"));
                    assert!(!svg.contains("NaN") && !svg.contains("inf,"), "{svg}");
                }
            }
        }
    }

    #[test]
    fn numbers_are_short() {
        let texts = [0.0, 1.0, 1234.5, 0.5, 0.000_123, 2e9, 100_000.0].map(short);
        assert_eq!(texts, ["0", "1", "1234", "0.5", "1.23e-4", "2e9", "1e5"]);
    }
}
