//! Limits of memory bandwidth on a made-up machine.

mod kernel;

use kernel::{BEGUN, Kernel};
use solo_guard::limits::{LimitDoubt, LimitError, LimitTally, Plan, set};
use solo_guard::{Actuator, Fate, Guard, GuardError, JOURNAL, Setting, restore};
use solo_model::{Bandwidth, CoreId, Duration};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const MIB: u64 = 1 << 20;

/// The process that groups are named after.
const OWNER: u32 = 77;

struct World {
    kernel: Kernel,
    state: TempDir,
    _root: TempDir,
}

impl World {
    fn new() -> Self {
        let (root, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        Self { kernel: Kernel::below(root.path(), state.path()), state, _root: root }
    }

    fn guard(&self) -> Guard<Kernel> {
        Guard::start(self.state.path(), self.kernel.clone()).unwrap().0
    }

    fn plan(&self, budgets: &[(u16, u64)]) -> Result<Plan, LimitError> {
        let budgets: Vec<_> =
            budgets.iter().map(|&(cpu, rate)| (CoreId(cpu), Bandwidth::new(rate))).collect();
        Plan::of(&budgets, &self.kernel.resctrl(), OWNER)
    }

    /// Why nothing is limited; nothing was written.
    fn refusal(&self, budgets: &[(u16, u64)]) -> String {
        let before = self.kernel.all();
        let error = self.plan(budgets).unwrap_err();
        assert_eq!(self.kernel.all(), before);
        error.to_string()
    }
}

fn at(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn a_limit_is_a_group_with_the_line_and_the_cpu_and_goes_at_the_end() {
    let world = World::new();
    let before = world.kernel.all();
    let plan = world.plan(&[(2, 300 * MIB), (1, 805 * MIB + 7)]).unwrap();
    let (resctrl, mut guard) = (world.kernel.resctrl(), world.guard());
    let watch = set(&plan, &resctrl, &mut guard, at(0)).unwrap();
    assert_eq!(world.kernel.groups(), ["solo-guard-77-cpu1", "solo-guard-77-cpu2"]);
    // The cache is the root's as before, and not a new group's.
    assert_eq!(world.kernel.says("solo-guard-77-cpu1/schemata"), "MB:0=800;1=800\n    L3:0=ff;1=fff");
    assert_eq!(world.kernel.says("solo-guard-77-cpu2/schemata"), "MB:0=300;1=300\n    L3:0=ff;1=fff");
    assert_eq!(world.kernel.cpus("solo-guard-77-cpu1"), [1].into());
    assert_eq!(world.kernel.cpus("solo-guard-77-cpu2"), [2].into());
    assert_eq!(world.kernel.cpus(""), [0, 3].into());
    let (tallies, doubts) = watch.end(at(10));
    assert!(tallies.iter().all(|tally| tally.stood && tally.mean.is_none() && tally.is_kept().is_none()));
    let words: Vec<String> = doubts.iter().map(ToString::to_string).collect();
    assert_eq!(
        words[0],
        "core1: ASKED is written as 800 MiB/s, rounded down to steps of 10 so that it is not exceeded for that"
            .replace("ASKED", &Bandwidth::new(805 * MIB + 7).to_string())
    );
    let restored = guard.undo();
    assert!(restored.is_whole(), "{restored:?}");
    assert_eq!(world.kernel.all(), before);
    let fates: Vec<&Fate> = restored.settings.iter().map(|(_, fate)| fate).collect();
    let one = [&Fate::PutBack, &Fate::Gone, &Fate::PutBack];
    assert_eq!(fates, [one, one].concat());
}

#[test]
fn a_rehearsal_tells_each_write_in_order_and_changes_nothing() {
    let world = World::new();
    let before = world.kernel.all();
    let plan = world.plan(&[(1, 800 * MIB), (3, 300 * MIB)]).unwrap();
    let told: Vec<String> =
        plan.changes().iter().map(|(setting, value)| format!("{setting}: {value}")).collect();
    assert_eq!(
        told,
        [
            "/sys/fs/resctrl/solo-guard-77-cpu1: there",
            "/sys/fs/resctrl/solo-guard-77-cpu1/schemata: L3:0=ff;1=fff\nMB:0=800;1=800",
            "the resctrl group of CPU 1: solo-guard-77-cpu1",
            "/sys/fs/resctrl/solo-guard-77-cpu3: there",
            "/sys/fs/resctrl/solo-guard-77-cpu3/schemata: L3:0=ff;1=fff\nMB:0=300;1=300",
            "the resctrl group of CPU 3: solo-guard-77-cpu3",
        ]
    );
    assert_eq!(world.kernel.all(), before);
    assert!(world.kernel.memory.borrow().writes.is_empty());
    let (resctrl, mut guard) = (world.kernel.resctrl(), world.guard());
    drop(set(&plan, &resctrl, &mut guard, at(0)).unwrap());
    assert_eq!(world.kernel.memory.borrow().writes, plan.changes(), "what was told is what is written");
    drop(guard);
    assert_eq!(world.kernel.all(), before);
}

/// Whatever had been written when everything stopped, the next one puts it back. That the journal knew of it before is asserted by the
/// kernel at each write.
#[test]
fn what_a_guard_that_was_killed_has_left_is_put_back() {
    for rounds in [None, Some(10)] {
        for step in 0..6 {
            for made in [false, true] {
                let world = World::new();
                let before = world.kernel.all();
                world.kernel.memory.borrow_mut().rounds = rounds;
                let plan = world.plan(&[(1, 800 * MIB), (3, 300 * MIB)]).unwrap();
                let (resctrl, mut guard) = (world.kernel.resctrl(), world.guard());
                world.kernel.memory.borrow_mut().dies = Some((step, made));
                assert!(set(&plan, &resctrl, &mut guard, at(0)).is_err());
                // Nothing of it runs any more; its journal is still locked by what was forgotten.
                let journal = fs::read(world.state.path().join(JOURNAL)).unwrap();
                std::mem::forget(guard);
                let next = tempfile::tempdir().unwrap();
                fs::write(next.path().join(JOURNAL), journal).unwrap();
                world.kernel.memory.borrow_mut().dies = None;
                world.kernel.memory.borrow_mut().journal = next.path().join(JOURNAL);
                let restored = restore(next.path(), world.kernel.clone()).unwrap();
                assert!(restored.is_whole(), "{step} {made}: {restored:?}");
                assert_eq!(world.kernel.all(), before, "{step} {made}");
                let again = restore(next.path(), world.kernel.clone()).unwrap();
                assert!(again.settings.is_empty());
            }
        }
    }
}

/// Not a test: the guard of the test below, which ends in the middle.
#[test]
fn child() {
    let (Ok(root), Ok(state), Ok(step)) = (
        std::env::var("SOLO_LIMITS_ROOT"),
        std::env::var("SOLO_LIMITS_STATE"),
        std::env::var("SOLO_LIMITS_STEP"),
    ) else {
        return;
    };
    let (root, state) = (Path::new(&root), Path::new(&state));
    let step: usize = step.parse().unwrap();
    let kernel = Kernel::again(root, state);
    let budgets = [(CoreId(1), Bandwidth::new(800 * MIB)), (CoreId(3), Bandwidth::new(300 * MIB))];
    let resctrl = kernel.resctrl();
    let plan = Plan::of(&budgets, &resctrl, OWNER).unwrap();
    let mut guard = Guard::start(state, kernel.clone()).unwrap().0;
    (kernel.memory.borrow_mut().dies, kernel.memory.borrow_mut().aborts) =
        (Some((step / 2, step % 2 == 1)), true);
    let _watch = set(&plan, &resctrl, &mut guard, at(0)).unwrap();
    std::process::abort();
}

/// A process that is gone, its journal in its folder: the next guard there puts everything back before it begins.
#[test]
fn the_next_guard_puts_back_what_a_process_that_ended_has_left() {
    for step in 0..=12 {
        let world = World::new();
        let before = world.kernel.all();
        let script = "ulimit -c 0; exec \"$0\" --exact child --nocapture >/dev/null 2>&1";
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", script]).arg(std::env::current_exe().unwrap());
        shell.env("SOLO_LIMITS_ROOT", &world.kernel.root).env("SOLO_LIMITS_STATE", world.state.path());
        let mut child = shell.env("SOLO_LIMITS_STEP", step.to_string()).spawn().unwrap();
        let its_own = world.kernel.root.join(format!("proc/{}", child.id()));
        assert_eq!(child.wait().unwrap().signal(), Some(6), "{step}");
        assert_eq!(world.kernel.groups().len(), [0, 1, 1, 1, 1, 1, 1, 2][step.min(7)], "{step}");
        fs::remove_dir_all(its_own).unwrap();
        let (guard, restored) = Guard::start(world.state.path(), world.kernel.clone()).unwrap();
        assert!(restored.is_whole(), "{step}: {restored:?}");
        assert_eq!(world.kernel.all(), before, "{step}");
        assert!(guard.undo().settings.is_empty());
    }
}

/// Kernels before 6.13 round the bandwidth of a new group up to 4 when it is written back: it is not written back.
#[test]
fn what_a_new_group_had_is_never_written() {
    let world = World::new();
    world.kernel.memory.borrow_mut().rounds = Some(10);
    let plan = world.plan(&[(1, 800 * MIB)]).unwrap();
    let (resctrl, mut guard) = (world.kernel.resctrl(), world.guard());
    drop(set(&plan, &resctrl, &mut guard, at(0)).unwrap());
    assert!(guard.undo().is_whole());
    let memory = world.kernel.memory.borrow();
    let schemata: Vec<_> =
        memory.writes.iter().filter(|(setting, _)| matches!(setting, Setting::Schemata { .. })).collect();
    assert_eq!(schemata.len(), 1, "{schemata:?}");
}

#[test]
fn what_can_not_be_limited_is_refused_by_name() {
    let world = World::new();
    let one = [(1, 800 * MIB)];
    assert_eq!(world.refusal(&[]), "no core has a budget");
    assert_eq!(
        world.refusal(&[(1, MIB), (2, MIB), (1, 9 * MIB)]),
        "core1 has two limits of bandwidth: give it one"
    );
    assert_eq!(
        world.refusal(&[(1, 9 * MIB)]),
        "core1 is to have 9MiB/s, which is 0 MiB/s in steps of 10: info/MB/min_bandwidth says 10; give it 10 MiB/s or more"
    );
    world.kernel.put("info/MB/min_bandwidth", "25\n");
    assert_eq!(
        world.refusal(&[(1, 29 * MIB)]),
        "core1 is to have 29MiB/s, which is 20 MiB/s in steps of 10: info/MB/min_bandwidth says 25; give it 30 MiB/s or more"
    );
    assert!(world.plan(&[(1, 30 * MIB)]).is_ok());
    assert_eq!(
        world.refusal(&[(1, u64::MAX)]),
        format!(
            "core1 is to have {}, and limits are at most 4294967295 MiB/s: leave it out",
            Bandwidth::new(u64::MAX)
        )
    );
    world.kernel.put("info/MB/min_bandwidth", "10\n");
    assert_eq!(
        world.refusal(&[(9, 800 * MIB)]),
        "core9 is in no group of resctrl: it is offline, or this machine has no such CPU"
    );
    world.kernel.put("info/MB/num_closids", "1\n");
    assert_eq!(
        world.refusal(&one),
        "1 group for these limits, 1 there already, and 1 is all that this processor has classes for (info/*/num_closids): limit \
         fewer CPUs, or take groups away that nobody needs (rmdir /sys/fs/resctrl/NAME)"
    );
    world.kernel.put("info/MB/num_closids", "8\n");
    world.kernel.group("solo-guard-77-cpu1");
    assert_eq!(
        world.refusal(&one),
        "there is a resctrl group /solo-guard-77-cpu1, which this guard has not made: take it away first \
         (rmdir /sys/fs/resctrl/solo-guard-77-cpu1)"
    );
}

#[test]
fn how_resctrl_is_mounted_decides() {
    let world = World::new();
    let one = [(1, 800 * MIB)];
    let mount = "mount -t resctrl -o mba_MBps resctrl /sys/fs/resctrl";
    world.kernel.mounted("proc /proc proc rw 0 0\n");
    assert_eq!(
        world.refusal(&one),
        format!(
            "resctrl is not mounted at /sys/fs/resctrl, where limits of bandwidth are written; mount it: {mount}"
        )
    );
    world.kernel.mounted("resctrl /mnt/a\\040b resctrl rw,mba_MBps 0 0\n");
    assert_eq!(
        world.refusal(&one),
        format!(
            "resctrl is not mounted at /sys/fs/resctrl, where limits of bandwidth are written, but at /mnt/a\\040b; mount it: {mount}"
        )
    );
    let percent = |least: &str, step: &str| {
        format!(
            "resctrl is mounted with `rw,relatime`, without mba_MBps: the unit of its limits is then percent (info/MB: min_bandwidth \
             {least}, bandwidth_gran {step}; AMD's is 1/8 GB/s), and MiB/s are to be written. Where nobody else uses its groups, mount it \
             anew: umount /sys/fs/resctrl && {mount}. The kernel refuses that where limits are no linear delays (AMD) or bandwidth is \
             not counted"
        )
    };
    let plain = "resctrl /sys/fs/resctrl resctrl rw,relatime 0 0\n";
    world.kernel.mounted(plain);
    assert_eq!(world.refusal(&one), percent("10", "10"));
    world.kernel.put("info/MB/min_bandwidth", "?\n");
    fs::remove_file(world.kernel.file("info/MB/bandwidth_gran")).unwrap();
    assert_eq!(world.refusal(&one), percent("not known", "not known"));
    world.kernel.put("info/MB/min_bandwidth", "10\n");
    world.kernel.put("info/MB/bandwidth_gran", "10\n");
    // Part of another option's name is not this one; the last mount is on top; others' mount points may be no text.
    world.kernel.mounted("resctrl /sys/fs/resctrl resctrl rw,mba_MBps_x,xmba_MBps 0 0\n");
    assert!(
        world
            .refusal(&one)
            .starts_with("resctrl is mounted with `rw,mba_MBps_x,xmba_MBps`, without mba_MBps")
    );
    world.kernel.mounted(format!("{}{plain}", Kernel::MOUNTED));
    assert_eq!(world.refusal(&one), percent("10", "10"));
    world
        .kernel
        .mounted([b"x /mnt/\xff\xfe ext4 rw 0 0\nshort\n".as_slice(), Kernel::MOUNTED.as_bytes()].concat());
    assert!(world.plan(&one).is_ok());
}

#[test]
fn a_cpu_of_somebody_elses_group_is_theirs() {
    let world = World::new();
    let message = |group: &str| {
        format!(
            "core1 is in the resctrl group {group}, whose limits and counts would lose it: move it to the root, or take that group away; \
             `solo guard --restore` does so with what a guard that was killed has left"
        )
    };
    world.kernel.group("theirs");
    world.kernel.move_cpu(1, "theirs");
    assert_eq!(world.refusal(&[(2, 800 * MIB), (1, 800 * MIB)]), message("/theirs"));
    world.kernel.move_cpu(1, "");
    // A group that only counts would lose it, too.
    fs::create_dir_all(world.kernel.file("mon_groups/counts")).unwrap();
    world.kernel.put("mon_groups/counts/cpus_list", "0-1\n");
    assert_eq!(world.refusal(&[(1, 800 * MIB)]), message("/mon_groups/counts"));
    assert!(world.plan(&[(2, 800 * MIB)]).is_ok());
}

#[test]
fn a_kernel_without_a_free_class_is_told_and_all_is_put_back() {
    let world = World::new();
    fs::remove_file(world.kernel.file("info/MB/num_closids")).unwrap();
    fs::remove_file(world.kernel.file("info/L3/num_closids")).unwrap();
    world.kernel.memory.borrow_mut().classes = 2;
    let before = world.kernel.all();
    let plan = world.plan(&[(1, 800 * MIB), (2, 300 * MIB)]).unwrap();
    let (resctrl, mut guard) = (world.kernel.resctrl(), world.guard());
    let error = set(&plan, &resctrl, &mut guard, at(0)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "2 groups for these limits, 1 there already, and a number that is not told is all that this processor has classes for (info/*/num_closids); \
         info/last_cmd_status says `Out of CLOSIDs`: limit fewer CPUs, or take groups away that nobody needs \
         (rmdir /sys/fs/resctrl/NAME)"
    );
    assert!(guard.undo().is_whole());
    assert_eq!(world.kernel.all(), before);
}

#[test]
fn what_the_kernel_refuses_or_rounds_is_told() {
    let world = World::new();
    let before = world.kernel.all();
    world.kernel.memory.borrow_mut().refuses = Some("Invalid MB value 800");
    let plan = world.plan(&[(1, 800 * MIB)]).unwrap();
    let (resctrl, mut guard) = (world.kernel.resctrl(), world.guard());
    let error = set(&plan, &resctrl, &mut guard, at(0)).unwrap_err().to_string();
    assert!(
        error.starts_with("/sys/fs/resctrl/solo-guard-77-cpu1/schemata is to be `L3:0=ff;1=fff\\nMB:0=800;1=800`, and the kernel refuses: ")
            && error.ends_with("; info/last_cmd_status says `Invalid MB value 800`"),
        "{error}"
    );
    assert!(guard.undo().is_whole());
    assert_eq!(world.kernel.all(), before);

    let world = World::new();
    // It says a step of 10, and goes by 64.
    world.kernel.memory.borrow_mut().rounds = Some(64);
    let plan = world.plan(&[(1, 800 * MIB)]).unwrap();
    let (resctrl, mut guard) = (world.kernel.resctrl(), world.guard());
    let (tallies, doubts) = set(&plan, &resctrl, &mut guard, at(0)).unwrap().end(at(5));
    assert!(!tallies[0].stood);
    assert_eq!(
        doubts[0].to_string(),
        "core1: `L3:0=ff;1=fff\\nMB:0=800;1=800` was written, and the group's schemata say `MB:0=832;1=832\\n    L3:0=ff;1=fff` \
         (info/last_cmd_status: `ok`)"
    );
    assert!(guard.undo().is_whole());
}

#[test]
fn strange_things_in_the_tree_are_refused_or_passed_over() {
    let one = [(1, 800 * MIB)];
    let world = World::new();
    let garbled = |found: &str| {
        format!("/sys/fs/resctrl/schemata: expected lines such as `MB:0=100;1=100`, found `{found}`")
    };
    let long = format!("MB:0={}", "x".repeat(200));
    for (schemata, message) in [
        (b"MB:".to_vec(), garbled("MB:")),
        (b"MB:0=1;1".to_vec(), garbled("MB:0=1;1")),
        (b"MB:0=ff".to_vec(), garbled("MB:0=ff")),
        (b"MB:-1=5".to_vec(), garbled("MB:-1=5")),
        (b"MB:0=1;".to_vec(), garbled("MB:0=1;")),
        (b"what\nMB:0=1".to_vec(), garbled("what")),
        (b"MB:0=5\nL3:0=zz".to_vec(), garbled("L3:0=zz")),
        (b"MB:0=\xff\xfe".to_vec(), garbled("MB:0=\u{fffd}\u{fffd}")),
        (long.clone().into_bytes(), garbled(&format!("{}...", &long[..80]))),
        (b"MB:0=\x1b[31m".to_vec(), garbled("MB:0=\\u{1b}[31m")),
        (
            b"L3:0=fff\n".to_vec(),
            "/sys/fs/resctrl/schemata has no line `MB:` but says `L3:0=fff`: this processor, or this mount, limits no bandwidth"
                .to_owned(),
        ),
        (
            Vec::new(),
            "/sys/fs/resctrl/schemata has no line `MB:` but says ``: this processor, or this mount, limits no bandwidth".to_owned(),
        ),
    ] {
        world.kernel.put("schemata", &schemata);
        assert_eq!(world.refusal(&one), message);
    }
    // More than any machine has.
    world.kernel.put("schemata", format!("MB:{}", "0=1;".repeat(1 << 18)));
    let message = world.refusal(&one);
    assert!(message.ends_with("/sys/fs/resctrl/schemata is larger than 4 KiB"), "{message}");

    let world = World::new();
    for (file, found) in
        [("min_bandwidth", "ten"), ("bandwidth_gran", "-1"), ("bandwidth_gran", "99999999999")]
    {
        let path = format!("info/MB/{file}");
        world.kernel.put(&path, found);
        assert_eq!(
            world.refusal(&one),
            format!("/sys/fs/resctrl/{path}: expected a number, found `{found}`")
        );
        world.kernel.put(&path, "10\n");
    }
    // A step of nothing is a step of one.
    world.kernel.put("info/MB/bandwidth_gran", "0\n");
    assert!(world.plan(&one).is_ok());
    for list in ["0-x", "70000", "0-3-5", "\u{fffd}"] {
        world.kernel.put("cpus_list", list);
        let message = world.plan(&one).unwrap_err().to_string();
        assert!(message.ends_with("cpus_list: it is no list of CPUs"), "{message}");
    }
}

#[test]
fn strange_names_of_groups_are_passed_over() {
    let one = [(1, 800 * MIB)];
    let world = World::new();
    fs::create_dir(world.kernel.file("").join(std::ffi::OsStr::from_bytes(b"\xff\xfe"))).unwrap();
    std::os::unix::fs::symlink("../..", world.kernel.file("link")).unwrap();
    world.kernel.put("file", "0-3");
    assert!(world.plan(&one).is_ok());
    world.kernel.group("a\nb\u{1b}[2J");
    world.kernel.move_cpu(1, "a\nb\u{1b}[2J");
    let message = world.refusal(&one);
    assert!(message.starts_with("core1 is in the resctrl group /a\\nb\\u{1b}[2J, whose"), "{message}");
    // What somebody has written into a journal leads nowhere else either.
    let mut machine = world.kernel.machine.clone();
    for hostile in ["../../../tmp", "a/../b", "\0", "/etc", "", "info/MB"] {
        assert!(machine.set(&Setting::CacheCpu { cpu: 2 }, hostile).is_err(), "{hostile:?}");
    }
    assert!(machine.look(&Setting::CacheCpu { cpu: 9 }).unwrap_err().is_not_found());
}

#[test]
fn two_guards_at_once_do_not_hold_the_same_cpu() {
    let world = World::new();
    let plan = world.plan(&[(1, 800 * MIB)]).unwrap();
    let (resctrl, mut guard) = (world.kernel.resctrl(), world.guard());
    // Both have looked, and neither has written.
    let late = Plan::of(&[(CoreId(1), Bandwidth::new(300 * MIB))], &resctrl, OWNER + 1).unwrap();
    let watch = set(&plan, &resctrl, &mut guard, at(0)).unwrap();
    assert!(matches!(Guard::start(world.state.path(), world.kernel.clone()), Err(GuardError::Busy(_))));
    let other = tempfile::tempdir().unwrap();
    let mut second = Guard::start(other.path(), world.kernel.clone()).unwrap().0;
    let before = world.kernel.all();
    assert_eq!(
        set(&late, &resctrl, &mut second, at(0)).unwrap_err().to_string(),
        "core1: another guard holds a budget of this CPU: it would count what this one limits"
    );
    assert_eq!(world.kernel.all(), before);
    assert!(
        world.refusal(&[(1, 300 * MIB)]).starts_with("core1 is in the resctrl group /solo-guard-77-cpu1, ")
    );
    drop(watch);
    assert!(guard.undo().is_whole());
    world.kernel.memory.borrow_mut().journal = other.path().join(JOURNAL);
    drop(set(&late, &resctrl, &mut second, at(0)).unwrap());
}

/// What was counted in four seconds and a half; the counter says these at the ends of the seconds.
fn counted(says: &[&str], at_the_end: &str) -> (LimitTally, Vec<LimitDoubt>) {
    let world = World::new();
    let plan = world.plan(&[(1, 100 * MIB)]).unwrap();
    let (resctrl, mut guard) = (world.kernel.resctrl(), world.guard());
    let mut watch = set(&plan, &resctrl, &mut guard, at(0)).unwrap();
    let group = "solo-guard-77-cpu1";
    for (second, says) in (1..).zip(says) {
        world.kernel.moved(group, says);
        // Asked too early, nothing is read.
        watch.look(at(second * 1000 - 1));
        watch.look(at(second * 1000));
    }
    world.kernel.moved(group, at_the_end);
    let (mut tallies, doubts) = watch.end(at(says.len() as u64 * 1000 + 500));
    assert_eq!(tallies.len(), 1);
    (tallies.remove(0), doubts)
}

fn after(mib: u64) -> String {
    format!("{}\n", BEGUN + mib * MIB)
}

fn words(doubts: &[LimitDoubt]) -> Vec<String> {
    doubts.iter().map(ToString::to_string).collect()
}

#[test]
fn the_rate_of_each_interval_stands_beside_the_limit() {
    let (tally, doubts) = counted(&[&after(90), &after(240), &after(330)], &after(380));
    assert_eq!((tally.intervals, tally.above, tally.unknown, tally.backwards), (4, 1, 0, 0));
    // 380 MiB in 3.5 s.
    assert_eq!(tally.mean.unwrap().get() / MIB, 108);
    assert_eq!(tally.most, Some(Bandwidth::new(150 * MIB)));
    assert_eq!((tally.is_kept(), tally.stood), (Some(false), true));
    assert_eq!(
        words(&doubts),
        [
            "core1: 1 of 4 intervals above 100 MiB/s, 150 MiB/s at most: a delay is relative and no cap, and the kernel moves it once a \
             second",
            "the kernel compares mbm_local_bytes with limits, and the rates here are of mbm_total_bytes: what goes to the \
             memory of other sockets is told here and may not be limited",
        ]
    );
    let (tally, _) = counted(&[&after(90), &after(190)], &after(240));
    assert_eq!((tally.intervals, tally.above, tally.is_kept()), (3, 0, Some(true)));
}

#[test]
fn a_counter_without_a_number_is_no_zero_and_one_that_goes_back_no_rate() {
    let (tally, doubts) = counted(&["Unavailable\n", &after(50), &after(150)], "Error\n");
    // Of two numbers in a row: 100 MiB in a second. A gap is no rate.
    assert_eq!((tally.intervals, tally.unknown), (1, 2));
    assert_eq!(tally.mean, Some(Bandwidth::new(100 * MIB)));
    assert_eq!(
        words(&doubts)[0],
        "core1: 2 of 5 readings were no numbers but `Error`: no rate is known for them"
    );
    let (tally, _) = counted(&["Unavailable\n", "Unavailable\n"], "Unavailable\n");
    assert_eq!((tally.mean, tally.most, tally.is_kept()), (None, None, None));
    let (tally, doubts) =
        counted(&[&after(50), "7\n", &(7 + 40 * MIB).to_string()], &(7 + 60 * MIB).to_string());
    assert_eq!((tally.intervals, tally.backwards, tally.most), (3, 1, Some(Bandwidth::new(50 * MIB))));
    assert_eq!(words(&doubts)[0], "core1: its counter went backwards 1 time: no rate is known for that time");
    for strange in ["", "-5", "1e9", "99999999999999999999999", "\u{1b}[2J", &"9".repeat(5000)] {
        let (tally, doubts) = counted(&[strange], strange);
        assert_eq!((tally.mean, tally.unknown), (None, 2), "{strange:?}");
        assert!(!words(&doubts)[0].contains('\u{1b}'));
    }
}

#[test]
fn where_nothing_counts_nothing_is_said_of_a_rate() {
    let world = World::new();
    let plan = world.plan(&[(1, 100 * MIB)]).unwrap();
    let (resctrl, mut guard) = (world.kernel.resctrl(), world.guard());
    let mut watch = set(&plan, &resctrl, &mut guard, at(0)).unwrap();
    fs::remove_dir_all(world.kernel.file("solo-guard-77-cpu1/mon_data")).unwrap();
    // It counted when it began.
    watch.look(at(1000));
    let (tallies, _) = watch.end(at(2000));
    assert_eq!((tallies[0].mean, tallies[0].is_kept()), (None, None));
    fs::create_dir_all(world.kernel.file("solo-guard-77-cpu1/mon_data")).unwrap();
    let watch = set(&plan, &resctrl, &mut guard, at(0)).unwrap();
    let (tallies, doubts) = watch.end(at(2000));
    assert_eq!(tallies[0].mean, None);
    assert_eq!(
        words(&doubts),
        ["core1: there is no mbm_total_bytes of its group: nobody knows how far the limit was kept"]
    );
}

/// Who watches sees the rate of the last second, and no number where there is none.
#[test]
fn a_watch_sees_the_rate_of_the_last_interval_and_no_limit_that_does_not_stand() {
    let world = World::new();
    let plan = world.plan(&[(1, 100 * MIB), (3, 10 * MIB)]).unwrap();
    let (resctrl, mut guard) = (world.kernel.resctrl(), world.guard());
    let mut watch = set(&plan, &resctrl, &mut guard, at(0)).unwrap();
    let mut seen = |second: u64, says: &str| {
        world.kernel.moved("solo-guard-77-cpu1", says);
        watch.look(at(second * 1000));
        let rows: Vec<_> = watch.progress().map(|one| (one.limit, one.rate, one.above)).collect();
        assert_eq!(rows.len(), 2);
        (rows[0], rows[1])
    };
    let mib = |mib: u64| Some(Bandwidth::new(mib * MIB));
    assert_eq!(seen(0, &after(0)), ((mib(100), None, 0), (mib(10), None, 0)));
    assert_eq!(seen(1, &after(90)), ((mib(100), mib(90), 0), (mib(10), mib(0), 0)));
    assert_eq!(seen(2, &after(240)).0, (mib(100), mib(150), 1));
    assert_eq!(seen(3, "Unavailable\n").0, (mib(100), None, 1), "the rate before is not this one");
    assert_eq!(seen(4, &after(300)).0, (mib(100), None, 1), "a gap is no rate");
    world.kernel.put("solo-guard-77-cpu1/schemata", "    MB:0=9000;1=100\n    L3:0=ff;1=fff\n");
    assert_eq!(seen(5, &after(310)), ((None, mib(10), 1), (mib(10), mib(0), 0)));
}

#[test]
fn what_others_change_meanwhile_is_told_and_left_to_them() {
    let world = World::new();
    let plan = world.plan(&[(1, 100 * MIB), (2, 100 * MIB)]).unwrap();
    let (resctrl, mut guard) = (world.kernel.resctrl(), world.guard());
    let mut watch = set(&plan, &resctrl, &mut guard, at(0)).unwrap();
    world.kernel.put("solo-guard-77-cpu1/schemata", "    MB:0=9000;1=100\n    L3:0=ff;1=fff\n");
    world.kernel.group("theirs");
    world.kernel.move_cpu(2, "theirs");
    watch.look(at(1000));
    let (tallies, doubts) = watch.end(at(2000));
    assert!(tallies.iter().all(|tally| !tally.stood));
    assert_eq!(
        words(&doubts)[..2],
        [
            "core1: /sys/fs/resctrl/solo-guard-77-cpu1/schemata says `MB:0=9000;1=100\\n    L3:0=ff;1=fff` by now: it was no longer \
             limited as asked",
            "core2: the resctrl group of CPU 2 says `theirs` by now: it was no longer limited as asked",
        ]
    );
    let restored = guard.undo();
    assert!(restored.is_whole(), "{restored:?}");
    assert_eq!(world.kernel.groups(), ["theirs"]);
    assert_eq!(world.kernel.cpus("theirs"), [2].into(), "it is theirs by now");
    assert_eq!(world.kernel.cpus(""), [0, 1, 3].into());
}

#[test]
fn who_is_not_limited_or_limited_with_it_is_told() {
    let world = World::new();
    world.kernel.group("theirs");
    world.kernel.put("theirs/tasks", "4711\n");
    world.kernel.put("info/MB/thread_throttle_mode", "max\n");
    let plan = world.plan(&[(1, 100 * MIB)]).unwrap();
    assert_eq!(
        words(plan.doubts()),
        [
            "threads of the resctrl group /theirs have that group's limits wherever they run, and none of these",
            "info/MB/thread_throttle_mode says `max`: where a CPU is limited, the other CPUs of its physical core wait with it",
        ]
    );
}
