//! The thread that freezes groups.

use super::budgets::GroupBudgets;
use super::error::GroupError;
use super::meter::Meter;
use crate::occupier::{CoreTally, Shared};
use crate::setting::Group;
use crate::throttle::Throttle;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use solo_isolate::enforce::{Action, Event};
use solo_isolate::regulator::Direction;
use solo_model::{CoreId, CoreSet, Instant, TaskId};
use solo_perf::cpus::online;
use solo_perf::files::Host;
use solo_perf::now;
use solo_store::Dir;
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read, Seek, Write};

/// At most so long nothing is looked at, in nanoseconds: whoever watches over the warden hears of it as often.
const NAP: u64 = 100_000_000;
/// How often the warden looks whether a group that it freezes is frozen, in nanoseconds. It sleeps in between: who is to be frozen has to run for it.
const LOOKS: u64 = 50_000;
/// After so long what a group causes counts as leaked, frozen or not, in nanoseconds.
const SETTLES: u64 = 5_000_000;
/// Who runs in a group, as far as is known outside the kernel: somebody.
const SOMEBODY: TaskId = TaskId(0);

/// What became of the budget of a group.
#[derive(Debug)]
pub struct GroupTally {
    /// The group.
    pub group: Group,
    /// As of a core: how long after a ring the kernel said that all of it was frozen, and what was counted while it was.
    pub tally: CoreTally,
}

/// A group that is held.
pub(super) struct Seat {
    group: Group,
    /// `cgroup.freeze`.
    freeze: File,
    /// `cgroup.events`, which says when all tasks are frozen.
    events: File,
    meter: Meter,
    is_frozen: bool,
    /// When its counter rang, until the kernel says that all of it is frozen.
    freezing: Option<u64>,
    /// What was counted when it was.
    count_then: Option<u64>,
    /// When its period ends, on the monotonic clock.
    boundary: u64,
    tally: CoreTally,
}

impl Seat {
    /// Opens all that it takes to hold a group.
    pub(super) fn open(
        budgets: &GroupBudgets,
        number: usize,
        group: &Group,
        folder: &Dir,
    ) -> Result<Self, GroupError> {
        let failed = |source| GroupError::Group { group: group.clone(), source };
        let cpus = online(&Host::new()).into_iter();
        let core = CoreId(u16::try_from(number).unwrap_or(u16::MAX));
        Ok(Self {
            group: group.clone(),
            freeze: folder.setter("cgroup.freeze").map_err(failed)?,
            events: folder.file("cgroup.events").map_err(failed)?,
            meter: Meter::open(&budgets.event, group, folder, cpus)?,
            is_frozen: false,
            freezing: None,
            count_then: None,
            boundary: 0,
            tally: CoreTally { is_apart: true, ..CoreTally::new(core) },
        })
    }

    fn is_held(&self) -> bool {
        self.tally.failure.is_none()
    }

    /// Freezes the group; `since` is when its counter rang.
    fn freeze(&mut self, since: u64) -> io::Result<()> {
        self.freeze.write_all(b"1\n")?;
        (self.is_frozen, self.freezing, self.count_then) = (true, Some(since), None);
        Ok(())
    }

    /// Whether all of it is frozen by now, with so many events.
    fn settle(&mut self, time: u64, count: u64) -> io::Result<()> {
        let Some(since) = self.freezing else { return Ok(()) };
        if self.says_frozen()? || time.saturating_sub(since) > SETTLES {
            self.tally.latency.add(time.saturating_sub(since));
            (self.freezing, self.count_then) = (None, Some(count));
        }
        Ok(())
    }

    fn thaw(&mut self, count: u64) -> io::Result<()> {
        if self.is_frozen {
            self.freeze.write_all(b"0\n")?;
            let leaked = self.count_then.map_or(0, |then| count.saturating_sub(then));
            self.tally.leak(leaked);
            (self.is_frozen, self.freezing, self.count_then) = (false, None, None);
        }
        Ok(())
    }

    fn says_frozen(&mut self) -> io::Result<bool> {
        let mut text = [0; 256];
        self.events.rewind()?;
        let read = self.events.read(&mut text)?;
        Ok(text[..read].windows(8).any(|words| words == b"frozen 1"))
    }
}

/// What an enforcer wants of a group.
#[derive(Default)]
struct Wish {
    stop: Option<bool>,
}

impl Throttle for Wish {
    type Error = Infallible;
    fn stop(&mut self) -> Result<(), Infallible> {
        self.stop = Some(true);
        Ok(())
    }
    fn go(&mut self) -> Result<(), Infallible> {
        self.stop = Some(false);
        Ok(())
    }
}

/// All groups and the thread that holds them.
pub(super) struct Warden<'s> {
    pub(super) seats: Vec<Seat>,
    pub(super) shared: &'s Shared,
    /// Called at least ten times a second.
    pub(super) alive: &'s (dyn Fn() + Sync),
}

