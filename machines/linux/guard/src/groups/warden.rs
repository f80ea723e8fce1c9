//! The thread that freezes groups.

use super::budgets::{GroupBudgets, stand_in};
use super::error::GroupError;
use super::meter::Meter;
use crate::occupier::{CoreTally, SOMEBODY, Shared};
use crate::setting::Group;
use crate::throttle::Throttle;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use solo_isolate::enforce::{Action, Event};
use solo_isolate::regulator::Direction;
use solo_model::{CoreSet, Instant};
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
        place: usize,
        group: &Group,
        folder: &Dir,
    ) -> Result<Self, GroupError> {
        let failed = |source| GroupError::Group { group: group.clone(), source };
        let cpus = online(&Host::new()).into_iter();
        Ok(Self {
            group: group.clone(),
            freeze: folder.setter("cgroup.freeze").map_err(failed)?,
            events: folder.file("cgroup.events").map_err(failed)?,
            meter: Meter::open(&budgets.budgets.event, group, folder, cpus)?,
            is_frozen: false,
            freezing: None,
            count_then: None,
            boundary: 0,
            tally: CoreTally { is_apart: true, ..CoreTally::new(stand_in(place)) },
        })
    }

    fn is_held(&self) -> bool {
        self.tally.failure.is_none()
    }

    /// It is not held from now on, and not left frozen: nobody else would thaw it before the end.
    fn fail(&mut self, error: io::Error) {
        let _ = self.thaw();
        let is_gone = error.raw_os_error() == Some(Errno::NODEV.raw_os_error());
        self.tally.failure = Some(if is_gone { io::Error::other("the group was taken away") } else { error });
    }

    /// What was counted in all; what is frozen settles.
    fn counted(&mut self, time: u64) -> io::Result<u64> {
        let count = self.meter.count()?;
        let Some(since) = self.freezing else { return Ok(count) };
        if self.says_frozen()? || time.saturating_sub(since) > SETTLES {
            self.tally.latency.add(time.saturating_sub(since));
            (self.freezing, self.count_then) = (None, Some(count));
        }
        Ok(count)
    }

    /// Freezes the group; `since` is when its counter rang.
    fn freeze(&mut self, since: u64) -> io::Result<()> {
        self.freeze.write_all(b"1\n")?;
        (self.is_frozen, self.freezing, self.count_then) = (true, Some(since), None);
        Ok(())
    }

    fn thaw(&mut self) -> io::Result<()> {
        if self.is_frozen {
            self.freeze.write_all(b"0\n")?;
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
            let thawed = seat.thaw();
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
        let called = self.shared.is_called(stand_in(place));
        let seat = &mut self.seats[place];
        if !seat.is_held() {
            return;
        }
        let rung = seat.meter.rung();
        seat.tally.silenced += u64::from(rung.throttled);
        let time = now();
        let count = match seat.counted(time) {
            Ok(count) => count,
            Err(error) => return seat.fail(error),
        };
        if time >= seat.boundary {
            // A group that was taken away causes nothing, and says so only here.
            if seat.meter.is_silent()
                && let Err(error) = seat.says_frozen()
            {
                return seat.fail(error);
            }
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
            seat.fail(error);
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
            Action::Report(report) => shared.note(stand_in(place), tally.report(&report)),
            _ => {}
        };
        let at = Instant::new(time.saturating_sub(origin));
        let Ok(boundary) = self.shared.decider().decide(at, stand_in(place), count, event, &mut wish, other);
        seat.boundary = origin + boundary.get();
        calls.iter().filter(|other| *other != stand_in(place)).for_each(|other| self.shared.call(other));
        let mut done = || -> io::Result<()> {
            match wish.stop {
                Some(true) => seat.freeze(rung.unwrap_or(time))?,
                Some(false) => {
                    let leaked = seat.count_then.map_or(0, |then| count.saturating_sub(then));
                    seat.tally.leak(leaked);
                    seat.thaw()?;
                }
                None => {}
            }
            match armed {
                Some(events) => seat.meter.arm(count, events.map(|events| events.get())),
                None => Ok(()),
            }
        };
        if let Err(error) = done() {
            seat.fail(error);
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
        self.seats.iter().filter(|seat| seat.is_held()).for_each(|seat| seat.meter.wait_for(&mut wanted));
        match poll(&mut wanted, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        // One that has not rung has nothing to read, and says so at once.
        for bell in self.shared.bells() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::occupier::{Budgets, Decider};
    use solo_model::isolation::{Budget, CoreBudget, Counted, Regulation};
    use solo_model::{Bandwidth, Bytes, Duration, EventId, Events};
    use solo_perf::resolve::Attr;

    /// One group of a made-up machine: files in place of a cgroup's, and no CPU whose counters could count.
    fn made_up(folder: &std::path::Path) -> (GroupBudgets, Seat) {
        let budget = Budget::Events(Events::new(5));
        let cores = vec![CoreBudget { core: stand_in(0), budget, writes: None }];
        let counted = Counted::One(EventId::LLC_MISSES);
        let regulation = Regulation::new(Duration::from_millis(10), counted, cores, Bandwidth::ZERO);
        let budgets = Budgets { regulation, line: Bytes::new(64), event: Attr::default() };
        let group = Group::new("made-up").unwrap();
        let file = |name: &str| File::create_new(folder.join(name)).unwrap();
        let dir = Dir::open(folder).unwrap();
        let seat = Seat {
            group: group.clone(),
            freeze: file("cgroup.freeze"),
            events: file("cgroup.events"),
            meter: Meter::open(&budgets.event, &group, &dir, std::iter::empty()).unwrap(),
            is_frozen: false,
            freezing: None,
            count_then: None,
            boundary: 0,
            tally: CoreTally::new(stand_in(0)),
        };
        (GroupBudgets { budgets, groups: vec![group] }, seat)
    }

    #[test]
    fn a_group_that_can_not_be_held_any_more_is_not_left_frozen() {
        let folder = tempfile::tempdir().unwrap();
        let (budgets, mut seat) = made_up(folder.path());
        let shared = Shared::new(Decider::new(budgets.config().unwrap(), Instant::ZERO), 1).unwrap();
        seat.freeze(now()).unwrap();
        let mut warden = Warden { seats: vec![seat], shared: &shared, alive: &|| {} };
        let said = || std::fs::read_to_string(folder.path().join("cgroup.freeze")).unwrap();
        assert_eq!(said(), "1\n");
        warden.look(0, now());
        assert!(!warden.seats[0].is_held());
        assert_eq!(said(), "1\n0\n", "it is thawed at once, not at the end of the guard");
    }
}
