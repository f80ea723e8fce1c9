//! A machine whose clock is set, that sleeps, or that loses a CPU while budgets are held.

use crate::Verdict;
use crate::guard::{
    GATES, Guarding, OCCUPIER, answer_in, free_rate, guard, guard_of_program, on_one_cpu, rate_without, state,
};
use crate::ranks;
use rustix::process::Signal;
use rustix::time::{ClockId, Timespec, clock_gettime, clock_settime};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Page faults in 20 ms, and so a second.
const BUDGET: u64 = 64;
const A_SECOND: u64 = BUDGET * 50;

/// What may be used beyond a budget, in hundredths of it; after a sleep as much more as the CPU makes until the next period, uncounted.
const BEYOND: u64 = 2;
const BEYOND_ASLEEP: u64 = 6;

/// Runs a guard of a program that causes page faults for three seconds, and does something meanwhile that says for how much of that time nobody
/// could run. The page faults in each second of the rest, and the guard's answer.
fn held_while(
    mut command: std::process::Command,
    meanwhile: impl FnOnce() -> Result<Duration, String>,
) -> Result<(u64, serde_json::Value), String> {
    command.args(["--json", "--", "/init", "faults", "1", "3000"]);
    let guarding = Guarding::start(command)?;
    let done = meanwhile();
    let (status, said) = guarding.end()?;
    let frozen = done?;
    if status.code().is_none_or(|code| code > 1) {
        return Err(format!("{:?}: {said}", status.code()));
    }
    Ok((rate_without(&said, frozen)?, answer_in(&said)?))
}

/// What a program used under a guard, and that the guard was whole.
fn judged(how: &str, beyond: u64, (rate, answer): &(u64, serde_json::Value)) -> Result<String, String> {
    let decisions = &answer["decisions"];
    let (compared, otherwise) = (&decisions["compared"], &decisions["disagreements"]);
    let text =
        format!("{how} {rate} a second of {A_SECOND}, {compared} decisions, {otherwise} answered otherwise");
    let right = *otherwise == 0 && (A_SECOND * 80..=A_SECOND * (100 + beyond)).contains(&(rate * 100));
    if right { Ok(text) } else { Err(format!("{text}\n{answer}")) }
}

/// Sets the clock of days forth and back, 25 hours and some 25 times a second, while something is done.
fn while_the_clock_is_set<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let setting = scope.spawn(|| {
            let mut forth = true;
            while !over.load(Ordering::Relaxed) || !forth {
                let now = clock_gettime(ClockId::Realtime);
                let step = if forth { 90_000 } else { -90_000 };
                let then = Timespec { tv_sec: now.tv_sec + step, ..now };
                clock_settime(ClockId::Realtime, then)
                    .map_err(|error| format!("to set the clock: {error}"))?;
                forth = !forth;
                std::thread::sleep(Duration::from_millis(40));
            }
            Ok(())
        });
        let done = work();
        over.store(true, Ordering::Relaxed);
        setting.join().map_err(|_| "the clock's thread panicked".to_owned())?.map(|()| done)
    })
}

/// Periods and releases know another clock.
pub(crate) fn clock() -> Verdict {
    let mut lines = Vec::new();
    for back_end in [GATES, OCCUPIER] {
        let held =
            while_the_clock_is_set(|| held_while(guard(BUDGET, "20ms", &back_end), || Ok(Duration::ZERO)))??;
        lines.push(judged(back_end[1], BEYOND, &held)?);
    }
    lines.push(while_the_clock_is_set(|| ranks::repeated("P-EDF"))??);
    Ok(lines.join("; "))
}

/// Sleeps for so many seconds of the real-time clock, whose alarm wakes the machine. For how long nobody could run though the monotonic clock went on: devices
/// are stopped before the sleep and started after it, which takes this emulator up to some seconds.
fn suspend(seconds: u64) -> Result<Duration, String> {
    let failed = |what: &'static str| move |error: std::io::Error| format!("{what}: {error}");
    let alarm = "/sys/class/rtc/rtc0/wakealarm";
    let slept = || clock_gettime(ClockId::Boottime).tv_sec - clock_gettime(ClockId::Monotonic).tv_sec;
    let before = slept();
    fs::write(alarm, "0").map_err(failed(alarm))?;
    fs::write(alarm, format!("+{seconds}")).map_err(failed(alarm))?;
    fs::write("/sys/power/mem_sleep", "deep").map_err(failed("/sys/power/mem_sleep"))?;
    let began = Instant::now();
    fs::write("/sys/power/state", "mem").map_err(failed("/sys/power/state"))?;
    let frozen = began.elapsed();
    let slept = slept() - before;
    if slept < seconds.cast_signed() - 2 { Err(format!("it slept for {slept} s only")) } else { Ok(frozen) }
}

/// Longer than any watchdog waits. Occupiers and groups hold their budgets before and after; gates are gone, and their guard says so.
pub(crate) fn suspended() -> Verdict {
    const SECONDS: u64 = 10;
    let asleep = || {
        std::thread::sleep(Duration::from_secs(1));
        suspend(SECONDS)
    };
    let mut lines = vec![thrown_out(asleep)?];
    let by_occupier = held_while(guard(BUDGET, "20ms", &OCCUPIER), asleep)?;
    lines.push(judged(OCCUPIER[1], BEYOND_ASLEEP, &by_occupier)?);
    lines.push(on_one_cpu(|| {
        let group = held_while(guard_of_program(BUDGET, "20ms"), asleep)?;
        judged("cgroup", BEYOND_ASLEEP, &group)
    })?);
    Ok(format!("asleep for {SECONDS} s; {}", lines.join("; ")))
}

/// The kernel ends every scheduler when a CPU goes offline that has nothing to say to that. The guard says so, and ends.
fn thrown_out(asleep: impl FnOnce() -> Result<Duration, String>) -> Result<String, String> {
    let hog = ["--", "/init", "faults", "1", "600000"];
    let guarding = Guarding::start(guard(BUDGET, "20ms", &[&GATES[..], &hog].concat()))?;
    asleep()?;
    let (status, said) = guarding.end()?;
    let told = status.code() == Some(1) && said.contains("exiting scheduler") && said.contains("NOT held");
    if told && state() == "disabled" { Ok("sched-ext ended and said so".to_owned()) } else { Err(said) }
}

/// CPU 1 goes while it is stopped, and comes back: the guard says so, and nobody stays stopped.
pub(crate) fn offline() -> Verdict {
    let online = "/sys/devices/system/cpu/cpu1/online";
    let set = |word: &str| fs::write(online, word).map_err(|error| format!("{online}: {error}"));
    let free = free_rate(1000)?;
    let mut lines = Vec::new();
    for back_end in [GATES, OCCUPIER] {
        let hog = ["--", "/init", "faults", "1", "600000"];
        let held = Guarding::start(guard(1, "1s", &[&back_end[..], &hog].concat()))?;
        std::thread::sleep(Duration::from_millis(1300));
        set("0")?;
        std::thread::sleep(Duration::from_secs(1));
        set("1")?;
        std::thread::sleep(Duration::from_millis(200));
        held.signal(Signal::TERM);
        let (status, said) = held.end()?;
        let after = free_rate(1000)?;
        let told = status.code() == Some(1) && said.contains("offline");
        let text = format!(
            "{}: {:?}, {after} page faults a second after, {}",
            back_end[1],
            status.code(),
            said.trim()
        );
        if after * 10 < free * 9 || state() != "disabled" || !told {
            return Err(format!("{free} page faults a second before; {text}"));
        }
        lines.push(text.replace('\n', " "));
    }
    Ok(lines.join("; "))
}
