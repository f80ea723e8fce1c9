//! Records a program and prints what caches make of it:
//! `cargo run --release -p solo-trace --example inspect -- OUTPUT [CACHE ...] -- COMMAND ...`.

use solo_trace::{CacheSpec, RecordOptions, cache, open, record};
use std::error::Error;
use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let split = words.iter().position(|word| word == "--").ok_or("no -- before the command")?;
    let (ours, command) = (&words[..split], &words[split + 1..]);
    let (output, specs) = ours.split_first().ok_or("no file to write")?;
    let specs =
        specs.iter().map(|spec| spec.to_string_lossy().parse()).collect::<Result<Vec<CacheSpec>, _>>()?;
    let options = RecordOptions {
        output: output.into(),
        instructions: true,
        skip: 0,
        limit: None,
        stdout: None,
        cancel: Arc::new(AtomicBool::new(false)),
    };
    let summary = record(command, &options, &mut |_| {})?;
    println!("{summary:?}");
    let report = cache(&mut open(output.as_ref())?, &specs)?;
    for row in report.caches {
        println!(
            "{} {}: {} accesses, {} misses, {} writebacks",
            row.spec, row.cache, row.accesses, row.misses, row.writebacks
        );
    }
    Ok(())
}
