//! `solo guard` on instructions, by interrupts of a processor's own counter.
//!
//! The emulator notices that a counter is full when the guest next touches any of the counters: without more that is its tick, 4 ms. So
//! a clock on CPU 1 reads one more often.

use crate::{INSTRUCTIONS, Verdict, opened};
use perf_event_open_sys as sys;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long the program computes.
const LENGTH: Duration = Duration::from_secs(4);
/// Long against the guest's tick, 4 ms: an overflow that comes within one is lost.
const PERIOD: &str = "200ms";
/// How often a run is tried in which the emulator loses overflows.
const TRIES: usize = 4;
/// How often the emulator is made to look, in nanoseconds.
const LOOKS: u64 = 250_000;
const PERIODS_A_SECOND: u64 = 5;

/// Computes on CPU 1 for a while, and says how many instructions that took by a counter of its own.
pub(crate) fn burn() {
    // SAFETY: the set is whole, and the kernel only reads it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(1, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
    let mut counter = opened(INSTRUCTIONS, |_| {}).expect("instructions are counted");
    let begin = Instant::now();
    while begin.elapsed() < LENGTH {
        std::hint::black_box((0..1000_u64).fold(0, |sum, i| std::hint::black_box(sum ^ i)));
    }
    let us = begin.elapsed().as_micros();
    let mut count = [0; 8];
    counter.read_exact(&mut count).expect("a count");
    println!("counted {} us {us}", u64::from_ne_bytes(count));
}

/// Reads a counter on CPU 1 every so many nanoseconds until it is dropped.
struct Clock {
    _leader: File,
    _counter: File,
}

fn clock() -> Result<Clock, String> {
    use sys::bindings as b;
    let event = |kind: u32, config: u32| b::perf_event_attr {
        type_: kind,
        size: size_of::<b::perf_event_attr>() as u32,
        config: u64::from(config),
        read_format: u64::from(b::PERF_FORMAT_GROUP),
        ..Default::default()
    };
    let mut leader = event(b::PERF_TYPE_SOFTWARE, b::PERF_COUNT_SW_CPU_CLOCK);
    leader.sample_type = u64::from(b::PERF_SAMPLE_READ);
    leader.__bindgen_anon_1.sample_period = LOOKS;
    let open = |attr: &mut b::perf_event_attr, group: i32| {
        // SAFETY: the structure is whole; the descriptor is ours alone.
        let fd = unsafe { sys::perf_event_open(attr, -1, 1, group, 0) };
        if fd < 0 {
            return Err(format!("a clock: {}", std::io::Error::last_os_error()));
        }
        // SAFETY: as above.
        Ok(unsafe { File::from_raw_fd(fd) })
    };
    let leader = open(&mut leader, -1)?;
    let mut counter = event(b::PERF_TYPE_HARDWARE, INSTRUCTIONS);
    let _counter = open(&mut counter, leader.as_raw_fd())?;
    Ok(Clock { _leader: leader, _counter })
}

/// Instructions of the program on CPU 1, by its own count.
struct Used {
    /// In a period in which the CPU was stopped; in any where nobody is stopped.
    mean: u64,
    /// Periods in which it was not stopped: the emulator loses an overflow now and then.
    lost: u64,
    text: String,
}

/// Runs the program alone, or under a guard with these words. `free`: what it executes in a period where it is not stopped. Where the
/// emulator loses an overflow, what is given away in the periods after it is another amount: then again, and of several runs that which
/// lost fewest. It may lose nearly all, whenever they come in the same moment of its clock.
fn used(words: &[&str], free: u64) -> Result<Used, String> {
    let mut best = once(words, free);
    for _ in 1..TRIES {
        let lost = best.as_ref().map_or(u64::MAX, |used| used.lost);
        if lost == 0 {
            break;
        }
        let again = once(words, free);
        if again.as_ref().is_ok_and(|used| used.lost < lost) {
            best = again;
        }
    }
    best
}

