//! Thesis chapter 7, Figs. 79 to 82: deadlines missed by task sets partitioned with regard to colors and without.
//!
//! `cargo run --release -p solo-sim --example chapter_7 -- [SETS] [JOBS] [SCALE]`, by default 1 set, 1 job of the longest
//! period, periods divided by 10. The thesis's size is `10 10000 1`.

mod run;

use run::{Memories, Missed, Size, evaluate, machine};
use solo_model::{Bytes, PerMille};
use std::path::Path;

fn main() {
    let size = Size::of_command_line(1, 1, 10);
    let (platform, overheads) = machine(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    println!(
        "{} sets, {} jobs of the longest period, periods 25 to 200 ms / {}",
        size.sets, size.jobs, size.scale
    );
    println!("WSS      writes     jobs  missed CAP  missed WFD  mean job CAP  mean job WFD");
    for kib in [32, 64, 128, 256] {
        for writes in [330, 200] {
            let writes = PerMille::new(writes).expect("below one");
            let [cap, wfd] =
                evaluate(&platform, &overheads, Memories { wss: Bytes::from_kib(kib), writes }, size);
            let missed = |missed: Missed| {
                let share = missed.late * 10_000 / missed.jobs.max(1);
                format!("{}.{:02} %", share / 100, share % 100)
            };
            println!(
                "{kib:>3} KiB  {:>4} % {:>8} {:>11} {:>11} {:>13} {:>13}",
                writes.get() / 10,
                cap.jobs,
                missed(cap),
                missed(wfd),
                cap.mean.to_string(),
                wfd.mean.to_string(),
            );
        }
    }
}
