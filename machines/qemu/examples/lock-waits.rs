//! How often cores wait for each other at the kernel's door: with one lock around it, and with one for each part.
//!
//! ```text
//! cargo run --release --package solo-qemu --example lock-waits
//! ```
//!
//! The worst for a lock: the timers of all cores come at the same instants, each releases six threads, and jobs hardly compute.
//! Under the instruction clock cores run one after another, so that a wait lasts for the turns of the others, too; with a host
//! thread for each core they really meet, and times are the host's.

use solo_corpus::ideal_platform;
use solo_model::experiment::End;
use solo_model::{CoreId, CoreSet, Criterion, Duration, Experiment, Policy, Scope};
use solo_overheads::sets;
use solo_qemu::{Accelerator, BootOptions, Host, Machine, Module, QemuError};

/// Threads of each core.
const THREADS: usize = 6;
const PERIOD: Duration = Duration::from_millis(2);
const HORIZON: Duration = Duration::from_millis(200);

fn main() -> Result<(), QemuError> {
    let image = Host::look()?.build_image()?;
    println!("| machine | cores | policy | locks | entries | of these waited | longest wait, us |");
    println!("|---|---:|---|---:|---:|---:|---:|");
    for accelerator in [Accelerator::InstructionClock, Accelerator::Parallel] {
        for cores in [2, 4, 8] {
            let limit = std::time::Duration::from_secs(300);
            let machine = Machine { accelerator, limit, ..Machine::default() }.with_cores(cores);
            for (policy, one_lock) in
                policies(cores).into_iter().flat_map(|policy| [(policy.clone(), true), (policy, false)])
            {
                let instruction_clock = accelerator == Accelerator::InstructionClock;
                let options = BootOptions { instruction_clock, one_lock, ..BootOptions::default() };
                let experiment = Some(experiment(cores, policy.clone()));
                let report = machine.run_module(&image, &Module { options, experiment })?;
                let Some(entries) = report.entries else { continue };
                println!(
                    "| {accelerator:?} | {cores} | {policy} | {} | {} | {} ({:.1} %) | {:.1} |",
                    entries.parts,
                    entries.entries,
                    entries.waited,
                    entries.waited as f64 * 100.0 / entries.entries.max(1) as f64,
                    entries.longest.get() as f64 / 1000.0,
                );
            }
        }
    }
    Ok(())
}

fn policies(cores: u8) -> Vec<Policy> {
    let half = u64::from(cores) / 2;
    let clusters = [(1 << half) - 1, ((1 << half) - 1) << half].map(CoreSet::from_bits).to_vec();
    [Scope::Partitioned, Scope::Clustered(clusters)].map(|scope| Policy::new(scope, Criterion::Edf)).to_vec()
}

fn experiment(cores: u8, policy: Policy) -> Experiment {
    let cores = usize::from(cores);
    let periods = (0..cores * THREADS).map(|index| (PERIOD, CoreId((index % cores) as u16)));
    let tasks = sets::computing(periods, Duration::from_micros(5));
    Experiment::new("lock waits", ideal_platform(cores), policy, tasks, End::At(HORIZON))
}