impl Warden<'_> {
    /// Holds all budgets until the end; then nobody is frozen.
    pub(super) fn run(mut self) -> Vec<GroupTally> {
        let held = self.hold();
        let mut tallies = Vec::new();
        for mut seat in self.seats {
            let thawed = seat.thaw(0);
            let failure = seat.tally.failure.take().or(thawed.err());
            let failure = failure.or_else(|| Some(io::Error::other(held.as_ref().err()?.to_string())));
            let tally = CoreTally { failure, ..seat.tally };
            tallies.push(GroupTally { group: seat.group, tally });
        }
        tallies
    }

    fn hold(&mut self) -> io::Result<()> {
        let Some(origin) = self.wait_for_origin()? else { return Ok(()) };
        for place in 0..self.seats.len() {
            let count = self.seats[place].meter.count()?;
            self.decide(place, origin, now(), count, Event::Period, None);
            self.decide(place, origin, now(), count, Event::Switched(Some(SOMEBODY)), None);
        }
        self.shared.has_begun();
        while !self.shared.is_over() {
            if self.seats.iter().all(|seat| !seat.is_held()) {
                return Ok(());
            }
            let next = self.seats.iter().filter(|seat| seat.is_held()).map(|seat| seat.boundary).min();
            let nap = if self.seats.iter().any(|seat| seat.freezing.is_some()) { LOOKS } else { NAP };
            self.wait(next.unwrap_or(0).saturating_sub(now()).min(nap))?;
            (self.alive)();
            for place in 0..self.seats.len() {
                self.look(place, origin);
            }
        }
        Ok(())
    }

    /// What has happened to a group since it was looked at.
    fn look(&mut self, place: usize, origin: u64) {
        let called = self.shared.is_called(core(place));
        let seat = &mut self.seats[place];
        if !seat.is_held() {
            return;
        }
        let rung = seat.meter.rung();
        seat.tally.silenced += u64::from(rung.throttled);
        let time = now();
        let counted = seat.meter.count().and_then(|count| seat.settle(time, count).map(|()| count));
        let count = match counted {
            Ok(count) => count,
            Err(error) => {
                seat.tally.failure = Some(error);
                return;
            }
        };
        if time >= seat.boundary {
            seat.tally.late.add(time - seat.boundary);
            seat.meter.begin();
            self.decide(place, origin, time, count, Event::Period, rung.first);
        } else if seat.meter.is_reached(count) && !seat.is_frozen {
            self.decide(place, origin, time, count, Event::Overflow, rung.first);
        } else if called {
            self.decide(place, origin, time, count, Event::Period, rung.first);
        } else if rung.first.is_some()
            && let Err(error) = seat.meter.divide(count)
        {
            seat.tally.failure = Some(error);
        }
    }

    /// Asks the enforcer and does what it says.
    fn decide(&mut self, place: usize, origin: u64, time: u64, count: u64, event: Event, rung: Option<u64>) {
        let (mut armed, mut calls, mut wish) = (None, CoreSet::EMPTY, Wish::default());
        let seat = &mut self.seats[place];
        let (tally, shared) = (&mut seat.tally, self.shared);
        let other = |action| match action {
            Action::Arm(Direction::Reads, events) => armed = Some(events),
            Action::Call(cores) => calls = cores,
            Action::Report(report) => shared.note(core(place), tally.report(&report)),
            _ => {}
        };
        let at = Instant::new(time.saturating_sub(origin));
        let Ok(boundary) = self.shared.decider().decide(at, core(place), count, event, &mut wish, other);
        seat.boundary = origin + boundary.get();
        calls.iter().filter(|other| *other != core(place)).for_each(|other| self.shared.call(other));
        let mut done = || -> io::Result<()> {
            match wish.stop {
                Some(true) => seat.freeze(rung.unwrap_or(time))?,
                Some(false) => seat.thaw(count)?,
                None => {}
            }
            match armed {
                Some(events) => seat.meter.arm(count, events.map(|events| events.get())),
                None => Ok(()),
            }
        };
        // A group that was taken away has nobody in it to hold.
        if let Err(error) = done() {
            seat.tally.failure = Some(error);
        }
    }

    /// Waits for a counter, a bell, or so many nanoseconds.
    fn wait(&self, nanoseconds: u64) -> io::Result<()> {
        let timeout = Timespec {
            tv_sec: (nanoseconds / 1_000_000_000) as i64,
            tv_nsec: (nanoseconds % 1_000_000_000) as i64,
        };
        let mut wanted: Vec<PollFd<'_>> =
            self.shared.bells().iter().map(|bell| PollFd::new(bell, PollFlags::IN)).collect();
        let bells = wanted.len();
        self.seats.iter().filter(|seat| seat.is_held()).for_each(|seat| seat.meter.wait_for(&mut wanted));
        match poll(&mut wanted, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let rung: Vec<bool> = wanted[..bells].iter().map(|bell| !bell.revents().is_empty()).collect();
        drop(wanted);
        for (bell, _) in self.shared.bells().iter().zip(rung).filter(|(_, rung)| *rung) {
            let _ = rustix::io::read(bell, &mut [0u8; 8]);
        }
        Ok(())
    }

    /// When the first period begins; `None` where it never does.
    fn wait_for_origin(&self) -> io::Result<Option<u64>> {
        loop {
            (self.alive)();
            match self.shared.origin() {
                _ if self.shared.is_over() => return Ok(None),
                0 => self.wait(NAP)?,
                origin if now() >= origin => return Ok(Some(origin)),
                origin => self.wait(origin.saturating_sub(now()).min(NAP))?,
            }
        }
    }
}

/// What stands for a group.
fn core(place: usize) -> CoreId {
    CoreId(u16::try_from(place).unwrap_or(u16::MAX))
}
