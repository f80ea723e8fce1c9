//! What of this machine can change the times of a run.

use super::System;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

impl System {
    /// What Linux says about this machine.
    pub fn here() -> Self {
        let information = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Self {
            processor: processor(&information),
            kernel: line("/proc/sys/kernel/osrelease".as_ref()),
            governor: governors("/sys/devices/system/cpu".as_ref()),
        }
    }
}

/// The model's name; other processors than x86 have a part's number only, which says little.
fn processor(information: &str) -> Option<String> {
    let mut named = information.lines().filter_map(|line| line.split_once(':'));
    named
        .find(|(key, _)| matches!(key.trim(), "model name" | "Model"))
        .map(|(_, name)| name.trim().to_owned())
}

fn line(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}

/// The governors of all processors, each once; `None` where clocks are not governed, as in most virtual machines.
fn governors(processors: &Path) -> Option<String> {
    let entries = fs::read_dir(processors).ok()?.flatten();
    let all: BTreeSet<String> =
        entries.filter_map(|entry| line(&entry.path().join("cpufreq/scaling_governor"))).collect();
    if all.is_empty() { None } else { Some(all.into_iter().collect::<Vec<_>>().join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_linux_says_is_understood() {
        let text = "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Xeon @ 2 GHz\nprocessor\t: 1\n";
        assert_eq!(processor(text).as_deref(), Some("Xeon @ 2 GHz"));
        assert_eq!(processor("processor : 0\nBogoMIPS : 50\n"), None);
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(governors(folder.path()), None);
        for (cpu, governor) in [("cpu0", "powersave\n"), ("cpu1", "performance\n"), ("cpu2", "powersave\n")] {
            fs::create_dir_all(folder.path().join(cpu).join("cpufreq")).unwrap();
            fs::write(folder.path().join(cpu).join("cpufreq/scaling_governor"), governor).unwrap();
        }
        assert_eq!(governors(folder.path()).as_deref(), Some("performance, powersave"));
    }
}
