//! How watches end, and what becomes of the programs: whatever ends the watch, and whatever the program is about at that
//! moment, nothing hangs, nobody is left stopped, and who is to be ended is ended with all that came out of it.
//!
//! Some rounds in CI; `SOLO_ATTACK=1` makes it a thousand.

mod common;

use common::solo;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Far beyond what a loaded machine takes; reached only by a hang.
const HANGS: Duration = Duration::from_secs(120);
const TAG: &str = "SOLO_ENDING";

fn allowed() -> bool {
    let output = solo().args(["watch", "-e", "page-faults", "--", "true"]).output().unwrap();
    if output.status.code() == Some(0) {
        return true;
    }
    println!("skipped: how watches end: {}", String::from_utf8_lossy(&output.stderr).trim());
    false
}

/// Not a test of its own: what other tests watch. Starts threads and processes as fast as it can, for so many rounds, then
/// leaves a mark; `0` rounds never end.
#[test]
fn churn() {
    let Ok(order) = std::env::var("SOLO_CHURN") else { return };
    let mut words = order.splitn(3, ' ');
    let (kind, rounds) = (words.next().unwrap(), words.next().unwrap().parse::<u64>().unwrap());
    let mark = words.next().unwrap();
    let run = |kind: &str| {
        for round in 1.. {
            match kind {
                "threads" => {
                    let all: Vec<_> = (0..6).map(|_| std::thread::spawn(|| ())).collect();
                    all.into_iter().for_each(|thread| drop(thread.join()));
                }
                _ => drop(Command::new("/bin/sh").args(["-c", "(:) & /bin/true; wait"]).status()),
            }
            if round == rounds {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        for kind in kind.split('+') {
            scope.spawn(move || run(kind));
        }
    });
    fs::write(mark, "").unwrap();
    std::process::exit(4);
}

/// Processes that have this tag in their environment, with their states; the dead have none.
fn tagged(tag: &str) -> BTreeMap<i32, String> {
    let needle = format!("{TAG}={tag}");
    let numbers = fs::read_dir("/proc").unwrap().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let has = |process: &i32| {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == needle.as_bytes())
    };
    let state = |process: i32| {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let lines = status
            .lines()
            .filter(|line| ["Name:", "State:", "TracerPid:"].iter().any(|f| line.starts_with(f)));
        (process, lines.collect::<Vec<_>>().join(" "))
    };
    numbers.filter(has).map(state).collect()
}

fn signal(process: u32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(process as i32).unwrap(), signal);
}

/// A command under test that is killed with all that came out of it when the test is over.
struct Tried {
    tag: String,
    child: Child,
    /// Open for as long as anybody who came out of it lives.
    alive: Option<ChildStderr>,
}

impl Tried {
    fn start(tag: &str, words: &[&str], set: impl FnOnce(&mut Command)) -> Self {
        let tag = format!("{tag}-{}", std::process::id());
        let mut command = solo();
        command.args(words).env(TAG, &tag).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        set(&mut command);
        let mut child = command.spawn().unwrap();
        let alive = child.stderr.take();
        Self { tag, child, alive }
    }

    fn watch(tag: &str, words: &[&str], program: &[&str], set: impl FnOnce(&mut Command)) -> Self {
        let words =
            [&["watch", "-e", "page-faults,task-clock", "--every", "1ms"], words, &["--"], program].concat();
        Self::start(tag, &words, set)
    }

    fn lines(&mut self, count: usize) {
        let mut out = BufReader::new(self.child.stdout.take().unwrap());
        let mut line = String::new();
        for _ in 0..count {
            line.clear();
            out.read_line(&mut line).unwrap();
        }
        self.child.stdout = Some(out.into_inner());
    }

    /// Its exit status and what it said on standard error, once it has ended and, with `all`, everybody else has too.
    fn end(&mut self, all: bool) -> (Option<i32>, String) {
        let (to, from) = channel();
        let mut err = self.alive.take().unwrap();
        let told = std::thread::spawn(move || {
            let mut said = Vec::new();
            let _ = err.read_to_end(&mut said);
            let _ = to.send(());
            String::from_utf8_lossy(&said).into_owned()
        });
        // Rows that nobody reads would stop the watch.
        let out = self.child.stdout.take();
        let drained =
            std::thread::spawn(move || out.map(|mut out| std::io::copy(&mut out, &mut std::io::sink())));
        if all && from.recv_timeout(HANGS) == Err(RecvTimeoutError::Timeout) {
            panic!("{}: still there: {:?}", self.tag, tagged(&self.tag));
        }
        let (done, ended) = channel();
        let id = self.child.id();
        let waiting = std::thread::spawn({
            let mut child = std::mem::replace(&mut self.child, nobody());
            move || {
                let status = child.wait().unwrap();
                let _ = done.send(status);
            }
        });
        let Ok(status) = ended.recv_timeout(HANGS) else {
            signal(id, Signal::KILL);
            panic!("{}: the watch hangs: {:?}", self.tag, tagged(&self.tag));
        };
        waiting.join().unwrap();
        if !all {
            return (status.code(), String::new());
        }
        drained.join().unwrap();
        (status.code(), told.join().unwrap())
    }
}

