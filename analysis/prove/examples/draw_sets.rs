//! Task sets as lines for `solo prove --jsonl`, drawn so that tests are tried near their bounds.
//!
//! `cargo run --release -p solo-prove --example draw_sets -- [SETS] [SEED]` writes SETS sets (20000) in turn of 1, 2, 4,
//! 8 and 16 cores, four utilisation distributions, periods of tens of microseconds to hundreds of milliseconds or of
//! 2 to 24 units (where sums and times often tie), and deadlines equal to, up to, or on both sides of periods. The
//! name of a set says which. Utilisations are spread over 0.3 to 1.02 of the cores.

mod sets;

use sets::{Draw, draw_set};
use solo_prove::{Task, TaskSet, peer};
use std::io::{BufWriter, Write};

const CORES: [u32; 5] = [1, 2, 4, 8, 16];
const UTILIZATIONS: [&str; 4] = ["uni-light", "uni-medium", "uni-heavy", "bimo-light"];
const PERIODS: [&str; 4] = ["tiny", "short", "moderate", "long"];
const DEADLINES: [&str; 4] = ["implicit", "near", "constrained", "arbitrary"];

/// The same task with another deadline: equal to the period; in the last fifth before it; anywhere from `c` to it;
/// up to twice the period.
fn with_deadline(task: &Task, deadlines: &str, draw: &mut Draw) -> Task {
    let (c, t) = (task.c.get(), task.t.get());
    let room = (t - c) as f64;
    let d = match deadlines {
        "near" => t - draw.between(0.0, 0.2 * room + 1.0) as u64,
        "constrained" => c + draw.between(0.0, room + 1.0) as u64,
        "arbitrary" => c + draw.between(0.0, room + t as f64 + 1.0) as u64,
        _ => t,
    };
    Task::new(c, t, d.max(c))
}

fn main() -> std::io::Result<()> {
    let words: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let count = words.first().copied().unwrap_or(20_000);
    let mut draw = Draw(0x5eed_0000_0000_0003 ^ words.get(1).copied().unwrap_or(0).wrapping_mul(0x9e37_79b9));
    let mut output = BufWriter::new(std::io::stdout().lock());
    for index in 0..count as usize {
        let cores = CORES[index % 5];
        let utilizations = UTILIZATIONS[index / 5 % 4];
        let periods = PERIODS[index / 20 % 4];
        let deadlines = DEADLINES[index / 80 % 4];
        let cap = f64::from(cores) * draw.between(0.3, 1.02);
        let set = draw_set(utilizations, periods, cores, cap, &mut draw);
        let tasks: Vec<Task> =
            set.tasks().iter().map(|task| with_deadline(task, deadlines, &mut draw)).collect();
        if tasks.is_empty() {
            continue;
        }
        let set = TaskSet::new(cores, tasks).expect("deadlines are at least execution times");
        let line = peer::line(&set);
        write!(output, "{{\"name\":\"{utilizations} {periods} {deadlines}\",{}", &line[1..])?;
    }
    output.flush()
}
