//! The alarms that were set on a core: releases to come and sleepers to wake up.

use solo_model::{Instant, ThreadId};
use solo_schedule::Queue;

/// Whom an alarm concerns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Alarm {
    /// A job of this thread is to be released.
    Release(ThreadId),
    /// This thread has slept for long enough.
    WakeUp(ThreadId),
}

/// A core's alarms in the order of their times, at the same time releases before sleepers, each by the index of the thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Alarms {
    /// A thread that is to be woken up has a number above all threads, so that one queue serves both.
    queue: Queue<(Instant, ThreadId)>,
}

impl Alarms {
    /// No alarm yet, and room for two of each of `threads`.
    pub(crate) fn for_threads(threads: usize) -> Self {
        Self { queue: Queue::for_threads(2 * threads) }
    }

    /// Sets the next release of `thread`.
    pub(crate) fn set_release(&mut self, thread: ThreadId, due: Instant) {
        self.queue.insert(thread, (due, thread));
    }

    /// Sets when `thread` is to be woken up.
    pub(crate) fn set_wake_up(&mut self, thread: ThreadId, due: Instant) {
        let number = ThreadId(thread.0 + self.threads());
        self.queue.insert(number, (due, number));
    }

    /// `thread` is not released any more.
    pub(crate) fn cancel_release(&mut self, thread: ThreadId) {
        self.queue.remove(thread);
    }

    /// When the first alarm is due; with its number, which orders alarms of one time.
    #[inline]
    pub(crate) fn first(&self) -> Option<(Instant, ThreadId)> {
        self.queue.first().map(|(key, _)| key)
    }

    /// True where an alarm is due at `horizon`.
    #[inline]
    pub(crate) fn is_due(&self, horizon: Instant) -> bool {
        self.first().is_some_and(|(due, _)| due <= horizon)
    }

    /// Takes the first alarm, where it is due at `horizon`.
    #[inline]
    pub(crate) fn take_due(&mut self, horizon: Instant) -> Option<(Instant, Alarm)> {
        let (due, number) = self.first().filter(|(due, _)| *due <= horizon)?;
        self.queue.remove(number);
        let sleeper = number.0.checked_sub(self.threads()).map(ThreadId);
        Some((due, sleeper.map_or(Alarm::Release(number), Alarm::WakeUp)))
    }

    fn threads(&self) -> u32 {
        (self.queue.room() / 2) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_come_before_sleepers_of_the_same_time_and_lower_threads_first() {
        let mut alarms = Alarms::for_threads(3);
        let at = Instant::new;
        alarms.set_wake_up(ThreadId(0), at(5));
        alarms.set_release(ThreadId(2), at(5));
        alarms.set_release(ThreadId(1), at(5));
        alarms.set_release(ThreadId(0), at(6));
        assert!(!alarms.is_due(at(4)) && alarms.take_due(at(4)).is_none());
        let mut taken = || alarms.take_due(at(5));
        assert_eq!(taken(), Some((at(5), Alarm::Release(ThreadId(1)))));
        assert_eq!(taken(), Some((at(5), Alarm::Release(ThreadId(2)))));
        assert_eq!(taken(), Some((at(5), Alarm::WakeUp(ThreadId(0)))));
        assert_eq!(taken(), None);
        alarms.cancel_release(ThreadId(0));
        assert_eq!(alarms.first(), None);
    }
}
