//! What coloring costs a program from its start to its end: `bench_color [ROUNDS] -- COMMAND...`, run plainly and in 64 of 512 colors, turn
//! and turn about; and what each page costs.
#![allow(missing_docs)]

use solo_color::{Wish, run};
use solo_isolate::map::{Classes, MemoryMap};
use solo_model::platform::XorBits;
use solo_model::{Bytes, Color};
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::process::{Command, Stdio};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let at = words.iter().position(|word| word == "--").ok_or("expected -- COMMAND")?;
    let (before, command) = (words.get(..at).unwrap_or_default(), words.get(at + 1..).unwrap_or_default());
    let rounds = before.first().and_then(|word| word.to_str()?.parse().ok()).unwrap_or(11);
    let (name, arguments) = command.split_first().ok_or("expected a command")?;
    let bits: Vec<_> = (12..21).map(|bit| XorBits(1 << bit)).collect();
    let map = MemoryMap::new(Bytes::new(4096), Classes::new(&bits), Classes::new(&[]), None)?;
    let mut rows = Vec::new();
    for _ in 0..rounds {
        let begun = Instant::now();
        Command::new(name).args(arguments).stdout(Stdio::null()).status()?;
        let plain = begun.elapsed().as_secs_f64() * 1000.0;
        let wish = Wish::new(map.clone(), (0..64).map(Color).collect(), [].into())?;
        let begun = Instant::now();
        let outcome = run(command, wish, &|| ControlFlow::Continue(()))?;
        let colored = begun.elapsed().as_secs_f64() * 1000.0;
        let sum = |of: fn(&solo_color::Program) -> u64| outcome.programs.iter().map(of).sum::<u64>();
        rows.push((
            colored - plain,
            plain,
            colored,
            sum(|p| p.placed),
            sum(|p| p.misplaced),
            sum(|p| p.pages.wrong),
        ));
    }
    rows.sort_by(|one, other| one.0.total_cmp(&other.0));
    let middle = rows.get(rows.len() / 2).ok_or("no rounds")?;
    let (more, plain, colored, placed, ..) = *middle;
    let misplaced: u64 = rows.iter().map(|row| row.4).sum();
    let wrong: u64 = rows.iter().map(|row| row.5).sum();
    println!("of {rounds} pairs the middle one: {plain:.1} ms plain, {colored:.1} ms colored");
    println!("{more:.1} ms more for {placed} pages: {:.1} us a page", more * 1000.0 / placed.max(1) as f64);
    println!("in all pairs: {misplaced} misplaced, {wrong} wrong at the end");
    Ok(())
}
