//! Thesis chapter 6: P-EDF, C-EDF and G-EDF with task sets near their bounds, in three memory scenarios.
//!
//! `cargo run --release -p solo-sim --example chapter_6 -- [SETS] [JOBS] [SCALE]`, by default 1 set, 5 jobs of the longest
//! period, periods divided by 50. The thesis's size is `10 200 1`.

mod run;

use run::{Scheduler, Size, evaluate, machine};
use solo_model::Bytes;
use std::path::Path;

fn main() {
    let size = Size::of_command_line(1, 5, 50);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (platform, overheads) = machine(&root);
    println!(
        "{} sets a scheduler, {} jobs of the longest period, periods 25 to 200 ms / {}",
        size.sets, size.jobs, size.scale
    );
    println!(
        "WSS      policy  tasks  S2/S1 worst  S3/S1 worst  S3/S1 mean  missed S1  missed S3  total S1  total S3"
    );
    for kib in [32, 64, 128, 256] {
        for scheduler in Scheduler::ALL {
            let row = evaluate(&platform, &overheads, scheduler, Bytes::from_kib(kib), size);
            let factor = |thousandths: u64| format!("{}.{:02}", thousandths / 1000, thousandths % 1000 / 10);
            let per_cent = |thousandths: u64| format!("{} %", thousandths / 10);
            println!(
                "{kib:>3} KiB  {:<6} {:>6} {:>12} {:>12} {:>11} {:>10} {:>10} {:>9} {:>9}",
                scheduler.name(),
                row.tasks,
                factor(row.s2_worst),
                factor(row.s3_worst),
                factor(row.s3_average),
                per_cent(row.missed[0]),
                per_cent(row.missed[1]),
                row.total[0].to_string(),
                row.total[1].to_string(),
            );
        }
    }
}
