//! Groups of resctrl: threads and CPUs that have ways of a cache and bandwidth together (Intel CAT and MBA, Arm MPAM), and whose lines
//! are counted together.

use crate::folder::{at, numbers};
use crate::says;
use crate::setting::{Group, RESCTRL, Setting};
use solo_store::{Dir, StoreError};
use std::io;

/// What stands beside groups.
const NO_GROUPS: [&str; 3] = ["info", "mon_data", "mon_groups"];
/// What [`Setting::CacheMember`] says of a thread that is in no group of its own, and [`Setting::CacheCpu`] of a CPU.
pub(crate) const ROOT: &str = "/";
/// The file with the CPUs of a group.
const CPUS: &str = "cpus_list";
/// What such a list says at most, in bytes.
const LIST_MAX: u64 = 64 << 10;

/// The folder of a group; the root's for the root.
pub(crate) fn open(root: &Dir, group: &Group) -> Result<Dir, StoreError> {
    group.parts().iter().try_fold(at(root, RESCTRL)?, |dir, part| dir.below(part))
}

/// Whether there is a group.
pub(crate) fn is_there(root: &Dir, group: &Group) -> Result<bool, StoreError> {
    let Some((above, name)) = group.above() else { return Ok(true) };
    open(root, &above)?.has(name)
}

/// Makes a group. The processor has a few ids only: the kernel says that there is no space where all are taken.
pub(crate) fn make(root: &Dir, group: &Group) -> Result<(), StoreError> {
    let Some((above, name)) = group.above() else { return Ok(()) };
    let path = open(root, &above)?.path_of(name);
    std::fs::create_dir(&path).map_err(|source| StoreError::Io { operation: "create", path, source })
}

/// Takes a group away. The kernel lets its threads go to the root.
pub(crate) fn remove(root: &Dir, group: &Group) -> Result<(), StoreError> {
    let Some((above, name)) = group.above() else { return Ok(()) };
    let path = open(root, &above)?.path_of(name);
    match std::fs::remove_dir(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(|source| StoreError::Io { operation: "remove", path, source }),
    }
}

/// All groups with their folders, the root not among them. What is no folder is no group; a group may go while it is looked at.
pub(crate) fn groups(root: &Dir) -> Result<Vec<(String, Dir)>, StoreError> {
    let resctrl = at(root, RESCTRL)?;
    let names = resctrl.names()?.into_iter().filter(|name| !NO_GROUPS.contains(&name.as_str()));
    Ok(names.filter_map(|name| resctrl.below(&name).ok().map(|folder| (name, folder))).collect())
}

/// The group that a thread is in: `/` for the root, else its name.
pub(crate) fn group_of(root: &Dir, thread: u32) -> Result<String, StoreError> {
    let mut all = groups(root)?.into_iter();
    let own = all.find(|(_, folder)| numbers(folder, "tasks").contains(&thread));
    Ok(own.map_or_else(|| ROOT.to_owned(), |(name, _)| name))
}

/// What is wrong with a file whose content can't be meant, or with a name that is none.
fn invalid(operation: &'static str, path: std::path::PathBuf, what: &'static str) -> StoreError {
    StoreError::Io { operation, path, source: io::Error::new(io::ErrorKind::InvalidInput, what) }
}

/// Whether a folder's list of CPUs has this one; false where there is no such file.
pub(crate) fn has_cpu(folder: &Dir, cpu: u16) -> Result<bool, StoreError> {
    let list = match folder.text(CPUS, LIST_MAX) {
        Err(error) if error.is_not_found() => return Ok(false),
        list => list?,
    };
    says::lists(&list, cpu).ok_or_else(|| invalid("read", folder.path_of(CPUS), "it is no list of CPUs"))
}

/// The group that a CPU is in: `/` for the root, else its name.
///
/// # Errors
/// [`StoreError::is_not_found`] where it is in none: it is offline, or there is none.
pub(crate) fn group_of_cpu(root: &Dir, cpu: u16) -> Result<String, StoreError> {
    for (name, folder) in groups(root)? {
        if has_cpu(&folder, cpu)? {
            return Ok(name);
        }
    }
    let resctrl = at(root, RESCTRL)?;
    if has_cpu(&resctrl, cpu)? {
        return Ok(ROOT.to_owned());
    }
    let source = io::Error::new(io::ErrorKind::NotFound, "no group has this CPU");
    Err(StoreError::Io { operation: "find", path: resctrl.path_of(CPUS), source })
}

/// Puts a CPU into a group, by what [`group_of_cpu`] says of it. The root's list can't be made shorter: a CPU goes there when its group's is.
pub(crate) fn enter_cpu(root: &Dir, cpu: u16, name: &str) -> Result<(), StoreError> {
    let change = |folder: &Dir, is_in: bool| {
        let list = folder.text(CPUS, LIST_MAX)?;
        let none = || invalid("read", folder.path_of(CPUS), "it is no list of CPUs");
        let mut members = says::cpus(&list).ok_or_else(none)?;
        if is_in {
            members.insert(cpu)
        } else {
            members.remove(&cpu)
        };
        let list = members.iter().map(u16::to_string).collect::<Vec<_>>().join(",");
        folder.set(CPUS, format!("{list}\n").as_bytes())
    };
    let named = |name: &str| {
        let path = format!("the resctrl group of CPU {cpu}").into();
        let group = Group::new(name).ok().filter(|group| group.parts().len() == 1);
        group.ok_or_else(|| invalid("set", path, "no group of resctrl"))
    };
    match name {
        ROOT => match group_of_cpu(root, cpu)?.as_str() {
            ROOT => Ok(()),
            own => change(&open(root, &named(own)?)?, false),
        },
        name => change(&open(root, &named(name)?)?, true),
    }
}

/// Puts a thread into a group, by what [`group_of`] says of it.
pub(crate) fn enter(root: &Dir, thread: u32, name: &str) -> Result<(), StoreError> {
    let wrong =
        || invalid("set", format!("the cache group of thread {thread}").into(), "no group of resctrl");
    let group = match name {
        ROOT => Group::default(),
        name => Group::new(name).map_err(|_| wrong())?,
    };
    open(root, &group)?.set("tasks", format!("{thread}\n").as_bytes()).map_err(|error| match error {
        // The kernel's word for a thread that has ended.
        StoreError::Io { operation, path, source }
            if source.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) =>
        {
            let source = io::Error::new(io::ErrorKind::NotFound, "it has ended");
            StoreError::Io { operation, path, source }
        }
        other => other,
    })
}

/// All other threads in a group: those that threads of it have started since.
pub(crate) fn heirs(root: &Dir, thread: u32, group: &Group) -> Vec<Setting> {
    let threads = open(root, group).map(|folder| numbers(&folder, "tasks")).unwrap_or_default();
    let others = threads.into_iter().filter(|other| *other != thread && !group.is_root());
    others.map(|thread| Setting::CacheMember { thread, group: group.clone() }).collect()
}
