//! Events that are on the counters at the same time, for one thread or one CPU.

use crate::resolve::{Attr, Member};
use crate::sys::page::UserPage;
use crate::sys::perf::{self, HEADER_WORDS, Scope};
use crate::sys::ring::Ring;
use solo_model::CoreId;
use solo_model::text::Unnumbered;
use std::fs::File;
use std::io;

pub use crate::sys::ring::RingRecord;

/// Pages of a ring of samples: 10 ms at a million samples a second would not fit, 100 000 would.
const RING_PAGES: usize = 16;

/// Whom a group counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whom {
    /// A thread on whatever CPU.
    Thread(u32),
    /// A thread and all that comes out of it.
    Tree(u32),
    /// Whoever runs on a CPU.
    Core(CoreId),
}

/// When a group starts to count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// When it is told to.
    Stopped,
    /// At once.
    Now,
    /// When the thread executes another program.
    OnExec,
}

/// A reading: how long the group was wanted and how long it was on the counters, and the counts of its events.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct GroupReading {
    /// Nanoseconds in which it was enabled and its thread ran.
    pub enabled: u64,
    /// Nanoseconds of those in which it was on the counters.
    pub running: u64,
    /// One count an event.
    pub counts: Vec<u64>,
}

impl GroupReading {
    /// From the kernel's words.
    pub fn from_words(words: &[u64]) -> Option<Self> {
        let (header, counts) = words.split_at_checked(HEADER_WORDS)?;
        Some(Self { enabled: header[1], running: header[2], counts: counts.to_vec() })
    }

    /// What was added since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = |i: usize| earlier.counts.get(i).copied().unwrap_or(0);
        Self {
            enabled: self.enabled.wrapping_sub(earlier.enabled),
            running: self.running.wrapping_sub(earlier.running),
            counts: self.counts.iter().enumerate().map(|(i, now)| now.wrapping_sub(before(i))).collect(),
        }
    }
}

/// An event that the kernel would not open.
#[derive(Debug)]
pub struct Refused {
    /// Which of the set's events.
    pub event: usize,
    /// How many were to be on the counters together.
    pub members: usize,
    /// What the kernel says.
    pub source: io::Error,
}

impl Refused {
    /// True where whom it was to count has ended.
    pub fn is_gone(&self) -> bool {
        self.source.raw_os_error() == Some(libc::ESRCH)
    }

    /// What it means and what mends it, for people. `fewer` says how to count fewer events at the same time.
    pub fn why(&self, fewer: &str) -> String {
        match self.source.raw_os_error() {
            Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => {
                "this machine has no counter for it (`solo doctor` says what there is)".to_owned()
            }
            Some(libc::EACCES | libc::EPERM) => {
                "not allowed; the least that mends it: setcap cap_perfmon+ep on solo, or sysctl kernel.perf_event_paranoid=1 (0 per core)".to_owned()
            }
            Some(libc::EINVAL) if self.members > 1 => {
                format!("{} events do not fit the counters at the same time; {fewer}", self.members)
            }
            Some(libc::EMFILE | libc::ENFILE) => "too many open files; raise `ulimit -n`".to_owned(),
            _ => Unnumbered(&self.source).to_string(),
        }
    }
}

/// How many copies of an event are on the counters of the calling thread together before the kernel refuses one more, 32 at
/// most; `None` where it refuses the first.
pub fn together(event: &Attr) -> Option<usize> {
    let scope = Scope { thread: 0, cpu: -1, inherit: false, on_exec: false };
    let mut open = Vec::new();
    while open.len() < 32 {
        match perf::open(event, scope, open.first()) {
            Ok(file) => open.push(file),
            Err(_) if open.is_empty() => return None,
            Err(_) => break,
        }
    }
    Some(open.len())
}

/// A group of open events.
pub struct Group {
    /// The leader first.
    files: Vec<File>,
    /// Which of the set's events each is.
    pub events: Vec<usize>,
    ring: Option<Ring>,
    words: Vec<u64>,
    /// The reading at the last row.
    pub(crate) last: GroupReading,
}

