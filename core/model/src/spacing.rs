//! When the jobs of a sporadic task are released that devices and threads ask for: none sooner than its least distance after the one before.
//!
//! ```text
//!   asked for now ──▶ the distance has passed: released at once
//!                ├──▶ it has not: held back until it has
//!                └──▶ one is held back already: merged with it
//!   asked for later ─▶ kept until then, and from then on as if it were asked for now;
//!                      of several that are kept, the first counts
//! ```

use crate::units::{Duration, Instant};

/// What becomes of a request for a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Requested {
    /// A job is released, and this is its nominal release.
    Released(Instant),
    /// One is released later: [`Spacing::due`] says when.
    Kept,
    /// One is kept or held back already that comes no later: the two release one job.
    Merged,
}

/// The releases of one sporadic task. The same value serves the kernel and processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spacing {
    distance: Duration,
    /// No job is released before.
    earliest: Instant,
    /// One was asked for sooner than that, and is released then.
    held: bool,
    /// One is asked for then, which is still to come.
    later: Option<Instant>,
}

impl Spacing {
    /// Nothing was asked for yet. Two releases are `distance` apart at least.
    pub fn new(distance: Duration) -> Self {
        Self { distance, earliest: Instant::ZERO, held: false, later: None }
    }

    /// A job is asked for at `at`, which may be later than `now`.
    pub fn request(&mut self, now: Instant, at: Instant) -> Requested {
        self.come(now);
        if at > now {
            if self.later.is_some_and(|later| later <= at) {
                return Requested::Merged;
            }
            self.later = Some(at);
            return Requested::Kept;
        }
        if self.held {
            return Requested::Merged;
        }
        let due = at.max(self.earliest);
        if due > now {
            self.held = true;
            return Requested::Kept;
        }
        self.earliest = due + self.distance;
        Requested::Released(due)
    }

    /// What was asked for until `now` ahead of time is held back like what is asked for now.
    fn come(&mut self, now: Instant) {
        let Some(later) = self.later.filter(|later| *later <= now) else { return };
        if !self.held {
            (self.held, self.earliest, self.later) = (true, self.earliest.max(later), None);
        } else if later < self.earliest {
            self.later = None;
        }
    }

    /// When the next job is released, if nothing more is asked for.
    pub fn due(&self) -> Option<Instant> {
        if self.held { Some(self.earliest) } else { self.later.map(|later| later.max(self.earliest)) }
    }

    /// The nominal release of a job that is due at `now`: it is released herewith.
    pub fn take_due(&mut self, now: Instant) -> Option<Instant> {
        let due = self.due().filter(|due| *due <= now)?;
        // What came while it was held back releases one job with it.
        let merged = |later: &Instant| if self.held { *later < due } else { true };
        if self.later.as_ref().is_some_and(merged) {
            self.later = None;
        }
        self.held = false;
        self.earliest = due + self.distance;
        Some(due)
    }

