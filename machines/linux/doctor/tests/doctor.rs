//! What the doctor says of machines that nobody here has, pinned. `cargo insta review` shows what changed.

use solo_doctor::{Probe, examine, text};
use solo_perf::files::Fake;
use solo_perf::resolve::CorePmu;
use std::io::ErrorKind;

/// A machine whose counters and real-time threads are known.
struct Known {
    counters: Option<usize>,
    fifo: Option<bool>,
}

impl Probe for Known {
    fn counters(&self, _: &CorePmu) -> Option<usize> {
        self.counters
    }

    fn fifo(&self) -> Option<bool> {
        self.fifo
    }
}

const DEVICES: &str = "/sys/bus/event_source/devices";

/// Root on a stock kernel of 6.18, nothing tuned.
fn stock() -> Fake {
    Fake::new()
        .with("/proc/self/status", "Name:\tsolo\nCapEff:\t000001ffffffffff\n")
        .with("/proc/sys/kernel/perf_event_paranoid", "2\n")
        .with("/proc/sys/kernel/nmi_watchdog", "1\n")
        .with("/proc/sys/kernel/sched_rt_runtime_us", "950000\n")
        .with("/proc/sys/kernel/sched_rt_period_us", "1000000\n")
        .with("/proc/sys/vm/nr_hugepages", "0\n")
        .with("/proc/filesystems", "nodev\tsysfs\nnodev\tresctrl\n\text4\n")
        .with("/sys/kernel/tracing/events/sched/sched_switch/id", "314\n")
        .with("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n")
        .with("/sys/kernel/security/lockdown", "[none] integrity confidentiality\n")
        .with("/sys/kernel/debug/sched/fair_server/cpu0/runtime", "50000000\n")
        .with("/sys/kernel/sched_ext/state", "disabled\n")
        .with("/sys/devices/system/cpu/isolated", "\n")
        .with("/sys/devices/system/cpu/smt/active", "1\n")
        .with("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n")
}

fn core_pmu(files: Fake, name: &str, kind: &str) -> Fake {
    files
        .with(&format!("{DEVICES}/{name}/type"), kind)
        .with(&format!("{DEVICES}/{name}/format/event"), "config:0-7\n")
}

fn check(name: &str, files: &Fake, counters: Option<usize>, fifo: Option<bool>) {
    insta::assert_snapshot!(name, text(&examine(files, &Known { counters, fifo })));
}

#[test]
fn an_intel_server() {
    let files = core_pmu(stock(), "cpu", "4\n")
        .with("/proc/cpuinfo", "flags\t\t: fpu cat_l3 mba cqm_occup_llc cqm_mbm_total\n")
        .with("/sys/class/powercap/intel-rapl:0/energy_uj", "123456\n")
        .with("/sys/fs/resctrl/info/L3/cbm_mask", "fffff\n")
        .with("/sys/fs/resctrl/info/MB/min_bandwidth", "10\n")
        .with("/sys/fs/resctrl/info/L3_MON/mon_features", "llc_occupancy\nmbm_total_bytes\n")
        .with("/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n");
    check("intel", &files, Some(8), Some(true));
}

#[test]
fn an_amd_server_that_is_tuned() {
    let files = core_pmu(stock(), "cpu", "4\n")
        .with("/proc/cpuinfo", "flags\t\t: fpu cat_l3 mba cqm_occup_llc cqm_mbm_total\n")
        .with("/sys/class/powercap/intel-rapl:0/energy_uj", "99\n")
        .with("/proc/sys/kernel/nmi_watchdog", "0\n")
        .with("/proc/sys/kernel/sched_rt_runtime_us", "-1\n")
        .with("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
        .with("/sys/kernel/debug/sched/fair_server/cpu0/runtime", "0\n")
        .with("/sys/devices/system/cpu/isolated", "2-3\n")
        .with("/sys/devices/system/cpu/nohz_full", "2-3\n")
        .with("/sys/devices/system/cpu/smt/active", "0\n")
        .with("/sys/devices/system/cpu/cpufreq/boost", "0\n")
        .with("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
    check("amd_tuned", &files, Some(6), Some(true));
}

#[test]
fn an_arm_board() {
    let files = core_pmu(stock(), "armv8_cortex_a72", "8\n")
        .with("/proc/cpuinfo", "Features\t: fp asimd\n")
        .with("/proc/self/status", "CapEff:\t0000000000000000\n")
        .with("/proc/sys/kernel/perf_event_paranoid", "4\n")
        .with("/sys/devices/system/cpu/smt/active", "0\n")
        .with("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "schedutil\n");
    check("arm", &files, Some(6), Some(false));
}

/// Debian's kernels begin with a level at which CAP_PERFMON opens nothing (6.18.15: EACCES).
#[test]
fn a_level_that_a_distribution_has_added_shuts_out_who_may_only_count() {
    let told = |rights: &str, level: &str| {
        let files = stock()
            .with("/proc/self/status", &format!("CapEff:\t{rights}\n"))
            .with("/proc/sys/kernel/perf_event_paranoid", level);
        let findings = examine(&files, &Known { counters: None, fifo: None });
        findings.into_iter().find(|finding| finding.name == "right to count").expect("it is looked at")
    };
    let (perfmon, admin) = ("0000004000000000", "0000000000200000");
    assert_eq!(told(perfmon, "2\n").state, solo_doctor::State::Good);
    assert_eq!(told(admin, "3\n").state, solo_doctor::State::Good);
    let shut = told(perfmon, "3\n");
    assert_eq!(shut.state, solo_doctor::State::Missing);
    assert!(shut.mend.as_ref().is_some_and(|mend| mend.contains("perf_event_paranoid=2")), "{:?}", shut.mend);
}

#[test]
fn a_hybrid_laptop() {
    let files = core_pmu(core_pmu(stock(), "cpu_core", "4\n"), "cpu_atom", "10\n")
        .with(&format!("{DEVICES}/cpu_core/cpus"), "0-11\n")
        .with(&format!("{DEVICES}/cpu_atom/cpus"), "12-19\n")
        .with("/proc/cpuinfo", "flags\t\t: fpu\n")
        .with("/proc/self/status", "CapEff:\t0000000000000000\n")
        .refusing("/sys/class/powercap/intel-rapl:0/energy_uj", ErrorKind::PermissionDenied)
        .with("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
    check("hybrid", &files, Some(8), None);
}

#[test]
fn a_virtual_machine_without_counters() {
    let files = Fake::new()
        .with("/proc/cpuinfo", "flags\t\t: fpu hypervisor\n")
        .with("/proc/self/status", "CapEff:\t000001ffffffffff\n")
        .with("/proc/self/cgroup", "0::/jobs/7\n")
        .with("/proc/sys/kernel/perf_event_paranoid", "2\n");
    check("virtual_machine", &files, None, Some(false));
}

#[test]
fn a_container_without_rights() {
    let files = Fake::new()
        .with("/.dockerenv", "")
        .with("/proc/cpuinfo", "flags\t\t: fpu cat_l3\n")
        .with("/proc/filesystems", "nodev\tresctrl\n")
        .with("/proc/self/status", "CapEff:\t00000000a80425fb\n")
        .with("/proc/sys/kernel/perf_event_paranoid", "3\n")
        .with("/proc/sys/kernel/sched_rt_runtime_us", "950000\n")
        .with("/proc/sys/kernel/sched_rt_period_us", "1000000\n");
    check("container", &files, None, Some(false));
}
