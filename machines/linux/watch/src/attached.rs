//! Processes that run already.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_has_this_thread() {
        let me = std::process::id();
        assert!(alive(me));
        assert!(threads(me).unwrap().contains(&me));
        assert!(!alive(u32::MAX >> 1));
    }
}
