//! `solo evaluate chapter-8`: late jobs, tardiness and total times where best-effort tasks disturb (thesis Figs. 100 to 105).

use super::Points;
use crate::cli::Chapter8;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use serde::Serialize;
use solo_lab::evaluation::chapter_8::{Core, Evaluation, Jobs, Paper, Row};
use solo_lab::sweep::Points as _;

const HEADER: [&str; 17] = [
    "share",
    "KiB",
    "writes",
    "approach",
    "late HRT",
    "paper",
    "late SRT",
    "of sets",
    "paper",
    "tardiness",
    "total",
    "paper",
    "BE jobs",
    "BE on cores",
    "looks",
    "held",
    "HITM",
];

/// A bar, and what the thesis prints of it.
#[derive(Serialize)]
struct Bar<'r> {
    #[serde(flatten)]
    row: &'r Row,
    paper: Option<Paper>,
}

pub(super) fn run(options: &Chapter8) -> Result<Exit, Failure> {
    let sharing: Vec<_> = options.share.iter().map(|&share| share.into()).collect();
    let approaches: Vec<_> = options.approach.iter().map(|&approach| approach.into()).collect();
    let common = &options.common;
    let (size, hard) = (common.size(), options.hard_accesses);
    let evaluation = Evaluation::new(size, &common.working_sets_kib, &sharing, &approaches, hard)?;
    let points = Points { common, chapter: "chapter-8", hash: evaluation.hash(), count: evaluation.len() };
    let done = points.run(|out, part, control| evaluation.run(out, part, &common.from, control))?;
    let Some(done) = done else { return Ok(Exit::Held) };
    let rows = Row::all(&done);
    let bars: Vec<Bar<'_>> = rows.iter().map(|row| Bar { row, paper: row.paper() }).collect();
    let doubts = format!(
        "late: hard (HRT) and soft (SRT) jobs that finished late or should have, in per cent, the mean of all sets and the best and \
         worst set; tardiness: the sum of a set's longest responses less deadlines; total: the time until all of these jobs were \
         done, over the time that it should take; BE on cores: best-effort tasks' time, in per cent of one core; held: how often \
         one was made to give its core away; HITM: lines that a core took from another that had modified them. {}",
        points.doubts()
    );
    points.show(Document::Chapter8, &bars, (&HEADER, 1, bars.iter().map(cells).collect()), &doubts)
}

fn cells(bar: &Bar<'_>) -> Vec<String> {
    let Bar { row, paper } = bar;
    let per_cent = |ppm: u64| format!("{}.{:02}", ppm / 10_000, ppm % 10_000 / 100);
    let known = |ppm: Option<u64>| ppm.map_or_else(|| "-".to_owned(), per_cent);
    let factor = |per_mille: u64| format!("{}.{:03}", per_mille / 1000, per_mille % 1000);
    let range =
        |jobs: &Jobs| format!("{} to {}", per_cent(jobs.late_ppm.least), per_cent(jobs.late_ppm.most));
    let Core { samples, held, hitm } = row.all_cores();
    vec![
        row.sharing.name().to_owned(),
        row.working_set_kib.to_string(),
        format!("{} %", row.writes_per_mille / 10),
        row.approach.name().to_owned(),
        per_cent(row.hard.late_ppm.mean),
        known(paper.and_then(|paper| paper.hard_late_ppm)),
        per_cent(row.soft.late_ppm.mean),
        range(&row.soft),
        known(paper.and_then(|paper| paper.soft_late_ppm)),
        format!("{:.3} ms", row.tardiness_ns as f64 / 1e6),
        factor(row.total_per_mille.mean),
        paper.and_then(|paper| paper.total_per_mille).map_or_else(|| "-".to_owned(), factor),
        row.best_effort.jobs.to_string(),
        format!("{}.{}", row.best_effort.on_core_per_mille / 10, row.best_effort.on_core_per_mille % 10),
        samples.to_string(),
        held.to_string(),
        hitm.to_string(),
    ]
}
