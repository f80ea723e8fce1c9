//! Cachegrind as a peer. It simulates what a program does, so the program is this one, walking over memory.

use crate::peer::{ROUNDS, timed};
use solo_workload::SplitMix64;
use std::error::Error;
use std::hint::black_box;
use std::process::Command;

/// Accesses of a walk.
const ACCESSES: u64 = 20_000_000;

/// Walks as `SPAN:RANDOM:COUNT` says: so many accesses to 8-byte elements, a third of them stores.
pub(crate) fn walk(what: &str) -> Result<(), Box<dyn Error>> {
    let words: Vec<u64> = what.split(':').map(str::parse).collect::<Result<_, _>>()?;
    let &[span, random, count] = words.as_slice() else {
        return Err("SPAN:RANDOM:COUNT was expected".into());
    };
    let mut memory = vec![0_u64; (span / 8) as usize];
    let (mut positions, mut sum) = (SplitMix64::new(1), 0);
    for i in 0..count {
        let at = (if random > 0 { positions.below(span / 8) } else { i * 8 % (span / 8) }) as usize;
        if i % 3 == 0 { memory[at] = i } else { sum ^= memory[at] }
    }
    black_box((&memory, sum));
    Ok(())
}

/// Prints cachegrind's rates for the walk, and how `ours`, in million references a second, stands to them.
pub(crate) fn compare(span: u64, random: bool, ours: f64) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let program = std::env::current_exe()?;
    let run = |count: u64| -> Result<(f64, [f64; 2]), Box<dyn Error>> {
        let mut best = (f64::MAX, [0.0; 2]);
        for _ in 0..ROUNDS {
            let mut command = Command::new("valgrind");
            command.args(["--tool=cachegrind", "--cache-sim=yes", "--D1=32768,8,64", "--LL=262144,8,64"]);
            command.arg(format!("--cachegrind-out-file={}", folder.path().join("out").display()));
            command.arg(&program).arg("--walk").arg(format!("{span}:{}:{count}", u8::from(random)));
            let (seconds, output) = timed(&mut command)?;
            if seconds < best.0 {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                best = (seconds, [number(&said, "I   refs:")?, number(&said, "D   refs:")?]);
            }
        }
        Ok(best)
    };
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("  valgrind is not installed: no ratio to cachegrind");
        return Ok(());
    }
    let (nothing, walk) = (run(0)?, run(ACCESSES)?);
    let seconds = (walk.0 - nothing.0).max(0.01);
    let [fetches, data] = [0, 1].map(|which| (walk.1[which] - nothing.1[which]) / seconds / 1e6);
    println!(
        "{:<38} {data:>10.1}   ratio {:.1}x; with its {fetches:.0} M/s of fetches {:.2}x",
        "  cachegrind, data references",
        ours / data,
        ours / (data + fetches)
    );
    Ok(())
}

/// The number that follows `name` in what cachegrind prints.
fn number(said: &str, name: &str) -> Result<f64, Box<dyn Error>> {
    let line = said
        .lines()
        .find_map(|line| line.split_once(name))
        .ok_or_else(|| format!("no `{name}` in: {said}"))?;
    let digits: String = line.1.trim().chars().take_while(|c| c.is_ascii_digit() || *c == ',').collect();
    Ok(digits.replace(',', "").parse()?)
}
