//! `solo evaluate chapter-7`: late jobs with regard to colors and without (thesis Figs. 79 to 82).

use super::Points;
use crate::cli::Chapter7;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use serde::Serialize;
use solo_lab::evaluation::Spread;
use solo_lab::evaluation::chapter_7::{Evaluation, Paper, Row};
use solo_lab::sweep::Points as _;
use solo_model::Duration;
use solo_report::table;

const HEADER: [&str; 12] = [
    "share", "KiB", "writes", "jobs", "late CAP", "late WFD", "of sets", "paper", "mean CAP", "mean WFD",
    "HITM CAP", "HITM WFD",
];

/// A bar, and what the thesis prints of it.
#[derive(Serialize)]
struct Bar<'r> {
    #[serde(flatten)]
    row: &'r Row,
    paper: Option<Paper>,
}

pub(super) fn run(options: &Chapter7) -> Result<Exit, Failure> {
    let sharing: Vec<_> = options.share.iter().map(|&share| share.into()).collect();
    let common = &options.common;
    let evaluation = Evaluation::new(common.size(), &common.working_sets_kib, &sharing)?;
    let points = Points { common, chapter: "chapter-7", hash: evaluation.hash(), count: evaluation.len() };
    let done = points.run(|out, part, control| evaluation.run(out, part, &common.from, control))?;
    let Some(done) = done else { return Ok(Exit::Held) };
    let rows = Row::all(&done);
    let bars: Vec<Bar<'_>> = rows.iter().map(|row| Bar { row, paper: row.paper() }).collect();
    let doubts = format!(
        "late: jobs that finished late or should have, in per cent, the mean of all sets and the best and worst set; HITM: lines a \
         job took from another core that had modified them. {}",
        points.doubts()
    );
    points.show(Document::Chapter7, &bars, (&HEADER, 1, bars.iter().map(cells).collect()), &doubts)
}

fn cells(bar: &Bar<'_>) -> Vec<String> {
    let Bar { row, paper } = bar;
    let per_cent = |ppm: u64| format!("{}.{:02}", ppm / 10_000, ppm % 10_000 / 100);
    let range = |least: u64, most: u64| format!("{} to {}", per_cent(least), per_cent(most));
    let Spread { least, mean, most } = row.wfd.late_ppm;
    let hitm = |per_1000: u64| format!("{}.{}", per_1000 / 1000, per_1000 % 1000 / 100);
    vec![
        row.sharing.name().to_owned(),
        row.working_set_kib.to_string(),
        format!("{} %", row.writes_per_mille / 10),
        row.wfd.jobs.to_string(),
        per_cent(row.cap.late_ppm.mean),
        per_cent(mean),
        range(least, most),
        paper.map_or_else(|| "-".to_owned(), |paper| range(paper.least_ppm, paper.most_ppm)),
        table::time(Duration::new(row.cap.mean_ns)),
        table::time(Duration::new(row.wfd.mean_ns)),
        hitm(row.cap.hitm_per_1000_jobs),
        hitm(row.wfd.hitm_per_1000_jobs),
    ]
}
