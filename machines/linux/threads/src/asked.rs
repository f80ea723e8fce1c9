//! What threads have asked for of a sporadic task: when its jobs are released, and which of them wait.

use solo_model::Instant;
use solo_model::spacing::{Requested, Spacing};
use solo_model::task::Release;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// Releases that wait while an earlier job runs on, at most; the oldest is given up for one more.
const MOST: usize = 1024;
/// Who waits looks at least this often whether the run is over.
const LOOK: std::time::Duration = std::time::Duration::from_millis(20);

/// What was asked for of a task.
#[derive(Debug)]
pub(crate) struct Asked {
    state: Mutex<State>,
    came: Condvar,
}

#[derive(Debug)]
struct State {
    spacing: Spacing,
    /// Releases that no job has taken yet, ascending.
    waiting: VecDeque<Instant>,
}

impl State {
    /// What is due at `now` is released.
    fn settle(&mut self, now: Instant) {
        while let Some(due) = self.spacing.take_due(now) {
            self.wait(due);
        }
    }

    /// A job waits that is released at `due`.
    fn wait(&mut self, due: Instant) {
        if self.waiting.len() == MOST {
            self.waiting.pop_front();
        }
        self.waiting.push_back(due);
    }
}

impl Asked {
    /// Nothing yet; `None` for tasks that are not sporadic.
    pub(crate) fn of(release: Release) -> Option<Self> {
        let Release::Sporadic { distance } = release else { return None };
        let state = State { spacing: Spacing::new(distance), waiting: VecDeque::new() };
        Some(Self { state: Mutex::new(state), came: Condvar::new() })
    }

    /// A job is wanted at `at`, which may be later than `now`.
    pub(crate) fn ask(&self, now: Instant, at: Instant) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.settle(now);
        if let Requested::Released(due) = state.spacing.request(now, at) {
            state.wait(due);
        }
        self.came.notify_one();
    }

    /// Waits until a job is released and says when that was; `None` where the run was over.
    pub(crate) fn next(&self, over: &AtomicBool, now: impl Fn() -> Instant) -> Option<Instant> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while !over.load(Ordering::Relaxed) {
            let at = now();
            state.settle(at);
            if let Some(release) = state.waiting.pop_front() {
                return Some(release);
            }
            let left = state.spacing.due().map(|due| std::time::Duration::from_nanos(due.since(at).get()));
            let waited = self.came.wait_timeout(state, left.map_or(LOOK, |left| left.min(LOOK)));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::Duration;
    use std::sync::atomic::AtomicU64;

    /// By hand, a least distance of 10: asked at 3, 5 and 6, one at 3 and one at 13; at 40 for 60, and again at 50, which does not wait for that.
    #[test]
    fn jobs_keep_their_distance_and_who_asks_now_waits_for_nothing_later() {
        let asked = Asked::of(Release::Sporadic { distance: Duration::new(10) }).expect("it is sporadic");
        let at = Instant::new;
        for (now, wanted) in [(3, 3), (5, 5), (6, 6), (40, 60), (50, 50), (61, 61)] {
            asked.ask(at(now), at(wanted));
        }
        let over = AtomicBool::new(false);
        let found: Vec<u64> =
            (0..5).filter_map(|_| asked.next(&over, || at(100))).map(Instant::get).collect();
        assert_eq!(found, [3, 13, 50, 60, 70]);
        over.store(true, Ordering::Relaxed);
        assert_eq!(asked.next(&over, || at(100)), None);
        assert!(Asked::of(Release::Once { offset: Duration::ZERO }).is_none());
    }

    /// Who waits for a job of later is given the one that is asked for meanwhile.
    #[test]
    fn who_waits_hears_of_what_comes_sooner() {
        let asked = Asked::of(Release::Sporadic { distance: Duration::new(10) }).expect("it is sporadic");
        let (clock, over) = (AtomicU64::new(0), AtomicBool::new(false));
        let now = || Instant::new(clock.load(Ordering::SeqCst));
        asked.ask(now(), Instant::new(u64::MAX / 2));
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| asked.next(&over, now));
            clock.store(7, Ordering::SeqCst);
            asked.ask(now(), now());
            assert_eq!(waits.join().expect("it waits in peace"), Some(Instant::new(7)));
        });
    }
}
