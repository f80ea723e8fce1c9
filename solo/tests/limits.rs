//! `solo guard --back-end mba`, the whole program, on a machine whose resctrl is made up: what it writes, what others see, and what it leaves behind.
#![allow(missing_docs)]

mod common;
mod resctrl;

use common::solo;
use resctrl::{Machine, Tree};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

/// Where the guard keeps what it has to remember, in the namespace of the test.
const STATE: &str = "/run/solo-guard";

fn command(words: &[&str]) -> Command {
    let mut command = solo();
    command.args(words);
    command
}

/// Runs a program to its end; its status and all that it said.
fn ran(machine: &Machine, words: &[&str]) -> (Option<i32>, String) {
    told(&machine.start(&command(words)).wait_with_output().unwrap())
}

fn told(output: &Output) -> (Option<i32>, String) {
    let text = [&output.stdout[..], &output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// True once it is so, within ten seconds.
fn becomes(is_so: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while !is_so() && begun.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(5));
    }
    is_so()
}

/// A guard at work, with two limits.
struct Guard<'m> {
    machine: &'m Machine,
    child: Child,
    before: Tree,
}

impl<'m> Guard<'m> {
    fn start(machine: &'m Machine) -> Self {
        let before = machine.seen();
        let words = ["guard", "--back-end", "mba", "-b", "0=805MiB/s", "-b", "1=300MiB/s"];
        let guard = Self { machine, child: machine.start(&command(&words)), before };
        assert!(
            becomes(|| Path::new(STATE).join("live/cpu1").exists() && guard.is_limited()),
            "limits are set"
        );
        guard
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Whether both limits stand, and everything else is as it was.
    fn is_limited(&self) -> bool {
        let mut seen = self.machine.seen();
        for (cpu, limit) in [(0, 800), (1, 300)] {
            let group = format!("solo-guard-{}-cpu{cpu}", self.child.id());
            // The cache is the root's, and not a new group's.
            let schemata = format!("    L3:0=ff;1=fff\n    MB:0={limit};1={limit}\n");
            let says = |file: &str| seen.get(&format!("{group}/{file}")).cloned().flatten();
            if says("schemata") != Some(schemata) || says("cpus_list") != Some(format!("{cpu}\n")) {
                return false;
            }
            seen.retain(|path, _| *path != group && !path.starts_with(&format!("{group}/")));
        }
        let root = seen.insert("cpus_list".to_owned(), self.before["cpus_list"].clone());
        let others = self.before["cpus_list"]
            .as_ref()
            .map(|all| all.trim_start_matches("0,1").trim_start_matches(','));
        root.flatten().as_deref() == others && seen == self.before
    }

    /// The process that puts back what this guard has changed, where it is killed.
    fn minder(&self) -> Pid {
        let processes = fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok()?.parse().ok());
        let wanted = format!("guard\0mind\0{}\0", self.child.id());
        let is_minder = |pid: &i32| {
            fs::read(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|words| String::from_utf8_lossy(&words).contains(&wanted))
        };
        let mut minders = processes.filter(is_minder);
        minders.next().and_then(Pid::from_raw).expect("a minder")
    }
}

#[test]
fn limits_are_set_shown_kept_by_a_guard_that_stands_still_and_put_back() {
    resctrl::with(|machine| {
        if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() < 2) {
            return println!("skipped: limits of two CPUs: one CPU");
        }
        let mut guard = Guard::start(machine);
        let writes = machine.kernel().writes.clone();
        let files: Vec<&str> = writes.iter().filter_map(|(path, _)| path.rsplit('/').next()).collect();
        assert_eq!(files, ["schemata", "cpus_list", "schemata", "cpus_list"], "{writes:?}");

        // Others are told why they can't have their way, and nothing changes by it.
        let (status, text) = ran(machine, &["guard", "set", "1=200"]);
        assert_eq!(status, Some(2), "{text}");
        assert!(text.contains("the limits of the back end mba stay as they were set"), "{text}");
        let (status, text) = ran(machine, &["guard", "--back-end", "mba", "-b", "1=100MiB/s"]);
        assert_eq!(status, Some(3), "{text}");
        let (status, text) = ran(machine, &["guard", "--restore"]);
        assert_eq!(status, Some(3), "{text}");
        assert!(guard.is_limited());

        // Silent for longer than a guard that freezes may be.
        kill_process(guard.pid(), Signal::STOP).unwrap();
        std::thread::sleep(Duration::from_millis(6500));
        assert!(
            guard.child.try_wait().unwrap().is_none() && guard.is_limited(),
            "who stands still keeps its limits"
        );
        kill_process(guard.pid(), Signal::CONT).unwrap();

        // 100 MiB a second beside a limit of 800, on CPU 0 alone.
        let mut watch = machine.start(&command(&[
            "watch",
            "-V",
            "guard",
            "-e",
            "task-clock",
            "--all",
            "--every",
            "500ms",
            "-n",
            "7",
            "--format",
            "csv",
        ]));
        let moving = format!("solo-guard-{}-cpu0", guard.child.id());
        while watch.try_wait().unwrap().is_none() {
            machine.kernel().moves(&moving, 1 << 20);
            std::thread::sleep(Duration::from_millis(10));
        }
        let (status, text) = told(&watch.wait_with_output().unwrap());
        assert_eq!(status, Some(0), "{text}");
        let column = |name: &str| -> Vec<i64> {
            let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
            let position = lines.by_ref().find_map(|head| head.iter().position(|column| *column == name));
            let position = position.unwrap_or_else(|| panic!("{name}: {text}"));
            lines.filter_map(|row| row.get(position)?.parse().ok()).collect()
        };
        let mib = 1 << 20;
        assert_eq!(column("guard_cpu0_limit_bytes_per_s").first(), Some(&(800 * mib)), "{text}");
        assert_eq!(column("guard_cpu1_limit_bytes_per_s").first(), Some(&(300 * mib)), "{text}");
        let most = column("guard_cpu0_rate_bytes_per_s").into_iter().max();
        assert!(most.is_some_and(|rate| rate > 10 * mib && rate <= 110 * mib), "{most:?}: {text}");
        assert_eq!(column("guard_cpu1_rate_bytes_per_s").into_iter().max(), Some(0), "{text}");

        kill_process(guard.pid(), Signal::INT).unwrap();
        let before = std::mem::take(&mut guard.before);
        let (status, text) = told(&guard.child.wait_with_output().unwrap());
        assert_eq!(status, Some(130), "{text}");
        assert!(text.contains("limits of memory bandwidth, for") && text.contains("core0"), "{text}");
        assert_eq!(machine.seen(), before);
        assert!(!Path::new(STATE).join("live").exists());
    });
}

