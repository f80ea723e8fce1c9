//! A chart as SVG.

use crate::axis::{Across, Range, px, short};
use crate::page;
use crate::{Chart, Mark, Places, Series};
use maud::{Markup, html};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 330.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 44.0;
/// Series that share a row of the legend.
const ACROSS: usize = 3;
/// Dashes tell series apart that share a color.
const DASHES: [&str; 3] = ["", "6 3", "2 3"];
/// More points than this are a line of dots.
const DOTS: usize = 64;

/// Whose colors a chart takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Colors {
    /// Dark on white paper of its own, for a file.
    Light,
    /// The page's, which follow the reader's.
    Page,
}

/// A chart with its axes settled.
struct Drawing<'c> {
    chart: &'c Chart,
    colors: Colors,
    across: Across<'c>,
    range: Range,
}

pub(crate) fn draw(chart: &Chart, colors: Colors) -> Markup {
    let (across, range) = (Across::of(&chart.places), Range::of(&chart.series, chart.scale));
    let drawing = Drawing { chart, colors, across, range };
    let rows = chart.series.len().div_ceil(ACROSS) as f64;
    let height = HEIGHT + rows * 16.0 + 8.0;
    let alone = colors == Colors::Light;
    html! {
        svg xmlns=[alone.then_some("http://www.w3.org/2000/svg")] viewBox={"0 0 " (WIDTH) " " (height)}
            role="img" aria-label=(chart.title) font-family="system-ui, sans-serif" font-size="11" {
            @if alone { rect width="100%" height="100%" fill="#ffffff" {} }
            (drawing.frame())
            @for (index, series) in chart.series.iter().enumerate() {
                @match chart.mark {
                    Mark::Line => (drawing.line(index, series)),
                    Mark::Bars => (drawing.bars(index, series)),
                }
                (drawing.legend(index, series))
            }
        }
    }
}

impl Drawing<'_> {
    /// Titles, grid and labels.
    fn frame(&self) -> Markup {
        let Chart { title, up, across, .. } = self.chart;
        html! {
            text x=(LEFT) y="16" font-size="13" fill="currentColor" { (title) }
            text x=(LEFT) y=(TOP - 10.0) fill="currentColor" { (up) }
            @for tick in self.range.ticks() {
                @let y = self.y(tick);
                line x1=(LEFT) x2=(WIDTH - RIGHT) y1=(px(y)) y2=(px(y)) stroke="#8884" {}
                text x=(LEFT - 6.0) y=(px(y + 4.0)) text-anchor="end" fill="currentColor" { (short(tick)) }
            }
            @for (share, label) in self.across.ticks() {
                @let (x, floor) = (px(right(share)), HEIGHT - BOTTOM);
                line x1=(x) x2=(x) y1=(floor) y2=(floor + 4.0) stroke="currentColor" {}
                text x=(x) y=(floor + 16.0) text-anchor="middle" fill="currentColor" { (label) }
            }
            text x=(px(right(0.5))) y=(HEIGHT - 10.0) text-anchor="middle" fill="currentColor" { (across) }
        }
    }

    fn line(&self, index: usize, series: &Series) -> Markup {
        let values = series.values.iter().enumerate();
        let shown = values.filter_map(|(at, value)| value.filter(|v| self.range.shows(*v)).map(|v| (at, v)));
        let points: Vec<(String, String, f64)> =
            shown.map(|(at, value)| (px(self.x(at)), px(self.y(value)), value)).collect();
        let path = points.iter().map(|(x, y, _)| format!("{x},{y}")).collect::<Vec<_>>().join(" ");
        let named = matches!(self.chart.places, Places::Named(_));
        html! {
            polyline fill="none" stroke=(self.color(index)) stroke-width="1.6" stroke-dasharray=[dash(index)] points=(path) {
                title { (series.name) }
            }
            @if named && points.len() <= DOTS {
                @for (x, y, value) in &points {
                    circle cx=(x) cy=(y) r="2.5" fill=(self.color(index)) { title { (series.name) ": " (short(*value)) } }
                }
            }
        }
    }

    fn bars(&self, index: usize, series: &Series) -> Markup {
        let pitch = self.across.pitch() * (right(1.0) - right(0.0));
        let width = pitch * 0.8 / self.chart.series.len().max(1) as f64;
        let floor = HEIGHT - BOTTOM;
        html! {
            @for (at, value) in series.values.iter().enumerate() {
                @if let Some(value) = value.filter(|value| self.range.shows(*value)) {
                    @let left = self.x(at) - pitch * 0.4 + width * index as f64;
                    @let top = self.y(value);
                    rect x=(px(left)) y=(px(top)) width=(px(width)) height=(px((floor - top).max(0.5)))
                        fill=(self.color(index)) { title { (series.name) ": " (short(value)) } }
                }
            }
        }
    }

    /// The series' place in the rows below the chart.
    fn legend(&self, index: usize, series: &Series) -> Markup {
        let (column, row) = ((index % ACROSS) as f64, (index / ACROSS) as f64);
        let (left, at) = (right(column / ACROSS as f64), HEIGHT + row * 16.0 + 4.0);
        html! {
            line x1=(px(left)) x2=(px(left + 22.0)) y1=(px(at - 4.0)) y2=(px(at - 4.0)) stroke=(self.color(index))
                stroke-width="2" stroke-dasharray=[dash(index)] {}
            text x=(px(left + 27.0)) y=(px(at)) fill="currentColor" { (series.name) }
        }
    }

    fn x(&self, place: usize) -> f64 {
        right(self.across.share(place))
    }

    fn y(&self, value: f64) -> f64 {
        TOP + (1.0 - self.range.share(value)) * (HEIGHT - TOP - BOTTOM)
    }

    fn color(&self, index: usize) -> String {
        match self.colors {
            Colors::Light => page::LIGHT[index % page::LIGHT.len()].to_owned(),
            Colors::Page => page::color(index),
        }
    }
}

