//! Cgroups made and taken away.

use crate::setting::Group;
use solo_store::{Dir, StoreError};
use std::io;
use std::time::Duration;

/// How often a group that is still busy is tried to be taken away: processes leave it, and those that end take a moment.
const TRIES: u32 = 40;
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(5);
/// What a group's list of processes says at most, in bytes.
const LIST_MAX: u64 = 1 << 20;

/// The folder at `path` below another.
pub(crate) fn at(root: &Dir, path: &str) -> Result<Dir, StoreError> {
    path.split('/').filter(|name| !name.is_empty()).try_fold(root.clone(), |dir, name| dir.below(name))
}

/// A group's folder.
pub(crate) fn open(root: &Dir, cgroups: &str, group: &Group) -> Result<Dir, StoreError> {
    group.parts().iter().try_fold(at(root, cgroups)?, |dir, part| dir.below(part))
}

/// Whether there is a group. The one above it has to be there.
pub(crate) fn is_there(root: &Dir, cgroups: &str, group: &Group) -> Result<bool, StoreError> {
    let Some((above, name)) = group.above() else { return Ok(true) };
    open(root, cgroups, &above)?.has(name)
}

/// Makes a group.
pub(crate) fn make(root: &Dir, cgroups: &str, group: &Group) -> Result<(), StoreError> {
    let Some((above, name)) = group.above() else { return Ok(()) };
    let path = open(root, cgroups, &above)?.path_of(name);
    std::fs::create_dir(&path).map_err(|source| StoreError::Io { operation: "create", path, source })
}

/// Takes a group away; its processes go to the one above.
pub(crate) fn remove(root: &Dir, cgroups: &str, group: &Group) -> Result<(), StoreError> {
    let Some((above, name)) = group.above() else { return Ok(()) };
    let above = open(root, cgroups, &above)?;
    let path = above.path_of(name);
    let mut tries = 0;
    loop {
        if let Ok(folder) = above.below(name) {
            for process in numbers(&folder, "cgroup.procs") {
                // Who has ended meanwhile need not go; who can't be moved keeps the group, which is told below.
                let _ = above.set("cgroup.procs", format!("{process}\n").as_bytes());
            }
        }
        match std::fs::remove_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && tries < TRIES => {
                tries += 1;
                std::thread::sleep(PAUSE);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => {
                return other.map_err(|source| StoreError::Io { operation: "remove", path, source });
            }
        }
    }
}

/// The numbers in a file, one a line; none where it can't be read.
pub(crate) fn numbers(folder: &Dir, name: &str) -> Vec<u32> {
    let text = folder.text(name, LIST_MAX).unwrap_or_default();
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}
