//! The CPUs of a thread.

use crate::folder::{self, at};
use crate::says::cpus;
use crate::seen::{Identity, Seen};
use crate::setting::Group;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use solo_store::{Dir, StoreError};
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

/// What a file of a process says at most, in bytes.
const STAT_MAX: u64 = 64 << 10;
/// Processes that come out of each other, one below the other, at most.
const DEEPEST: usize = 64;

fn pid(thread: u32) -> Result<Pid, StoreError> {
    let none = || error("look at", thread, gone());
    i32::try_from(thread).ok().and_then(Pid::from_raw).ok_or_else(none)
}

/// There is no such thread any more.
fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "it has ended")
}

fn error(operation: &'static str, thread: u32, source: io::Error) -> StoreError {
    let source =
        if source.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) { gone() } else { source };
    StoreError::Io { operation, path: PathBuf::from(format!("the CPUs of thread {thread}")), source }
}

/// The words after the name in `/proc/N/stat`, the state first. A name may hold any character.
fn stat(root: &Dir, thread: u32) -> Result<Vec<String>, StoreError> {
    let text = at(root, &format!("proc/{thread}"))?.text("stat", STAT_MAX)?;
    let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    Ok(rest.split_whitespace().map(str::to_owned).collect())
}

/// A thread's CPUs. Its identity is when it was started: its number may be another thread's later.
pub(crate) fn look(root: &Dir, thread: u32) -> Result<Seen, StoreError> {
    let words = stat(root, thread)?;
    // A thread that has ended and that nobody has heard of yet runs no more.
    if matches!(words.first().map(String::as_str), Some("Z" | "X" | "x")) {
        return Err(error("look at", thread, gone()));
    }
    let start = words.get(19).and_then(|word| word.parse().ok());
    let start = start.ok_or_else(|| error("look at", thread, io::Error::other("it says nothing")))?;
    let set =
        sched_getaffinity(Some(pid(thread)?)).map_err(|errno| error("look at", thread, errno.into()))?;
    Ok(Seen { value: list(&set), identity: Identity { device: u64::from(thread), file: start } })
}

/// Gives a thread CPUs.
pub(crate) fn set(thread: u32, value: &str) -> Result<(), StoreError> {
    let wrong = || error("set", thread, io::Error::new(io::ErrorKind::InvalidInput, "no list of CPUs"));
    let mut set = CpuSet::new();
    for cpu in cpus(value).ok_or_else(wrong)? {
        if usize::from(cpu) >= CpuSet::MAX_CPU {
            return Err(wrong());
        }
        set.set(usize::from(cpu));
    }
    sched_setaffinity(Some(pid(thread)?), &set).map_err(|errno| error("set", thread, errno.into()))
}

/// `0-3,8`.
fn list(set: &CpuSet) -> String {
    let mut text = String::new();
    let mut cpu = 0;
    while cpu < CpuSet::MAX_CPU {
        if !set.is_set(cpu) {
            cpu += 1;
            continue;
        }
        let first = cpu;
        while cpu < CpuSet::MAX_CPU && set.is_set(cpu) {
            cpu += 1;
        }
        let comma = if text.is_empty() { "" } else { "," };
        text += &match cpu - first {
            1 => format!("{comma}{first}"),
            _ => format!("{comma}{first}-{}", cpu - 1),
        };
    }
    text
}

/// The threads that came out of a thread: all in the group of its process; without one, those of its process and of the processes
/// below it.
pub(crate) fn heirs(root: &Dir, cgroups: &str, thread: u32, group: &Group) -> Vec<u32> {
    let mut threads = BTreeSet::new();
    if !group.is_root() {
        if let Ok(folder) = folder::open(root, cgroups, group) {
            threads.extend(folder::numbers(&folder, "cgroup.threads"));
        }
    } else if let Some(process) = process_of(root, thread) {
        for process in below(root, process) {
            threads.extend(threads_of(root, process));
        }
    }
    threads.remove(&thread);
    threads.into_iter().collect()
}

fn process_of(root: &Dir, thread: u32) -> Option<u32> {
    let status = at(root, &format!("proc/{thread}")).ok()?.text("status", STAT_MAX).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

fn threads_of(root: &Dir, process: u32) -> Vec<u32> {
    let names = at(root, &format!("proc/{process}/task")).and_then(|folder| folder.names());
    names.unwrap_or_default().iter().filter_map(|name| name.parse().ok()).collect()
}

/// A process and all that came out of it, as far as their parents live.
fn below(root: &Dir, process: u32) -> BTreeSet<u32> {
    let names = at(root, "proc").and_then(|folder| folder.names()).unwrap_or_default();
    let processes = names.iter().filter_map(|name| name.parse::<u32>().ok());
    let parent = |process: u32| stat(root, process).ok()?.get(1)?.parse::<u32>().ok();
    let parents: Vec<(u32, u32)> =
        processes.filter_map(|process| Some((process, parent(process)?))).collect();
    let mut all = BTreeSet::from([process]);
    for _ in 0..DEEPEST {
        let more: Vec<u32> = parents
            .iter()
            .filter(|(process, parent)| all.contains(parent) && !all.contains(process))
            .map(|(process, _)| *process)
            .collect();
        if more.is_empty() {
            break;
        }
        all.extend(more);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_name_runs_of_cpus() {
        let mut set = CpuSet::new();
        assert_eq!(list(&set), "");
        [0, 1, 2, 5, CpuSet::MAX_CPU - 2, CpuSet::MAX_CPU - 1].into_iter().for_each(|cpu| set.set(cpu));
        assert_eq!(list(&set), format!("0-2,5,{}-{}", CpuSet::MAX_CPU - 2, CpuSet::MAX_CPU - 1));
    }

    #[test]
    fn a_thread_that_is_gone_is_not_found_and_strange_lists_are_refused() {
        let root = Dir::open(std::path::Path::new("/")).unwrap();
        assert!(look(&root, u32::MAX >> 1).unwrap_err().is_not_found());
        assert!(look(&root, 0).unwrap_err().is_not_found());
        let me = std::process::id();
        let seen = look(&root, me).unwrap();
        assert!(!seen.value.is_empty() && seen.identity.file > 0, "{seen:?}");
        for wrong in ["x", "0-", "65535"] {
            assert!(set(me, wrong).is_err(), "{wrong}");
        }
        assert_eq!(look(&root, me).unwrap(), seen);
    }

    #[test]
    fn what_came_out_of_a_process_is_found_by_its_parents() {
        let root = Dir::open(std::path::Path::new("/")).unwrap();
        let mut shell = std::process::Command::new("/bin/sh");
        let mut child = shell.args(["-c", "sleep 60 & wait"]).spawn().unwrap();
        let own = child.id();
        // The shell needs a moment to start what it waits for.
        let found = (0..2000).find_map(|_| {
            std::thread::yield_now();
            let heirs = heirs(&root, "sys/fs/cgroup", own, &Group::new("").unwrap());
            (!heirs.is_empty()).then_some(heirs)
        });
        if let Some(heirs) = &found {
            let _ = std::process::Command::new("kill").args(heirs.iter().map(u32::to_string)).status();
        }
        let _ = child.kill();
        let _ = child.wait();
        assert!(found.is_some_and(|heirs| heirs.len() == 1));
    }
}
