//! Boots the image many times in a row on changing machines: `./x soak`, by default 1000 times.
//!
//! ```text
//! cargo run --release --package solo-qemu --example soak -- 1000          or: 1000 arm64
//! ```
//!
//! Prints how long the boots of each machine took, or the first one that hung or differed.

use solo_qemu::{Host, InstructionSet, soak};
use std::collections::BTreeMap;
use std::error::Error;
use std::time::{Duration, Instant};

/// After how many boots a line of progress comes.
const PROGRESS: usize = 50;

fn main() -> Result<(), Box<dyn Error>> {
    let boots = match std::env::args().nth(1) {
        Some(number) => {
            number.parse().map_err(|_| format!("expected a number of boots, found `{number}`"))?
        }
        None => 1000,
    };
    let instruction_set = match std::env::args().nth(2).as_deref() {
        None | Some("x86-64") => InstructionSet::X86_64,
        Some("arm64") => InstructionSet::Arm64,
        Some(other) => return Err(format!("expected x86-64 or arm64, found `{other}`").into()),
    };
    let image = Host::look_for(instruction_set)?.build_image()?;
    let machines = soak::machines(instruction_set);
    let begin = Instant::now();
    let mut spans: BTreeMap<String, Vec<Duration>> = BTreeMap::new();
    let mut disturbed = 0;
    soak::run(&image, &machines, boots, |boot| {
        disturbed += usize::from(boot.disturbed);
        spans.entry(boot.machine.to_string()).or_default().push(boot.took);
        if (boot.number + 1) % PROGRESS == 0 {
            eprintln!("{} of {boots} boots in {:.0} s", boot.number + 1, begin.elapsed().as_secs_f64());
        }
    })?;
    println!("| machine | boots | median, ms | p99, ms | longest, ms |");
    println!("|---|---:|---:|---:|---:|");
    for (machine, mut spans) in spans {
        spans.sort_unstable();
        let at = |per_cent: usize| spans[(spans.len() - 1) * per_cent / 100].as_millis();
        println!("| {machine} | {} | {} | {} | {} |", spans.len(), at(50), at(99), at(100));
    }
    println!(
        "{boots} boots in a row in {:.0} s, none hung, reset or differed",
        begin.elapsed().as_secs_f64()
    );
    if disturbed > 0 {
        println!(
            "{disturbed} of them refused to go on: this host disturbed every measurement of their clocks"
        );
    }
    Ok(())
}
