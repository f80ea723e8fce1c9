//! Whose window it is on each core, where time is divided among partitions (SCE 2.4, Fig. 16).
//!
//! ```text
//!   a window begins or ends ──▶ Turned ──▶ pages unlocked and locked, threads taken out of the queue and put into it
//!   a thread becomes ready  ──▶ lets_run ──▶ into the queue, or it waits for its window
//! ```

use alloc::vec::Vec;
use solo_model::partition::{MajorCycle, Partitions};
use solo_model::policy::Timing;
use solo_model::{CoreId, CoreSet, Duration, Instant, PartitionId, ThreadId};
use solo_schedule::{PolicyRefusal, WindowRefusal};

/// What windows are put on.
pub(crate) struct Divided<'a> {
    /// The core of each thread, where it has one.
    pub(crate) homes: &'a [Option<CoreId>],
    /// The scheduling domains.
    pub(crate) domains: &'a [CoreSet],
    pub(crate) timing: Timing,
    /// A policy listens, and may move threads.
    pub(crate) listens: bool,
}

/// A core whose time is divided.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Dial {
    cycle: MajorCycle,
    /// Whose window it is; `None` between windows.
    current: Option<PartitionId>,
    /// When that ends.
    next: Instant,
}

/// The partition whose window was, and the one whose window is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Turned {
    pub(crate) before: Option<PartitionId>,
    pub(crate) now: Option<PartitionId>,
}

/// Whose window it is on each core.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Windows {
    epoch: Instant,
    /// By core; `None` where time is not divided.
    dials: Vec<Option<Dial>>,
    /// By thread, the core whose windows it needs and its partition; `None` for one that may always run.
    confined: Vec<Option<(CoreId, PartitionId)>>,
}

impl Windows {
    /// Windows on cores that have queues of their own.
    ///
    /// # Errors
    /// What about them can't be kept to.
    #[inline(never)] // once, not for each criterion
    pub(crate) fn new(
        partitions: &Partitions,
        on: &Divided<'_>,
        finest: Duration,
    ) -> Result<Self, PolicyRefusal> {
        let cores = on.domains.iter().fold(CoreSet::EMPTY, |all, domain| all.or(*domain)).len();
        let mut dials = alloc::vec![None; cores];
        for cycle in partitions.cycles() {
            check(cycle, on, finest).map_err(|why| PolicyRefusal::Windows { core: cycle.core, why })?;
            let dial = Dial { cycle: cycle.clone(), current: None, next: Instant::MAX };
            if let Some(place) = dials.get_mut(cycle.core.index()) {
                *place = Some(dial);
            }
        }
        let mut confined = alloc::vec![None; on.homes.len()];
        for (at, partition) in partitions.partitions().iter().enumerate() {
            for task in &partition.tasks {
                let home = on.homes.get(task.index()).copied().flatten();
                let home = home.filter(|core| dials.get(core.index()).is_some_and(Option::is_some));
                if let (Some(place), Some(core)) = (confined.get_mut(task.index()), home) {
                    *place = Some((core, PartitionId(at as u16)));
                }
            }
        }
        Ok(Self { epoch: Instant::ZERO, dials, confined })
    }

    /// Cycles begin at `epoch`, on all cores.
    pub(crate) fn count_from(&mut self, epoch: Instant) {
        self.epoch = epoch;
        for dial in self.dials.iter_mut().flatten() {
            // Nobody's window has been: what begins at once is a turn like any other.
            (dial.current, dial.next) = (None, epoch);
        }
    }

    /// When the next window of `core` begins or ends.
    pub(crate) fn boundary(&self, core: CoreId) -> Option<Instant> {
        self.dials.get(core.index())?.as_ref().map(|dial| dial.next)
    }

    /// True for a thread that is in no partition, or whose partition has its window.
    pub(crate) fn lets_run(&self, thread: ThreadId) -> bool {
        let confined = self.confined.get(thread.index()).copied().flatten();
        confined.is_none_or(|(core, partition)| {
            let dial = self.dials.get(core.index()).and_then(Option::as_ref);
            dial.is_some_and(|dial| dial.current == Some(partition))
        })
    }

    /// True for a thread that runs in windows of this partition only.
    pub(crate) fn confines(&self, thread: ThreadId, to: PartitionId) -> bool {
        let confined = self.confined.get(thread.index()).copied().flatten();
        confined.is_some_and(|(_, partition)| partition == to)
    }

    /// Looks at the clock of `core`: another partition's window, or the first.
    #[inline(never)] // once, not for each criterion
    pub(crate) fn turn(&mut self, core: CoreId, now: Instant) -> Option<Turned> {
        let epoch = self.epoch;
        let dial = self.dials.get_mut(core.index())?.as_mut().filter(|dial| dial.next <= now)?;
        let turn = dial.cycle.turn(now.since(epoch));
        let before = core::mem::replace(&mut dial.current, turn.partition);
        dial.next = now + turn.left;
        (before != turn.partition).then_some(Turned { before, now: turn.partition })
    }
}

/// Whether the windows of a core can be kept to.
fn check(cycle: &MajorCycle, on: &Divided<'_>, finest: Duration) -> Result<(), WindowRefusal> {
    let alone = on.domains.iter().any(|domain| *domain == CoreSet::only(cycle.core));
    if !alone {
        return Err(WindowRefusal::SharedQueue);
    }
    if on.listens {
        return Err(WindowRefusal::Listener);
    }
    let times = || {
        let of_windows = cycle.windows.iter().flat_map(|window| [window.begin, window.length]);
        of_windows.chain([cycle.length])
    };
    if let Timing::Tick(tick) = on.timing
        && let Some(time) = times().find(|time| !time.get().is_multiple_of(tick.get().max(1)))
    {
        return Err(WindowRefusal::BetweenTicks { time, tick });
    }
    match times().find(|time| !time.is_zero() && *time < finest) {
        Some(time) => Err(WindowRefusal::TooFine { time, finest }),
        None => Ok(()),
    }
}
