//! What applications gain on big and small cores, below the table of a comparison.

use solo_model::Duration;
use solo_model::text::Printable;
use solo_report::gains::{Factors, Gain, Gains};

/// The gains of all variants for people: a line for each application, and what they come to.
pub(super) fn text(variants: &[Gains]) -> String {
    let mut text = String::new();
    for gains in variants {
        let Gains { variant, applications, aggregate_speedup, unfairness, .. } = gains;
        let width = applications.iter().map(|gain| Printable(&gain.name).to_string().chars().count()).max();
        text.push_str(&format!(
            "\n{}: aggregate speedup {aggregate_speedup:.2} over small cores, unfairness {unfairness:.2}{}\n",
            Printable(variant),
            most_unfair(gains)
        ));
        for gain in applications {
            text.push_str(&format!("  {}\n", line(gain, width.unwrap_or(0))));
        }
        gains.factors.iter().flat_map(factor).for_each(|line| text.push_str(&format!("  {line}\n")));
    }
    text
}

/// When the last runs were most unfair.
fn most_unfair(gains: &Gains) -> String {
    gains.most_unfair.map_or_else(String::new, |most| {
        format!(", of last runs at most {:.2}, at {:.1} ms", most.unfairness, most.at.get() as f64 / 1e6)
    })
}

/// What the monitor said of a thread; nothing where it said nothing, or no truth is known.
fn factor(of: &Factors) -> Option<String> {
    let mean = |series: &solo_report::series::Series| Some(series.mean()? as f64 / 1e3);
    Some(format!(
        "speedup factor of {}: {:.2} believed, {:.2} true in the mean, off by {:.1} % of {} samples in the mean",
        Printable(&of.thread),
        mean(&of.believed)?,
        mean(&of.truth)?,
        of.mean_error_per_cent?,
        of.samples,
    ))
}

fn line(gain: &Gain, width: usize) -> String {
    let ms = |time: Duration| format!("{:.1} ms", time.get() as f64 / 1e6);
    let weight = if gain.weight == solo_model::Application::WEIGHT {
        String::new()
    } else {
        format!(", weight {}", gain.weight)
    };
    format!(
        "{:width$}  {} a run of {}, alone {} with the big cores and {} on small ones ({:.2} times as long): slowed down {:.2} times{weight}",
        Printable(&gain.name).to_string(),
        ms(gain.completion),
        gain.runs,
        ms(gain.alone_with_big),
        ms(gain.alone_on_small),
        gain.small_by_big(),
        gain.slowdown(),
    )
}