fn once(words: &[&str], free: u64) -> Result<Used, String> {
    let mut command = Command::new(if words.is_empty() { "/init" } else { "/solo" });
    if !words.is_empty() {
        command.args(["guard", "-e", "instructions", "--all-real-time", "--period", PERIOD, "--json"]);
        command.args(words).args(["--", "/init"]);
    }
    let output = command.arg("burn").stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    let after = |word: &str| -> Option<u64> {
        text.split_whitespace().skip_while(|found| *found != word).nth(1)?.parse().ok()
    };
    let Some((count, us)) = after("counted").zip(after("us")) else { return Err(text) };
    let periods = us * PERIODS_A_SECOND / 1_000_000;
    let (mut lost, mut otherwise) = (0, 0);
    if !words.is_empty() {
        let answer = answer(&text).ok_or_else(|| format!("no answer: {text}"))?;
        let cores = answer["cores"].as_array().into_iter().flatten();
        let core = cores.into_iter().find(|core| core["core"] == 1);
        let number = |key: &str| core?[key].as_u64();
        let Some((all, stopped)) = number("periods").zip(number("stopped_periods")) else { return Err(text) };
        lost = if free == 0 { 0 } else { all.saturating_sub(stopped) };
        otherwise = answer["decisions"]["disagreements"].as_u64().unwrap_or(u64::MAX);
    }
    if otherwise > 0 || lost * 10 > periods {
        return Err(text);
    }
    let mean = count.saturating_sub(lost * free) / (periods - lost).max(1);
    Ok(Used { mean, lost, text })
}

/// The guard's answer: the program beside it writes to the same stream.
fn answer(text: &str) -> Option<serde_json::Value> {
    let mut answers = serde_json::Deserializer::from_str(&text[text.find('{')?..]).into_iter();
    answers.next()?.ok()
}

/// True where more than 2 % above what is expected was used, or 10 % below: what is given away in the first periods is guessed.
fn off(used: &Used, expected: u64) -> bool {
    used.mean * 100 > expected * 102 || used.mean * 100 < expected * 90
}

/// A program that computes gets its budget in each period, within 2 %.
pub(crate) fn exact() -> Verdict {
    let _clock = clock()?;
    let free = used(&[], 0)?.mean;
    let mut lines = vec![format!("free {free} in {PERIOD}")];
    for budget in [6_000_000, 12_000_000, 18_000_000] {
        let used = used(&["--budget", &format!("1={budget}")], free)?;
        lines.push(format!("{} of {budget} ({} lost)", used.mean, used.lost));
        if off(&used, budget) {
            return Err(format!("{}; {}", lines.join(", "), used.text));
        }
    }
    Ok(lines.join(", "))
}

/// What CPU 0 leaves of its budget goes to CPU 1, out of a pool or from one to the other: here an idle CPU counts as many instructions as
/// a busy one, so that it leaves what its budget has above them. Where all may use the rest, nobody is stopped for long.
pub(crate) fn reclaimed() -> Verdict {
    let _clock = clock()?;
    let free = used(&[], 0)?.mean;
    let mut lines = vec![format!("free {free}")];
    let (own, left) = (8_000_000, 5_000_000);
    let others = format!("0={}", free + left);
    let budgets = ["--budget", &others, "--budget", "1=8000000"];
    for from in [None, Some("pool"), Some("peers")] {
        let reclaim = from.map_or(Vec::new(), |from| vec!["--reclaim", from]);
        let used = used(&[&budgets[..], &reclaim].concat(), free)?;
        let expected = own + from.map_or(0, |_| left);
        let from = from.unwrap_or("each its own");
        lines.push(format!("{} of {expected} ({from}; {} lost)", used.mean, used.lost));
        if off(&used, expected) {
            return Err(format!("{}; {}", lines.join(", "), used.text));
        }
    }
    for share in ["spare", "proportional"] {
        let used = used(&["--budget", "1=6000000", "--share", share], 0)?;
        lines.push(format!("{} where the rest is for all ({share})", used.mean));
        if off(&used, free) {
            return Err(format!("{}; {}", lines.join(", "), used.text));
        }
    }
    Ok(lines.join(", "))
}
