//! A core as the kernel sees it: its time, its alarms, what it runs.

use crate::alarm::Alarms;
use solo_model::{Bytes, CoreId, CoreSet, Duration, Instant, ThreadId};

/// What the kernel keeps of a core, its queues apart.
pub const CORE_BYTES: Bytes = Bytes::new(size_of::<Core>() as u64);

/// A core as the kernel sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Core {
    /// The position of its domain.
    pub(crate) domain: usize,
    /// The other cores of its domain and those that jobs migrate to from it or to it, whose alarms it answers for as well.
    pub(crate) peers: CoreSet,
    /// The thread that is on the core. Differs from its domain's head only within an entry.
    pub(crate) current: Option<ThreadId>,
    /// The releases that this core's timer has to make, and whom it wakes up.
    pub(crate) alarms: Alarms,
    /// Until when the current thread's execution has been accounted for.
    accounted: Instant,
    /// What its timer is programmed to.
    armed: Option<Instant>,
    /// Ticks seen since the start.
    ticks: u64,
    /// It has been asked to reschedule and has not done so yet.
    asked: bool,
    /// Counter overflows.
    overflows: u64,
}

/// What a core's timer has to be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TimerChange {
    /// It stays as it is.
    Keep,
    /// It is to interrupt then.
    Arm(Instant),
    /// It is not to interrupt.
    Disarm,
}

impl Core {
    /// `core` of the domain at position `domain`, which answers for the alarms of `cores`.
    pub(crate) fn new(core: CoreId, domain: usize, cores: CoreSet, threads: usize) -> Self {
        Self {
            domain,
            peers: cores.without(core),
            current: None,
            alarms: Alarms::for_threads(threads),
            accounted: Instant::ZERO,
            armed: None,
            ticks: 0,
            asked: false,
            overflows: 0,
        }
    }

    /// Its time begins.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.accounted = now;
    }

    /// The time since the core was last accounted for, which is accounted for now.
    #[inline]
    pub(crate) fn account(&mut self, now: Instant) -> Duration {
        let ran = now.since(self.accounted);
        self.accounted = self.accounted.max(now);
        ran
    }

    /// Until when it has been accounted for.
    #[inline]
    pub(crate) fn accounted(&self) -> Instant {
        self.accounted
    }

    /// Counts the ticks of this length since `epoch` that have passed since the last look. Returns the time of the last one,
    /// and how many are new.
    #[inline]
    pub(crate) fn count_ticks(&mut self, tick: Duration, epoch: Instant, now: Instant) -> (Instant, u64) {
        let ticks = now.since(epoch) / tick;
        let passed = ticks.saturating_sub(self.ticks);
        self.ticks += passed;
        (epoch + tick * ticks, passed)
    }

    /// The first tick of this length since `epoch` that has not been counted: it may have passed, and its interrupt be under
    /// way.
    pub(crate) fn next_tick(&self, tick: Duration, epoch: Instant) -> Instant {
        epoch + tick * (self.ticks + 1)
    }

    /// Its timer has interrupted: nothing is programmed any more.
    #[inline]
    pub(crate) fn timer_fired(&mut self) {
        self.armed = None;
    }

    /// What its timer has to be told so that it interrupts at `next`. One whose time is over is programmed again: its
    /// interrupt may have been lost, and what was due would never be done.
    #[inline]
    pub(crate) fn reprogram(&mut self, next: Option<Instant>) -> TimerChange {
        let armed = core::mem::replace(&mut self.armed, next);
        match next {
            _ if armed == next && next.is_none_or(|at| at >= self.accounted) => TimerChange::Keep,
            Some(at) => TimerChange::Arm(at),
            None => TimerChange::Disarm,
        }
    }

    /// It is asked to reschedule. True where it has been asked already and has not answered.
    #[inline]
    pub(crate) fn ask(&mut self) -> bool {
        core::mem::replace(&mut self.asked, true)
    }

    /// True where it has been asked and has not answered.
    #[inline]
    pub(crate) fn is_asked(&self) -> bool {
        self.asked
    }

    /// It reschedules, or the request is taken for lost.
    #[inline]
    pub(crate) fn answer(&mut self) {
        self.asked = false;
    }

    /// One of its counters has overflowed.
    pub(crate) fn overflowed(&mut self) {
        self.overflows += 1;
    }

    /// How often its counters have overflowed.
    pub(crate) fn overflows(&self) -> u64 {
        self.overflows
    }
}
