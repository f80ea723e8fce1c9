//! The same scenario on bare metal: same command, same report, another machine.

mod common;

use common::{CALM, root, solo};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Five jobs of the first scenario, on a machine; what it shows as JSON.
fn run_on(machine: &str, folder: &Path) -> Value {
    let mut command = solo();
    command.arg("run").arg(root().join("scenarios/first-steps.toml"));
    command.args(["--on", machine, "--jobs", "5", "--json", "--quiet", "--out"]).arg(folder);
    let output = command.output().expect("solo starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The names of the values in `value`, with those above them; lists by their first element.
fn shape(value: &Value, at: &str, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            object.iter().for_each(|(key, value)| shape(value, &format!("{at}.{key}"), names))
        }
        Value::Array(list) => list.iter().take(1).for_each(|value| shape(value, &format!("{at}[]"), names)),
        _ => drop(names.insert(at.to_owned())),
    }
}

#[test]
fn a_scenario_boots_twice_with_the_same_records_and_reports_like_the_simulated_machine() {
    if let Err(missing) = solo_qemu::Host::look() {
        println!("skipped: scenario on bare metal: {missing}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["one", "two"].map(|name| run_on("rtos", &folder.path().join(name)));
    assert_eq!(first["manifest"]["machine"], "rtos");
    assert_eq!(first["manifest"]["tier"], "A");
    assert_eq!(first["verdict"]["held"], true);
    assert_eq!(first["report"]["tasks"][0]["jobs"], 5, "{}", first["report"]);
    let hash = &first["manifest"]["record_hash"];
    assert!(hash.as_str().is_some_and(|hash| hash.len() == 64), "{}", first["manifest"]);
    assert_eq!(hash, &second["manifest"]["record_hash"], "two boots under the instruction clock differ");
    let simulated = run_on("sim", &folder.path().join("sim"));
    let shapes = [&first, &simulated].map(|shown| {
        let mut names = BTreeSet::new();
        shape(&shown["verdict"], "verdict", &mut names);
        shape(&shown["report"]["tasks"], "tasks", &mut names);
        // Bounds are computed for the simulated chip, and only there counters count.
        names
            .retain(|name| ![".bound", ".counts.", ".llc_misses_max"].iter().any(|part| name.contains(part)));
        names
    });
    assert_eq!(shapes[0], shapes[1], "the two reports tell different things");
    let counts =
        |shown: &Value| shown["report"]["tasks"][0]["counts"].as_object().map_or(0, |counts| counts.len());
    assert_eq!(counts(&first), 0, "what was not counted is absent, not zero");
    assert!(counts(&simulated) > 0);
}

#[test]
fn the_same_scenario_boots_on_64_bit_arm_and_its_run_says_so() {
    if let Err(missing) = solo_qemu::Host::look_for(solo_qemu::InstructionSet::Arm64) {
        println!("skipped: scenario on bare 64-bit Arm: {missing}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["one", "two"].map(|name| run_on("rtos-arm64", &folder.path().join(name)));
    assert_eq!(first["manifest"]["machine"], "rtos-arm64");
    assert_eq!(first["manifest"]["tier"], "A");
    assert_eq!(first["verdict"]["held"], true);
    assert_eq!(first["report"]["tasks"][0]["jobs"], 5, "{}", first["report"]);
    assert_eq!(first["manifest"]["record_hash"], second["manifest"]["record_hash"]);
}

/// A budget of instructions, which 64-bit Arm's emulated counters count: the same scenario runs there and is refused on x86-64.
#[test]
fn budgets_of_instructions_stop_a_core_where_counters_count_and_what_the_kernel_adds_is_told() {
    if let Err(missing) = solo_qemu::Host::look_for(solo_qemu::InstructionSet::Arm64) {
        println!("skipped: budgets on bare 64-bit Arm: {missing}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("budget.toml");
    std::fs::write(&file, BUDGET).unwrap();
    let run = |machine: &str| {
        let mut command = solo();
        command.arg("run").arg(&file).args(["--on", machine, "--json", "--quiet"]);
        command.arg("--out").arg(folder.path().join(machine)).output().unwrap()
    };
    let output = run("rtos-arm64");
    let said = String::from_utf8_lossy(&output.stderr);
    // The counter counts the kernel's own paths, too, from the overflow to the stop: the run says that the budget was exceeded.
    assert_eq!(output.status.code(), Some(1), "{said}");
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    // 6 ms of work, 0.3 ms of it in each period: 20 periods, as on the simulated machine.
    let response = &shown["report"]["tasks"][0]["response"]["min_ns"];
    assert!(
        response.as_u64().is_some_and(|ns| (19_000_000..21_000_000).contains(&ns)),
        "{}",
        shown["report"]
    );
    let output = run("rtos");
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("budgets need counters that interrupt"));
}

/// A table of `solo io`: its I/O core starts each transfer, network devices of the emulator move the data, and each slot holds as it does
/// on the simulated machine.
#[test]
fn an_io_core_keeps_a_table_of_slots_as_the_simulated_machine_does() {
    if let Err(missing) = solo_qemu::Host::look_for(solo_qemu::InstructionSet::Arm64) {
        println!("skipped: devices on bare 64-bit Arm: {missing}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = solo();
    let table = root().join("scenarios/io/section-5.toml");
    let output = command.arg("io").arg(table).args(["--scenario", "p4080"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    // The windows are as long as the partitions compute: what the kernel takes of them has to be somebody's.
    let scenario = String::from_utf8(output.stdout).unwrap();
    let scenario = scenario.replace(r#"compute = "6ms""#, r#"compute = "5.9ms""#);
    let scenario = scenario.replace(r#"compute = "12ms""#, r#"compute = "11.9ms""#);
    let file = folder.path().join("table.toml");
    std::fs::write(&file, scenario).unwrap();
    let run = |machine: &str| {
        let mut command = solo();
        command.arg("run").arg(&file).args(["--on", machine, "--json", "--quiet"]);
        command.arg("--out").arg(folder.path().join(machine)).output().unwrap()
    };
    let slots = |machine: &str| {
        let output = run(machine);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{machine}: {said}");
        let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(shown["verdict"]["held"], true, "{machine}: {}", shown["verdict"]);
        let devices = shown["report"]["devices"].as_array().unwrap().clone();
        // What was not counted is absent, not zero.
        let counts = machine == "sim";
        assert!(devices.iter().all(|device| device["reads"].is_u64() == counts), "{machine}: {devices:?}");
        let told = |device: &Value| {
            ["name", "slots", "moved_bytes", "cut", "overlaps"].map(|key| device[key].to_string())
        };
        devices.iter().map(told).collect::<Vec<_>>()
    };
    let found = slots("rtos-arm64");
    assert_eq!(found.len(), 4, "{found:?}");
    assert_eq!(found[0], [r#""input of P1""#, "25", "1600000", "0", "0"]);
    assert_eq!(found, slots("sim"));
    let output = run("rtos");
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("device `input of P1` moves data by itself, and there are no such devices here"),
        "{said}"
    );
}

/// What executes the kernel is said, and stands with the run; budgets are the image's to refuse where the hypervisor lends no counters.
#[test]
fn another_accelerator_runs_the_kernel_and_stands_with_the_run() {
    let run = |words: &[&str]| {
        let mut command = solo();
        command
            .arg("run")
            .arg(root().join("scenarios/first-steps.toml"))
            .args(["--jobs", "2", "--json", "--quiet"]);
        command.args(words).output().unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    let out = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    for (machine, accel, part) in [
        ("sim", "parallel", "it needs --on rtos"),
        ("linux", "kvm", "it needs --on rtos"),
        ("rtos-arm64", "kvm", "this machine's own instructions"),
    ] {
        let output = run(&["--on", machine, "--accel", accel, "--out", &out("none")]);
        assert_eq!(output.status.code(), Some(2), "{machine} {accel}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(part), "{machine} {accel}");
    }
    if let Err(missing) = solo_qemu::Host::look() {
        println!("skipped: other accelerators: {missing}");
        return;
    }
    for (accel, shown) in
        [("instruction-clock", None), ("parallel", Some("(parallel)")), ("kvm", Some("(KVM)"))]
    {
        if let (Err(missing), "kvm") = (solo_qemu::Host::kvm(), accel) {
            println!("skipped: the kernel under KVM: {missing}");
            continue;
        }
        let output = run(&["--on", "rtos", "--accel", accel, "--out", &out(accel)]);
        let said = String::from_utf8_lossy(&output.stderr);
        if said.contains("every attempt was disturbed") {
            println!("skipped: the kernel by {accel}: the host is too busy to measure clocks");
            continue;
        }
        // In real time a busy host may make a job late.
        assert!([Some(0), Some(1)].contains(&output.status.code()), "{accel}: {said}");
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        let host = found["manifest"]["host"].as_str().unwrap();
        assert_eq!(shown.is_some_and(|shown| host.contains(shown)), shown.is_some(), "{host}");
        assert_eq!(host.contains("(parallel)") || host.contains("(KVM)"), shown.is_some(), "{host}");
        assert_eq!(found["report"]["tasks"][0]["jobs"], 2, "{accel}");
    }
    let file = folder.path().join("budget.toml");
    std::fs::write(&file, BUDGET).unwrap();
    if solo_qemu::Host::kvm().is_ok() {
        let mut command = solo();
        command.arg("run").arg(&file).args([
            "--on",
            "rtos",
            "--accel",
            "kvm",
            "--quiet",
            "--out",
            &out("budget"),
        ]);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(0 | 1) => println!("skipped: budgets without counters: this hypervisor lends some"),
            code => assert_eq!((code, said.contains("refused")), (Some(3), true), "{said}"),
        }
    }
}

/// By hand: an instruction takes a nanosecond. A task that is above a million in a period of 5 ms is off its core for the next one, so that it
/// has ten of the twenty; told at once by its counter, it has the first millisecond of each.
#[test]
fn a_policy_that_listens_acts_on_counted_instructions() {
    if let Err(missing) = solo_qemu::Host::look_for(solo_qemu::InstructionSet::Arm64) {
        println!("skipped: listening on bare 64-bit Arm: {missing}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (action, busy) in [("yield", 50_000_000), ("overflow", 20_000_000)] {
        let file = folder.path().join(format!("{action}.toml"));
        std::fs::write(&file, LISTENING.replace("ACTION", action)).unwrap();
        let run = |machine: &str| {
            let mut command = solo();
            command.arg("run").arg(&file).args(["--on", machine, "--json", "--quiet"]);
            command.arg("--out").arg(folder.path().join(format!("{action}-{machine}"))).output().unwrap()
        };
        let output = run("rtos-arm64");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
        let report = &shown["report"];
        let found = report["cores"][1]["busy_ns"].as_u64().unwrap();
        // What the kernel executes is counted, too.
        assert!(found.abs_diff(busy) < busy / 50, "{action}: {found} of {busy}");
        // Who is of another class is never kept off: it begins when it is released.
        let slowest = report["tasks"][0]["response"]["max_ns"].as_u64().unwrap();
        assert!((4_000_000..4_200_000).contains(&slowest), "{action}: {slowest}");
        let output = run("rtos");
        assert_eq!(output.status.code(), Some(3));
        assert!(String::from_utf8_lossy(&output.stderr).contains("the scheduler listens to instructions"));
    }
}

/// A soft task and one of best effort on core 0, one of best effort alone on core 1, and a limit of a million instructions in 5 ms.
const LISTENING: &str = r#"
name     = "listening"
platform = "ideal-8"
duration = "100ms"

[scheduler]
policy = "P-RM"

[scheduler.monitor]
event     = "instructions"
period    = "5ms"
threshold = 1000000
classes   = ["best-effort"]
action    = "ACTION"

[[task]]
name   = "control"
class  = "soft"
core   = 0
period = "20ms"
work   = [{ compute = "4ms" }]

[[task]]
name    = "batch"
class   = "best-effort"
core    = 0
release = "continuous"
work    = [{ compute = "2ms" }]

[[task]]
name    = "lone"
class   = "best-effort"
core    = 1
release = "continuous"
work    = [{ compute = "2ms" }]
"#;

/// One core that may execute 300,000 instructions a millisecond, and a task that asks for more.
const BUDGET: &str = r#"
name     = "budget"
platform = "ideal-8"
duration = "40ms"

[scheduler]
policy = "P-RM"

[[task]]
name   = "greedy"
class  = "best-effort"
core   = 0
period = "10ms"
work   = [{ compute = "6ms" }]

[isolation.bandwidth]
counts      = "instructions"
period      = "1ms"
cores       = { 0 = 300000 }
best-effort = "yes"
"#;

/// Colors and banks of a platform, budgets refused.
const COLORED: &str = r#"
name     = "colored"
platform = "xeon-w3530"
jobs     = 2

[scheduler]
policy = "P-RM"

[[task]]
name   = "frame"
class  = "hard"
core   = 0
period = "20ms"
work   = [{ sweep = "1MiB", stride = "64B" }]

[[task]]
name   = "screen"
class  = "best-effort"
core   = 1
period = "20ms"
work   = [{ sweep = "512KiB", stride = "64B", writes = "50%" }]

[isolation.colors]
frame  = "0-47"
screen = "48-63"

[isolation.memory]
kernel = 127

[[variant]]
name = "banks"
isolation.banks = { frame = "0-7", screen = "8-15" }

[[variant]]
name = "budgets"
isolation.bandwidth.cores = { 0 = "400MiB/s" }
"#;

#[test]
fn pages_lie_in_the_colors_that_a_scenario_gives_and_budgets_are_refused() {
    if let Err(missing) = solo_qemu::Host::look() {
        println!("skipped: colors on bare metal: {missing}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("colored.toml");
    std::fs::write(&file, COLORED).unwrap();
    let run = |variant: &[&str]| {
        let mut command = solo();
        command.arg("run").arg(&file).args(["--on", "rtos"]).args(variant);
        let output = command.arg("--out").arg(folder.path().join(variant.join("-"))).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = run(&["--variant", "banks"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("384 of buffers, 12 of stacks, 48 of heaps"), "{said}");
    assert!(said.contains("; 0 borrowed"), "{said}");
    let (code, said) = run(&["--variant", "budgets"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("budgets need counters that interrupt"), "{said}");
}

#[test]
fn what_the_emulator_lacks_is_said_and_gives_3() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = solo();
    command.arg("run").arg(root().join("scenarios/recorded-neighbour.toml"));
    let output = command.args(["--on", "rtos"]).arg("--out").arg(folder.path().join("run")).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--on sim"));
}

/// A medium holds what the emulator runs as well: what that lacks is refused before anything is built or written.
#[test]
fn what_the_emulator_lacks_is_not_packed() {
    let folder = tempfile::tempdir().unwrap();
    let iso = folder.path().join("solo.iso");
    let text = CALM.to_owned() + "[isolation.bandwidth]\ncores = { 0 = \"100MB/s\" }\n";
    let written = tempfile::tempdir().unwrap();
    for (file, word) in [
        (root().join("scenarios/recorded-neighbour.toml"), "recorded programs"),
        (common::scenario(written.path(), &text), "counters that interrupt"),
    ] {
        let output = solo().arg("pack").arg(&file).arg("-o").arg(&iso).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{}: {said}", file.display());
        assert!(said.contains(word), "{}: {said}", file.display());
        assert!(said.contains("a PC cannot run") && !said.contains("--on"), "{}: {said}", file.display());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{}", file.display());
    }
}

/// The whole way of a PC: pack, boot by firmware and GRUB, listen, report. The PC is QEMU's.
#[test]
fn what_a_pc_said_on_its_serial_line_becomes_a_run() {
    let missing = solo_qemu::Host::look().err().or(solo_qemu::Medium::look().err());
    if let Some(missing) = missing {
        println!("skipped: scenario on a PC: {missing}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let [iso, heard, dir] = ["solo.iso", "serial.txt", "run"].map(|name| folder.path().join(name));
    let scenario = root().join("scenarios/first-steps.toml");
    let output = solo().arg("pack").arg(&scenario).args(["--jobs", "5", "-o"]).arg(&iso).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    // Where it can't be written, that is the command's fault and not the machine's.
    let onto =
        |path: &Path| solo().arg("pack").arg(&scenario).arg("-o").arg(path).output().unwrap().status.code();
    assert_eq!(onto(folder.path()), Some(2));
    assert_eq!(onto(&folder.path().join("missing/solo.iso")), Some(2));
    let serial = format!("file:{}", heard.display());
    let pc = Command::new("qemu-system-x86_64")
        .args(["-machine", "q35", "-smp", "4", "-m", "256M", "-nodefaults", "-display", "none", "-no-reboot"])
        .args(["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off", "-rtc", "clock=vm"])
        .args(["-device", "isa-debug-exit,iobase=0xf4,iosize=2", "-serial", &serial, "-cdrom"])
        .arg(&iso)
        .status()
        .unwrap();
    assert_eq!(pc.code(), Some(33), "{}", std::fs::read_to_string(&heard).unwrap_or_default());
    let take = |jobs: &str| {
        let mut command = solo();
        command.arg("run").arg(&scenario).args(["--on", "rtos", "--jobs", jobs, "--json", "--force"]);
        command.arg("--serial").arg(&heard).arg("--out").arg(&dir).output().unwrap()
    };
    let output = take("5");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(shown["report"]["tasks"][0]["jobs"], 5, "{}", shown["report"]);
    assert!(shown["manifest"]["host"].as_str().is_some_and(|host| host.starts_with("a PC of 4 cores")));
    // Of another experiment it is not.
    let output = take("6");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("another experiment"));
}

/// The whole way of a Raspberry Pi 4, which is QEMU's: pack, boot, listen, report.
#[test]
fn what_a_board_said_on_its_serial_line_becomes_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let [card, heard, dir] = ["card", "serial.txt", "run"].map(|name| folder.path().join(name));
    let scenario = root().join("scenarios/first-steps.toml");
    if let Err(missing) = solo_qemu::Host::look_for_programs(solo_qemu::InstructionSet::Arm64) {
        println!("skipped: scenario on a Raspberry Pi 4: {missing}");
        return;
    }
    let pack = |words: &[&str]| {
        let mut command = solo();
        command.arg("pack").arg(&scenario).args(["--for", "raspberry-pi-4", "--jobs", "5", "--small"]);
        command.args(words).arg("-o").arg(&card).output().unwrap()
    };
    let output = pack(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stderr).contains("start4.elf, fixup4.dat"));
    let config = std::fs::read_to_string(card.join("config.txt")).unwrap();
    assert!(config.contains("kernel=kernel8.img") && config.contains("initramfs experiment "), "{config}");
    // Its header asks to be loaded where its tables have it, as the configuration says.
    let image = std::fs::read(card.join("kernel8.img")).unwrap();
    assert_eq!(image[8..16], 0x20_0000_u64.to_le_bytes());
    assert!(config.contains("kernel_address=0x200000"));
    // A second time it replaces what it wrote where it may, and nothing of somebody else's.
    assert_eq!(pack(&[]).status.code(), Some(2));
    assert_eq!(pack(&["--force"]).status.code(), Some(0));
    std::fs::write(card.join("mine"), "").unwrap();
    let output = pack(&["--force"]);
    assert_eq!((output.status.code(), card.join("mine").exists()), (Some(2), true));
    std::fs::remove_file(card.join("mine")).unwrap();
    if let Err(missing) = solo_qemu::Machine::look_for_pi() {
        println!("skipped: scenario on a Raspberry Pi 4: {missing}");
        return;
    }
    let tree = folder.path().join("tree.dtb");
    std::fs::write(&tree, solo_qemu::pi::tree().unwrap()).unwrap();
    let status = Command::new("qemu-system-aarch64")
        .args(["-machine", "raspi4b", "-nodefaults", "-display", "none", "-no-reboot"])
        .args(["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off", "-serial"])
        .arg(format!("file:{}", heard.display()))
        .arg("-kernel")
        .arg(card.join("kernel8.img"))
        .arg("-initrd")
        .arg(card.join("experiment"))
        .arg("-dtb")
        .arg(&tree)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(0), "{}", std::fs::read_to_string(&heard).unwrap_or_default());
    let take = |machine: &str| {
        let mut command = solo();
        command.arg("run").arg(&scenario).args(["--on", machine, "--jobs", "5", "--json", "--force"]);
        command.arg("--serial").arg(&heard).arg("--out").arg(&dir).output().unwrap()
    };
    let output = take("rtos-arm64");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(shown["report"]["tasks"][0]["jobs"], 5, "{}", shown["report"]);
    assert!(shown["manifest"]["host"].as_str().is_some_and(|host| host.starts_with("a board of 4 cores")));
    let output = take("rtos");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("an arm64 machine, not of an x86-64 one"));
}

/// A thread that has died has no deadlines that hold: both machines say so first, and the status does.
#[test]
fn a_task_that_ends_before_its_time_holds_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("exhausted.toml");
    std::fs::write(&file, include_str!("samples/exhausted.toml")).unwrap();
    for (machine, why) in [
        (
            "sim",
            "asks ended at 1.00 ms, and none of its later jobs was released: the heap of color0 has no 40KiB",
        ),
        ("rtos", "none of its later jobs was released: memory exhausted"),
        ("rtos-arm64", "none of its later jobs was released: memory exhausted"),
    ] {
        let set = if machine == "rtos-arm64" {
            solo_qemu::InstructionSet::Arm64
        } else {
            solo_qemu::InstructionSet::X86_64
        };
        if let (Err(missing), false) = (solo_qemu::Host::look_for(set), machine == "sim") {
            println!("skipped: a task that ends on {machine}: {missing}");
            continue;
        }
        let mut command = solo();
        command.arg("run").arg(&file).args(["--on", machine, "--json", "--quiet"]);
        let output = command.arg("--out").arg(folder.path().join(machine)).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{machine}: {}", String::from_utf8_lossy(&output.stderr));
        let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
        let verdict = &shown["verdict"];
        assert_eq!((&verdict["held"], &verdict["hard_held"]), (&false.into(), &false.into()), "{machine}");
        assert_eq!(verdict["ended_tasks"], 1, "{machine}: {verdict}");
        let first = verdict["lines"][0].as_str().unwrap();
        assert!(first.starts_with("asks ended at ") && first.contains(why), "{machine}: {first}");
        // The other one goes on.
        assert_eq!(shown["report"]["tasks"][0]["jobs"], 10, "{machine}: {}", shown["report"]["tasks"][0]);
    }
}
