//! The figures: the ratio of schedulable sets against the cap, or weighted schedulability against the working
//! set, and a page of them.

use crate::results::{DistributionSummary, Results, Summary};
use maud::{Markup, html};
use solo_chart::{Chart, Mark, Places, Scale, Series, page};
use solo_model::units::Bytes;

/// The figure of one distribution.
pub(crate) fn figure(distribution: &DistributionSummary) -> Chart {
    let mut sizes: Vec<Bytes> = distribution.curves.iter().filter_map(|curve| curve.working_set).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let title =
        format!("{}, {} tasks on average", distribution.name, mean(distribution.mean_tasks_per_mille));
    if sizes.is_empty() { by_cap(title, distribution) } else { by_working_set(title, distribution, &sizes) }
}

fn by_cap(title: String, distribution: &DistributionSummary) -> Chart {
    let mut caps: Vec<u64> = distribution
        .curves
        .iter()
        .flat_map(|curve| curve.points.iter().map(|point| point.cap_per_mille))
        .collect();
    caps.sort_unstable();
    caps.dedup();
    let curves = distribution.curves.iter();
    let series = curves.map(|curve| Series {
        name: curve.name.clone(),
        values: caps.iter().map(|cap| curve.ratio(*cap)).collect(),
    });
    Chart {
        title,
        across: "utilisation cap".into(),
        up: "share of sets that are schedulable".into(),
        places: Places::Numbers(caps.iter().map(|cap| *cap as f64 / 1000.0).collect()),
        series: series.collect(),
        scale: Scale::Share,
        mark: Mark::Line,
    }
}

/// Curves of one name make one line; one without a working set is a level line.
fn by_working_set(title: String, distribution: &DistributionSummary, sizes: &[Bytes]) -> Chart {
    let mut series: Vec<Series> = Vec::new();
    for curve in &distribution.curves {
        let value = Some(curve.weighted_per_mille as f64 / 1000.0);
        let at = series.iter().position(|line| line.name == curve.name).unwrap_or_else(|| {
            series.push(Series { name: curve.name.clone(), values: vec![None; sizes.len()] });
            series.len() - 1
        });
        for (place, size) in series[at].values.iter_mut().zip(sizes) {
            if curve.working_set.is_none_or(|own| own == *size) {
                *place = value;
            }
        }
    }
    Chart {
        title,
        across: "working set lost at a preemption".into(),
        up: "weighted schedulability".into(),
        places: Places::Named(sizes.iter().map(ToString::to_string).collect()),
        series,
        scale: Scale::Share,
        mark: Mark::Line,
    }
}

/// The page of a whole study.
pub(crate) fn page(results: &Results, summary: &Summary) -> String {
    let plan = results.plan();
    let names: Vec<String> = plan
        .curves
        .iter()
        .map(|curve| curve.working_set.map_or(curve.name.clone(), |size| format!("{}, {size}", curve.name)))
        .collect();
    let body = html! {
        h1 { (summary.study) }
        @if !plan.about.is_empty() { p { (plan.about) } }
        p.soft {
            (summary.sets) " task sets, " (plan.sets) " for each of " (plan.caps.len()) " caps and "
            (plan.distributions.len()) " distributions, " (plan.cores) " cores, seed " (plan.seed) ". Verdicts "
            "left open by the work limit: " (summary.undecided) " (counted as not schedulable)."
        }
        div.figures {
            @for distribution in &summary.distributions {
                figure { (figure(distribution).markup()) }
            }
        }
        h2 { "Weighted schedulability" }
        div.scroll {
            table {
                thead { tr { th { "distribution" } @for name in &names { th { (name) } } } }
                tbody {
                    @for distribution in &summary.distributions {
                        tr {
                            th { (distribution.name) }
                            @for curve in &distribution.curves { td { (mean(curve.weighted_per_mille)) } }
                        }
                    }
                }
            }
        }
        (curves(results))
        p.soft { "Study " code { (summary.hash) } }
    };
    page::document(&summary.study, STYLE, body)
}

fn curves(results: &Results) -> Markup {
    let plan = results.plan();
    html! {
        h2 { "Curves" }
        dl {
            @for curve in plan.curves.iter().filter(|curve| curve.working_set == first_size(results, &curve.name)) {
                @let inflation = &plan.inflations[curve.inflation];
                dt { (curve.name) }
                dd {
                    "any of " (curve.any_of.join(", "))
                    @if let Some(table) = &inflation.overheads { "; overheads: " (table.source) }
                    @if let Some(tick) = inflation.tick { "; tick every " (tick.to_string()) }
                    @if curve.working_set.is_some() { "; the loss of each working set" }
                }
            }
        }
    }
}

fn first_size(results: &Results, name: &str) -> Option<solo_model::units::Bytes> {
    results.plan().curves.iter().find(|curve| curve.name == name).and_then(|curve| curve.working_set)
}

fn mean(per_mille: u64) -> String {
    format!("{}.{:03}", per_mille / 1000, per_mille % 1000)
}

const STYLE: &str = "body{max-width:1240px;margin:0 auto;padding:24px 20px}.soft{color:var(--soft)}.figures{display:grid;\
grid-template-columns:repeat(auto-fit,minmax(min(500px,100%),1fr));gap:18px}figure{margin:0}.scroll{overflow-x:auto}\
table{border-collapse:collapse;font-size:.84rem}th,td{text-align:right;padding:2px 12px 2px 0}th:first-child{text-align:left}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 18px;font-size:.87rem}dt{color:var(--soft)}dd{margin:0}";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{CurvePoint, CurveSummary};

    fn curve(name: &str, working_set: Option<Bytes>, weighted_per_mille: u64) -> CurveSummary {
        let point = |(cap_per_mille, schedulable)| CurvePoint { cap_per_mille, schedulable, sets: 4 };
        let points = [(2000, 4), (2500, 1), (4000, 0)].map(point).to_vec();
        CurveSummary { name: name.into(), working_set, weighted_per_mille, undecided: 0, points }
    }

    fn drawn(curves: Vec<CurveSummary>) -> Chart {
        figure(&DistributionSummary { name: "d".into(), sets: 12, mean_tasks_per_mille: 7250, curves })
    }

    #[test]
    fn ratios_lie_at_their_caps() {
        let chart = drawn(vec![curve("P-EDF", None, 0), curve("G-EDF", None, 0)]);
        assert_eq!(chart.places, Places::Numbers(vec![2.0, 2.5, 4.0]));
        assert_eq!(chart.series.len(), 2);
        assert_eq!(chart.series[1].values, [Some(1.0), Some(0.25), Some(0.0)]);
        assert_eq!(chart.title, "d, 7.250 tasks on average");
    }

    #[test]
    fn curves_of_one_name_are_one_line_and_one_without_a_size_is_level() {
        let [small, large] = [64, 128].map(|kib| Some(Bytes::from_kib(kib)));
        let chart = drawn(vec![curve("G", small, 900), curve("none", None, 950), curve("G", large, 400)]);
        assert_eq!(chart.places, Places::Named(vec!["64KiB".into(), "128KiB".into()]));
        let lines = chart.series.iter().map(|series| (series.name.as_str(), series.values.clone()));
        let expected = [("G", vec![Some(0.9), Some(0.4)]), ("none", vec![Some(0.95), Some(0.95)])];
        assert_eq!(lines.collect::<Vec<_>>(), expected);
    }
}
