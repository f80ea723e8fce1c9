//! The first and only program of a guest machine: checks `solo watch`, `solo guard` and `solo place` where the processor's counters are emulated.
//!
//! `./x guest arm64` builds it for the guest, puts it there as `/init` beside `/solo`, and reads the lines that start
//! with `guest:`. The independent reading is made here with bare `perf_event_open`, by nothing else of this project.
#![allow(unsafe_code)]

mod budgets;
mod kinds;

use perf_event_open_sys as sys;
use std::fs;
use std::io::Read;
use std::os::fd::FromRawFd;
use std::process::{Command, Stdio};

/// What was found, or what should have been.
type Verdict = Result<String, String>;
/// A check and its name.
type Check = (&'static str, fn() -> Verdict);

const WORK: [&str; 2] = ["/init", "work"];
/// Iterations of the work: some 100 million instructions.
const ITERATIONS: u64 = 20_000_000;
/// A sample every so many instructions: QEMU loses overflows that come within a tick of the guest.
const WINDOW: u64 = 5_000_000;

fn main() {
    if std::env::args().nth(1).as_deref() == Some("work") {
        std::hint::black_box((0..ITERATIONS).fold(0_u64, |sum, i| std::hint::black_box(sum ^ i)));
        return;
    }
    if std::env::args().nth(1).as_deref() == Some("burn") {
        return budgets::burn();
    }
    if std::env::args().nth(1).as_deref() == Some("spin") {
        kinds::spin();
    }
    if std::process::id() != 1 {
        eprintln!("this program is the init of a guest machine: ./x guest arm64");
        std::process::exit(2);
    }
    let places = [
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("debugfs", "/sys/kernel/debug"),
        ("devtmpfs", "/dev"),
        ("tmpfs", "/tmp"),
        ("tmpfs", "/run"),
    ];
    for (what, at) in places {
        let _ = fs::create_dir(at);
        mount(what, at);
    }
    let checks: [Check; 8] = [
        ("counters", counters),
        ("totals", totals),
        ("sampling", sampling),
        ("budgets", budgets::exact),
        ("reclaim", budgets::reclaimed),
        ("kinds", kinds::shared),
        ("hotplug", hotplug),
        ("doctor", doctor),
    ];
    for (name, check) in checks {
        match check() {
            Ok(said) => println!("guest: ok {name}: {said}"),
            Err(why) => println!("guest: FAILED {name}: {why}"),
        }
    }
    println!("guest: done");
    // SAFETY: no pointers; the machine is switched off, and nothing of it is kept.
    unsafe { libc::reboot(libc::RB_POWER_OFF) };
}

fn mount(what: &str, at: &str) {
    let [what, at] = [what, at].map(|text| std::ffi::CString::new(text).expect("no zero byte"));
    // SAFETY: zero-terminated strings that live through the call.
    unsafe { libc::mount(what.as_ptr(), at.as_ptr(), what.as_ptr(), 0, std::ptr::null()) };
}

/// A counter of a hardware event of this process.
fn opened(config: u32, with: impl Fn(&mut sys::bindings::perf_event_attr)) -> Result<fs::File, String> {
    let mut attr = sys::bindings::perf_event_attr {
        type_: sys::bindings::PERF_TYPE_HARDWARE,
        size: size_of::<sys::bindings::perf_event_attr>() as u32,
        config: u64::from(config),
        ..Default::default()
    };
    attr.set_exclude_hv(1);
    with(&mut attr);
    // SAFETY: the structure is whole; the descriptor is ours alone.
    unsafe {
        let fd = sys::perf_event_open(&raw mut attr, 0, -1, -1, 0);
        if fd < 0 {
            return Err(format!("perf_event_open: {}", std::io::Error::last_os_error()));
        }
        Ok(fs::File::from_raw_fd(fd))
    }
}

/// What the work counts of a hardware event in user mode, read by itself.
fn bare(config: u32) -> Result<u64, String> {
    let mut file = opened(config, |attr| {
        attr.set_disabled(1);
        attr.set_inherit(1);
        attr.set_enable_on_exec(1);
        attr.set_exclude_kernel(1);
    })?;
    let status = Command::new(WORK[0]).arg(WORK[1]).status().map_err(|error| error.to_string())?;
    let mut count = [0; 8];
    file.read_exact(&mut count).map_err(|error| error.to_string())?;
    if status.success() {
        Ok(u64::from_ne_bytes(count))
    } else {
        Err(format!("the work ended with {status}"))
    }
}

const INSTRUCTIONS: u32 = sys::bindings::PERF_COUNT_HW_INSTRUCTIONS;
const CYCLES: u32 = sys::bindings::PERF_COUNT_HW_CPU_CYCLES;

fn counters() -> Verdict {
    let (instructions, cycles) = (bare(INSTRUCTIONS)?, bare(CYCLES)?);
    let processor = fs::read_dir("/sys/bus/event_source/devices").into_iter().flatten().flatten();
    let pmus: Vec<String> = processor.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    if instructions < 2 * ITERATIONS || cycles == 0 {
        return Err(format!("{instructions} instructions, {cycles} cycles"));
    }
    Ok(format!(
        "{instructions} instructions and {cycles} cycles by bare perf_event_open; PMUs {}",
        pmus.join(" ")
    ))
}

/// Runs `solo watch` with these words and the work; what it printed.
fn watch(words: &[&str]) -> Result<String, String> {
    let output = Command::new("/solo")
        .arg("watch")
        .args(words)
        .stderr(Stdio::piped())
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)))
    }
}

