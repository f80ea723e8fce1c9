//! Real files and a real process: one that ends itself between two steps, and one whose disk is full.

mod common;

use common::freeze;
use solo_guard::{Actuator, Guard, GuardError, JOURNAL, Machine, Seen, Setting, restore};
use solo_store::StoreError;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitStatus};

const GROUPS: usize = 6;

/// A machine that ends this process, as `kill -9` does, before or after a setting is written.
struct Dying {
    machine: Machine,
    steps: usize,
}

impl Dying {
    fn step(&mut self) {
        if self.steps == 0 {
            std::process::abort();
        }
        self.steps -= 1;
    }
}

impl Actuator for Dying {
    fn look(&self, setting: &Setting) -> Result<Seen, StoreError> {
        self.machine.look(setting)
    }
    fn set(&mut self, setting: &Setting, value: &str) -> Result<(), StoreError> {
        self.step();
        self.machine.set(setting, value)?;
        self.step();
        Ok(())
    }
    fn boot(&self) -> Result<String, StoreError> {
        self.machine.boot()
    }
}

fn tree(root: &Path) {
    let boot = root.join("proc/sys/kernel/random");
    fs::create_dir_all(&boot).unwrap();
    fs::write(boot.join("boot_id"), "11111111-2222\n").unwrap();
    for group in 0..GROUPS {
        let group = root.join(format!("sys/fs/cgroup/g{group}"));
        fs::create_dir_all(&group).unwrap();
        fs::write(group.join("cgroup.freeze"), "0\n").unwrap();
    }
}

fn says(root: &Path) -> Vec<String> {
    let file =
        |group| fs::read_to_string(root.join(format!("sys/fs/cgroup/g{group}/cgroup.freeze"))).unwrap();
    (0..GROUPS).map(|group| file(group).trim().to_owned()).collect()
}

/// This program again, as the guard: `mode` is `die:N` or `fill`. `limit`: the largest file that it may write, in blocks.
fn again(root: &Path, mode: &str, limit: Option<u32>) -> ExitStatus {
    let limit = limit.map_or(String::new(), |blocks| format!("trap '' XFSZ; ulimit -f {blocks}; "));
    let script = format!("ulimit -c 0; {limit}exec \"$0\" --exact child --nocapture >/dev/null 2>&1");
    let program = std::env::current_exe().expect("a test program has a path");
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &script]).arg(program).env("SOLO_GUARD_ROOT", root).env("SOLO_GUARD_MODE", mode);
    shell.status().expect("a shell")
}

/// Not a test: the guard of the tests below.
#[test]
fn child() {
    let (Ok(root), Ok(mode)) = (std::env::var("SOLO_GUARD_ROOT"), std::env::var("SOLO_GUARD_MODE")) else {
        return;
    };
    let root = Path::new(&root);
    let steps = mode.strip_prefix("die:").map_or(usize::MAX, |steps| steps.parse().unwrap());
    let machine = Dying { machine: Machine::below(root).unwrap(), steps };
    let (mut guard, _) = Guard::start(&root.join("state"), machine).unwrap();
    for group in 0..GROUPS {
        match guard.change(&freeze(&format!("g{group}")), "1") {
            Ok(()) => {}
            // What is not in the journal is not changed. Then the guard dies, for good measure.
            Err(GuardError::Journal(_)) => {
                let changed = says(root).iter().filter(|value| *value == "1").count();
                assert_eq!(changed, group);
                std::process::abort();
            }
            Err(error) => panic!("{error}"),
        }
    }
    std::process::exit(7);
}

#[test]
fn a_process_that_dies_at_any_step_leaves_nothing_after_the_next_start() {
    for steps in 0..=2 * GROUPS {
        let place = tempfile::tempdir().unwrap();
        tree(place.path());
        let status = again(place.path(), &format!("die:{steps}"), None);
        assert_eq!(status.code() == Some(7), steps == 2 * GROUPS, "{status}");
        let changed = says(place.path()).iter().filter(|value| *value == "1").count();
        assert_eq!(changed, steps.div_ceil(2), "{steps} steps");
        let restored = restore(&place.path().join("state"), Machine::below(place.path()).unwrap()).unwrap();
        assert!(restored.is_whole(), "{restored:?}");
        assert_eq!(says(place.path()), ["0"; GROUPS], "{steps} steps: {restored:?}");
    }
}

#[test]
fn a_disk_that_fills_up_stops_the_changes_and_not_the_undoing() {
    let place = tempfile::tempdir().unwrap();
    tree(place.path());
    // One block of 512 or 1024 bytes, as the shell counts: room for a few lines.
    let status = again(place.path(), "fill", Some(1));
    assert!(status.code() != Some(7) && status.code() != Some(101), "{status}");
    let changed = says(place.path()).iter().filter(|value| *value == "1").count();
    assert!((1..GROUPS).contains(&changed), "{changed} changed");
    assert!(fs::metadata(place.path().join("state").join(JOURNAL)).unwrap().len() <= 1024);
    // The disk is as full as before.
    let restored = restore(&place.path().join("state"), Machine::below(place.path()).unwrap()).unwrap();
    assert!(restored.is_whole(), "{restored:?}");
    assert_eq!(says(place.path()), ["0"; GROUPS]);
}

#[test]
fn links_on_the_way_to_a_setting_are_refused() {
    let place = tempfile::tempdir().unwrap();
    tree(place.path());
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("cgroup.freeze"), "0\n").unwrap();
    std::os::unix::fs::symlink(outside.path(), place.path().join("sys/fs/cgroup/linked")).unwrap();
    let machine = Machine::below(place.path()).unwrap();
    let (mut guard, _) = Guard::start(&place.path().join("state"), machine).unwrap();
    assert!(matches!(guard.change(&freeze("linked"), "1"), Err(GuardError::Refused { .. })));
    assert_eq!(fs::read_to_string(outside.path().join("cgroup.freeze")).unwrap(), "0\n");
}
