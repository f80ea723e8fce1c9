//! Keeps the schedule around the worst job of a run.
//!
//! The last [`RING`] stretches of time are always at hand. When a job finishes that came off worse than all
//! before it, they are copied, and the copy goes on until a margin after the job's end. Where more happened
//! than is kept, the window is shorter.

use super::core::CoreSummary;
use crate::report::{Segment, WorstWindow};
use solo_model::{CoreId, Duration, Instant, JobRecord, TaskClass, TaskId};
use std::collections::VecDeque;

/// How many stretches of time are kept.
const RING: usize = 4096;

/// How badly a job came off: a miss above no miss, hard above soft, then response time against deadline.
/// Jobs without a deadline come below all others, by response time.
#[derive(Clone, Copy)]
struct Badness {
    judged: bool,
    missed: bool,
    class: TaskClass,
    response: Duration,
    deadline: Duration,
}

impl Badness {
    fn is_worse_than(&self, other: &Self) -> bool {
        let rank = |b: &Self| (b.judged, b.missed, std::cmp::Reverse(b.class));
        let scaled = |a: &Self, b: &Self| u128::from(a.response.get()) * u128::from(b.deadline.get());
        match rank(self).cmp(&rank(other)) {
            std::cmp::Ordering::Equal => scaled(self, other) > scaled(other, self),
            order => order.is_gt(),
        }
    }
}

/// The schedule around the worst job so far.
pub(super) struct WindowKeeper {
    /// Past stretches by their end, all cores mixed.
    ring: VecDeque<Segment>,
    /// The end of the last stretch that had to leave the ring.
    forgotten: Instant,
    worst: Option<(Badness, WorstWindow)>,
    /// True while the window of the worst job still goes on.
    open: bool,
}

impl WindowKeeper {
    pub(super) fn new() -> Self {
        let ring = VecDeque::with_capacity(RING);
        Self { ring, forgotten: Instant::ZERO, worst: None, open: false }
    }

    /// A core ran `task` until now.
    pub(super) fn ran(&mut self, core: CoreId, task: Option<TaskId>, from: Instant, to: Instant) {
        let Some(task) = task.filter(|_| from < to) else { return };
        let segment = Segment { core, from, to, task };
        if self.ring.len() == RING {
            self.forgotten = self.ring.pop_front().map_or(self.forgotten, |oldest| oldest.to);
        }
        self.ring.push_back(segment);
        if let Some((_, window)) = self.worst.as_mut().filter(|_| self.open) {
            window.segments.extend(clip(segment, window.from, window.to));
            if window.segments.len() >= 2 * RING {
                window.to = to.max(window.finish);
            }
        }
    }

    /// A job finished: it may be the worst.
    pub(super) fn consider(&mut self, job: &JobRecord, class: TaskClass, relative: Option<Duration>) {
        let response = job.response();
        let relative = job.deadline.map(|deadline| deadline.since(job.release)).or(relative);
        let badness = Badness {
            judged: job.deadline.is_some(),
            missed: job.missed(),
            class,
            response,
            deadline: relative.unwrap_or(Duration::new(1)).max(Duration::new(1)),
        };
        if self.worst.as_ref().is_some_and(|(worst, _)| !badness.is_worse_than(worst)) {
            return;
        }
        // Half the response time before and a quarter after show what led to it and what came of it.
        let late_end = job.deadline.map_or(job.finish, |deadline| deadline.max(job.finish));
        let from = Instant::new(job.release.get().saturating_sub(response.get() / 2));
        let from = from.max(self.forgotten.min(job.finish));
        let to = Instant::new(late_end.get().saturating_add(response.get() / 4));
        let window = WorstWindow {
            task: job.task,
            job: job.job,
            release: job.release,
            start: job.start,
            finish: job.finish,
            deadline: job.deadline,
            from,
            to,
            segments: self.ring.iter().filter_map(|segment| clip(*segment, from, to)).collect(),
        };
        self.worst = Some((badness, window));
        self.open = true;
    }

    /// Time has come to `now`: an open window whose end is reached is completed.
    pub(super) fn advance(&mut self, now: Instant, cores: &[CoreSummary]) {
        let Some((_, window)) = self.worst.as_mut().filter(|(_, window)| self.open && now >= window.to)
        else {
            return;
        };
        self.open = false;
        // Tasks that are still on a core have no stretch in the ring yet.
        for (index, core) in cores.iter().enumerate() {
            let (Some(task), from) = core.running() else { continue };
            let segment = Segment { core: CoreId(index as u16), from, to: Instant::MAX, task };
            window.segments.extend(clip(segment, window.from, window.to));
        }
    }

    pub(super) fn into_worst(self, end: Instant) -> Option<WorstWindow> {
        let (_, mut window) = self.worst?;
        window.to = window.to.min(end.max(window.finish));
        for segment in &mut window.segments {
            segment.to = segment.to.min(window.to);
        }
        window.segments.retain(|segment| segment.from < segment.to);
        window.segments.sort_unstable();
        Some(window)
    }
}

/// The part of a stretch that lies within `from..to`.
fn clip(segment: Segment, from: Instant, to: Instant) -> Option<Segment> {
    let clipped = Segment { from: segment.from.max(from), to: segment.to.min(to), ..segment };
    (clipped.from < clipped.to).then_some(clipped)
}
