//! Groups of resctrl: threads that have ways of a cache together (Intel CAT, Arm MPAM), and whose lines are counted together.

use crate::folder::{at, numbers};
use crate::setting::{Group, RESCTRL, Setting};
use solo_store::{Dir, StoreError};
use std::io;

/// What stands beside groups.
const NO_GROUPS: [&str; 3] = ["info", "mon_data", "mon_groups"];
/// What [`Setting::CacheMember`] says of a thread that is in no group of its own.
const ROOT: &str = "/";

/// The folder of a group; the root's for the root.
fn open(root: &Dir, group: &Group) -> Result<Dir, StoreError> {
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

/// The group that a thread is in: `/` for the root, else its name.
pub(crate) fn group_of(root: &Dir, thread: u32) -> Result<String, StoreError> {
    let resctrl = at(root, RESCTRL)?;
    for name in resctrl.names()? {
        if NO_GROUPS.contains(&name.as_str()) {
            continue;
        }
        // What is no folder is no group; a group may go while it is looked at.
        if let Ok(folder) = resctrl.below(&name)
            && numbers(&folder, "tasks").contains(&thread)
        {
            return Ok(name);
        }
    }
    Ok(ROOT.to_owned())
}

/// Puts a thread into a group, by what [`group_of`] says of it.
pub(crate) fn enter(root: &Dir, thread: u32, name: &str) -> Result<(), StoreError> {
    let wrong = || {
        let source = io::Error::new(io::ErrorKind::InvalidInput, "no group of resctrl");
        StoreError::Io {
            operation: "set",
            path: format!("the cache group of thread {thread}").into(),
            source,
        }
    };
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
