//! Who holds a budget of a CPU or cgroup says so by a lock on its folder, which the kernel takes back from whoever ends.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use solo_model::CoreId;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

/// Takes a folder, until it is closed; false where another guard has it.
pub(crate) fn take(folder: impl AsFd) -> io::Result<bool> {
    match flock(folder, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Takes CPUs, until the files are closed. Returns those that another guard has.
pub(crate) fn cpus(cores: &[CoreId]) -> (Vec<File>, Vec<CoreId>) {
    let (mut taken, mut contested) = (Vec::new(), Vec::new());
    for core in cores {
        // A machine that does not show its CPUs has nobody to tell.
        let Ok(folder) = File::open(format!("/sys/devices/system/cpu/cpu{}", core.0)) else { continue };
        match take(&folder) {
            Ok(true) => taken.push(folder),
            Ok(false) => contested.push(*core),
            Err(_) => {}
        }
    }
    (taken, contested)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_owner_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let open = || File::open(folder.path()).unwrap();
        let first = open();
        assert!(take(&first).unwrap());
        assert!(!take(open()).unwrap());
        drop(first);
        // A process that another test is starting has a copy of the file until it becomes its program.
        let mut tries = 0..500;
        while !take(open()).unwrap() {
            assert!(tries.next().is_some(), "nobody has it");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}
