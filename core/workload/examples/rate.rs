//! How fast programs yield operations, beside the bare loop: `cargo run --release -p solo-workload --example rate`.

use solo_model::work::{Buffer, Pattern, Step, Touch, Work};
use solo_model::{BufferId, Bytes, Duration, JobIndex, PerMille, TaskId};
use solo_workload::{Op, Program};
use std::hint::black_box;
use std::time::Instant;

const ACCESSES: u64 = 100_000_000;

fn main() {
    let size = Bytes::from_mib(16);
    let limit = rate(|| {
        let mut offset = 0;
        for _ in 0..ACCESSES {
            black_box(offset);
            offset = if offset + 64 < size.get() { offset + 64 } else { 0 };
        }
        ACCESSES
    });
    println!("{:<16} {:>8} {:>12} {:>9}", "program", "M ops/s", "M accesses/s", "of loop");
    println!("{:<16} {:>8.0} {:>12.0} {:>8.0}%", "bare loop", limit, limit, 100.0);
    for (name, pattern, stride) in [
        ("sweep 64 B", Pattern::Sweep, 64),
        ("sweep 4 B", Pattern::Sweep, 4),
        ("stream 64 B", Pattern::Stream, 64),
        ("random 4 B", Pattern::Random, 4),
        ("chase 64 B", Pattern::Chase, 64),
    ] {
        let mut ops = 0u64;
        let rate = rate(|| {
            let (count, accesses) = run(pattern, stride, size);
            ops = count;
            accesses
        });
        let ops_rate = rate * ops as f64 / ACCESSES as f64;
        println!("{name:<16} {ops_rate:>8.0} {rate:>12.0} {:>8.0}%", 100.0 * ops_rate / limit);
    }
}

/// Million accesses a second.
fn rate(mut work: impl FnMut() -> u64) -> f64 {
    let start = Instant::now();
    let accesses = work();
    accesses as f64 / start.elapsed().as_secs_f64() / 1e6
}

/// Operations and accesses of a pass.
fn run(pattern: Pattern, stride: u64, size: Bytes) -> (u64, u64) {
    let touch = Touch {
        pattern,
        buffer: BufferId(0),
        accesses: ACCESSES,
        stride: Bytes::new(stride),
        writes: PerMille::new(333).unwrap_or_default(),
        think: Duration::ZERO,
    };
    let work = Work { steps: vec![Step::Touch(touch)] };
    let buffers = [Buffer { name: "data".into(), size }];
    let mut program = match Program::new(&work, TaskId(0), &buffers, Bytes::new(64), 1, &[]) {
        Ok(program) => program,
        Err(error) => panic!("{error}"),
    };
    program.begin_job(JobIndex(0));
    let (mut ops, mut accesses) = (0, 0);
    while let Some(op) = program.next() {
        if let Op::Access(access) = op {
            black_box((access.offset, access.kind));
            ops += 1;
            accesses += u64::from(access.count);
        }
    }
    (ops, accesses)
}
