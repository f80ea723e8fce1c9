//! The thread that takes a CPU away from everybody else.

use super::decider::Decider;
use super::error::OccupierError;
use super::gate::Gate;
use super::tally::{CoreTally, Progress};
use crate::throttle::Throttle;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use solo_isolate::enforce::{Action, Event};
use solo_isolate::regulator::Direction;
use solo_model::{CoreId, CoreSet, Instant, TaskId};
use solo_perf::alarm::{Alarm, OwnCount};
use solo_perf::files::Host;
use solo_perf::now;
use solo_perf::resolve::Attr;
use solo_threads::{NoFifo, sched};
use std::convert::Infallible;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The priority of occupiers: that of Linux's own threads for interrupts, so that a stopped core still takes them.
pub(crate) const PRIORITY: i32 = 50;
/// Looks at the clock that lie further apart than this, in nanoseconds, mean that the core was taken away.
const TAKEN_AWAY: u64 = 20_000;
/// Looks at the clock between two looks at the CPU that the thread is on.
const LOOKS: u32 = 64;
/// Who runs on a core or in a group, as far as is known outside the kernel: somebody.
pub(crate) const SOMEBODY: TaskId = TaskId(0);
/// How long to wait for a counter that is to ring, in nanoseconds.
const PATIENCE: u64 = 50_000_000;

/// What the threads have in common.
pub(crate) struct Shared {
    decider: Mutex<Decider>,
    /// When the first period begins, on the monotonic clock in nanoseconds; 0 before that is known.
    origin: AtomicU64,
    end: AtomicBool,
    /// Occupiers that have begun their first period.
    begun: AtomicUsize,
    /// How far each core's budget has come.
    progress: Vec<Mutex<Progress>>,
    /// For each core: it is to look in.
    called: Vec<AtomicBool>,
    /// For each core: rung when it is to look in while it waits.
    bells: Vec<OwnedFd>,
}

impl Shared {
    pub(crate) fn new(decider: Decider, cores: usize) -> io::Result<Self> {
        use rustix::event::{EventfdFlags, eventfd};
        let bell = |_| eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        Ok(Self {
            decider: Mutex::new(decider),
            origin: AtomicU64::new(0),
            end: AtomicBool::new(false),
            begun: AtomicUsize::new(0),
            progress: (0..cores).map(|_| Mutex::default()).collect(),
            called: (0..cores).map(|_| AtomicBool::new(false)).collect(),
            bells: (0..cores).map(bell).collect::<Result<_, _>>()?,
        })
    }

    pub(crate) fn decider(&self) -> MutexGuard<'_, Decider> {
        self.decider.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first period begins then.
    pub(crate) fn begin(&self, origin: u64) {
        self.origin.store(origin.max(1), Ordering::Release);
        self.call_all();
    }

    /// How many occupiers have begun their first period.
    pub(crate) fn begun(&self) -> usize {
        self.begun.load(Ordering::Acquire)
    }

    /// A core's budget has come so far.
    pub(crate) fn note(&self, core: CoreId, progress: Progress) {
        if let Some(place) = self.progress.get(core.index()) {
            *place.lock().unwrap_or_else(PoisonError::into_inner) = progress;
        }
    }

