//! The processes that came out of a program, whoever is their parent by now.
//!
//! A process whose parent ended is given to another, so a chain of parents breaks. Two things hold it together: who was
//! seen once is remembered by number and time of birth; and where this process adopts (`PR_SET_CHILD_SUBREAPER`), the
//! kernel gives it everyone whose parent ended.

use crate::process;
use std::collections::{BTreeMap, BTreeSet};

/// What identifies a process: its number may be used again, but not within the same clock tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stat {
    parent: i32,
    /// Clock ticks since the machine was started.
    born: u64,
    /// Ended and not yet waited for.
    zombie: bool,
}

/// A program's processes.
#[derive(Debug)]
pub(crate) struct Tree {
    root: i32,
    adopts: bool,
    /// Children that this process had before the program.
    strangers: BTreeMap<i32, u64>,
    known: BTreeMap<i32, u64>,
}

impl Tree {
    /// To be made before the program is started. With `adopts`, whatever becomes a child of this process from now on
    /// came out of the program.
    pub(crate) fn before(adopts: bool) -> Self {
        let strangers = if adopts { children_of_this() } else { BTreeMap::new() };
        let adopts = adopts && process::adopt().is_ok();
        Self { root: 0, adopts, strangers, known: BTreeMap::new() }
    }

    /// The program's first process.
    pub(crate) fn start(&mut self, root: i32) {
        self.root = root;
        self.known = stat(root).map(|stat| (root, stat.born)).into_iter().collect();
    }

    /// True where orphans become children of this process.
    pub(crate) fn adopts(&self) -> bool {
        self.adopts
    }

    /// The processes that there are, those that wait for their parent to hear of their end left out.
    pub(crate) fn members(&mut self) -> BTreeSet<i32> {
        let all = processes();
        self.known.retain(|process, born| all.get(process).is_some_and(|stat| stat.born == *born));
        let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
        for (process, stat) in &all {
            children.entry(stat.parent).or_default().push(*process);
        }
        let mut found: Vec<i32> = self.known.keys().copied().collect();
        if self.adopts {
            let mine = children.get(&this()).into_iter().flatten();
            let strange =
                |process: &i32| self.strangers.get(process) == all.get(process).map(|stat| &stat.born);
            found.extend(mine.filter(|process| !strange(process)));
        }
        let mut members = BTreeSet::new();
        while let Some(process) = found.pop() {
            if members.insert(process) {
                found.extend(children.get(&process).into_iter().flatten());
            }
        }
        self.known = members.iter().filter_map(|it| Some((*it, all.get(it)?.born))).collect();
        members.retain(|process| all.get(process).is_some_and(|stat| !stat.zombie));
        members
    }
}

/// Running threads of the machine that the calling thread traces.
pub(crate) fn traced() -> Vec<i32> {
    let me = process::this_thread();
    let mut traced = Vec::new();
    for process in processes().into_keys() {
        let Ok(entries) = std::fs::read_dir(format!("/proc/{process}/task")) else { continue };
        let threads = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
        traced.extend(threads.filter(|thread| tracer(*thread) == Some(me)));
    }
    traced
}

fn this() -> i32 {
    std::process::id() as i32
}

fn children_of_this() -> BTreeMap<i32, u64> {
    let me = this();
    processes().into_iter().filter(|(_, stat)| stat.parent == me).map(|(it, stat)| (it, stat.born)).collect()
}

/// Whoever traces a thread that still runs.
fn tracer(thread: i32) -> Option<i32> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let field = |name| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    if field("State:")?.starts_with(['Z', 'X']) {
        return None;
    }
    field("TracerPid:")?.parse().ok()
}

fn processes() -> BTreeMap<i32, Stat> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return BTreeMap::new() };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    // One that ended while we looked has no state.
    numbers.filter_map(|process| Some((process, stat(process)?))).collect()
}

fn stat(process: i32) -> Option<Stat> {
    parse(&std::fs::read(format!("/proc/{process}/stat")).ok()?)
}

/// The name stands in parentheses and may hold any byte; the other fields follow the last of them.
fn parse(text: &[u8]) -> Option<Stat> {
    let end = text.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(text.get(end + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    // Fields 3 and 4 are gone; 22 is the time of birth (proc_pid_stat(5)).
    let born = fields.nth(17)?.parse().ok()?;
    Some(Stat { parent, born, zombie: state.starts_with(['Z', 'X', 'x']) })
}

/// Kills every descendant of this process that is there when it is called, and that it may kill; children that there are
/// now are spared. For users who have lost patience: nobody is asked first.
pub fn killer() -> impl Fn() + Send + 'static {
    let spared = children_of_this();
    move || {
        // Those that are born meanwhile are found in the next round; a program that is faster than that has won.
        for _ in 0..50 {
            let members = descendants(&spared);
            if members.is_empty() {
                return;
            }
            for signal in [libc::SIGSTOP, libc::SIGKILL] {
                members.iter().for_each(|process| drop(process::signal(*process, signal)));
            }
        }
    }
}

fn descendants(spared: &BTreeMap<i32, u64>) -> Vec<i32> {
    let all = processes();
    let (mut members, mut found) = (BTreeSet::new(), vec![this()]);
    while let Some(process) = found.pop() {
        let child = |(it, stat): (&i32, &Stat)| {
            (stat.parent == process && spared.get(it) != Some(&stat.born)).then_some(*it)
        };
        found.extend(all.iter().filter_map(child).filter(|child| members.insert(*child)));
    }
    members.into_iter().filter(|process| all.get(process).is_some_and(|stat| !stat.zombie)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_behind_any_name() {
        let text = b"4242 (a) b) (c) R 17 4242 4242 0 -1 4194304 95 0 0 0 0 0 0 0 20 0 1 0 9999 2 3 4";
        assert_eq!(parse(text), Some(Stat { parent: 17, born: 9999, zombie: false }));
        let text = b"1 (\xff\xfe) Z 0 1 1 0 -1 4 9 0 0 0 0 0 0 0 20 0 1 0 5 2";
        assert_eq!(parse(text), Some(Stat { parent: 0, born: 5, zombie: true }));
        for wrong in [
            &b""[..],
            b"1 (x",
            b"1 (x) R",
            b"1 (x) R 1 2 3",
            b"1 (x) R a 1 1 0 -1 4 9 0 0 0 0 0 0 0 20 0 1 0 5",
        ] {
            assert_eq!(parse(wrong), None, "{}", String::from_utf8_lossy(wrong));
        }
    }

    #[test]
    fn a_child_and_its_child_are_members_until_they_end() {
        let mut tree = Tree::before(false);
        let mut shell = std::process::Command::new("/bin/sh")
            .args(["-c", "sleep 1000 & echo $!; wait"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        tree.start(shell.id() as i32);
        let mut line = String::new();
        let mut out = std::io::BufReader::new(shell.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        let child: i32 = line.trim().parse().unwrap();
        assert_eq!(tree.members(), BTreeSet::from([shell.id() as i32, child]));
        shell.kill().unwrap();
        shell.wait().unwrap();
        assert_eq!(tree.members(), BTreeSet::from([child]), "an orphan is still known");
        process::signal(child, libc::SIGKILL).unwrap();
        while stat(child).is_some_and(|stat| !stat.zombie) {
            std::thread::yield_now();
        }
        assert_eq!(tree.members(), BTreeSet::new());
    }
}
