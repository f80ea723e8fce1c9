//! `./x perf A B`: is commit B slower than commit A?
//!
//! Both are built at places of their own and run in turns on this machine, A B, B A, A B ..., so that what disturbs one disturbs the
//! other. What is compared is processor time, pair by pair; the interval around the median ratio holds with 95 % whatever the
//! times are distributed like. Instructions of boot paths are counted, not timed: they are compared as they are.

mod built;
mod pairs;

use anyhow::{Context, Result};
use built::{Built, Job};
use pairs::Ratios;

/// What is compared.
#[derive(clap::Args)]
pub(crate) struct Perf {
    /// The commit that is the measure
    before: String,
    /// The commit that is judged
    after: String,
    /// How many pairs of runs of each job
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u32).range(6..=200))]
    pairs: u32,
}

/// More than this is slower.
const ALLOWED: f64 = 1.03;

/// What users wait for.
const JOBS: [Job; 4] = [
    Job {
        name: "main job: video-and-screen, side by side",
        program: "solo",
        words: &["compare", "scenarios/video-and-screen.toml", "--jobs", "40", "--quiet", "--out"],
        writes: true,
    },
    Job {
        name: "memory: cases that saturate DRAM",
        program: "examples/memory_speed",
        words: &["0.5"],
        writes: false,
    },
    Job {
        name: "proofs: rates of all tests",
        program: "examples/bench_prove",
        words: &["0.02"],
        writes: false,
    },
    Job {
        name: "a study of drawn sets",
        program: "solo",
        words: &["study", "studies/thesis-fig-64.toml", "--sets", "20", "--quiet", "--out"],
        writes: true,
    },
];

/// Compares them; 1 where something is slower than allowed.
pub(crate) fn run(options: &Perf) -> Result<i32> {
    let before = Built::make("before", &options.before)?;
    let after = Built::make("after", &options.after)?;
    println!("before {}, after {}; {} pairs a job", before.commit, after.commit, options.pairs);
    println!(
        "build from nothing: {:.0} s and {:.0} s of processor time, once each: not judged",
        before.seconds, after.seconds
    );
    let mut slower = 0;
    for job in &JOBS {
        let ratios = compare(job, &before, &after, options.pairs).with_context(|| job.name.to_owned())?;
        let verdict = if ratios.least() > ALLOWED { "SLOWER" } else { "held" };
        slower += u32::from(ratios.least() > ALLOWED);
        println!("{verdict}: {}: {ratios}", job.name);
    }
    slower += paths(&before, &after)?;
    println!("{slower} slower by more than {:.0} %", (ALLOWED - 1.0) * 100.0);
    Ok(i32::from(slower > 0))
}

fn compare(job: &Job, before: &Built, after: &Built, pairs: u32) -> Result<Ratios> {
    let mut ratios = Vec::new();
    // The first of each fills caches of the machine and is not counted.
    before.run(job)?;
    after.run(job)?;
    for pair in 0..pairs {
        let (first, second) = if pair % 2 == 0 { (before, after) } else { (after, before) };
        let (one, other) = (first.run(job)?, second.run(job)?);
        ratios.push(if pair % 2 == 0 { other / one } else { one / other });
    }
    Ok(Ratios::new(ratios))
}

/// The lengths of the kernel's paths in instructions, where there is an emulator: how many are longer than allowed.
fn paths(before: &Built, after: &Built) -> Result<u32> {
    let (Some(one), Some(other)) = (before.paths()?, after.paths()?) else {
        println!("skipped: lengths of boot paths: no qemu-system-x86_64");
        return Ok(0);
    };
    let mut slower = 0;
    for (line, numbers) in &other {
        let Some((_, was)) = one.iter().find(|(name, _)| name == line) else { continue };
        if numbers != was {
            let longer = numbers.iter().zip(was).any(|(now, was)| *now as f64 > *was as f64 * ALLOWED);
            slower += u32::from(longer);
            println!("{}: {line}: {was:?} became {numbers:?}", if longer { "SLOWER" } else { "held" });
        }
    }
    println!("{} rows of path lengths compared", other.len());
    Ok(slower)
}
