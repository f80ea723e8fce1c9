//! Rights that are not needed any more are given up.
//!
//! Capabilities belong to threads: what is given up here is given up by the calling thread and by those that it starts
//! from now on. A program that was started before keeps what its user gave it.

use crate::target::Target;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs};
use solo_perf::files::{Files, Host};
use std::io;
use std::path::Path;

/// What a watch does with its capabilities once everything is open, before the first row.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Rights {
    /// They are the caller's business.
    #[default]
    Kept,
    /// All go but those that [`needed`] names, and no program executed later gains any.
    Least,
    /// As `Least`, but the right to write into folders of others is laid aside until [`take_up`].
    LeastAndWriting,
}

/// Gives up every capability of this thread and of those that it starts from now on.
///
/// # Errors
/// What the system says.
pub fn give_up() -> io::Result<()> {
    keep(CapabilitySet::empty(), CapabilitySet::empty())
}

/// Gives up every capability of this thread, and of those that it starts from now on, but the one to open counters.
///
/// # Errors
/// What the system says.
pub fn keep_counting() -> io::Result<()> {
    keep(needed(&Target::Machine, false, false, &Host::new()), CapabilitySet::empty())
}

/// Gives up what a watch of `target` can do without from now on.
///
/// # Errors
/// What the system says; nothing was given up then.
pub(crate) fn reduce(rights: Rights, needed: CapabilitySet) -> io::Result<()> {
    let aside = match rights {
        Rights::Kept => return Ok(()),
        Rights::Least => CapabilitySet::empty(),
        Rights::LeastAndWriting => CapabilitySet::DAC_OVERRIDE,
    };
    keep(needed, aside)?;
    Ok(set_no_new_privs(true)?)
}

/// Takes up again what was laid aside.
///
/// # Errors
/// What the system says.
pub fn take_up() -> io::Result<()> {
    let held = capabilities(None)?;
    Ok(set_capabilities(None, CapabilitySets { effective: held.permitted, ..held })?)
}

/// True where this thread may write into a folder only because it may write into any.
pub fn writes_by_right(folder: &Path) -> bool {
    let writable = || accessat(CWD, folder, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS).is_ok();
    let Ok(held) = capabilities(None) else { return false };
    let without = CapabilitySets { effective: held.effective - CapabilitySet::DAC_OVERRIDE, ..held };
    if set_capabilities(None, without).is_err() {
        return false;
    }
    let by_itself = writable();
    // It was in force a moment ago, so the kernel gives it back.
    let _ = set_capabilities(None, held);
    !by_itself && writable()
}

/// Nothing is gained: what the thread does not have it does not keep.
fn keep(effective: CapabilitySet, aside: CapabilitySet) -> io::Result<()> {
    let held = capabilities(None)?;
    let sets = CapabilitySets {
        effective: held.effective & effective,
        permitted: held.permitted & (effective | aside),
        inheritable: CapabilitySet::empty(),
    };
    Ok(set_capabilities(None, sets)?)
}

/// What a watch that is set up goes on to need: counters of new threads and CPUs; ending a program that may have become
/// another user's; rings for samples; files that monitoring modules read; processes that `/proc` hides from others.
pub(crate) fn needed(target: &Target, sampled: bool, modules: bool, files: &dyn Files) -> CapabilitySet {
    let mut needed = CapabilitySet::PERFMON;
    let last = files.number("/proc/sys/kernel/cap_last_cap").unwrap_or(0);
    if u64::try_from(last).is_ok_and(|last| CapabilitySet::PERFMON.bits() >> last > 1) {
        // Before Linux 5.8.
        needed = CapabilitySet::SYS_ADMIN;
    }
    if files.number("/proc/sys/kernel/perf_event_paranoid").is_some_and(|level| level > 2) {
        // A level that Debian has added: there CAP_PERFMON opens nothing.
        needed |= CapabilitySet::SYS_ADMIN;
    }
    let hidden = files.text("/proc/mounts").is_some_and(|mounts| {
        mounts.lines().any(|line| line.contains(" /proc proc ") && line.contains("hidepid="))
    });
    // CAP_PERFMON stands for it in perf_event_open since Linux 5.10.
    if hidden || files.text("/proc/sys/kernel/osrelease").is_none_or(|release| before(&release, (5, 10))) {
        needed |= CapabilitySet::SYS_PTRACE;
    }
    if matches!(target, Target::Command(_)) {
        needed |= CapabilitySet::KILL;
    }
    if sampled {
        needed |= CapabilitySet::IPC_LOCK;
    }
    if modules {
        needed |= CapabilitySet::DAC_READ_SEARCH;
    }
    needed
}

