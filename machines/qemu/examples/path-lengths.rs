//! How many instructions the kernel's paths take, with 5 to 125 threads: the table of `docs/bare-metal.md`.
//!
//! ```text
//! cargo run --release --package solo-qemu --example path-lengths
//! ```
//!
//! Under the instruction clock one nanosecond is one instruction. Task sets as in thesis 5.1: periods drawn from
//! 3 to 33 ms, jobs that hardly compute, so that the kernel is all there is to see.

use solo_corpus::ideal_platform;
use solo_model::experiment::End;
use solo_model::policy::Timing;
use solo_model::task::Release;
use solo_model::work::{Span, Step, Work};
use solo_model::{
    CoreId, CoreSet, Criterion, Duration, Experiment, Overhead, OverheadTable, Policy, Record, Scope, Task,
    TaskClass,
};
use solo_qemu::{Host, Machine, Module, Options, QemuError};

const CORES: u8 = 4;
const THREADS: [usize; 7] = [5, 15, 25, 50, 75, 100, 125];
const PATHS: [Overhead; 5] =
    [Overhead::ContextSwitch, Overhead::Scheduling, Overhead::Release, Overhead::Tick, Overhead::Ipi];
const HORIZON: Duration = Duration::from_millis(40);
/// What happens before is the start, where all tasks are released at once on behalf of all cores.
const SETTLED: Duration = Duration::from_millis(1);

fn main() -> Result<(), QemuError> {
    let image = Host::look()?.build_image()?;
    let machine =
        Machine { limit: std::time::Duration::from_secs(300), ..Machine::default() }.with_cores(CORES);
    println!("| policy | threads | context switch | scheduling | release | tick | reschedule request |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for policy in policies() {
        for threads in THREADS {
            let options = Options { instruction_clock: true, probes: true, ..Options::default() };
            let experiment = Some(experiment(policy.clone(), threads));
            let report = machine.run_module(&image, &Module { options, experiment })?;
            let cells = PATHS.map(|path| summary(&report.records, path));
            println!("| {policy} | {threads} | {} |", cells.join(" | "));
        }
    }
    Ok(())
}

fn policies() -> Vec<Policy> {
    let clusters = [0b0011, 0b1100].map(CoreSet::from_bits).to_vec();
    let policy = |scope, criterion| Policy { scope, criterion, timing: Timing::OneShot, quantum: None };
    vec![
        policy(Scope::Partitioned, Criterion::Edf),
        policy(Scope::Clustered(clusters), Criterion::Edf),
        policy(Scope::Global, Criterion::Edf),
        policy(Scope::Partitioned, Criterion::Rm),
    ]
}

fn experiment(policy: Policy, threads: usize) -> Experiment {
    let mut draw = 1_u64;
    let tasks = (0..threads).map(|index| {
        // Knuth's MMIX generator; any would do.
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let period = Duration::from_micros(3_000 + (draw >> 33) % 30_000);
        Task {
            name: format!("t{index}"),
            class: TaskClass::Hard,
            release: Release::Periodic { offset: Duration::ZERO, period },
            deadline: None,
            wcet: None,
            priority: None,
            core: Some(CoreId((index % usize::from(CORES)) as u16)),
            work: Work { steps: vec![Step::Compute(Span::exactly(Duration::new(200)))] },
        }
    });
    Experiment {
        name: "path lengths".to_owned(),
        variant: String::new(),
        platform: ideal_platform(CORES.into()),
        policy,
        overheads: OverheadTable::free(),
        tasks: tasks.collect(),
        buffers: Vec::new(),
        locks: Vec::new(),
        traces: Vec::new(),
        isolation: solo_model::Isolation::default(),
        end: End::At(HORIZON),
        sample_every: HORIZON,
        seed: 1,
        jobs_per_replication: None,
    }
}

/// Least, median and most, and how many were seen.
fn summary(records: &[Record], path: Overhead) -> String {
    let lengths = records.iter().filter_map(|record| match record {
        Record::Overhead(record) if record.overhead == path && record.at.get() >= SETTLED.get() => {
            Some(record.cost.get())
        }
        _ => None,
    });
    let mut lengths: Vec<u64> = lengths.collect();
    lengths.sort_unstable();
    match (lengths.first(), lengths.last()) {
        (Some(least), Some(most)) => {
            format!("{least} / {} / {most} ({})", lengths[lengths.len() / 2], lengths.len())
        }
        _ => "none".to_owned(),
    }
}