    /// How far a core's budget has come.
    pub(crate) fn progress(&self, core: CoreId) -> Option<Progress> {
        let place = self.progress.get(core.index())?;
        Some(*place.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A thread has begun its first period.
    pub(crate) fn has_begun(&self) {
        self.begun.fetch_add(1, Ordering::AcqRel);
    }

    /// What is rung where somebody is to look in.
    pub(crate) fn bells(&self) -> &[OwnedFd] {
        &self.bells
    }

    /// All threads end.
    pub(crate) fn end(&self) {
        self.end.store(true, Ordering::Release);
        self.call_all();
    }

    pub(crate) fn is_over(&self) -> bool {
        self.end.load(Ordering::Acquire)
    }

    fn call_all(&self) {
        (0..self.bells.len()).for_each(|core| self.call(CoreId(core as u16)));
    }

    /// Asks a core to look in.
    pub(crate) fn call(&self, core: CoreId) {
        if let (Some(called), Some(bell)) = (self.called.get(core.index()), self.bells.get(core.index())) {
            called.store(true, Ordering::Release);
            // Full is as good as one: it will look in.
            let _ = rustix::io::write(bell, &1u64.to_ne_bytes());
        }
    }

    /// Whether the core is to look in; it is told once.
    pub(crate) fn is_called(&self, core: CoreId) -> bool {
        self.called.get(core.index()).is_some_and(|called| called.swap(false, Ordering::AcqRel))
    }

    /// When the first period begins; 0 before that is known.
    pub(crate) fn origin(&self) -> u64 {
        self.origin.load(Ordering::Acquire)
    }
}

/// Whether the occupier has the core for itself.
#[derive(Default)]
struct Occupied(bool);

impl Throttle for Occupied {
    type Error = Infallible;
    fn stop(&mut self) -> Result<(), Infallible> {
        self.0 = true;
        Ok(())
    }
    fn go(&mut self) -> Result<(), Infallible> {
        self.0 = false;
        Ok(())
    }
}

/// An occupier.
pub(crate) struct Occupier<'s> {
    core: CoreId,
    event: Attr,
    alarm: Alarm,
    /// The occupier's own events, which are nobody's use of the budget; `None` for an event that can't be told by thread.
    own: Option<OwnCount>,
    /// The last count that was told: the two counters are read one after the other.
    counted: u64,
    /// What counters have counted that are over.
    before: u64,
    shared: &'s Shared,
    /// What keeps others away instead of computing.
    gate: Option<&'s dyn Gate>,
    is_closed: bool,
    tally: CoreTally,
}

impl<'s> Occupier<'s> {
    /// Goes to its CPU, opens the counter there and tries whether it rings.
    pub(crate) fn start(
        core: CoreId,
        event: &Attr,
        shared: &'s Shared,
        gate: Option<&'s dyn Gate>,
    ) -> Result<Self, OccupierError> {
        sched::keep_on(core.index()).map_err(OccupierError::System)?;
        let refused = |source| OccupierError::Event { core, source };
        let mut alarm = Alarm::open(event, core).map_err(refused)?;
        let mut own = OwnCount::open(event, core).ok();
        let before = alarm.count().map_err(refused)?;
        alarm.arm(Some(1)).map_err(refused)?;
        cause_events();
        let rang = wait(&alarm, None, Some(PATIENCE)).map_err(refused)? == Woken::Rang;
        let counted = alarm.count().map_err(refused)?.saturating_sub(before);
        if counted == 0 || !rang {
            return Err(OccupierError::Silent { core, counted, rang });
        }
        alarm.arm(None).map_err(refused)?;
        alarm.rung();
        // All of these events were this thread's: a counter that saw none has no place in the processor.
        if !own.as_mut().is_some_and(|own| own.count().is_ok_and(|count| count > 0)) {
            own = None;
        }
        sched::fifo(PRIORITY).map_err(|_| NoFifo::why(&Host::new(), PRIORITY))?;
        let tally = CoreTally { is_apart: own.is_some(), ..CoreTally::new(core) };
        let event = *event;
        Ok(Self { core, event, alarm, own, counted: 0, before: 0, shared, gate, is_closed: false, tally })
    }

    /// Holds the core's budget until the end.
    pub(crate) fn run(mut self) -> CoreTally {
        let held = self.hold();
        // Nobody is left stopped: the thread ends, and with it all that it does to the core.
        self.tally.failure = held.and(self.let_in()).err();
        self.tally
    }

