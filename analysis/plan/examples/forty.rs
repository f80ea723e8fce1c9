//! How long `solo plan` searches for eight cores and forty tasks (issue of single-core equivalence: seconds).
//!
//! `cargo run --release -p solo-plan --example forty [SETS]`; five sets a row unless told otherwise. A fifth of the tasks use memory, some are
//! best effort; half of the rows have them in twenty partitions, for which windows are searched.

use solo_model::SplitMix64;
use solo_plan::{Ending, search};
use solo_scenario::{Platforms, requests};
use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

fn main() {
    let sets: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(5);
    println!(
        "{sets} sets a row, p4080, P-RM, epos-thesis\npartitions  load  planned  attempts most  ms median  ms most"
    );
    for partitions in [0_usize, 20] {
        for load in [20, 30, 40, 50, 70] {
            row(sets, partitions, load);
        }
    }
}

fn row(sets: u64, partitions: usize, load: u64) {
    let (mut times, mut planned, mut attempts) = (Vec::new(), 0, 0);
    for set in 0..sets {
        let text = scenario(set, partitions, load);
        let begin = Instant::now();
        let found = requests(&text, Path::new("forty.toml"), &Platforms::builtin(), &Default::default());
        let Ok(requests) = found.map_err(|report| eprintln!("{}", report.to_json())) else { continue };
        let Some(found) = requests.first().map(search) else { continue };
        times.push(begin.elapsed());
        planned += u64::from(matches!(found.ending, Ending::Planned(_)));
        attempts = attempts.max(found.rounds.len());
    }
    times.sort_unstable();
    let ms = |time: Option<&std::time::Duration>| time.map_or(0.0, |time| time.as_secs_f64() * 1000.0);
    let (median, most) = (ms(times.get(times.len() / 2)), ms(times.last()));
    println!("{partitions:>10}  {load:>3}%  {planned:>7}  {attempts:>13}  {median:>9.1}  {most:>7.1}");
}

/// Forty tasks that ask for so many hundredths of eight cores.
fn scenario(set: u64, partitions: usize, load: u64) -> String {
    let mut random = SplitMix64::derived(40, &[set, load]);
    let weights: Vec<u64> = (0..40).map(|_| 200 + random.below(1000)).collect();
    let sum: u64 = weights.iter().sum();
    let mut text = "name = \"forty\"\nplatform = \"p4080\"\nduration = \"1s\"\n[scheduler]\npolicy = \"P-RM\"\noverheads = \"epos-thesis\"\n".to_owned();
    if partitions > 0 {
        text += "[isolation.partitions]\n";
        for at in 0..partitions {
            let _ = writeln!(text, "p{at} = [\"t{}\", \"t{}\"]", at * 2, at * 2 + 1);
        }
    }
    for (at, weight) in weights.iter().enumerate() {
        let period = [5_000, 10_000, 20_000, 25_000, 40_000, 50_000, 100_000][random.below(7) as usize];
        let time = (period * 8 * load * weight / (100 * sum)).max(1);
        let _ = write!(text, "[[task]]\nname = \"t{at}\"\n");
        let _ = match at % 5 {
            0 => {
                let accesses = 100 + random.below(1400);
                let wcet = time + accesses * 4 / 10 + 1;
                write!(
                    text,
                    "class = \"hard\"\nperiod = \"{period}us\"\nwcet = \"{wcet}us\"\nmisses = {accesses}\nwork = [{{ compute = \"{time}us\" }}, {{ random = \
                     \"96KiB\", stride = \"64B\", writes = \"30%\", accesses = {accesses} }}]\n"
                )
            }
            1 if at < 20 => {
                writeln!(text, "class = \"best-effort\"\nwork = [{{ stream = \"2MiB\", stride = \"64B\" }}]")
            }
            _ => writeln!(
                text,
                "class = \"hard\"\nperiod = \"{period}us\"\nwork = [{{ compute = \"{time}us\" }}]"
            ),
        };
    }
    text
}