fn before(release: &str, (major, minor): (u32, u32)) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|word| word.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < (major, minor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_perf::files::Fake;

    fn machine(release: &str, last: &str, proc: &str) -> Fake {
        Fake::new()
            .with("/proc/sys/kernel/osrelease", release)
            .with("/proc/sys/kernel/cap_last_cap", last)
            .with("/proc/mounts", proc)
    }

    #[test]
    fn a_recent_kernel_counts_with_one_capability() {
        let files = machine("6.1.0-18-amd64\n", "40\n", "proc /proc proc rw,nosuid 0 0\n");
        assert_eq!(needed(&Target::Machine, false, false, &files), CapabilitySet::PERFMON);
        let all = needed(&Target::Command(Vec::new()), true, true, &files);
        assert_eq!(
            all - CapabilitySet::PERFMON,
            CapabilitySet::KILL | CapabilitySet::IPC_LOCK | CapabilitySet::DAC_READ_SEARCH
        );
    }

    #[test]
    fn what_debian_keeps_from_everybody_takes_more() {
        let at = |level| {
            let files = machine("6.18.15+deb13-amd64\n", "40\n", "proc /proc proc rw,nosuid 0 0\n");
            let files = files.with("/proc/sys/kernel/perf_event_paranoid", level);
            needed(&Target::Machine, false, false, &files)
        };
        assert_eq!(at("2\n"), CapabilitySet::PERFMON);
        assert_eq!(at("3\n"), CapabilitySet::PERFMON | CapabilitySet::SYS_ADMIN);
    }

    #[test]
    fn older_kernels_and_hidden_processes_take_more() {
        let sys = |release, last, proc| needed(&Target::Machine, false, false, &machine(release, last, proc));
        assert_eq!(sys("5.4.0", "37", ""), CapabilitySet::SYS_ADMIN | CapabilitySet::SYS_PTRACE);
        assert_eq!(sys("5.8.18", "39", ""), CapabilitySet::PERFMON | CapabilitySet::SYS_PTRACE);
        assert_eq!(
            sys("6.1.0", "40", "proc /proc proc rw,hidepid=invisible 0 0"),
            CapabilitySet::PERFMON | CapabilitySet::SYS_PTRACE
        );
    }

    /// In a thread of its own, which ends without them.
    #[test]
    fn what_is_given_up_is_gone_and_what_is_laid_aside_comes_back() {
        let told = std::thread::spawn(|| {
            let before = capabilities(None).unwrap();
            reduce(Rights::LeastAndWriting, CapabilitySet::PERFMON).unwrap();
            let during = capabilities(None).unwrap();
            take_up().unwrap();
            let after = capabilities(None).unwrap();
            give_up().unwrap();
            (before, during, after, capabilities(None).unwrap())
        });
        let (before, during, after, end) = told.join().unwrap();
        assert_eq!(during.effective, before.effective & CapabilitySet::PERFMON);
        let aside = before.permitted & (CapabilitySet::PERFMON | CapabilitySet::DAC_OVERRIDE);
        assert_eq!((during.permitted, after.effective), (aside, aside));
        assert_eq!((end.permitted, end.effective), (CapabilitySet::empty(), CapabilitySet::empty()));
    }
}