    fn hold(&mut self) -> io::Result<()> {
        let Some(origin) = self.wait_for_origin()? else { return Ok(()) };
        let (mut event, mut occupied, mut boundary) = (Event::Period, Occupied::default(), origin);
        while !self.shared.is_over() {
            if event == Event::Period && self.alarm.is_over()? {
                self.count_anew()?;
            }
            let time = now();
            let count = self.count()?;
            if event == Event::Period && time >= boundary && boundary != origin {
                self.tally.late.add(time - boundary);
            }
            let first = boundary == origin;
            boundary = origin + self.decide(time.saturating_sub(origin), count, event, &mut occupied)?;
            if first {
                // Whether a CPU idles is not known in time out here: none counts as idle, so that nobody takes what it reserved.
                self.decide(
                    time.saturating_sub(origin),
                    count,
                    Event::Switched(Some(SOMEBODY)),
                    &mut occupied,
                )?;
                self.shared.has_begun();
            }
            if occupied.0 {
                match self.gate {
                    Some(gate) => self.keep_away(gate, boundary)?,
                    None => self.occupy(boundary)?,
                }
                let leaked = self.count()?.saturating_sub(count);
                self.tally.leak(leaked);
                event = Event::Period;
            } else {
                self.let_in()?;
                event = self.wait(boundary)?;
            }
        }
        Ok(())
    }

    /// What everybody but the occupier has caused on the core.
    fn count(&mut self) -> io::Result<u64> {
        let own = self.own.as_mut().map(OwnCount::count).transpose()?.unwrap_or(0);
        let count = self.alarm.count()?.saturating_sub(own);
        self.counted = self.counted.max(self.before + count);
        Ok(self.counted)
    }

    /// Opens counters anew where the CPU went offline and is back: the kernel took them away, and gates are open. What happened there
    /// meanwhile was not counted.
    fn count_anew(&mut self) -> io::Result<()> {
        sched::keep_on(self.core.index()).map_err(|_| went_offline())?;
        self.before = self.counted;
        self.alarm = Alarm::open(&self.event, self.core)?;
        if self.own.is_some() {
            self.own = Some(OwnCount::open(&self.event, self.core)?);
        }
        self.is_closed = true;
        self.let_in()?;
        self.tally.anew += 1;
        // The enforcer is asked at the next event, and says when to ask it after that.
        self.arm(Some(1))
    }

    /// Lets the counter ring after so many more events.
    fn arm(&mut self, events: Option<u64>) -> io::Result<()> {
        // The counter rests meanwhile, and so does the other one.
        match &self.own {
            Some(own) => own.without(|| self.alarm.arm(events)),
            None => self.alarm.arm(events),
        }
    }

    /// Closes the gate and sleeps until the period is over or the core is called.
    fn keep_away(&mut self, gate: &dyn Gate, boundary: u64) -> io::Result<()> {
        if !self.is_closed {
            gate.close(self.core)?;
            self.is_closed = true;
        }
        loop {
            let left = boundary.saturating_sub(now());
            if left == 0 || self.shared.is_over() || self.shared.is_called(self.core) {
                return self.is_here();
            }
            if wait(&self.alarm, self.bell(), Some(left))? == Woken::Rang {
                // The kernel's own threads, and ours, are not kept away.
                self.tally.silenced += u64::from(self.alarm.rung().throttled);
            }
        }
    }

