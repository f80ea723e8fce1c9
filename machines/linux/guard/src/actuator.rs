//! Looking at settings and setting them.

use crate::affinity;
use crate::cache;
use crate::folder::{self, at};
use crate::seen::{Identity, Seen};
use crate::setting::{CGROUPS, Group, Place, Setting};
use solo_store::{Dir, StoreError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Looks at settings and sets them.
pub trait Actuator {
    /// What a setting says now.
    ///
    /// # Errors
    /// What the system says; [`StoreError::is_not_found`] where there is no such setting.
    fn look(&self, setting: &Setting) -> Result<Seen, StoreError>;

    /// Sets it.
    ///
    /// # Errors
    /// What the system says; then the setting is as it was.
    fn set(&mut self, setting: &Setting, value: &str) -> Result<(), StoreError>;

    /// What tells this run of the machine from earlier ones, as settings do not survive a restart.
    ///
    /// # Errors
    /// What the system says.
    fn boot(&self) -> Result<String, StoreError>;

    /// Settings that came to say what this one says because they came out of it: of threads and processes that were started since.
    /// They are put back with it. By default there are none.
    fn heirs(&self, _setting: &Setting) -> Vec<Setting> {
        Vec::new()
    }
}

/// What a setting says at most, in bytes.
const VALUE_MAX: u64 = 64 << 10;

/// The settings of this machine, or of a tree of files that stands for one.
#[derive(Clone, Debug)]
pub struct Machine {
    root: Dir,
    /// Where cgroups of version 2 are, below the root.
    cgroups: &'static str,
}

/// Where cgroups of version 2 are mounted beside those of version 1.
const UNIFIED: &str = "sys/fs/cgroup/unified";

impl Machine {
    /// This machine: `root` is `/`. A test's tree: any folder with `proc` and `sys` in it.
    ///
    /// # Errors
    /// [`StoreError::Io`] where the folder can't be opened.
    pub fn below(root: &Path) -> Result<Self, StoreError> {
        let root = Dir::open(root)?;
        let has = |path: &str| at(&root, path).and_then(|dir| dir.has("cgroup.controllers")).unwrap_or(false);
        let cgroups = if !has(CGROUPS) && has(UNIFIED) { UNIFIED } else { CGROUPS };
        Ok(Self { root, cgroups })
    }

    /// Where cgroups (version 2) are mounted.
    pub fn place_of_groups(&self) -> PathBuf {
        Path::new("/").join(self.cgroups)
    }

    /// The group that a process is in; `None` where there are no cgroups of version 2 or no such process.
    pub fn group_of(&self, process: u32) -> Option<Group> {
        let text = at(&self.root, &format!("proc/{process}")).ok()?.text("cgroup", VALUE_MAX).ok()?;
        let path = text.lines().find_map(|line| line.strip_prefix("0::/"))?;
        Group::new(path).ok()
    }

    /// Puts a process, with all its threads, into a group.
    ///
    /// # Errors
    /// What the system says.
    pub fn enter(&self, group: &Group, process: u32) -> Result<(), StoreError> {
        folder::open(&self.root, self.cgroups, group)?.set("cgroup.procs", format!("{process}\n").as_bytes())
    }

    /// The folder of a group, as it is now.
    ///
    /// # Errors
    /// What the system says; [`StoreError::is_not_found`] where there is no such group.
    pub fn folder(&self, group: &Group) -> Result<Dir, StoreError> {
        folder::open(&self.root, self.cgroups, group)
    }

    /// True where a group has a file of this kind.
    pub fn has(&self, group: &Group, knob: crate::Knob) -> bool {
        let setting = Setting::Cgroup { group: group.clone(), knob };
        self.look(&setting).is_ok()
    }
}

/// The folder of a file; links on the way are refused.
fn open(root: &Dir, folders: &[String]) -> Result<Dir, StoreError> {
    folders.iter().try_fold(root.clone(), |dir, folder| dir.below(folder))
}

/// Whether a group is there, as a setting says it.
fn there(is_there: bool) -> Seen {
    let value = if is_there { Setting::THERE } else { Setting::ABSENT };
    Seen { value: value.to_owned(), identity: Identity::ONLY }
}

impl Actuator for Machine {
    fn look(&self, setting: &Setting) -> Result<Seen, StoreError> {
        let (folders, name) = match setting.place(self.cgroups) {
            Place::File(folders, name) => (folders, name),
            Place::Thread(thread) => return affinity::look(&self.root, thread),
            Place::CacheMember(thread) => {
                let value = cache::group_of(&self.root, thread)?;
                return Ok(Seen { value, ..affinity::look(&self.root, thread)? });
            }
            Place::CacheCpu(cpu) => {
                return Ok(Seen { value: cache::group_of_cpu(&self.root, cpu)?, identity: Identity::ONLY });
            }
            Place::Folder(group) => return Ok(there(folder::is_there(&self.root, self.cgroups, &group)?)),
            Place::CacheFolder(group) => return Ok(there(cache::is_there(&self.root, &group)?)),
        };
        let folder = open(&self.root, &folders)?;
        let failed = |source| StoreError::Io { operation: "read", path: folder.path_of(name), source };
        let identity = match setting {
            Setting::Cgroup { .. } | Setting::Schemata { .. } => {
                let metadata = folder.file(name)?.metadata().map_err(failed)?;
                Identity { device: metadata.dev(), file: metadata.ino() }
            }
            // Files of `/proc/sys` are numbered anew whenever the kernel has forgotten them.
            _ => Identity::ONLY,
        };
        Ok(Seen { value: folder.text(name, VALUE_MAX)?.trim().to_owned(), identity })
    }

    fn set(&mut self, setting: &Setting, value: &str) -> Result<(), StoreError> {
        match setting.place(self.cgroups) {
            // Nothing at all can't be written; an empty line can.
            Place::File(folders, name) => {
                open(&self.root, &folders)?.set(name, format!("{value}\n").as_bytes())
            }
            Place::Thread(thread) => affinity::set(thread, value),
            Place::Folder(group) if value == Setting::THERE => folder::make(&self.root, self.cgroups, &group),
            Place::Folder(group) => folder::remove(&self.root, self.cgroups, &group),
            Place::CacheFolder(group) if value == Setting::THERE => cache::make(&self.root, &group),
            Place::CacheFolder(group) => cache::remove(&self.root, &group),
            Place::CacheMember(thread) => cache::enter(&self.root, thread, value),
            Place::CacheCpu(cpu) => cache::enter_cpu(&self.root, cpu, value),
        }
    }

    fn boot(&self) -> Result<String, StoreError> {
        let folder = at(&self.root, "proc/sys/kernel/random")?;
        Ok(folder.text("boot_id", 100)?.trim().to_owned())
    }

    fn heirs(&self, setting: &Setting) -> Vec<Setting> {
        match setting {
            Setting::Affinity { thread, group } => {
                let threads = affinity::heirs(&self.root, self.cgroups, *thread, group);
                threads.into_iter().map(|thread| Setting::Affinity { thread, group: group.clone() }).collect()
            }
            Setting::CacheMember { thread, group } => cache::heirs(&self.root, *thread, group),
            _ => Vec::new(),
        }
    }
}
