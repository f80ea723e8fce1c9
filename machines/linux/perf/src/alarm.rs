//! An event of a CPU that rings after so many more of it: what a budget of events is enforced by.

use crate::now;
use crate::resolve::Attr;
use crate::sys::perf::{self, HEADER_WORDS, Scope};
use crate::sys::ring::{Ring, RingRecord};
use solo_model::CoreId;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Pages of the ring: an alarm leaves one sample each time it rings.
const RING_PAGES: usize = 1;
/// A CPU that is online has counted something after so many nanoseconds, if it is only the time.
const SOME_TIME: u64 = 1_000_000;
/// PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY: an event that never happens.
const NOTHING: Attr =
    Attr { kind: 1, config: [9, 0, 0], exclude_user: false, exclude_kernel: false, period: 0 };
/// So many events that none of them ever comes.
const NEVER: u64 = 1 << 62;

/// What an alarm has left since it was asked last.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Rung {
    /// When it rang first, on the monotonic clock in nanoseconds; `None` where it did not.
    pub first: Option<u64>,
    /// Times that it rang and left nothing, as far as the kernel tells.
    pub lost: u64,
    /// The kernel has held samples back, because there were too many.
    pub throttled: bool,
}

/// Counts an event of a CPU, whoever runs there, and rings after so many more.
///
/// Its descriptor can be waited for: it is readable while something rang that was not [taken](Self::rung). Rearming stops the
/// counter for the length of two system calls; whoever rearms on the alarm's own CPU misses nothing but its own events.
pub struct Alarm {
    file: File,
    ring: Ring,
    words: Vec<u64>,
    /// Counts nothing on the same CPU, and for how long: the kernel takes all counters of a CPU away from it when it goes offline, and
    /// tells nobody once it is back.
    sentinel: File,
    /// For how long that had counted when it last had for longer, and when that was.
    counting: (u64, u64),
}

impl Alarm {
    /// Opens it, counting and silent.
    ///
    /// # Errors
    /// What the kernel says: that it does not know the event, that there is no such CPU, that this process may not count there.
    pub fn open(event: &Attr, core: CoreId) -> io::Result<Self> {
        Self::of(event, core, None)
    }

    /// The same of the tasks of a control group (version 2) while they run on the CPU; `group` is its folder.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn of_group(event: &Attr, core: CoreId, group: BorrowedFd<'_>) -> io::Result<Self> {
        Self::of(event, core, Some(group))
    }

    fn of(event: &Attr, core: CoreId, group: Option<BorrowedFd<'_>>) -> io::Result<Self> {
        let attr = Attr { period: NEVER, ..*event };
        let file = perf::open_alarm(&attr, i32::from(core.0), group)?;
        let ring = Ring::new(&file, RING_PAGES)?;
        perf::enable(&file)?;
        let scope = Scope { thread: -1, cpu: i32::from(core.0), inherit: false, on_exec: false };
        let sentinel = perf::open(&NOTHING, scope, None)?;
        perf::enable(&sentinel)?;
        Ok(Self { file, ring, words: Vec::with_capacity(HEADER_WORDS + 1), sentinel, counting: (0, now()) })
    }

    /// Whether its CPU went offline since it was opened, as all but the first do where a machine sleeps: it counts and rings no more, and never
    /// will. True where it has not counted since it was asked last, a millisecond ago or longer: one that has counted meanwhile may be over now.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn is_over(&mut self) -> io::Result<bool> {
        perf::read(&self.sentinel, &mut self.words, 1)?;
        let (before, at) = self.counting;
        // Number of events, time enabled, time running.
        let counting = self.words.get(2).copied().unwrap_or(before);
        if counting > before {
            self.counting = (counting, now());
            return Ok(false);
        }
        Ok(now().saturating_sub(at) >= SOME_TIME)
    }

    /// What was counted since it was opened.
    ///
    /// # Errors
    /// What the kernel says; nothing can be read any more once the CPU is offline.
    pub fn count(&mut self) -> io::Result<u64> {
        counted(&self.file, &mut self.words)
    }

    /// Lets it ring after so many more events, at least one; never for `None`. Replaces what was set before.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn arm(&mut self, after: Option<u64>) -> io::Result<()> {
        perf::disable(&self.file)?;
        perf::set_period(&self.file, after.map_or(NEVER, |events| events.clamp(1, NEVER)))?;
        perf::enable(&self.file)
    }

    /// Takes what it has left.
    pub fn rung(&mut self) -> Rung {
        let mut rung = Rung::default();
        self.ring.drain(|record| match record {
            RingRecord::Sample { time, .. } => rung.first = rung.first.or(Some(time)),
            RingRecord::Lost(lost) => rung.lost += lost,
            RingRecord::Throttled => rung.throttled = true,
            RingRecord::Switch(_) => {}
        });
        rung
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Counts an event of the thread that opens it, on one CPU.
pub struct OwnCount {
    file: File,
    words: Vec<u64>,
}

impl OwnCount {
    /// Opens it, counting.
    ///
    /// # Errors
    /// What the kernel says: as [`Alarm::open`], and that the event can't be told by thread.
    pub fn open(event: &Attr, core: CoreId) -> io::Result<Self> {
        let scope = Scope { thread: 0, cpu: i32::from(core.0), inherit: false, on_exec: false };
        let file = perf::open(&Attr { period: 0, ..*event }, scope, None)?;
        perf::enable(&file)?;
        Ok(Self { file, words: Vec::with_capacity(HEADER_WORDS + 1) })
    }

    /// What was counted since it was opened.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn count(&mut self) -> io::Result<u64> {
        counted(&self.file, &mut self.words)
    }

    /// Calls `call`, and counts nothing of it.
    ///
    /// # Errors
    /// What the kernel says, and what `call` says.
    pub fn without(&self, call: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        perf::disable(&self.file)?;
        let called = call();
        perf::enable(&self.file)?;
        called
    }
}

fn counted(file: &File, words: &mut Vec<u64>) -> io::Result<u64> {
    perf::read(file, words, 1)?;
    words.get(HEADER_WORDS).copied().ok_or_else(|| io::Error::other("the kernel gave no reading"))
}
