//! The machine: cache and bandwidth control, energy, pages, clocks, isolated CPUs.

use crate::{Finding, State, is_virtual};
use solo_perf::files::Files;

const RESCTRL: &str = "/sys/fs/resctrl";

pub(super) fn examine(files: &dyn Files) -> Vec<Finding> {
    vec![resctrl(files), energy(files), huge_pages(files), smt(files), governor(files), isolated(files)]
}

fn has_flag(files: &dyn Files, flag: &str) -> bool {
    let info = files.read("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find(|line| line.starts_with("flags")).unwrap_or("").to_owned();
    line.split_whitespace().any(|word| word == flag)
}

/// Cache and bandwidth control (CAT, MBA) and monitoring (CMT, MBM).
fn resctrl(files: &dyn Files) -> Finding {
    const WHY: &str = "cache ways and bandwidth limits for tasks (CAT, MBA), and what each uses (CMT, MBM)";
    let name = "resctrl";
    if files.exists(&format!("{RESCTRL}/info")) {
        let mut can = Vec::new();
        if files.exists(&format!("{RESCTRL}/info/L3")) {
            let ways = files.text(&format!("{RESCTRL}/info/L3/cbm_mask")).unwrap_or_default();
            let ways = u64::from_str_radix(&ways, 16).map_or(0, u64::count_ones);
            can.push(format!("CAT ({ways} ways)"));
        }
        if files.exists(&format!("{RESCTRL}/info/MB")) {
            can.push("MBA".to_owned());
        }
        let features = files.text(&format!("{RESCTRL}/info/L3_MON/mon_features")).unwrap_or_default();
        if features.contains("llc_occupancy") {
            can.push("CMT".to_owned());
        }
        if features.contains("mbm_") {
            can.push("MBM".to_owned());
        }
        return Finding::new(name, State::Good, format!("mounted: {}", can.join(", ")), WHY);
    }
    let flags = [("cat_l3", "CAT"), ("mba", "MBA"), ("cqm_occup_llc", "CMT"), ("cqm_mbm_total", "MBM")];
    let can: Vec<&str> =
        flags.iter().filter(|(flag, _)| has_flag(files, flag)).map(|(_, name)| *name).collect();
    let known = files.read("/proc/filesystems").is_ok_and(|text| text.contains("resctrl"));
    match (known, can.is_empty()) {
        (true, false) => {
            let found = format!("the processor has {}, but resctrl is not mounted", can.join(", "));
            Finding::new(name, State::Partly, found, WHY).mend("mount -t resctrl resctrl /sys/fs/resctrl")
        }
        (false, false) => {
            let found = format!("the processor has {}, but the kernel has no resctrl", can.join(", "));
            Finding::new(name, State::Missing, found, WHY).mend("boot a kernel with CONFIG_X86_CPU_RESCTRL=y")
        }
        _ if is_virtual(files) => Finding::new(name, State::Missing, "hypervisors pass none of it on", WHY),
        _ => Finding::new(name, State::Missing, "the processor has none of it", WHY),
    }
}

fn energy(files: &dyn Files) -> Finding {
    const WHY: &str = "energy beside the counters: solo watch --with rapl";
    let name = "energy (RAPL)";
    let zones = files.list("/sys/class/powercap");
    let zone = zones.iter().find(|zone| zone.contains("rapl:"));
    if let Some(zone) = zone {
        let path = format!("/sys/class/powercap/{zone}/energy_uj");
        return match files.read(&path) {
            Ok(_) => Finding::new(name, State::Good, format!("{} zones under /sys/class/powercap", zones.len()), WHY),
            Err(_) => Finding::new(name, State::Partly, format!("{path} may not be read"), WHY)
                .mend("setcap cap_dac_read_search+ep \"$(command -v solo)\", or run as root: the file is for root since CVE-2020-8694"),
        };
    }
    if files.exists("/sys/bus/event_source/devices/power/events/energy-pkg") {
        return Finding::new(name, State::Good, "PMU `power`", WHY);
    }
    let found = if is_virtual(files) {
        "hypervisors do not pass it on"
    } else {
        "no powercap zone and no PMU `power`"
    };
    Finding::new(name, State::Missing, found, WHY)
}

fn huge_pages(files: &dyn Files) -> Finding {
    const WHY: &str = "cache colors: a huge page spans them all, so transparent ones undo coloring";
    let name = "huge pages";
    let pool = files.number("/proc/sys/vm/nr_hugepages").unwrap_or(0);
    let Some(text) = files.text("/sys/kernel/mm/transparent_hugepage/enabled") else {
        return Finding::new(name, State::Good, format!("no transparent ones; {pool} reserved"), WHY);
    };
    let mode = text.split(['[', ']']).nth(1).unwrap_or("?").to_owned();
    let found = format!("transparent: {mode}; {pool} reserved");
    match mode.as_str() {
        "always" => Finding::new(name, State::Partly, found, WHY)
            .mend("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"),
        _ => Finding::new(name, State::Good, found, WHY),
    }
}

fn smt(files: &dyn Files) -> Finding {
    const WHY: &str = "a core to itself: siblings share its caches and issue ports";
    let name = "SMT siblings";
    match files.text("/sys/devices/system/cpu/smt/active").as_deref() {
        Some("1") => Finding::new(name, State::Partly, "on: two threads share each core", WHY)
            .mend("echo off > /sys/devices/system/cpu/smt/control"),
        Some(_) => Finding::new(name, State::Good, "off", WHY),
        None => Finding::new(name, State::Unknown, "the kernel does not say", WHY),
    }
}

fn governor(files: &dyn Files) -> Finding {
    const WHY: &str = "times that repeat: a clock that changes changes every execution time";
    let name = "clock governor";
    let mut governors: Vec<String> = Vec::new();
    for cpu in files.list("/sys/devices/system/cpu") {
        let governor = files.text(&format!("/sys/devices/system/cpu/{cpu}/cpufreq/scaling_governor"));
        governors.extend(governor.filter(|governor| !governors.contains(governor)));
    }
    let turbo = files.text("/sys/devices/system/cpu/intel_pstate/no_turbo").as_deref() == Some("0")
        || files.text("/sys/devices/system/cpu/cpufreq/boost").as_deref() == Some("1");
    match governors.as_slice() {
        [] => Finding::new(
            name,
            State::Unknown,
            "the kernel does not set the clock (a virtual machine, or firmware does)",
            WHY,
        ),
        [one] if one == "performance" && !turbo => {
            Finding::new(name, State::Good, "performance, no turbo", WHY)
        }
        [one] if one == "performance" => Finding::new(name, State::Partly, "performance, with turbo", WHY)
            .mend(if files.exists("/sys/devices/system/cpu/intel_pstate") {
                "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo"
            } else {
                "echo 0 > /sys/devices/system/cpu/cpufreq/boost"
            }),
        several => Finding::new(name, State::Partly, several.join(", "), WHY)
            .mend("for each CPU: echo performance > /sys/devices/system/cpu/cpuN/cpufreq/scaling_governor"),
    }
}

fn isolated(files: &dyn Files) -> Finding {
    const WHY: &str = "real-time tasks that no other task or timer tick disturbs";
    let name = "isolated CPUs";
    let isolated = files.text("/sys/devices/system/cpu/isolated").unwrap_or_default();
    let tickless =
        files.text("/sys/devices/system/cpu/nohz_full").filter(|list| list != "(null)").unwrap_or_default();
    match (isolated.as_str(), tickless.as_str()) {
        ("", _) => Finding::new(name, State::Missing, "none", WHY)
            .mend("without a reboot: a cpuset partition (echo isolated > /sys/fs/cgroup/NAME/cpuset.cpus.partition)"),
        (cpus, "") => Finding::new(name, State::Partly, format!("{cpus}, with timer ticks"), WHY)
            .mend(format!("boot with nohz_full={cpus}")),
        (cpus, tickless) => Finding::new(name, State::Good, format!("{cpus}; without ticks: {tickless}"), WHY),
    }
}
