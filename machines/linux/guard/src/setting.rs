//! What a guard may change.

use serde::{Deserialize, Serialize};
use solo_model::CoreId;
use solo_store::name::is_component;
use std::fmt;

/// Where cgroups are mounted, unless a machine has version 1 there, too.
pub(crate) const CGROUPS: &str = "sys/fs/cgroup";
/// Where resctrl is mounted, below the root.
pub(crate) const RESCTRL: &str = "sys/fs/resctrl";
/// Folders above a group, at most: the kernel's own limit for cgroups is far above what anybody nests.
const DEEPEST: usize = 32;

/// A group of tasks by its path below the root of its file system: `system.slice/camera.service`. Empty is the root.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Group(Vec<String>);

/// Why a path names no group.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{}` is no path of a group: folders with `/` between them, 32 at most, none of them `.` or `..`", .0.escape_default())]
pub struct NotAGroup(pub String);

impl Group {
    /// The group that this path names.
    ///
    /// # Errors
    /// Where it leads anywhere else: `..`, an empty part, a zero byte.
    pub fn new(path: &str) -> Result<Self, NotAGroup> {
        let parts: Vec<String> = match path {
            "" => Vec::new(),
            path => path.split('/').map(str::to_owned).collect(),
        };
        if parts.len() > DEEPEST || !parts.iter().all(|part| is_component(part)) {
            return Err(NotAGroup(path.to_owned()));
        }
        Ok(Self(parts))
    }

    /// The group in this one.
    ///
    /// # Errors
    /// Where the name is no folder's, or there are too many above it.
    pub fn below(&self, name: &str) -> Result<Self, NotAGroup> {
        let path = [self.0.clone(), vec![name.to_owned()]].concat().join("/");
        Self::new(&path)
    }

    /// The group that a guard makes for a CPU, below the root.
    pub(crate) fn of_cpu(guard: u32, cpu: CoreId) -> Self {
        Self(vec![format!("solo-guard-{guard}-cpu{}", cpu.0)])
    }

    /// True where it lies below the root and has this name.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        matches!(self.0.as_slice(), [own] if own == name)
    }

    /// True for the root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// True where `other` is this group or lies in it.
    pub fn holds(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }

    /// The group above, and the name in it; `None` for the root.
    pub(crate) fn above(&self) -> Option<(Self, &str)> {
        let (name, above) = self.0.split_last()?;
        Some((Self(above.to_vec()), name))
    }

    /// Its folders.
    pub(crate) fn parts(&self) -> &[String] {
        &self.0
    }
}

impl TryFrom<String> for Group {
    type Error = NotAGroup;
    fn try_from(path: String) -> Result<Self, NotAGroup> {
        Self::new(&path)
    }
}

impl From<Group> for String {
    fn from(group: Group) -> Self {
        group.0.join("/")
    }
}

impl fmt::Display for Group {
    /// Its path below the root of its file system, which is `/`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}", self.0.join("/").escape_debug())
    }
}

/// A file of a cgroup (version 2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Knob {
    /// `cgroup.freeze`: 1 stops all its tasks.
    Freeze,
    /// `cpu.max`: quota and period in microseconds.
    CpuMax,
    /// `cpu.weight`: its share among its siblings, 1 to 10,000.
    CpuWeight,
    /// `cpuset.cpus`: a list of CPUs.
    Cpus,
}

impl Knob {
    const fn file(self) -> &'static str {
        match self {
            Self::Freeze => "cgroup.freeze",
            Self::CpuMax => "cpu.max",
            Self::CpuWeight => "cpu.weight",
            Self::Cpus => "cpuset.cpus",
        }
    }
}

/// A setting of the running kernel. None of them survives a restart of the machine.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Setting {
    /// A file of a cgroup.
    Cgroup {
        /// The group.
        group: Group,
        /// The file.
        knob: Knob,
    },
    /// Ways and bandwidth of a resctrl group.
    Schemata {
        /// The group.
        group: Group,
    },
    /// The CPUs that may take an interrupt.
    Interrupt {
        /// Its number.
        number: u32,
    },
    /// Microseconds of each period that real-time tasks may run, -1 for all.
    RealTimeRuntime,
    /// What the fair server of a CPU takes from real-time tasks, in nanoseconds of each of its periods.
    FairServer {
        /// The CPU.
        cpu: u16,
    },
    /// The CPUs on which a thread may run, a list of them. What comes out of the thread inherits it.
    Affinity {
        /// The thread.
        thread: u32,
        /// The group that was made for its process, where all that comes out of it is found; the root where there is none.
        group: Group,
    },
    /// Whether there is a group of resctrl ([`Setting::THERE`], [`Setting::ABSENT`]). When one is taken away, the kernel lets its threads
    /// go to the root.
    CacheFolder {
        /// The group.
        group: Group,
    },
    /// The group of resctrl that a thread is in: its name, `/` for the root. What comes out of the thread is in the same.
    CacheMember {
        /// The thread.
        thread: u32,
        /// The group that it is to be in, where all that comes out of it is found.
        group: Group,
    },
    /// The group of resctrl that a CPU is in: its name, `/` for the root. Threads without a group of their own are in that of the CPU where
    /// they run.
    CacheCpu {
        /// The CPU.
        cpu: u16,
    },
    /// Whether there is a cgroup ([`Setting::THERE`], [`Setting::ABSENT`]). When one is taken away, its processes go to the group
    /// above it.
    Folder {
        /// The group.
        group: Group,
    },
}