impl Group {
    /// Opens the events of a group. Where the leader has a sampling period, samples come with the group's
    /// reading.
    pub fn open(members: &[Member], whom: Whom, start: Start) -> Result<Self, Refused> {
        let (thread, cpu, inherit) = match whom {
            Whom::Thread(thread) => (thread as i32, -1, false),
            Whom::Tree(thread) => (thread as i32, -1, true),
            Whom::Core(core) => (-1, i32::from(core.0), false),
        };
        let scope = Scope { thread, cpu, inherit, on_exec: start == Start::OnExec };
        let mut files: Vec<File> = Vec::with_capacity(members.len());
        for (event, attr) in members {
            let refused = |source| Refused { event: *event, members: members.len(), source };
            files.push(perf::open(attr, scope, files.first()).map_err(refused)?);
        }
        let refused =
            |source| Refused { event: members.first().map_or(0, |m| m.0), members: members.len(), source };
        let sampled = members.first().is_some_and(|(_, attr)| attr.period > 0);
        let ring = match files.first() {
            Some(leader) if sampled => Some(Ring::new(leader, RING_PAGES).map_err(refused)?),
            _ => None,
        };
        let events = members.iter().map(|(event, _)| *event).collect();
        let group = Self { files, events, ring, words: Vec::new(), last: GroupReading::default() };
        if start == Start::Now {
            group.enable().map_err(refused)?;
        }
        Ok(group)
    }

    fn leader(&self) -> io::Result<&File> {
        self.files.first().ok_or_else(|| io::Error::other("the group has no event"))
    }

    /// Starts counting.
    pub fn enable(&self) -> io::Result<()> {
        perf::enable(self.leader()?)
    }

    /// Stops counting.
    pub fn disable(&self) -> io::Result<()> {
        perf::disable(self.leader()?)
    }

    /// What has been counted since the last row; the row's reading becomes the last.
    pub fn advance(&mut self) -> io::Result<GroupReading> {
        let mut words = std::mem::take(&mut self.words);
        perf::read(self.leader()?, &mut words, self.events.len())?;
        let now =
            GroupReading::from_words(&words).ok_or_else(|| io::Error::other("the kernel gave no reading"))?;
        self.words = words;
        Ok(self.advance_to(now))
    }

    /// What has been counted since it was opened; the row's reading stays what it was.
    pub(crate) fn reading(&mut self) -> io::Result<GroupReading> {
        let mut words = std::mem::take(&mut self.words);
        let read = perf::read(self.leader()?, &mut words, self.events.len());
        let now = GroupReading::from_words(&words);
        self.words = words;
        read?;
        now.ok_or_else(|| io::Error::other("the kernel gave no reading"))
    }

    /// The leader's count since it was opened.
    pub(crate) fn count(&mut self) -> io::Result<u64> {
        let mut words = std::mem::take(&mut self.words);
        let read = perf::read(self.leader()?, &mut words, self.events.len());
        let count = words.get(HEADER_WORDS).copied().unwrap_or(0);
        self.words = words;
        read.map(|()| count)
    }

    /// The page through which the leader can be read without the kernel; `None` for what the kernel counts.
    pub(crate) fn user_page(&self) -> Option<UserPage> {
        let page = UserPage::new(self.files.first()?).ok()?;
        page.count().is_some().then_some(page)
    }

    /// The same from a reading that came with a sample.
    pub fn advance_to(&mut self, now: GroupReading) -> GroupReading {
        let since = now.since(&self.last);
        self.last = now;
        since
    }

    /// Takes out the samples that the kernel left.
    pub fn drain(&mut self, take: impl FnMut(RingRecord)) {
        if let Some(ring) = &mut self.ring {
            ring.drain(take);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_say_what_mends_them() {
        let why = |error, members| {
            Refused { event: 0, members, source: io::Error::from_raw_os_error(error) }.why("use another -e")
        };
        assert!(why(libc::ENOENT, 1).contains("no counter for it"));
        assert!(why(libc::EACCES, 1).contains("cap_perfmon"));
        assert_eq!(why(libc::EINVAL, 5), "5 events do not fit the counters at the same time; use another -e");
        assert!(!why(libc::EINVAL, 1).contains("fit"));
        assert!(
            Refused { event: 0, members: 1, source: io::Error::from_raw_os_error(libc::ESRCH) }.is_gone()
        );
    }
}
