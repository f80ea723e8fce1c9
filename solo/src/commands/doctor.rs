//! What this machine can do for Solocore, and the least command that mends the rest.

use crate::cli::Doctor;
use crate::exit::{Exit, Failure};
use crate::output;
use serde::Serialize;
use std::path::Path;
use std::process::{Command, Stdio};

/// One thing that was looked at.
#[derive(Serialize, Debug)]
struct Finding {
    /// What was looked at.
    name: &'static str,
    /// It is there.
    available: bool,
    /// What was found.
    found: String,
    /// What it is good for.
    why: &'static str,
    /// The least command that mends it, where there is one.
    mend: Option<&'static str>,
}

/// Looks at everything. Nothing is changed.
pub(crate) fn run(options: &Doctor) -> Result<Exit, Failure> {
    let findings = examine();
    if options.json {
        output::json(&findings)?;
        return Ok(Exit::Held);
    }
    let mut text = String::new();
    for finding in &findings {
        let mark = if finding.available { "yes" } else { "no " };
        text.push_str(&format!("{mark}  {:<22} {}\n", finding.name, finding.found));
        if !finding.available {
            text.push_str(&format!("     {:<22} for {}\n", "", finding.why));
            if let Some(mend) = finding.mend {
                text.push_str(&format!("     {:<22} mend: {mend}\n", ""));
            }
        }
    }
    text.push_str("\nThe simulated machine needs none of these.\n");
    output::text(&text)?;
    Ok(Exit::Held)
}

fn examine() -> Vec<Finding> {
    vec![cores(), valgrind(), qemu(), kvm(), counters(), resctrl(), type_format()]
}

fn cores() -> Finding {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    Finding {
        name: "simulated machine",
        available: true,
        found: format!("always; {count} host cores run that many variants at a time"),
        why: "running scenarios without any hardware",
        mend: None,
    }
}

fn valgrind() -> Finding {
    let version = version_of("valgrind");
    Finding {
        name: "valgrind",
        available: version.is_some(),
        found: version.unwrap_or_else(|| "not found".to_owned()),
        why: "solo record: memory accesses of real programs",
        mend: Some("apt-get install valgrind"),
    }
}

fn qemu() -> Finding {
    let version = version_of("qemu-system-x86_64");
    Finding {
        name: "qemu-system-x86_64",
        available: version.is_some(),
        found: version.unwrap_or_else(|| "not found".to_owned()),
        why: "booting the bare-metal machine without hardware of its own",
        mend: Some("apt-get install qemu-system-x86"),
    }
}

fn kvm() -> Finding {
    let path = Path::new("/dev/kvm");
    let usable = std::fs::OpenOptions::new().read(true).write(true).open(path);
    Finding {
        name: "kvm",
        available: usable.is_ok(),
        found: usable.map_or_else(|error| format!("/dev/kvm: {error}"), |_| "/dev/kvm".to_owned()),
        why: "smoke tests of the bare-metal machine at native speed",
        mend: None,
    }
}

fn counters() -> Finding {
    let pmu = ["cpu", "cpu_core", "armv8_pmuv3_0", "armv8_pmuv3"]
        .into_iter()
        .find(|pmu| Path::new("/sys/bus/event_source/devices").join(pmu).join("events").exists());
    Finding {
        name: "hardware counters",
        available: pmu.is_some(),
        found: pmu.map_or_else(|| "no PMU under /sys/bus/event_source/devices".to_owned(), str::to_owned),
        why: "comparing the simulated counters with those of this machine",
        mend: None,
    }
}

fn resctrl() -> Finding {
    let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default().contains("resctrl");
    Finding {
        name: "resctrl",
        available: known,
        found: if known { "the kernel has it" } else { "not in /proc/filesystems" }.to_owned(),
        why: "cache ways and memory bandwidth limits on stock Linux",
        mend: None,
    }
}

fn type_format() -> Finding {
    let path = Path::new("/sys/kernel/btf/vmlinux");
    Finding {
        name: "BTF",
        available: path.exists(),
        found: if path.exists() { "/sys/kernel/btf/vmlinux" } else { "no /sys/kernel/btf/vmlinux" }
            .to_owned(),
        why: "eBPF programs that fit the running kernel",
        mend: None,
    }
}

/// The first line that a program prints about its version.
fn version_of(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().next().map(str::to_owned)
}