fn nobody() -> Child {
    Command::new("true").spawn().unwrap()
}

impl Drop for Tried {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        tagged(&self.tag).keys().for_each(|process| signal(*process as u32, Signal::KILL));
    }
}

const ENDS: [&str; 8] = ["time", "rows", "int", "full", "term", "closed", "hup", "kill"];
const KINDS: [&str; 3] = ["threads", "processes", "threads+processes+threads"];

#[test]
fn a_program_full_of_births_survives_or_ends_as_documented() {
    if !allowed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let this = std::env::current_exe().unwrap();
    let this = this.to_str().unwrap();
    for round in 0..common::rounds(40, 1000) {
        let (end, kind) = (ENDS[round % ENDS.len()], KINDS[round / ENDS.len() % KINDS.len()]);
        let mark = folder.path().join(format!("mark{round}"));
        // Who runs on ends by itself.
        let runs_on = ["full", "closed", "kill"].contains(&end);
        let churn = format!("{kind} {} {}", if runs_on { 60 } else { 0 }, mark.display());
        let time = format!("{}ms", 5 + 13 * round % 90);
        let rows = (10 + 37 * round % 400).to_string();
        let words: &[&str] = match end {
            "time" => &["--time", &time],
            "rows" => &["--rows", &rows],
            "full" => &["-o", "/dev/full"],
            _ => &[],
        };
        // What the program prints is none of the watch's business.
        let script = "exec env SOLO_CHURN=\"$1\" \"$0\" --exact churn --test-threads=1 >/dev/null";
        let program = ["sh", "-c", script, this, &churn];
        let tag = format!("churn{round}{end}");
        let mut tried = Tried::watch(&tag, words, &program, |_| ());
        if !["time", "rows", "full"].contains(&end) {
            tried.lines(3 + 11 * round % 50);
        }
        match end {
            "int" => signal(tried.child.id(), Signal::INT),
            "term" => signal(tried.child.id(), Signal::TERM),
            "hup" => signal(tried.child.id(), Signal::HUP),
            "kill" => signal(tried.child.id(), Signal::KILL),
            "closed" => drop(tried.child.stdout.take()),
            _ => {}
        }
        let (code, said) = tried.end(true);
        let expected = match end {
            "time" | "rows" => Some(0),
            "int" | "term" | "hup" => Some(130),
            "full" => Some(2),
            "closed" => Some(4),
            _ => None,
        };
        assert_eq!(code, expected, "round {round}, {end}, {kind}: {said}");
        assert_eq!(mark.exists(), runs_on, "round {round}, {end}, {kind}: {said}");
        assert_eq!(tagged(&tried.tag), BTreeMap::new(), "round {round}, {end}, {kind}");
    }
}

/// Children, grandchildren without parents, a session of its own, and one that does not want to hear of it.
const FAMILY: &str = "sleep 1001 & (sleep 1002 &) ; setsid sleep 1003 & sh -c 'trap \"\" TERM INT HUP; sleep 1004; sleep 1005' & echo ready >&2; sleep 1006; true";

#[test]
fn all_that_came_out_of_a_program_ends_with_the_watch() {
    if !allowed() {
        return;
    }
    for (per, how) in [("thread", Signal::INT), ("process", Signal::TERM), ("core", Signal::HUP)] {
        let words = ["--per", per];
        let mut tried = Tried::watch(&format!("family-{per}"), &words, &["sh", "-c", FAMILY], |_| ());
        let mut ready = [0; 6];
        tried.alive.as_mut().unwrap().read_exact(&mut ready).unwrap();
        signal(tried.child.id(), how);
        let (code, said) = tried.end(true);
        assert_eq!((code, tagged(&tried.tag)), (Some(130), BTreeMap::new()), "{per}: {said}");
    }
}

#[test]
fn what_a_program_left_behind_runs_on_when_it_ends_by_itself() {
    if !allowed() {
        return;
    }
    for per in ["thread", "process"] {
        let script = "sleep 1001 >/dev/null 2>&1 & exit 3";
        let mut tried = Tried::watch(&format!("left-{per}"), &["--per", per], &["sh", "-c", script], |_| ());
        assert_eq!(tried.end(true).0, Some(3));
        let left = tagged(&tried.tag);
        assert_eq!(left.len(), 1, "{left:?}");
        // It may still be on its way to sleep.
        let stopped = |state: &str| ["T (stopped)", "t (tracing stop)"].iter().any(|way| state.contains(way));
        assert!(left.values().all(|state| state.contains("TracerPid:\t0") && !stopped(state)), "{left:?}");
    }
}

