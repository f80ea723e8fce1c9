//! How fast the whole simulated machine runs: simulated accesses per second of this host.
//!
//! `cargo run --release -p solo-sim --example engine_speed [JOBS]`

use solo_model::experiment::{End, Experiment};
use solo_model::policy::{Criterion, Policy, Scope};
use solo_model::task::{Release, Task, TaskClass};
use solo_model::units::{Bytes, Duration, PerMille};
use solo_model::work::{Buffer, Pattern, Step, Touch, Work};
use solo_model::{BufferId, CoreId, Record};
use solo_sim::memory::fixtures;
use std::ops::ControlFlow;

struct Count(u64);

impl solo_sim::Observer for Count {
    fn record(&mut self, _record: Record) -> ControlFlow<()> {
        self.0 += 1;
        ControlFlow::Continue(())
    }
}

fn pass(pattern: Pattern, buffer: u32, size: Bytes, stride: u64, writes: u16) -> Step {
    let writes = PerMille::new(writes).unwrap_or_default();
    let (stride, accesses) = (Bytes::new(stride), size.get() / stride);
    Step::Touch(Touch { pattern, buffer: BufferId(buffer), accesses, stride, writes, think: Duration::ZERO })
}

fn task(name: &str, class: TaskClass, core: u16, release: Release, step: Step) -> Task {
    let deadline = release.period();
    let work = Work { steps: vec![step] };
    Task { deadline, core: Some(CoreId(core)), work, ..Task::new(name, class, release) }
}

/// A reader of video frames, with or without a neighbour that copies.
fn experiment(jobs: u64, neighbour: bool) -> Experiment {
    let sizes = [Bytes::from_kib(8100), Bytes::from_mib(16)];
    let offset = Duration::ZERO;
    let periodic = Release::Periodic { offset, period: Duration::from_millis(20) };
    let reader = pass(Pattern::Sweep, 0, sizes[0], 4, 0);
    let copy = pass(Pattern::Stream, 1, sizes[1], 8, 500);
    let mut tasks = vec![task("reader", TaskClass::Hard, 0, periodic, reader)];
    if neighbour {
        tasks.push(task("copy", TaskClass::BestEffort, 1, Release::Continuous { offset }, copy));
    }
    let policy = Policy::new(Scope::Partitioned, Criterion::Rm);
    Experiment {
        buffers: sizes.iter().map(|&size| Buffer { name: size.to_string(), size }).collect(),
        ..Experiment::new("speed", fixtures::xeon_w3530(), policy, tasks, End::Jobs(jobs))
    }
}

fn main() {
    let jobs = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(20);
    println!("{:<10} {:>12} {:>10} {:>14} {:>10}", "case", "accesses", "seconds", "M accesses/s", "records");
    for (name, neighbour) in [("solo", false), ("corun", true)] {
        let mut count = Count(0);
        let started = std::time::Instant::now();
        match solo_sim::run(&experiment(jobs, neighbour), &[], &mut count) {
            Ok(outcome) => {
                let seconds = started.elapsed().as_secs_f64();
                let rate = outcome.accesses as f64 / seconds / 1e6;
                println!("{name:<10} {:>12} {seconds:>10.2} {rate:>14.2} {:>10}", outcome.accesses, count.0);
            }
            Err(error) => println!("{name:<10} {error}"),
        }
    }
}
