//! `vision KERNEL`: does one job of a kernel and says what it found. `solo record -- vision KERNEL` records it.

use solo_vision::Kernel;
use std::process::ExitCode;

const USAGE: &str = "usage: vision KERNEL [--footprint]

Does one job of a vision kernel and says what it found. KERNEL is one of
    disparity, localization, mser, tracking, multi-ncut, sift, texture

--footprint  says the most virtual memory that the process had, too, in KB (VmPeak)
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (flags, names): (Vec<&String>, Vec<&String>) = words.iter().partition(|word| word.starts_with("--"));
    if flags.iter().any(|flag| *flag == "--help") {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let footprint = flags.iter().any(|flag| *flag == "--footprint");
    let known = flags.iter().all(|flag| *flag == "--footprint");
    let (Some(kernel), true) =
        (names.first().and_then(|name| Kernel::named(name)), known && names.len() == 1)
    else {
        eprint!("vision: expected one kernel, found `{}`\n\n{USAGE}", words.join(" "));
        return ExitCode::from(2);
    };
    println!("{}: {}", kernel.name(), kernel.job());
    if footprint {
        match peak() {
            Some(kilobytes) => println!("footprint: {kilobytes} KB"),
            None => {
                eprintln!("vision: this system has no /proc/self/status with a VmPeak");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

/// The most virtual memory that this process had, in KB.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmPeak:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}