/// A total of the table's end.
fn total(table: &str, name: &str) -> Option<u64> {
    let totals = table.split("[Totals]").nth(1)?;
    let line = totals.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

fn totals() -> Verdict {
    let mut said = Vec::new();
    for (name, config) in [("instructions", INSTRUCTIONS), ("cycles", CYCLES)] {
        for every in ["10ms", "100ms"] {
            let theirs = bare(config)?;
            let event = format!("{name}:u");
            let table = watch(&["-e", &event, "--every", every, "--", WORK[0], WORK[1]])?;
            let ours = total(&table, name).ok_or_else(|| format!("no total: {table}"))?;
            let off = (ours as f64 / theirs as f64 - 1.0) * 100.0;
            let text = format!("{name} {ours} of {theirs} at {every} ({off:+.3} %)");
            if off.abs() > 1.0 {
                return Err(text);
            }
            said.push(text);
        }
    }
    Ok(said.join(", "))
}

fn sampling() -> Verdict {
    let event = format!("instructions:ebs={WINDOW}:u");
    let table = watch(&["-e", &event, "--", WORK[0], WORK[1]])?;
    let count = total(&table, "instructions").ok_or_else(|| format!("no total: {table}"))?;
    let samples = table.lines().filter(|line| line.split_whitespace().nth(2) == Some("ebs")).count() as u64;
    let interrupts = fs::read_to_string("/proc/interrupts").unwrap_or_default();
    let pmu =
        interrupts.lines().find(|line| line.contains("pmu")).unwrap_or("no PMU interrupt").trim().to_owned();
    let text = format!(
        "{samples} samples of {} windows of {WINDOW} instructions; interrupts: {pmu}",
        count / WINDOW
    );
    if samples + 1 < count / WINDOW || samples > count / WINDOW { Err(text) } else { Ok(text) }
}

/// A CPU goes and comes back while all are watched.
fn hotplug() -> Verdict {
    let switch = |on: &str| fs::write("/sys/devices/system/cpu/cpu1/online", on);
    let watching =
        std::thread::spawn(|| watch(&["--all", "-e", "cycles", "--every", "100ms", "--time", "3s"]));
    std::thread::sleep(std::time::Duration::from_secs(1));
    switch("0").map_err(|error| format!("cpu1 stays online: {error}"))?;
    std::thread::sleep(std::time::Duration::from_secs(1));
    switch("1").map_err(|error| format!("cpu1 stays offline: {error}"))?;
    let table = watching.join().map_err(|_| "the watch died".to_owned())??;
    let rows = |cpu: &str| {
        table
            .lines()
            .filter(|line| line.split_whitespace().nth(1) == Some(cpu) && line.contains("tick"))
            .count()
    };
    let exits = table.lines().filter(|line| line.split_whitespace().nth(2) == Some("exit")).count();
    let doubts = table.lines().find(|line| line.starts_with("doubts")).unwrap_or("no doubts").to_owned();
    let text = format!("{} rows of cpu0, {} of cpu1, {exits} exits; {doubts}", rows("0"), rows("1"));
    let held = rows("1") >= 5 && rows("1") < rows("0") && doubts.contains("1 CPU went away");
    if held { Ok(text) } else { Err(format!("{text}\n{table}")) }
}

/// The doctor's self-test, where only what the emulated counter counts must follow.
fn doctor() -> Verdict {
    let output = Command::new("/solo").arg("doctor").output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let wanted =
        |line: &&str| ["instructions", "cycles", "page_faults"].iter().any(|name| line.contains(name));
    Ok(text.lines().filter(wanted).map(str::trim).collect::<Vec<_>>().join(" | "))
}
