//! `solo guard` on instructions, by interrupts of a processor's own counter.

use crate::{INSTRUCTIONS, Verdict, opened};
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long the program computes.
const LENGTH: Duration = Duration::from_secs(3);
/// QEMU loses overflows that come within a tick of the guest, 4 ms: periods are long.
const PERIOD: &str = "50ms";
const PERIODS_A_SECOND: u64 = 20;

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

/// Instructions a period of the program on CPU 1, by its own count: alone, or under a guard with these words; what the guard said.
fn used(words: &[&str]) -> Result<(u64, String), String> {
    let mut command = Command::new(if words.is_empty() { "/init" } else { "/solo" });
    if !words.is_empty() {
        command.args(["guard", "-e", "instructions", "--period", PERIOD]).args(words).args(["--", "/init"]);
    }
    let output = command.arg("burn").stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    let after = |word: &str| -> Option<u64> {
        text.split_whitespace().skip_while(|found| *found != word).nth(1)?.parse().ok()
    };
    match after("counted").zip(after("us")) {
        Some((count, us)) if text.contains(" 0 answered otherwise") || words.is_empty() => {
            Ok((count * 1_000_000 / PERIODS_A_SECOND / us.max(1), text))
        }
        _ => Err(text),
    }
}

/// A program that computes gets its budget in each period, within 2 %.
pub(crate) fn exact() -> Verdict {
    let (free, _) = used(&[])?;
    let mut lines = vec![format!("free {free} in {PERIOD}")];
    for budget in [1_500_000, 3_000_000, 4_500_000] {
        let (used, text) = used(&["--budget", &format!("1={budget}")])?;
        lines.push(format!("{used} of {budget}"));
        if used * 100 > budget * 102 || used * 100 < budget * 95 {
            return Err(format!("{}; {text}", lines.join(", ")));
        }
    }
    Ok(lines.join(", "))
}

/// What the two budgets come to, and 2 %, is the most that CPU 1 may use. What CPU 0 does not use goes to CPU 1, out of a pool or from one to the other; where all may use the rest, nobody is stopped.
pub(crate) fn reclaimed() -> Verdict {
    let (free, _) = used(&[])?;
    let mut lines = vec![format!("free {free}")];
    let budgets = ["--budget", "0=1500000", "--budget", "1=2000000"];
    for from in ["pool", "peers"] {
        let (used, text) = used(&[&budgets[..], &["--reclaim", from]].concat())?;
        lines.push(format!("{used} of 2000000 and what is left of 1500000 ({from})"));
        if !(2_200_000..=3_570_000).contains(&used) {
            return Err(format!("{}; {text}", lines.join(", ")));
        }
    }
    for share in ["spare", "proportional"] {
        let (used, text) = used(&["--budget", "1=1500000", "--share", share])?;
        lines.push(format!("{used} where the rest is for all ({share})"));
        if used * 100 < free * 85 {
            return Err(format!("{}; {text}", lines.join(", ")));
        }
    }
    Ok(lines.join(", "))
}
