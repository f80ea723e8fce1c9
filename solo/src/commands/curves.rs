//! The profile of a trace as charts.

use crate::exit::Failure;
use crate::pages;
use solo_chart::{Chart, Mark, Places, Scale, Series, page};
use solo_model::Bytes;
use solo_store::TargetFolder;
use solo_trace::ProfileReport;
use std::path::Path;

/// Windows that are drawn at most; of more, the largest of neighbours.
const WINDOWS: usize = 400;

/// Draws the reuse histogram, the miss-rate curve, the working set over time and the busiest pages into a folder.
pub(super) fn draw(report: &ProfileReport, trace: &Path, folder: &Path) -> Result<(), Failure> {
    let place = TargetFolder::at(folder)?;
    let all = [
        (
            "reuse",
            "Accesses by the number of other lines touched since the last access to their line.",
            reuse(report),
        ),
        ("misses", "Misses of fully associative LRU caches.", misses(report)),
        ("working-set", "Distinct lines in each window.", working_set(report)),
        ("pages", "The pages accessed most.", ranking(report)),
    ];
    for (name, _, chart) in &all {
        pages::write(&place, &format!("{name}.svg"), &chart.svg())?;
    }
    let charts: Vec<(String, Chart)> =
        all.into_iter().map(|(_, text, chart)| (text.to_owned(), chart)).collect();
    pages::write(&place, "profile.html", &page::charts(&trace.display().to_string(), &charts))?;
    Ok(())
}

fn reuse(report: &ProfileReport) -> Chart {
    let place = |power: usize| if power == 0 { "0".to_owned() } else { (1_u64 << (power - 1)).to_string() };
    Chart {
        title: "Reuse distances".into(),
        across: format!("other lines of {} B, from", report.line),
        up: "accesses".into(),
        places: Places::Named((0..report.distances.len()).map(place).collect()),
        series: vec![series("accesses", report.distances.iter().map(|count| *count as f64))],
        scale: Scale::Logarithmic,
        mark: Mark::Bars,
    }
}

fn misses(report: &ProfileReport) -> Chart {
    let rate = |misses: u64| 100.0 * misses as f64 / report.accesses.max(1) as f64;
    Chart {
        title: "Miss-rate curve".into(),
        across: "size of the cache".into(),
        up: "per cent of the accesses".into(),
        places: Places::Named(
            report.misses.iter().map(|point| Bytes::new(point.bytes).to_string()).collect(),
        ),
        series: vec![series("missed", report.misses.iter().map(|point| rate(point.misses)))],
        scale: Scale::Linear,
        mark: Mark::Line,
    }
}

fn working_set(report: &ProfileReport) -> Chart {
    let together = report.working_set.len().div_ceil(WINDOWS).max(1);
    let most = |lines: &[u64]| (lines.iter().max().copied().unwrap_or(0) * report.line) as f64 / 1024.0;
    let windows: Vec<f64> = report.working_set.chunks(together).map(most).collect();
    let million = |at: usize| (at * together) as f64 * report.window as f64 / 1e6;
    Chart {
        title: format!("Working set in {} accesses", report.window),
        across: "million accesses".into(),
        up: "KiB".into(),
        places: Places::Numbers((0..windows.len()).map(million).collect()),
        series: vec![series("working set", windows.into_iter())],
        scale: Scale::Linear,
        mark: Mark::Line,
    }
}

fn ranking(report: &ProfileReport) -> Chart {
    Chart {
        title: "Busiest pages".into(),
        across: "page, busiest first".into(),
        up: "accesses".into(),
        places: Places::Named(report.pages.iter().map(|page| format!("{:x}", page.address >> 12)).collect()),
        series: vec![series("accesses", report.pages.iter().map(|page| page.accesses as f64))],
        scale: Scale::Linear,
        mark: Mark::Bars,
    }
}

fn series(name: &str, values: impl Iterator<Item = f64>) -> Series {
    Series { name: name.to_owned(), values: values.map(Some).collect() }
}
