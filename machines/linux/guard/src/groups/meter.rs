//! What the tasks of a group cause, on all CPUs.

use super::error::GroupError;
use super::shares::shares;
use crate::setting::Group;
use rustix::event::{PollFd, PollFlags};
use solo_model::CoreId;
use solo_perf::alarm::{Alarm, Rung};
use solo_perf::asleep;
use solo_perf::cpus::online;
use solo_perf::files::Host;
use solo_perf::resolve::Attr;
use solo_store::Dir;
use std::io;

/// The counter of a group on one CPU.
struct Cell {
    cpu: u16,
    alarm: Alarm,
    /// What it said last.
    count: u64,
    /// What it said when the period began.
    at_period: u64,
    /// What was counted in the period before.
    lately: u64,
}

/// So many periods lie between two looks whether a CPU has come back; after a sleep of the machine it is looked at once.
const LOOKS: u32 = 64;

/// What two clocks that are read one after the other may differ by, in nanoseconds: no sleep is as short.
const SHORT_SLEEP: u64 = 1_000_000;

/// The counters of a group.
pub(super) struct Meter {
    event: Attr,
    folder: Dir,
    periods: u32,
    /// For how many nanoseconds this machine has slept.
    asleep: u64,
    cells: Vec<Cell>,
    /// What counters have counted that are gone with their CPUs.
    gone: u64,
    /// The count in all at which the enforcer is to hear of it.
    target: Option<u64>,
}

impl Meter {
    /// Opens a counter on each CPU that is there.
    ///
    /// # Errors
    /// [`GroupError::Event`], [`GroupError::Nowhere`].
    pub(super) fn open(
        event: &Attr,
        group: &Group,
        folder: &Dir,
        cpus: impl Iterator<Item = u16>,
    ) -> Result<Self, GroupError> {
        use std::os::fd::AsFd;
        let open = |cpu: u16| {
            let core = CoreId(cpu);
            let alarm = Alarm::of_group(event, core, folder.as_fd());
            let alarm = alarm.map_err(|source| match Alarm::open(event, core) {
                Ok(_) => GroupError::Event { core, group: group.clone(), source },
                Err(source) => GroupError::Nowhere { core, source },
            })?;
            Ok(Cell { cpu, alarm, count: 0, at_period: 0, lately: 0 })
        };
        let cells = cpus.map(open).collect::<Result<Vec<_>, GroupError>>()?;
        Ok(Self {
            event: *event,
            folder: folder.clone(),
            periods: 0,
            asleep: asleep(),
            cells,
            gone: 0,
            target: None,
        })
    }

    /// What was counted in all.
    ///
    /// # Errors
    /// Where nothing counts any more.
    pub(super) fn count(&mut self) -> io::Result<u64> {
        let gone = &mut self.gone;
        self.cells.retain_mut(|cell| match cell.alarm.count() {
            Ok(count) => {
                cell.count = cell.count.max(count);
                true
            }
            // Its CPU went offline; the group's tasks are on others.
            Err(_) => {
                *gone += cell.count;
                false
            }
        });
        if self.cells.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "no counter of the group is left"));
        }
        Ok(self.gone + self.cells.iter().map(|cell| cell.count).sum::<u64>())
    }

    /// Counts on CPUs, too, that have come back or are new. What happened there meanwhile was not counted.
    fn return_to(&mut self, online: impl Iterator<Item = u16>) {
        use std::os::fd::AsFd;
        for cpu in online {
            if self.cells.iter().any(|cell| cell.cpu == cpu) {
                continue;
            }
            // Where it goes again at once, the next look finds it.
            if let Ok(alarm) = Alarm::of_group(&self.event, CoreId(cpu), self.folder.as_fd()) {
                self.cells.push(Cell { cpu, alarm, count: 0, at_period: 0, lately: 0 });
            }
        }
    }

    /// True where nothing has happened since the period began.
    pub(super) fn is_silent(&self) -> bool {
        self.cells.iter().all(|cell| cell.count == cell.at_period)
    }

    /// A period begins.
    pub(super) fn begin(&mut self) {
        self.periods += 1;
        if self.periods == LOOKS {
            self.periods = 0;
            self.return_to(online(&Host::new()).into_iter());
        }
        for cell in &mut self.cells {
            cell.lately = cell.count - std::mem::replace(&mut cell.at_period, cell.count);
        }
        let asleep = asleep();
        let has_slept = asleep > self.asleep + SHORT_SLEEP;
        self.asleep = asleep;
        // To look asks each CPU. The first look says until when a counter has counted, the next one that it has not since.
        if has_slept || self.periods <= 1 {
            self.count_anew(has_slept);
        }
    }

    /// Opens counters anew that are over, or all of them: of CPUs that went offline and are back. What happened there meanwhile was not counted.
    fn count_anew(&mut self, all: bool) {
        use std::os::fd::AsFd;
        let (event, folder, gone) = (&self.event, self.folder.as_fd(), &mut self.gone);
        self.cells.retain_mut(|cell| {
            if !all && !cell.alarm.is_over().unwrap_or(true) {
                return true;
            }
            *gone += cell.count;
            let alarm = Alarm::of_group(event, CoreId(cell.cpu), folder).ok();
            alarm.map(|alarm| *cell = Cell { alarm, count: 0, at_period: 0, ..*cell }).is_some()
        });
    }

    /// The enforcer is to hear when so many more have happened than `count`; never for `None`.
    ///
    /// # Errors
    /// What the kernel says.
    pub(super) fn arm(&mut self, count: u64, events: Option<u64>) -> io::Result<()> {
        self.target = events.map(|events| count.saturating_add(events.max(1)));
        self.divide(count)
    }

    /// Divides anew what is left at `count`.
    ///
    /// # Errors
    /// What the kernel says.
    pub(super) fn divide(&mut self, count: u64) -> io::Result<()> {
        let Some(target) = self.target else {
            return self.cells.iter_mut().try_for_each(|cell| cell.alarm.arm(None));
        };
        let lately: Vec<u64> =
            self.cells.iter().map(|cell| cell.lately.saturating_add(cell.count - cell.at_period)).collect();
        let left = shares(target.saturating_sub(count).max(1), &lately);
        self.cells.iter_mut().zip(left).try_for_each(|(cell, share)| cell.alarm.arm(Some(share)))
    }

    /// True where so many have happened that the enforcer is to hear of it.
    pub(super) fn is_reached(&self, count: u64) -> bool {
        self.target.is_some_and(|target| count >= target)
    }

    /// What the counters have left since they were asked.
    pub(super) fn rung(&mut self) -> Rung {
        let mut all = Rung::default();
        for cell in &mut self.cells {
            let one = cell.alarm.rung();
            all.first = match (all.first, one.first) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
            all.lost += one.lost;
            all.throttled |= one.throttled;
        }
        all
    }

    /// What can be waited for.
    pub(super) fn wait_for<'m>(&'m self, list: &mut Vec<PollFd<'m>>) {
        list.extend(self.cells.iter().map(|cell| PollFd::new(&cell.alarm, PollFlags::IN)));
    }
}
