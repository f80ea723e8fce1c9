//! Processes that run already, and the CPUs of the machine.

use solo_perf::files::Files;
use std::io;

/// The threads of a process.
pub(super) fn threads(process: u32) -> io::Result<Vec<u32>> {
    let entries = std::fs::read_dir(format!("/proc/{process}/task"))?;
    let threads = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let mut threads: Vec<u32> = threads.collect();
    threads.sort_unstable();
    Ok(threads)
}

/// Every thread of the machine with its process, this process's own left out.
pub(super) fn all_threads() -> Vec<(u32, u32)> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let me = std::process::id();
    let processes = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let mut all = Vec::new();
    for process in processes.filter(|process| *process != me) {
        // A process that ended while we looked has no threads.
        all.extend(threads(process).unwrap_or_default().into_iter().map(|thread| (process, thread)));
    }
    all.sort_unstable();
    all
}

/// True while a process runs: it is there and no zombie.
pub(super) fn alive(process: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{process}/stat")) else { return false };
    // The program's name stands in parentheses and may hold any character.
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
    !matches!(state, Some('Z' | 'X' | 'x') | None)
}

/// The CPUs that are online.
pub(super) fn online(files: &dyn Files) -> Vec<u16> {
    files.text("/sys/devices/system/cpu/online").map_or_else(|| vec![0], |list| cpu_list(&list))
}

/// Reads a list of the form `0-3,8,10-11`.
fn cpu_list(list: &str) -> Vec<u16> {
    let mut cpus = Vec::new();
    for range in list.trim().split(',').filter(|range| !range.is_empty()) {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        if let (Ok(low), Ok(high)) = (low.trim().parse::<u16>(), high.trim().parse::<u16>()) {
            cpus.extend(low..=high);
        }
    }
    cpus
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus() {
        assert_eq!(cpu_list("0-3,8,10-11\n"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(cpu_list(""), [] as [u16; 0]);
        assert_eq!(cpu_list("x,1-"), [] as [u16; 0]);
    }

    #[test]
    fn this_process_is_alive_and_has_this_thread() {
        let me = std::process::id();
        assert!(alive(me));
        assert!(threads(me).unwrap().contains(&me));
        assert!(!alive(u32::MAX >> 1));
    }
}
