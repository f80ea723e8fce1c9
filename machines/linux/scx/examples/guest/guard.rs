//! The guard, started, read and ended.

use crate::Verdict;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use solo_threads::sched;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// What the scheduler does.
pub(crate) fn state() -> String {
    std::fs::read_to_string("/sys/kernel/sched_ext/state").unwrap_or_default().trim().to_owned()
}

/// Waits until the scheduler does this, so long at most.
pub(crate) fn wait_for(wanted: &str, most: Duration) -> Result<Duration, String> {
    let begin = Instant::now();
    while state() != wanted {
        if begin.elapsed() > most {
            return Err(format!("the scheduler is {} after {} ms, not {wanted}", state(), most.as_millis()));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(begin.elapsed())
}

/// Ways to keep others from a CPU.
pub(crate) const GATES: [&str; 2] = ["--back-end", "sched-ext"];
pub(crate) const OCCUPIER: [&str; 2] = ["--back-end", "occupier"];

/// `solo guard` that holds CPU 1 to a budget of page faults.
pub(crate) fn guard(budget: u64, period: &str, more: &[&str]) -> Command {
    guard_of("1", budget, period, more)
}

/// The same that holds its program, wherever it runs.
pub(crate) fn guard_of_program(budget: u64, period: &str) -> Command {
    guard_of("program", budget, period, &[])
}

fn guard_of(whom: &str, budget: u64, period: &str, more: &[&str]) -> Command {
    let mut command = Command::new("/solo");
    command.args(["guard", "-e", "page-faults", "--budget", &format!("{whom}={budget}"), "--period", period]);
    command.args(more).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Does something on CPU 1, where budgets are held. The emulator lets CPUs take turns at timers only: who rings on one CPU wakes
/// nobody on the other before, and who freezes from there comes late by as much.
pub(crate) fn on_one_cpu(work: impl FnOnce() -> Verdict) -> Verdict {
    let all = sched::cpus();
    sched::keep_on(1).map_err(|error| error.to_string())?;
    let verdict = work();
    let _ = sched::allow(&all);
    verdict
}

/// Runs it to its end.
pub(crate) fn output(mut command: Command) -> Result<Output, String> {
    command.output().map_err(|error| error.to_string())
}

/// Starts it.
pub(crate) fn spawned(mut command: Command) -> Result<Child, String> {
    command.spawn().map_err(|error| error.to_string())
}

/// A guard that holds its budgets.
pub(crate) struct Guarding {
    pub(crate) child: Child,
    notes: BufReader<ChildStderr>,
}

impl Guarding {
    /// Starts it and waits until it says that CPU 1 is held.
    pub(crate) fn start(command: Command) -> Result<Self, String> {
        let mut child = spawned(command)?;
        let notes = child.stderr.take().ok_or("no stream for notes")?;
        let mut guarding = Self { child, notes: BufReader::new(notes) };
        let mut line = String::new();
        while !line.contains(" held: ") {
            line.clear();
            if guarding.notes.read_line(&mut line).map_err(|error| error.to_string())? == 0 {
                return Err(format!("the guard ended: {:?}", guarding.end()));
            }
        }
        Ok(guarding)
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, signal);
        }
    }

    /// Waits for its end; what it said since it held its budgets.
    pub(crate) fn end(mut self) -> Result<(ExitStatus, String), String> {
        let failed = |error: std::io::Error| error.to_string();
        let mut text = String::new();
        if let Some(mut output) = self.child.stdout.take() {
            output.read_to_string(&mut text).map_err(failed)?;
        }
        self.notes.read_to_string(&mut text).map_err(failed)?;
        Ok((self.child.wait().map_err(failed)?, text))
    }
}

/// Both streams.
pub(crate) fn said(output: &Output) -> String {
    format!("{} {}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The program of this name beside the guard.
pub(crate) fn own(words: &[&str]) -> Command {
    let mut command = Command::new("/init");
    command.args(words).stdout(Stdio::piped());
    command
}

/// The number that follows a word.
pub(crate) fn after(text: &str, word: &str) -> Option<u64> {
    let mut words = text.split_whitespace().skip_while(|found| *found != word);
    words.nth(1)?.parse().ok()
}

/// Page faults a second on CPU 1 with nobody else there.
pub(crate) fn free_rate(milliseconds: u64) -> Result<u64, String> {
    let output = output(own(&["faults", "1", &milliseconds.to_string()]))?;
    rate(&said(&output))
}

/// Page faults a second in what `faults` said.
pub(crate) fn rate(text: &str) -> Result<u64, String> {
    rate_without(text, Duration::ZERO)
}

/// The same in each second of its time but for so much of it.
pub(crate) fn rate_without(text: &str, frozen: Duration) -> Result<u64, String> {
    let (count, us) = (after(text, "faults"), after(text, "us"));
    let frozen = u64::try_from(frozen.as_micros()).unwrap_or(u64::MAX);
    let rate = || Some(count? * 1_000_000 / us?.saturating_sub(frozen).max(1));
    rate().ok_or_else(|| format!("no count: {text}"))
}

/// The guard's answer among what was said: the program beside it writes to the same stream.
pub(crate) fn answer(output: &Output) -> Result<Value, String> {
    answer_in(&String::from_utf8_lossy(&output.stdout)).map_err(|_| format!("no answer: {}", said(output)))
}

/// The same among words.
pub(crate) fn answer_in(text: &str) -> Result<Value, String> {
    let begin = text.find('{').ok_or_else(|| format!("no answer: {text}"))?;
    let mut answers = serde_json::Deserializer::from_str(&text[begin..]).into_iter::<Value>();
    answers.next().and_then(Result::ok).ok_or_else(|| format!("no answer: {text}"))
}
