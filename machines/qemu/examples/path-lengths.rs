//! How many instructions the kernel's paths take, with 5 to 125 threads: the table of `docs/bare-metal.md`.
//!
//! ```text
//! cargo run --release --package solo-qemu --example path-lengths          or: -- arm64
//! ```
//!
//! Under the instruction clock one nanosecond is one instruction. Task sets as in thesis 5.1: periods drawn from
//! 3 to 33 ms, jobs that hardly compute, so that the kernel is all there is to see.

use solo_corpus::ideal_platform;
use solo_model::experiment::End;
use solo_model::{CoreId, Duration, Experiment, Instant, Overhead, Policy};
use solo_overheads::sets::{self, Draw, THREADS};
use solo_qemu::{BootOptions, Host, InstructionSet, Machine, Module, QemuError};

const CORES: u8 = 4;
const PATHS: [Overhead; 5] =
    [Overhead::ContextSwitch, Overhead::Scheduling, Overhead::Release, Overhead::Tick, Overhead::Ipi];
const HORIZON: Duration = Duration::from_millis(40);
/// What happens before is the start, where all tasks are released at once on behalf of all cores.
const SETTLED: Instant = Instant::new(1_000_000);

fn main() -> Result<(), QemuError> {
    let arm64 = std::env::args().nth(1).is_some_and(|word| word == "arm64");
    let instruction_set = if arm64 { InstructionSet::Arm64 } else { InstructionSet::X86_64 };
    let image = Host::look_for(instruction_set)?.build_image()?;
    let limit = std::time::Duration::from_secs(300);
    let machine = Machine { limit, ..Machine::of(instruction_set) }.with_cores(CORES);
    println!("| policy | threads | context switch | scheduling | release | tick | reschedule request |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for policy in sets::policies(CORES.into()) {
        for threads in THREADS {
            let options = BootOptions { instruction_clock: true, probes: true, ..BootOptions::default() };
            let experiment = Some(experiment(policy.clone(), threads));
            let report = machine.run_module(&image, &Module { options, experiment })?;
            let cells = PATHS.map(|path| summary(&report.path_lengths(path, SETTLED)));
            println!("| {policy} | {threads} | {} |", cells.join(" | "));
        }
    }
    Ok(())
}

fn experiment(policy: Policy, threads: u32) -> Experiment {
    let mut draw = Draw::new(0);
    let task = |index: u32| {
        let period = Duration::from_micros(3_000 + draw.below(30_000));
        (period, CoreId((index % u32::from(CORES)) as u16))
    };
    let tasks = sets::computing((0..threads).map(task), Duration::new(200));
    Experiment::new("path lengths", ideal_platform(CORES.into()), policy, tasks, End::At(HORIZON))
}

/// Least, median and most, and how many were seen.
fn summary(lengths: &[Duration]) -> String {
    match lengths {
        [] => "none".to_owned(),
        [least, ..] => {
            let (median, most) = (lengths[lengths.len() / 2], lengths[lengths.len() - 1]);
            format!("{} / {} / {} ({})", least.get(), median.get(), most.get(), lengths.len())
        }
    }
}
