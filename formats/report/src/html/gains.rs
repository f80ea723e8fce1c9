//! What applications gain on big and small cores, as a table, and over time: how unfair the scheduler was, and what its monitor believed.

use super::overtime::{self, Group, PLOT, Strip};
use super::tables::plain;
use super::{Panel, task_color};
use crate::gains::{Factors, Gain, Gains};
use crate::text;
use maud::{Markup, html};
use solo_model::Instant;

/// Threads whose factors are drawn.
const THREADS: usize = 12;
const HEADER: [&str; 8] =
    ["application", "weight", "runs", "a run", "with the big cores", "on small ones", "ratio", "slowed down"];
const FACTORS: [&str; 5] = ["speedup factor of", "believed", "true", "off by", "samples"];

/// The gains of all variants; nothing where none has any.
pub(super) fn sections(gains: &[Gains], panels: &[Panel<'_>]) -> Markup {
    let end = |of: &Gains| panels.iter().find(|panel| panel.name == of.variant).map(|panel| panel.report.end);
    html! {
        @if !gains.is_empty() {
            h2 { "What applications gain on big cores" }
            @for of in gains { (section(of, end(of).unwrap_or_default(), gains.len())) }
        }
    }
}

/// The gains of a variant whose run ended at `end`. `share` variants share the page's size.
fn section(gains: &Gains, end: Instant, share: usize) -> Markup {
    let groups = [unfairness(gains), factors(&gains.factors)];
    let groups: Vec<Group<'_>> = groups.into_iter().filter(|group| !group.strips.is_empty()).collect();
    let told: Vec<Vec<String>> = gains.factors.iter().filter_map(factor).collect();
    html! {
        h3 { (gains.variant) }
        p.note {
            "Aggregate speedup " (decimal(gains.aggregate_speedup)) " over small cores, unfairness " (decimal(gains.unfairness)) "."
        }
        (plain(&HEADER, gains.applications.iter().map(row)))
        p.note { "The columns with the big cores and on small ones: a run of the application alone there." }
        @if !told.is_empty() {
            (plain(&FACTORS, told.into_iter()))
            p.note {
                "Believed: what the scheduler's monitor said while the threads ran together. True: how much longer the same instructions \
                 take alone on small cores than alone on big ones. Means over time; off by: the mean distance of the two, by the truth."
            }
        }
        @if !groups.is_empty() { (overtime::drawn(&groups, end, share)) }
    }
}

fn decimal(value: f64) -> String {
    format!("{value:.2}")
}

fn row(gain: &Gain) -> Vec<String> {
    vec![
        gain.name.clone(),
        gain.weight.to_string(),
        gain.runs.to_string(),
        text::time(gain.completion),
        text::time(gain.alone_with_big),
        text::time(gain.alone_on_small),
        decimal(gain.small_by_big()),
        decimal(gain.slowdown()),
    ]
}

/// `None` where nothing was said, or no truth is known.
fn factor(of: &Factors) -> Option<Vec<String>> {
    let thousandths = |value: u64| decimal(value as f64 / 1e3);
    let error = format!("{:.1} %", of.mean_error_per_cent?);
    let (believed, truth) = (thousandths(of.believed.mean()?), thousandths(of.truth.mean()?));
    Some(vec![of.thread.clone(), believed, truth, error, of.samples.to_string()])
}

/// How unfair the last runs of all applications were.
fn unfairness(of: &Gains) -> Group<'_> {
    let series = &of.over_time;
    let top = series.max();
    let strip = |top| Strip {
        label: "unfairness".into(),
        detail: of
            .most_unfair
            .map_or_else(String::new, |most| format!("at most {}", decimal(most.unfairness))),
        series,
        color: task_color(0),
        top,
        height: PLOT,
        level: Some(1000),
        shaded: &[],
        beside: None,
    };
    Group {
        title: format!(
            "Unfairness of last runs, to {}; dashed: 1, where all are slowed down equally",
            decimal(top.unwrap_or(0) as f64 / 1e3)
        ),
        strips: top.map(strip).into_iter().collect(),
    }
}

/// What the monitor said of each thread, and the truth.
fn factors(all: &[Factors]) -> Group<'_> {
    let known = |of: &&Factors| of.believed.max().is_some() || of.truth.max().is_some();
    let tops = all.iter().flat_map(|of| [of.believed.max(), of.truth.max()]);
    let top = tops.flatten().max().unwrap_or(0);
    let strips = all.iter().enumerate().filter(|(_, of)| known(of)).take(THREADS).map(|(number, of)| Strip {
        label: of.thread.clone(),
        detail: of.mean_error_per_cent.map_or_else(String::new, |error| format!("off by {error:.1} %")),
        series: &of.believed,
        color: task_color(number),
        top,
        height: PLOT,
        level: None,
        shaded: &[],
        beside: Some(&of.truth),
    });
    Group {
        title: format!(
            "Speedup factor that the monitor believes, and the true one (dashed), to {}",
            decimal(top as f64 / 1e3)
        ),
        strips: strips.collect(),
    }
}
