//! `solo evaluate chapter-6`: scaling factors, tasks that miss and total times (thesis Figs. 72 to 74).

use super::{Points, factor};
use crate::cli::Chapter6;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use serde::Serialize;
use solo_lab::evaluation::chapter_6::{Evaluation, Paper, Row};
use solo_lab::sweep::Points as _;
use solo_model::Duration;
use solo_report::table;

const HEADER: [&str; 18] = [
    "share", "accesses", "policy", "KiB", "tasks", "cut off", "S2/S1", "S3/S1", "of sets", "most",
    "mean job", "late S1", "paper", "late S3", "paper", "total S1", "S2", "S3",
];

/// A bar, and what the thesis prints of it.
#[derive(Serialize)]
struct Bar<'r> {
    #[serde(flatten)]
    row: &'r Row,
    paper: Option<Paper>,
}

pub(super) fn run(options: &Chapter6) -> Result<Exit, Failure> {
    let sharing: Vec<_> = options.share.iter().map(|&share| share.into()).collect();
    let repetitions: Vec<_> = options.repetitions.iter().map(|&accesses| accesses.into()).collect();
    let common = &options.common;
    let evaluation = Evaluation::new(common.size(), &common.working_sets_kib, &sharing, &repetitions)?;
    let points = Points { common, chapter: "chapter-6", hash: evaluation.hash(), count: evaluation.len() };
    let done = points.run(|out, part, control| evaluation.run(out, part, &common.from, control))?;
    let Some(done) = done else { return Ok(Exit::Held) };
    let rows = Row::all(&done);
    let bars: Vec<Bar<'_>> = rows.iter().map(|row| Bar { row, paper: row.paper() }).collect();
    let doubts = format!(
        "S3/S1: each task's longest job in S3 over that in S1, the mean of all tasks, of each set, and the most; late: tasks that \
         missed a deadline, in per cent; cut off: tasks without a finished job in S1, S2 and S3, which are in no factor. {}",
        points.doubts()
    );
    points.show(Document::Chapter6, &bars, (&HEADER, 3, bars.iter().map(cells).collect()), &doubts)
}

fn cells(bar: &Bar<'_>) -> Vec<String> {
    let Bar { row, paper } = bar;
    let per_cent = |per_mille: u64| format!("{}.{}", per_mille / 10, per_mille % 10);
    let known = |per_mille: Option<u64>| per_mille.map_or_else(|| "-".to_owned(), per_cent);
    let (worst, sets) = (row.s3_worst_per_mille, row.s3_worst_of_sets_per_mille);
    let mut cells = vec![
        row.sharing.name().to_owned(),
        row.repetitions.name().to_owned(),
        row.scheduler.name().to_owned(),
        row.working_set_kib.to_string(),
        row.tasks.to_string(),
        row.unfinished.map(|count| count.to_string()).join(" "),
        factor(row.s2_worst_per_mille.mean),
        factor(worst.mean),
        format!("{} to {}", factor(sets.least), factor(sets.most)),
        factor(worst.most),
        factor(row.s3_mean_per_mille.mean),
        per_cent(row.missed_per_mille[0]),
        known(paper.and_then(|paper| paper.missed_s1_per_mille)),
        per_cent(row.missed_per_mille[2]),
        known(paper.map(|paper| paper.missed_s3_per_mille)),
    ];
    cells.extend(row.total_ns.iter().map(|total| table::time(Duration::new(total.mean))));
    cells
}