/// The place of a share of the width.
fn right(share: f64) -> f64 {
    LEFT + share * (WIDTH - LEFT - RIGHT)
}

fn dash(index: usize) -> Option<&'static str> {
    Some(DASHES[index / page::LIGHT.len() % DASHES.len()]).filter(|dash| !dash.is_empty())
}

#[cfg(test)]
mod tests {
    use crate::{Chart, Mark, Places, Scale, Series};

    fn chart(scale: Scale, values: &[f64]) -> Chart {
        Chart {
            title: "a < b".into(),
            across: "size".into(),
            up: "count".into(),
            places: Places::Named((0..values.len()).map(|place| place.to_string()).collect()),
            series: vec![Series { name: "s".into(), values: values.iter().map(|v| Some(*v)).collect() }],
            scale,
            mark: Mark::Line,
        }
    }

    #[test]
    fn no_values_break_a_chart() {
        let odd = [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300, 1e300];
        for scale in [Scale::Linear, Scale::Share, Scale::Logarithmic] {
            for values in [&odd[..], &[], &odd[..1], &odd[4..5]] {
                for mark in [Mark::Line, Mark::Bars] {
                    let named = chart(scale, values);
                    let numbers = Places::Numbers((0..values.len()).map(|at| at as f64).collect());
                    for chart in [Chart { places: numbers, mark, ..named.clone() }, Chart { mark, ..named }] {
                        let svg = chart.svg();
                        assert!(svg.starts_with("<svg") && svg.contains("a &lt; b"));
                        assert!(!svg.contains("NaN") && !svg.contains("inf,"), "{svg}");
                    }
                }
            }
        }
    }

    /// A file is read on white paper by programs that know no variables; a page has colors for light and dark.
    #[test]
    fn a_file_brings_its_colors_and_a_part_takes_the_pages() {
        let chart = chart(Scale::Linear, &[1.0, 2.0]);
        let (alone, part) = (chart.svg(), chart.markup().into_string());
        assert!(alone.contains("xmlns") && alone.contains("#ffffff") && !alone.contains("var("));
        assert!(!part.contains("xmlns") && !part.contains("#ffffff") && part.contains("var(--t0)"));
    }

    #[test]
    fn each_point_between_numbers_is_not_marked() {
        let named = chart(Scale::Linear, &[1.0, 2.0]);
        let numbers = Chart { places: Places::Numbers(vec![1.0, 4.0]), ..named.clone() };
        assert_eq!(named.svg().matches("<circle").count(), 2);
        assert_eq!(numbers.svg().matches("<circle").count(), 0);
    }
}