/// Where a setting stands.
pub(crate) enum Place {
    /// In a file: its folders from the root, and its name.
    File(Vec<String>, &'static str),
    /// A thread's CPUs.
    Thread(u32),
    /// A cgroup itself.
    Folder(Group),
    /// A group of resctrl itself.
    CacheFolder(Group),
    /// The group of resctrl that a thread is in.
    CacheMember(u32),
    /// The group of resctrl that a CPU is in.
    CacheCpu(u16),
}

impl Setting {
    /// What [`Setting::Folder`] says of a group that is there.
    pub const THERE: &str = "there";
    /// What it says of one that is not.
    pub const ABSENT: &str = "absent";

    /// Where it stands; `cgroups` is where cgroups (version 2) are mounted, below the root.
    pub(crate) fn place(&self, cgroups: &str) -> Place {
        let at = |path: &str| path.split('/').map(str::to_owned).collect::<Vec<_>>();
        match self {
            Self::Cgroup { group, knob } => Place::File([at(cgroups), group.0.clone()].concat(), knob.file()),
            Self::Schemata { group } => Place::File([at(RESCTRL), group.0.clone()].concat(), "schemata"),
            Self::Interrupt { number } => Place::File(at(&format!("proc/irq/{number}")), "smp_affinity_list"),
            Self::RealTimeRuntime => Place::File(at("proc/sys/kernel"), "sched_rt_runtime_us"),
            Self::FairServer { cpu } => {
                Place::File(at(&format!("sys/kernel/debug/sched/fair_server/cpu{cpu}")), "runtime")
            }
            Self::Affinity { thread, .. } => Place::Thread(*thread),
            Self::Folder { group } => Place::Folder(group.clone()),
            Self::CacheFolder { group } => Place::CacheFolder(group.clone()),
            Self::CacheMember { thread, .. } => Place::CacheMember(*thread),
            Self::CacheCpu { cpu } => Place::CacheCpu(*cpu),
        }
    }
}

impl fmt::Display for Setting {
    /// The path of its file, or what it is: where cgroups are mounted is the machine's.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Cgroup { group, knob } = self {
            return write!(f, "{} of the cgroup {group}", knob.file());
        }
        match self.place(CGROUPS) {
            Place::File(folders, file) => write!(f, "/{}/{file}", folders.join("/").escape_debug()),
            Place::Thread(thread) => write!(f, "the CPUs of thread {thread}"),
            Place::Folder(group) => write!(f, "the cgroup {group}"),
            Place::CacheFolder(group) => write!(f, "/{RESCTRL}{group}"),
            Place::CacheMember(thread) => write!(f, "the cache group of thread {thread}"),
            Place::CacheCpu(cpu) => write!(f, "the resctrl group of CPU {cpu}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_lead_nowhere_else() {
        for path in ["..", "a/../b", "/a", "a/", "a//b", ".", "a\0b", &"x".repeat(300), &"a/".repeat(40)] {
            assert_eq!(Group::new(path), Err(NotAGroup(path.to_owned())));
            let text = serde_json::to_string(path).unwrap();
            assert!(serde_json::from_str::<Group>(&text).is_err(), "{path}");
        }
        let group = Group::new("user.slice/a b").unwrap();
        let setting = Setting::Cgroup { group, knob: Knob::Freeze };
        assert_eq!(setting.to_string(), "cgroup.freeze of the cgroup /user.slice/a b");
        let text = serde_json::to_string(&setting).unwrap();
        assert_eq!(serde_json::from_str::<Setting>(&text).unwrap(), setting);
    }

    #[test]
    fn settings_that_are_none_have_no_name() {
        for text in [
            r#"{"file":{"path":"/etc/passwd"}}"#,
            r#"{"cgroup":{"group":"a","knob":"procs"}}"#,
            r#"{"interrupt":{"number":-1}}"#,
            r#"{"interrupt":{"number":"1/../../../etc"}}"#,
        ] {
            assert!(serde_json::from_str::<Setting>(text).is_err(), "{text}");
        }
    }
}