    /// Opens the gate where it is closed.
    fn let_in(&mut self) -> io::Result<()> {
        match self.gate {
            Some(gate) if self.is_closed => {
                gate.open(self.core)?;
                self.is_closed = false;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// When the first period begins; `None` where it never does.
    fn wait_for_origin(&self) -> io::Result<Option<u64>> {
        loop {
            match self.shared.origin() {
                _ if self.shared.is_over() => return Ok(None),
                0 => drop(wait(&self.alarm, self.bell(), None)?),
                origin if now() >= origin => return Ok(Some(origin)),
                origin => drop(wait(&self.alarm, self.bell(), Some(origin.saturating_sub(now())))?),
            }
        }
    }

    fn bell(&self) -> Option<&OwnedFd> {
        self.shared.bells.get(self.core.index())
    }

    /// Asks the enforcer and does what it says; returns when the period is over, since the first began.
    fn decide(&mut self, at: u64, count: u64, event: Event, occupied: &mut Occupied) -> io::Result<u64> {
        let (mut armed, mut calls) = (None, CoreSet::EMPTY);
        let (core, tally, shared) = (self.core, &mut self.tally, self.shared);
        let other = |action| match action {
            Action::Arm(Direction::Reads, events) => armed = Some(events),
            Action::Call(cores) => calls = cores,
            Action::Report(report) => shared.note(core, tally.report(&report)),
            _ => {}
        };
        let Ok(boundary) =
            self.shared.decider().decide(Instant::new(at), core, count, event, occupied, other);
        calls.iter().filter(|other| *other != core).for_each(|other| self.shared.call(other));
        if let Some(events) = armed {
            self.arm(events.map(|events| events.get()))?;
        }
        Ok(boundary.get())
    }

    /// Computes until the period is over or the core is called.
    fn occupy(&mut self, boundary: u64) -> io::Result<()> {
        let (mut last, mut looks) = (now(), 0);
        while last < boundary && !self.shared.is_over() && !self.shared.is_called(self.core) {
            std::hint::spin_loop();
            let time = now();
            if time - last > TAKEN_AWAY {
                self.tally.taken_away.add(time - last);
            }
            last = time;
            looks += 1;
            if looks % LOOKS == 0 {
                self.is_here()?;
            }
        }
        Ok(())
    }

    /// Linux moves threads away from a CPU that goes offline. Here an occupier must not stay: it would stop another one.
    fn is_here(&self) -> io::Result<()> {
        if sched::cpu() as usize == self.core.index() {
            return Ok(());
        }
        Err(went_offline())
    }

    /// Waits for the counter, the end of the period or a call.
    fn wait(&mut self, boundary: u64) -> io::Result<Event> {
        let woken = loop {
            let left = boundary.saturating_sub(now());
            match wait(&self.alarm, self.bell(), Some(left))? {
                Woken::Signal => {}
                woken => break woken,
            }
        };
        let time = now();
        self.is_here()?;
        self.shared.is_called(self.core);
        let rung = self.alarm.rung();
        self.tally.silenced += u64::from(rung.throttled);
        if let Some(first) = rung.first {
            self.tally.latency.add(time.saturating_sub(first));
        }
        Ok(if woken == Woken::Rang || rung.first.is_some() { Event::Overflow } else { Event::Period })
    }
}

fn went_offline() -> io::Error {
    io::Error::other("its CPU went offline")
}

/// Why a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Woken {
    Rang,
    Called,
    Time,
    Signal,
}

/// Waits for an alarm or a bell, so many nanoseconds at most.
fn wait(alarm: &Alarm, bell: Option<&OwnedFd>, nanoseconds: Option<u64>) -> io::Result<Woken> {
    let timeout = nanoseconds.map(|nanoseconds| Timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as i64,
        tv_nsec: (nanoseconds % 1_000_000_000) as i64,
    });
    let either =
        bell.map_or_else(|| PollFd::new(alarm, PollFlags::IN), |bell| PollFd::new(bell, PollFlags::IN));
    let mut wanted = [PollFd::new(alarm, PollFlags::IN), either];
    match poll(&mut wanted, timeout.as_ref()) {
        Ok(0) => return Ok(Woken::Time),
        Ok(_) => {}
        Err(Errno::INTR) => return Ok(Woken::Signal),
        Err(error) => return Err(error.into()),
    }
    let events = wanted[0].revents();
    if events.contains(PollFlags::IN) {
        return Ok(Woken::Rang);
    }
    if events.intersects(PollFlags::HUP | PollFlags::ERR) {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            "the counter is gone, as when its CPU goes offline",
        ));
    }
    if let Some(bell) = bell {
        let _ = rustix::io::read(bell, &mut [0u8; 8]);
    }
    Ok(Woken::Called)
}

/// Causes whatever can be counted: new pages, instructions, misses, switches.
fn cause_events() {
    let mut memory = vec![0u8; 4 << 20];
    for round in 0..2u8 {
        memory.iter_mut().step_by(64).for_each(|byte| *byte = byte.wrapping_add(round + 1));
        std::hint::black_box(&mut memory);
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}
