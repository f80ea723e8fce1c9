//! The first and only program of guest machines: checks `solo guard --back-end sched-ext` and `solo run --on linux --scheduler
//! sched-ext` on kernels that have sched_ext.
//!
//! `./x guest x86` builds it, puts it there as `/init` beside `/solo`, and reads the lines that start with `guest:`. How fast
//! page faults come and whether deadlines are missed is measured by programs of its own, by nothing of what is checked.
#![allow(unsafe_code)]

mod checks;
mod disturbed;
mod guard;
mod ranks;
mod work;

use rustix::mount::{MountFlags, mount};
use rustix::system::{RebootCommand, reboot};
use std::fs;
use std::time::Duration;

/// What was found, or what should have been.
type Verdict = Result<String, String>;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["faults", cpu, milliseconds] => return work::faults(number(cpu), number(milliseconds)),
        ["periodic", cpu, jobs, computing] => {
            return work::periodic(number(cpu), number(jobs), number(computing));
        }
        _ => {}
    }
    if std::process::id() != 1 {
        eprintln!("this program is the init of guest machines: ./x guest x86");
        std::process::exit(2);
    }
    for (what, at) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/run")] {
        let _ = fs::create_dir(at);
        let _ = mount(what, at, what, MountFlags::empty(), None);
    }
    // As systemd has it: cgroups of version 2 alone.
    let _ = mount("cgroup2", "/sys/fs/cgroup", "cgroup2", MountFlags::empty(), None);
    // Until a controller is, groups have no counters either.
    let _ = fs::write("/sys/fs/cgroup/cgroup.subtree_control", "+cpu");
    let command_line = fs::read_to_string("/proc/cmdline").unwrap_or_default();
    let checks = if command_line.contains("solo.malformed") { checks::MALFORMED } else { checks::ALL };
    // What a kernel does after its start would be counted, too.
    std::thread::sleep(Duration::from_secs(20));
    let only = command_line.split_whitespace().find_map(|word| word.strip_prefix("solo.only="));
    if let Some(only) = only.filter(|only| checks.iter().all(|(name, _)| name != only)) {
        println!("guest: none: {only} is no check of this kernel's");
    }
    for (name, check) in checks.iter().filter(|(name, _)| only.is_none_or(|only| only == *name)) {
        match check() {
            Ok(said) => println!("guest: ok {name}: {said}"),
            Err(why) => println!("guest: FAILED {name}: {why}"),
        }
    }
    println!("guest: done");
    let _ = reboot(RebootCommand::PowerOff);
}

fn number(word: &str) -> u64 {
    word.parse().unwrap_or(0)
}
