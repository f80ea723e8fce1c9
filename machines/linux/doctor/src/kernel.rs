//! The kernel: eBPF types, sched_ext, real-time throttling, lockdown.

use crate::{Finding, Probe, Rights, State, malformed_kfuncs};
use solo_perf::files::Files;
use solo_threads::{NoFifo, sched};

const BTF: &str = "/sys/kernel/btf/vmlinux";
const FAIR_SERVER: &str = "/sys/kernel/debug/sched/fair_server/cpu0/runtime";

pub(super) fn examine(files: &dyn Files, probe: &dyn Probe) -> Vec<Finding> {
    vec![
        btf(files),
        sched_ext(files),
        real_time(files, probe),
        throttling(files),
        fair_server(files),
        lockdown(files),
    ]
}

fn btf(files: &dyn Files) -> Finding {
    const WHY: &str = "eBPF programs that fit the running kernel";
    match files.bytes(BTF) {
        Err(_) => Finding::new("BTF", State::Missing, format!("no {BTF}"), WHY)
            .mend("boot a kernel with CONFIG_DEBUG_INFO_BTF=y; distribution kernels have it"),
        Ok(bytes) => match malformed_kfuncs(&bytes) {
            Ok(bad) if bad.is_empty() => Finding::new("BTF", State::Good, BTF, WHY),
            Ok(bad) => {
                let found = format!(
                    "{} sched_ext functions have a hidden argument, {} among them",
                    bad.len(),
                    bad[0]
                );
                Finding::new("BTF", State::Partly, found, WHY)
                    .mend("boot a kernel whose BTF was made by pahole 1.32 or newer; this one refuses sched_ext schedulers")
            }
            Err(error) => Finding::new("BTF", State::Unknown, error.to_string(), WHY),
        },
    }
}

fn sched_ext(files: &dyn Files) -> Finding {
    const WHY: &str = "holding bandwidth budgets by scheduling, without burning CPU time";
    let name = "sched_ext";
    if !files.exists("/sys/kernel/sched_ext") {
        return Finding::new(name, State::Missing, "no /sys/kernel/sched_ext", WHY)
            .mend("boot a kernel of 6.12 or newer with CONFIG_SCHED_CLASS_EXT=y");
    }
    let state = files.text("/sys/kernel/sched_ext/state").unwrap_or_default();
    let malformed =
        files.bytes(BTF).is_ok_and(|bytes| malformed_kfuncs(&bytes).is_ok_and(|bad| !bad.is_empty()));
    if malformed {
        return Finding::new(
            name,
            State::Missing,
            "there, but the kernel's BTF makes it refuse every scheduler",
            WHY,
        );
    }
    if !Rights::of(files).has(Rights::BPF) {
        return Finding::new(
            name,
            State::Partly,
            format!("there ({state}); loading a scheduler takes CAP_BPF and CAP_SYS_ADMIN"),
            WHY,
        );
    }
    if state == "enabled" {
        return Finding::new(name, State::Partly, "another scheduler is loaded already", WHY);
    }
    Finding::new(name, State::Good, format!("there ({state})"), WHY)
}

fn real_time(files: &dyn Files, probe: &dyn Probe) -> Finding {
    const WHY: &str = "scenarios as real threads (solo run --on linux) and budgets of events (solo guard)";
    let name = "real-time threads";
    match probe.fifo() {
        Some(true) => Finding::new(name, State::Good, "SCHED_FIFO is allowed", WHY),
        Some(false) => {
            let refused = NoFifo::why(files, sched::priorities().1);
            let found = match &refused {
                NoFifo::Rights { .. } => "no right to SCHED_FIFO".to_owned(),
                NoFifo::Group { group, .. } => {
                    format!("the control group {group} has no share for them (RT_GROUP_SCHED)")
                }
            };
            Finding::new(name, State::Missing, found, WHY).mend(refused.mend())
        }
        None => Finding::new(name, State::Unknown, "no thread could be started to try", WHY),
    }
}

fn throttling(files: &dyn Files) -> Finding {
    const WHY: &str =
        "real-time tasks that may use the whole CPU; throttled ones lose the rest of each period";
    let name = "RT throttling";
    let period = files.number("/proc/sys/kernel/sched_rt_period_us");
    match (files.number("/proc/sys/kernel/sched_rt_runtime_us"), period) {
        (Some(-1), _) => Finding::new(name, State::Good, "off", WHY),
        (Some(runtime), Some(period)) if runtime >= period => {
            Finding::new(name, State::Good, "never takes effect", WHY)
        }
        (Some(runtime), Some(period)) => {
            let found = format!("real-time tasks get {runtime} of every {period} us");
            Finding::new(name, State::Partly, found, WHY)
                .mend("sysctl kernel.sched_rt_runtime_us=-1 (a task that never waits then hangs its CPU)")
        }
        _ => Finding::new(name, State::Unknown, "no kernel.sched_rt_runtime_us", WHY),
    }
}

fn fair_server(files: &dyn Files) -> Finding {
    const WHY: &str = "budgets below about 10 % held by a real-time occupier: the server lets other tasks in for 50 ms a second";
    let name = "fair server";
    match files.number(FAIR_SERVER) {
        Some(0) => Finding::new(name, State::Good, "off", WHY),
        Some(runtime) => Finding::new(
            name,
            State::Partly,
            format!("takes {runtime} ns a period from real-time tasks"),
            WHY,
        )
        .mend("for each CPU: echo 0 > /sys/kernel/debug/sched/fair_server/cpuN/runtime"),
        None => Finding::new(
            name,
            State::Unknown,
            "debugfs does not say (not mounted, locked down, or a kernel before 6.12)",
            WHY,
        ),
    }
}

fn lockdown(files: &dyn Files) -> Finding {
    const WHY: &str = "debugfs, MSRs and unsigned modules; a locked kernel refuses them even to root";
    let name = "lockdown";
    match files.text("/sys/kernel/security/lockdown") {
        Some(text) if text.contains("[none]") => Finding::new(name, State::Good, "none", WHY),
        Some(text) => {
            let mode = text.split(['[', ']']).nth(1).unwrap_or("?").to_owned();
            Finding::new(name, State::Partly, mode, WHY)
                .mend("turn Secure Boot off, or boot with lockdown=none")
        }
        None => Finding::new(name, State::Unknown, "the kernel does not say (no securityfs)", WHY),
    }
}
