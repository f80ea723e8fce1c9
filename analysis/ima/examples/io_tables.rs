//! How often and how fast offsets are found, by number of partitions and utilization (single-core equivalence, Fig. 9).
//!
//! `cargo run --release -p solo-ima --example io_tables [INSTANCES]`; 100 instances a point unless told otherwise.

use solo_ima::draw::Family;
use solo_ima::{Problem, exact, hos};
use solo_model::SplitMix64;
use solo_model::units::PerMille;
use std::time::{Duration, Instant};

/// Enough for a second or so.
const EXACT_WORK: u64 = 20_000_000;

fn main() {
    let instances: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100);
    let effort = hos::Effort::default();
    println!(
        "{instances} instances a point, seed 9; HOS begins again {} times at most; exact: {EXACT_WORK} comparisons",
        effort.restarts
    );
    println!(
        "partitions  U     ruled out  HOS solved  p50 ms  p99 ms  restarts p50/max  exact solved  none  unknown  p50 ms"
    );
    for partitions in [4_u16, 8, 16, 32, 64] {
        for utilization in [300_u16, 500, 700, 900] {
            let Some(utilization) = PerMille::new(utilization) else { continue };
            point(Family { partitions, per_core: 4, utilization }, instances, effort);
        }
    }
}

fn point(family: Family, instances: u64, effort: hos::Effort) {
    let (mut times, mut restarts, mut exact_times) = (Vec::new(), Vec::new(), Vec::new());
    let (mut ruled_out, mut solved, mut none, mut unknown) = (0, 0, 0, 0);
    for instance in 0..instances {
        let parts = [u64::from(family.partitions), u64::from(family.utilization.get()), instance];
        let Ok(problem) = Problem::new(family.draw(&mut SplitMix64::derived(9, &parts))) else { continue };
        if !problem.impossible().is_empty() {
            ruled_out += 1;
            continue;
        }
        let begin = Instant::now();
        if let hos::HosAnswer::Solved { offsets, restarts: again, .. } =
            hos::solve(&problem, instance, effort)
        {
            times.push(begin.elapsed());
            restarts.push(again);
            assert!(problem.violations(&offsets).is_empty());
        }
        let begin = Instant::now();
        match exact::solve(&problem, EXACT_WORK) {
            exact::ExactAnswer::Solved(_) => solved += 1,
            exact::ExactAnswer::Proved => none += 1,
            exact::ExactAnswer::Unknown => unknown += 1,
        }
        exact_times.push(begin.elapsed());
    }
    let found = times.len();
    println!(
        "{:>10}  {:.1}  {ruled_out:>9}  {found:>10}  {:>6}  {:>6}  {:>12}/{:<5} {solved:>11}  {none:>4}  {unknown:>7}  {:>6}",
        family.partitions,
        f64::from(family.utilization.get()) / 1000.0,
        at(&mut times, 50),
        at(&mut times, 99),
        median(&mut restarts),
        restarts.iter().max().copied().unwrap_or(0),
        at(&mut exact_times, 50),
    );
}

/// A percentile in milliseconds.
fn at(times: &mut [Duration], percent: usize) -> String {
    times.sort_unstable();
    let place = (times.len() * percent).div_ceil(100).saturating_sub(1);
    times.get(place).map_or_else(|| "-".to_owned(), |time| format!("{:.2}", time.as_secs_f64() * 1000.0))
}

fn median(numbers: &mut [u64]) -> u64 {
    numbers.sort_unstable();
    numbers.get(numbers.len() / 2).copied().unwrap_or(0)
}
