//! Why this Linux refuses SCHED_FIFO.

use solo_perf::files::Files;

/// Position of CAP_SYS_NICE in the sets of capabilities.
const SYS_NICE: u32 = 23;

/// Why a process may not use SCHED_FIFO, and what lets it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoFifo {
    /// It has no right to real-time priorities.
    #[error(
        "this process may not use SCHED_FIFO (needs root, CAP_SYS_NICE, or a limit of real-time priority: ulimit -r {priority})"
    )]
    Rights {
        /// The highest priority that it asks for.
        priority: i32,
    },
    /// It has the right, but its control group has no real-time share: with `RT_GROUP_SCHED` a group has none until it is given
    /// one, and in the unified hierarchy none can be given but to the root.
    #[error(
        "the control group {group} of this process has no share for real-time threads (the kernel has RT_GROUP_SCHED); from the root group they may: echo $$ > {}, then again from the same shell",
        Self::root(*unified)
    )]
    Group {
        /// Its group's path, as /proc/self/cgroup says.
        group: String,
        /// Whether that is a path of the unified hierarchy (cgroup v2).
        unified: bool,
    },
}

impl NoFifo {
    /// What keeps this process from SCHED_FIFO, given that the kernel refused `priority`.
    pub fn why(files: &dyn Files, priority: i32) -> Self {
        match (may_by_right(files), group(files)) {
            (true, Some((group, unified))) if group != "/" => Self::Group { group, unified },
            _ => Self::Rights { priority },
        }
    }

    /// What lets it, as a command.
    pub fn mend(&self) -> String {
        match self {
            Self::Rights { priority } => {
                format!("ulimit -r {priority}, setcap cap_sys_nice+ep \"$(command -v solo)\", or run as root")
            }
            Self::Group { unified, .. } => {
                format!("echo $$ > {}, then again from the same shell", Self::root(*unified))
            }
        }
    }

    /// The file that takes a process into the root group.
    fn root(unified: bool) -> &'static str {
        if unified { "/sys/fs/cgroup/cgroup.procs" } else { "/sys/fs/cgroup/cpu/cgroup.procs" }
    }
}

/// Whether the capabilities allow what was refused all the same.
fn may_by_right(files: &dyn Files) -> bool {
    let status = files.read("/proc/self/status").unwrap_or_default();
    let digits = status.lines().find_map(|line| line.strip_prefix("CapEff:")).map(str::trim);
    digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()).is_some_and(|set| set >> SYS_NICE & 1 == 1)
}

/// The group that shares out CPU time, and whether it belongs to the unified hierarchy. Where both are mounted, the old one has the
/// controller.
fn group(files: &dyn Files) -> Option<(String, bool)> {
    let text = files.read("/proc/self/cgroup").ok()?;
    let lines = || text.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let old = lines().find(|(controllers, _)| controllers.split(',').any(|one| one == "cpu"));
    let found = old
        .map(|(_, path)| (path, false))
        .or_else(|| lines().find(|(controllers, _)| controllers.is_empty()).map(|(_, path)| (path, true)));
    found.map(|(path, unified)| (path.to_owned(), unified))
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_perf::files::Fake;

    fn of(effective: &str, cgroup: &str) -> NoFifo {
        let files = Fake::new()
            .with("/proc/self/status", &format!("Name:\tsolo\nCapEff:\t{effective}\n"))
            .with("/proc/self/cgroup", cgroup);
        NoFifo::why(&files, 50)
    }

    #[test]
    fn who_has_the_right_is_told_of_the_group() {
        let group = |group: &str, unified| NoFifo::Group { group: group.into(), unified };
        assert_eq!(of("000001ffffffffff", "0::/process/1\n"), group("/process/1", true));
        assert_eq!(of("0000000000800000", "0::/user.slice\n"), group("/user.slice", true));
        // With both hierarchies the controller is in the old one.
        let both = "9:name=systemd:/\n1:cpu,cpuacct:/job\n2:cpuset:/\n0::/elsewhere\n";
        assert_eq!(of("000001ffffffffff", both), group("/job", false));
    }

    #[test]
    fn who_has_no_right_or_no_group_is_told_of_the_right() {
        let rights = NoFifo::Rights { priority: 50 };
        assert_eq!(of("0000000000000000", "0::/process/1\n"), rights);
        assert_eq!(of("000001ffff7fffff", "0::/process/1\n"), rights);
        assert_eq!(of("000001ffffffffff", "0::/\n"), rights);
        assert_eq!(of("nonsense", "nonsense"), rights);
        assert_eq!(NoFifo::why(&Fake::new(), 50), rights);
    }

    #[test]
    fn it_says_what_lets_it() {
        let group = of("000001ffffffffff", "0::/job\n");
        assert!(group.to_string().contains("the control group /job of this process"), "{group}");
        assert!(group.mend().contains("echo $$ > /sys/fs/cgroup/cgroup.procs"), "{}", group.mend());
        assert!(of("0", "0::/job\n").to_string().contains("ulimit -r 50"));
    }
}
