//! What threads have asked for of a sporadic task, and when its jobs are released: as the kernel has it (`solo_kernel`'s arrivals).

use solo_model::task::Release;
use solo_model::{Duration, Instant};
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
    distance: Duration,
    state: Mutex<State>,
    came: Condvar,
}

#[derive(Default, Debug)]
struct State {
    /// Releases that no job has taken yet, ascending.
    waiting: VecDeque<Instant>,
    /// The last release that was admitted.
    last: Option<Instant>,
}

impl Asked {
    /// Nothing yet; `None` for tasks that are not sporadic.
    pub(crate) fn of(release: Release) -> Option<Self> {
        let Release::Sporadic { distance } = release else { return None };
        Some(Self { distance, state: Mutex::default(), came: Condvar::new() })
    }

    /// A job is wanted at `at`: it is released then, or when the least distance has passed since the one before. While one is held back,
    /// nothing more is released.
    pub(crate) fn ask(&self, now: Instant, at: Instant) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.last.is_some_and(|last| last > now) {
            return;
        }
        let earliest = state.last.map_or(Instant::ZERO, |last| last + self.distance);
        let due = at.max(earliest);
        state.last = Some(due);
        if state.waiting.len() == MOST {
            state.waiting.pop_front();
        }
        state.waiting.push_back(due);
        self.came.notify_one();
    }

    /// Waits until a job is wanted and says when it is released; `None` where the run was over.
    pub(crate) fn next(&self, over: &AtomicBool) -> Option<Instant> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while !over.load(Ordering::Relaxed) {
            if let Some(release) = state.waiting.pop_front() {
                return Some(release);
            }
            let waited = self.came.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, a least distance of 10: asked at 3, 5 and 6, one at 3 and one at 13; at 40 for 60, and again before that.
    #[test]
    fn jobs_keep_their_distance_and_one_is_held_back() {
        let asked = Asked::of(Release::Sporadic { distance: Duration::new(10) }).expect("it is sporadic");
        let at = Instant::new;
        for (now, wanted) in [(3, 3), (5, 5), (6, 6), (40, 60), (50, 50), (61, 61)] {
            asked.ask(at(now), at(wanted));
        }
        let over = AtomicBool::new(false);
        let found: Vec<u64> = (0..4).filter_map(|_| asked.next(&over)).map(Instant::get).collect();
        assert_eq!(found, [3, 13, 60, 70]);
        over.store(true, Ordering::Relaxed);
        assert_eq!(asked.next(&over), None);
        assert!(Asked::of(Release::Once { offset: Duration::ZERO }).is_none());
    }
}