/// The user's own stop outlasts the watch, whatever ended it, and so does the order to go on.
#[test]
fn a_stopped_program_stays_stopped_where_the_watch_is_killed_and_ends_where_the_watch_ends() {
    if !allowed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (name, how) in [("kill", Signal::KILL), ("term", Signal::TERM)] {
        let mark = folder.path().join(name);
        let script = format!("echo $$ >&2; kill -STOP $$; : > {}", mark.display());
        let mut tried = Tried::watch(&format!("stopped-{name}"), &[], &["sh", "-c", &script], |_| ());
        let mut number = String::new();
        let mut err = BufReader::new(tried.alive.take().unwrap());
        err.read_line(&mut number).unwrap();
        tried.alive = Some(err.into_inner());
        let state = || fs::read_to_string(format!("/proc/{}/status", number.trim())).unwrap_or_default();
        while !state().contains("t (tracing stop)") && !state().contains("T (stopped)") {
            std::thread::yield_now();
        }
        signal(tried.child.id(), how);
        if how == Signal::KILL {
            // Let go by the kernel, it takes a moment to stop again.
            while !state().contains("TracerPid:\t0") || !state().contains("T (stopped)") {
                assert!(!mark.exists(), "{}", state());
                std::thread::yield_now();
            }
            assert!(!mark.exists());
            signal(number.trim().parse().unwrap(), Signal::CONT);
        }
        tried.end(true);
        assert_eq!(mark.exists(), how == Signal::KILL);
    }
}

#[test]
fn a_second_ctrl_c_kills_at_once() {
    if !allowed() {
        return;
    }
    let script = "trap '' INT TERM; echo ready >&2; while :; do sleep 1000; done";
    let mut tried = Tried::watch("twice", &[], &["sh", "-c", script], |_| ());
    let mut ready = [0; 6];
    tried.alive.as_mut().unwrap().read_exact(&mut ready).unwrap();
    signal(tried.child.id(), Signal::INT);
    signal(tried.child.id(), Signal::INT);
    let (code, said) = tried.end(true);
    assert_eq!((code, tagged(&tried.tag)), (Some(130), BTreeMap::new()), "{said}");
}

#[test]
fn serve_ends_all_that_its_programs_started() {
    if !allowed() {
        return;
    }
    let words = ["serve", "--listen", "127.0.0.1:0", "-e", "page-faults", "--program", FAMILY];
    let mut tried = Tried::start("serve", &words, |_| ());
    let mut err = BufReader::new(tried.alive.take().unwrap());
    let mut line = String::new();
    while !line.contains("ready") {
        line.clear();
        assert_ne!(err.read_line(&mut line).unwrap(), 0, "it ended");
    }
    tried.alive = Some(err.into_inner());
    signal(tried.child.id(), Signal::INT);
    assert_eq!(tried.end(true).0, Some(130));
    assert_eq!(tagged(&tried.tag), BTreeMap::new());
}

/// `q` in `solo top`, on a terminal.
#[test]
fn top_ends_all_that_its_program_started() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    if !allowed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("ready");
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let open = || fs::File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let script = FAMILY.replace("echo ready >&2", &format!(": > {}", mark.display()));
    let words = ["top", "-e", "page-faults", "--every", "10ms", "--", "sh", "-c", &script];
    let mut tried = Tried::start("top", &words, |command| {
        command.stdin(open()).stdout(open()).env("TERM", "xterm");
    });
    let mut terminal = fs::File::from(terminal);
    let mut keys = terminal.try_clone().unwrap();
    // Somebody has to look, or the terminal is full.
    let looking = std::thread::spawn(move || drop(std::io::copy(&mut terminal, &mut std::io::sink())));
    wait_for(&mark);
    keys.write_all(b"q").unwrap();
    assert_eq!(tried.end(true).0, Some(0));
    assert_eq!(tagged(&tried.tag), BTreeMap::new());
    drop((keys, looking));
}

fn wait_for(mark: &Path) {
    let begun = std::time::Instant::now();
    while !mark.exists() {
        assert!(begun.elapsed() < HANGS, "{} does not come", mark.display());
        std::thread::yield_now();
    }
}

#[test]
fn a_program_is_kept_on_the_cpus_that_were_named_or_refused() {
    if !allowed() {
        return;
    }
    let watch = |cpus: &str| {
        let words = [
            "watch",
            "-o",
            "/dev/null",
            "--cpus",
            cpus,
            "--",
            "grep",
            "Cpus_allowed_list",
            "/proc/self/status",
        ];
        solo().args(words).output().unwrap()
    };
    let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    for none in ["99999", "1023", "1024", "0,99999", "18446744073709551615"] {
        let output = watch(none);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{none}: {said}");
        assert!(said.contains("is not there") && said.contains(online.trim()), "{none}: {said}");
    }
    let output = watch("0");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "Cpus_allowed_list:\t0\n");
    assert_eq!(output.status.code(), Some(0));
}
