//! Thesis chapter 8, Figs. 100 to 105: deadlines missed, tardiness and total time under dynamic color-aware scheduling, CAP-GS
//! and BFD, and what best-effort tasks lose.
//!
//! `cargo run --release -p solo-sim --example chapter_8 -- [SETS] [JOBS] [SCALE] [KIB]`, by default 10 sets, 2 jobs of each task,
//! periods divided by 20, and all four working sets of the thesis. The thesis's size is `10 200 1`.

mod run;

use run::{Approach, Memories, Row, Size, evaluate, machine};
use solo_model::{Bytes, PerMille};
use std::path::Path;

fn main() {
    let size = Size::of_command_line(10, 2, 20);
    let (platform, overheads) = machine(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    println!("{} sets, {} jobs of each task, periods 25 to 200 ms / {}", size.sets, size.jobs, size.scale);
    println!(
        "{:<8} {:>6}  {:<16} {:>8} {:>8} {:>12} {:>7} {:>8} {:>8} {:>7} {:>9}",
        "WSS",
        "writes",
        "approach",
        "late HRT",
        "late SRT",
        "tardiness ms",
        "total",
        "BE jobs",
        "samples",
        "held",
        "HITM"
    );
    let only = std::env::args().nth(4).and_then(|word| word.parse().ok());
    for kib in [32, 64, 128, 256].into_iter().filter(|kib| only.is_none_or(|only: u64| only == *kib)) {
        for writes in [330, 200] {
            let writes = PerMille::new(writes).expect("below one");
            let rows = evaluate(&platform, &overheads, Memories { wss: Bytes::from_kib(kib), writes }, size);
            for (approach, row) in Approach::ALL.into_iter().zip(rows) {
                println!("{kib:>3} KiB  {:>4} %  {:<16} {}", writes.get() / 10, approach.name(), cells(&row));
            }
        }
    }
}

fn cells(row: &Row) -> String {
    let [hard, soft] = row.shares().map(|share| format!("{}.{:02} %", share / 100, share % 100));
    let tardiness = row.tardiness / row.sets.max(1) as i64;
    let total = row.total / row.sets.max(1);
    format!(
        "{hard:>8} {soft:>8} {:>12} {:>7} {:>8} {:>8} {:>7} {:>9}",
        format!("{:.3}", tardiness as f64 / 1e6),
        format!("{}.{:03}", total / 1000, total % 1000),
        row.best_effort,
        row.heard.samples,
        row.heard.held,
        row.heard.counted,
    )
}