    /// Nobody will serve what was asked for.
    pub fn clear(&mut self) {
        (self.held, self.later) = (false, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;
    use alloc::vec::Vec;

    fn at(time: u64) -> Instant {
        Instant::new(time)
    }

    /// The releases that requests `(when, for when)` lead to: at each step first what is due, then what is asked for.
    fn released(distance: u64, requests: &[(u64, u64)], until: u64) -> Vec<u64> {
        let (mut spacing, mut found) = (Spacing::new(Duration::new(distance)), Vec::new());
        for now in 0..until {
            found.extend(spacing.take_due(at(now)).map(Instant::get));
            for (_, wanted) in requests.iter().filter(|(when, _)| *when == now) {
                if let Requested::Released(due) = spacing.request(at(now), at(*wanted)) {
                    found.push(due.get());
                }
            }
        }
        found
    }

    /// The same by definition: a clock that rings once for what is asked for later, a flag for what is held back.
    fn by_definition(distance: u64, requests: &[(u64, u64)], until: u64) -> Vec<u64> {
        let (mut rings, mut held, mut found): (Option<u64>, bool, Vec<u64>) = (None, false, Vec::new());
        for now in 0..until {
            let may = |found: &[u64]| found.last().is_none_or(|last| now >= last + distance);
            if held && may(&found) {
                held = false;
                found.push(now);
            }
            let mut asks = usize::from(rings == Some(now));
            rings = rings.filter(|rings| *rings > now);
            for (_, wanted) in requests.iter().filter(|(when, _)| *when == now) {
                if *wanted > now {
                    rings = Some(rings.map_or(*wanted, |rings| rings.min(*wanted)));
                } else {
                    asks += 1;
                }
            }
            for _ in 0..asks {
                if may(&found) {
                    found.push(now);
                } else {
                    held = true;
                }
            }
        }
        found
    }

    /// What is asked for, and the releases.
    type Case = (&'static [(u64, u64)], &'static [u64]);

    #[test]
    fn releases_are_those_of_lists_by_hand() {
        let cases: [Case; 8] = [
            // Asked at 3, 5 and 6: at 3, and one held back for the others.
            (&[(3, 3), (5, 5), (6, 6)], &[3, 13]),
            // What is asked for later does not stand in the way of what is asked for now, and comes as well.
            (&[(3, 3), (20, 60), (30, 30)], &[3, 30, 60]),
            // Unless its time comes while another is held back.
            (&[(3, 3), (4, 12), (5, 5)], &[3, 13]),
            // Too soon after the one before, it is held back itself.
            (&[(3, 8), (4, 4)], &[4, 14]),
            // Of several that are kept the first counts, whichever was asked for first.
            (&[(3, 60), (4, 50)], &[50]),
            (&[(3, 50), (4, 60)], &[50]),
            // One whose time has come is kept no more: it is held back, and there is room for another.
            (&[(3, 3), (4, 8), (9, 40)], &[3, 13, 40]),
            // Two at one time are two jobs, a distance apart.
            (&[(3, 20), (20, 20)], &[20, 30]),
        ];
        for (requests, wanted) in cases {
            assert_eq!(released(10, requests, 100), wanted, "{requests:?}");
            assert_eq!(by_definition(10, requests, 100), wanted, "{requests:?}");
        }
    }

    #[test]
    fn random_requests_lead_to_the_releases_of_the_definition() {
        let mut dice = SplitMix64::new(0x5_9ac1);
        let (mut jobs, mut asked) = (0, 0);
        for _ in 0..2_000 {
            let distance = 1 + dice.below(20);
            let requests: Vec<(u64, u64)> = (0..dice.below(30))
                .map(|_| (dice.below(200), if dice.below(2) == 0 { 0 } else { 1 + dice.below(60) }))
                .map(|(when, after)| (when, when + after))
                .collect();
            let found = released(distance, &requests, 400);
            assert_eq!(found, by_definition(distance, &requests, 400), "{distance} {requests:?}");
            assert!(found.windows(2).all(|two| two[1] - two[0] >= distance));
            jobs += found.len();
            asked += requests.len();
        }
        assert!(jobs > 10_000 && asked > jobs, "{jobs} of {asked}");
    }

    /// Whoever looks late finds the nominal times all the same.
    #[test]
    fn who_looks_late_misses_nothing() {
        let mut spacing = Spacing::new(Duration::new(10));
        assert_eq!(spacing.request(at(3), at(3)), Requested::Released(at(3)));
        assert_eq!(spacing.request(at(5), at(5)), Requested::Kept);
        assert_eq!(spacing.request(at(5), at(40)), Requested::Kept);
        assert_eq!(spacing.due(), Some(at(13)));
        assert_eq!(spacing.take_due(at(12)), None);
        assert_eq!(spacing.take_due(at(90)), Some(at(13)));
        assert_eq!(spacing.take_due(at(90)), Some(at(40)));
        assert_eq!(spacing.take_due(at(90)), None);
        assert_eq!(spacing.request(at(90), at(95)), Requested::Kept);
        assert_eq!(spacing.request(at(91), at(95)), Requested::Merged);
        spacing.clear();
        assert_eq!(spacing.due(), None);
    }
}
