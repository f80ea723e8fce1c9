//! Counters: are there any, may they be used, how many at a time, who else uses them.

use crate::{Finding, Probe, Rights, State, is_container, is_virtual};
use solo_perf::files::Files;
use solo_perf::resolve::{CorePmu, Resolver};

const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";

pub(super) fn examine(files: &dyn Files, probe: &dyn Probe) -> Vec<Finding> {
    let resolver = Resolver::new(files);
    let pmus = resolver.core_pmus();
    let mut findings = vec![rights(files), hardware(files, pmus)];
    findings.extend(pmus.iter().map(|pmu| number(files, probe, pmu)));
    findings.push(watchdog(files, !pmus.is_empty()));
    findings.push(tracepoints(files));
    findings
}

fn rights(files: &dyn Files) -> Finding {
    const WHY: &str = "solo watch: counting threads, other processes, the kernel and whole CPUs";
    let name = "right to count";
    let rights = Rights::of(files);
    let Some(level) = files.number(PARANOID) else {
        return Finding::new(
            name,
            State::Missing,
            "no kernel.perf_event_paranoid: this kernel counts nothing",
            WHY,
        );
    };
    // Levels that distributions have added. At Debian's CAP_PERFMON opens nothing (seen with 6.18.15); others are taken to be like it.
    let is_shut = level > 2 && !rights.has(Rights::SYS_ADMIN);
    if rights.has(Rights::PERFMON) && !is_shut {
        let found = format!("everything (CAP_PERFMON; kernel.perf_event_paranoid = {level})");
        let blocked = is_container(files) && rights.0 >> Rights::SYS_ADMIN & 1 == 0;
        let finding = Finding::new(name, State::Good, found, WHY);
        return if blocked { Finding { state: State::Partly, ..finding } } else { finding };
    }
    let (state, found) = match level {
        ..=-1 => (State::Good, "everything, for everybody"),
        0 => (State::Good, "threads and whole CPUs, in the kernel too, but no raw tracepoints"),
        1 => (State::Partly, "own threads, in the kernel too; no whole CPUs"),
        2 => (State::Partly, "own threads, in user mode only"),
        _ if rights.has(Rights::PERFMON) => (State::Missing, "nothing, for CAP_PERFMON is not enough"),
        _ => (State::Missing, "nothing"),
    };
    let finding = Finding::new(name, state, format!("{found} (kernel.perf_event_paranoid = {level})"), WHY);
    if state == State::Good {
        return finding;
    }
    if is_container(files) {
        return finding.mend(match is_shut {
            true => "on the host, sysctl kernel.perf_event_paranoid=2; start the container with --cap-add=PERFMON and a seccomp profile that allows perf_event_open",
            false => "start the container with --cap-add=PERFMON and a seccomp profile that allows perf_event_open",
        });
    }
    finding.mend(match is_shut {
        true => "sysctl kernel.perf_event_paranoid=2; setcap cap_perfmon+ep \"$(command -v solo)\"",
        false => "setcap cap_perfmon+ep \"$(command -v solo)\"",
    })
}

fn hardware(files: &dyn Files, pmus: &[CorePmu]) -> Finding {
    const WHY: &str = "instructions, cycles and cache misses; software events work without";
    let name = "hardware counters";
    if !pmus.is_empty() {
        let names: Vec<&str> = pmus.iter().map(|pmu| pmu.name.as_str()).collect();
        let kinds = if names.len() > 1 { format!(" ({} core types)", names.len()) } else { String::new() };
        let guest = if is_virtual(files) { ", lent by a hypervisor" } else { "" };
        return Finding::new(name, State::Good, format!("{}{kinds}{guest}", names.join(", ")), WHY);
    }
    let finding = Finding::new(name, State::Missing, "no PMU under /sys/bus/event_source/devices", WHY);
    if is_virtual(files) {
        return finding.mend("on the host, give this virtual machine a PMU (QEMU: -accel kvm -cpu host,pmu=on; libvirt: <pmu state='on'/>)");
    }
    if is_container(files) {
        return finding.mend("mount /sys into the container (read-only is enough)");
    }
    finding
}

fn number(files: &dyn Files, probe: &dyn Probe, pmu: &CorePmu) -> Finding {
    const WHY: &str = "how many events a set may hold; more take another set, which gets its own turns";
    let cpus = files.text(&format!("/sys/bus/event_source/devices/{}/cpus", pmu.name));
    let cpus = cpus.map_or_else(String::new, |cpus| format!(" on CPUs {cpus}"));
    match probe.counters(pmu) {
        Some(0) => {
            let found = format!("{}: the kernel lets us open none{cpus}", pmu.name);
            Finding::new("counters at a time", State::Missing, found, WHY)
        }
        Some(count) => {
            Finding::new("counters at a time", State::Good, format!("{}: {count}{cpus}", pmu.name), WHY)
        }
        None => Finding::new(
            "counters at a time",
            State::Unknown,
            format!("{}: not to be found out{cpus}", pmu.name),
            WHY,
        ),
    }
}

fn watchdog(files: &dyn Files, counters: bool) -> Finding {
    const WHY: &str = "one more counter: the NMI watchdog keeps one of each core to itself";
    match (counters, files.number("/proc/sys/kernel/nmi_watchdog")) {
        (true, Some(1)) => {
            Finding::new("NMI watchdog", State::Partly, "on: it occupies a counter of each core", WHY)
                .mend("sysctl kernel.nmi_watchdog=0")
        }
        _ => Finding::new("NMI watchdog", State::Good, "off: it occupies no counter", WHY),
    }
}

fn tracepoints(files: &dyn Files) -> Finding {
    const WHY: &str = "events of the kernel itself, such as sched:sched_switch";
    let name = "tracepoints";
    match ["/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events"]
        .iter()
        .find(|at| files.exists(at))
    {
        Some(at) => Finding::new(name, State::Good, *at, WHY),
        None => Finding::new(name, State::Missing, "tracefs is not mounted or may not be read", WHY)
            .mend("mount -t tracefs -o ro,mode=0750 nodev /sys/kernel/tracing"),
    }
}