/// With its minder everything is put back at once; without it by `--restore`, or by the next guard.
#[test]
fn limits_of_a_guard_that_is_killed_are_put_back() {
    resctrl::with(|machine| {
        if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() < 2) {
            return println!("skipped: limits of two CPUs: one CPU");
        }
        let kill = |mut guard: Guard<'_>| {
            guard.child.kill().unwrap();
            guard.child.wait().unwrap();
            guard.before
        };
        let before = kill(Guard::start(machine));
        assert!(becomes(|| machine.seen() == before), "{:#?}", machine.seen());
        assert!(!Path::new(STATE).join("live").exists(), "no watch shows limits that are gone");
        let (status, text) = ran(machine, &["guard", "--restore"]);
        assert_eq!((status, machine.seen() == before), (Some(0), true), "{text}");

        for next in [
            &["guard", "--restore"][..],
            &["guard", "--back-end", "mba", "-b", "0=500MiB/s", "--time", "50ms"],
        ] {
            let guard = Guard::start(machine);
            let minder = guard.minder();
            kill_process(minder, Signal::KILL).unwrap();
            // The guard goes on without it.
            std::thread::sleep(Duration::from_millis(300));
            assert!(guard.is_limited());
            let groups = [0, 1].map(|cpu| format!("solo-guard-{}-cpu{cpu}", guard.child.id()));
            let before = kill(guard);
            std::thread::sleep(Duration::from_millis(300));
            let left = machine.seen();
            assert!(
                groups.iter().all(|group| left.contains_key(group)),
                "nobody is there to put it back: {left:?}"
            );
            let (status, text) = ran(machine, next);
            assert_eq!(status, Some(0), "{text}");
            assert!(groups.iter().all(|group| text.contains(group)), "what was put back is told: {text}");
            assert_eq!(machine.seen(), before, "{next:?}");
        }
    });
}

/// `solo place` that reads what programs hold of the cache: a group for each, and nothing of it left, whatever ends it.
#[test]
fn groups_of_programs_that_are_placed_go_at_the_end_and_after_a_kill() {
    resctrl::with(|machine| {
        let before = machine.seen();
        let place = |time: &str| {
            let words =
                ["place", "--monitor", "occupancy", "--action", "report", "--every", "20ms", "--time", time];
            machine.start(&command(
                &[&words[..], &["--program", "exec sleep 60", "--program", "exec sleep 61"]].concat(),
            ))
        };
        let groups = |child: &Child| [0, 1].map(|task| format!("solo-place-{}-{task}", child.id()));
        // Each program is in its own group.
        let are_there = |groups: &[String; 2]| {
            let seen = machine.seen();
            let members = |group| seen.get(&format!("{group}/tasks")).cloned().flatten().unwrap_or_default();
            let (first, second) = (members(&groups[0]), members(&groups[1]));
            !first.is_empty() && !second.is_empty() && first != second
        };
        let child = place("600ms");
        assert!(becomes(|| are_there(&groups(&child))), "{:#?}", machine.seen());
        let (status, text) = told(&child.wait_with_output().unwrap());
        assert_eq!(status, Some(0), "{text}");
        assert_eq!(machine.seen(), before, "{text}");

        let mut child = place("60s");
        let own = groups(&child);
        assert!(becomes(|| are_there(&own)), "{:#?}", machine.seen());
        let placed = machine.seen();
        let tasks = own.iter().flat_map(|group| placed[&format!("{group}/tasks")].iter());
        let tasks: Vec<Pid> = tasks
            .flat_map(|tasks| tasks.lines())
            .filter_map(|task| Pid::from_raw(task.parse().ok()?))
            .collect();
        child.kill().unwrap();
        child.wait().unwrap();
        // Nobody has to ask its minder.
        assert!(
            becomes(|| own.iter().all(|group| !machine.seen().contains_key(group))),
            "{:#?}",
            machine.seen()
        );
        assert!(
            tasks.len() > 1 && tasks.iter().all(|task| test_kill_process(*task).is_ok()),
            "programs run on"
        );
        let (status, text) = ran(machine, &["place", "--restore"]);
        for task in tasks {
            let _ = kill_process(task, Signal::KILL);
        }
        assert_eq!((status, machine.seen() == before), (Some(0), true), "{text}: {:#?}", machine.seen());
    });
}
