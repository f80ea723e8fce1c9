//! What a job does, walked step by step: how long it computes, sleeps and holds locks.

use super::pace::Pace;
use solo_model::work::{LockProtocol, Pattern, Step, Touch, Visit};
use solo_model::{Duration, LockId};

/// What the steps of a job come to, in nanoseconds on cores that have no busy SMT sibling: the longest on the slowest of them, the
/// shortest on the fastest.
#[derive(Clone, Default, Debug)]
pub(super) struct Profile {
    /// The longest that it computes, memory apart.
    pub(super) computed: u64,
    /// The shortest that it takes when nothing delays it.
    pub(super) least: u64,
    /// It makes accesses to memory.
    pub(super) touches: bool,
    /// It writes to memory.
    pub(super) writes: bool,
    /// Some of its accesses don't wait for one another.
    pub(super) streams: bool,
    /// It executes instructions of a phase, which no two kinds of cores do in the same proportion.
    pub(super) phases: bool,
    /// It replays a recorded program.
    pub(super) replays: bool,
    /// The smallest distance between neighboring accesses of a step.
    pub(super) finest_stride: Option<u64>,
    /// The longest computation that follows an access.
    pub(super) think: u64,
    /// Lock operations.
    pub(super) operations: u64,
    /// How often it sleeps.
    pub(super) sleeps: u64,
    /// The longest that it sleeps in all.
    pub(super) asleep: u64,
    /// The stretches in which it holds locks.
    pub(super) sections: Vec<Section>,
    /// Semaphores that it takes or gives.
    pub(super) semaphores: Vec<usize>,
    /// Mutexes that it still holds at the end of a job, or of a round of a repeated part.
    pub(super) kept: Vec<usize>,
}

/// A stretch of a job in which it holds mutexes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Section {
    /// Which: one, or all of a chain of stretches that overlap without being nested.
    pub(crate) locks: Vec<usize>,
    /// How long it computes in it; `None` where it touches memory.
    pub(crate) length: Option<u64>,
    /// Lock operations in it, those that begin and end it among them.
    pub(crate) operations: u64,
    /// It sleeps in it.
    pub(crate) sleeps: bool,
}

/// What a job has done so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Mark {
    computed: u64,
    touches: u64,
    sleeps: u64,
    operations: u64,
}

/// A walk over the steps of a job.
pub(super) struct Walk<'a> {
    protocols: &'a [LockProtocol],
    pace: &'a Pace<'a>,
    profile: Profile,
    now: Mark,
    /// Mutexes held, the last taken last.
    held: Vec<(usize, Mark)>,
    /// Since when it has held at least one, and whether they were given back in the order of nesting.
    since: Mark,
    nested: bool,
    /// The sections of the stretch under way, each of one mutex.
    within: Vec<Section>,
    /// What had been found where the repetitions under way began.
    rounds: Vec<Round>,
}

/// What grows with each round.
struct Counts {
    sleeps: u64,
    asleep: u64,
    least: u64,
}

/// The beginning of the first round of a repetition.
struct Round {
    profile: Counts,
    now: Mark,
    held: Vec<usize>,
}

impl<'a> Walk<'a> {
    /// The profile of a job with these steps on cores of that pace, where lock `i` has `protocols[i]`.
    pub(super) fn of(steps: &[Step], pace: &'a Pace<'a>, protocols: &'a [LockProtocol]) -> Profile {
        let mut walk = Self {
            protocols,
            pace,
            profile: Profile::default(),
            now: Mark::default(),
            held: Vec::new(),
            since: Mark::default(),
            nested: true,
            within: Vec::new(),
            rounds: Vec::new(),
        };
        walk.visit(steps);
        let kept: Vec<usize> = walk.held.iter().map(|&(lock, _)| lock).collect();
        walk.profile.kept.extend(kept);
        // Of a stretch that has no end.
        walk.profile.sections.append(&mut walk.within);
        walk.profile.computed = walk.now.computed;
        walk.profile.operations = walk.now.operations;
        walk.profile
    }

    /// One round of each repetition is walked; the others compute and sleep as long and take the same locks for as long.
    fn visit(&mut self, steps: &[Step]) {
        // Levels of repetitions inside one that is done no times at all.
        let mut skipped = 0_u32;
        for visit in solo_model::work::walk(steps) {
            match visit {
                Visit::Begin { times } if skipped > 0 || times == 0 => skipped += 1,
                Visit::End { .. } if skipped > 0 => skipped -= 1,
                _ if skipped > 0 => {}
                Visit::Begin { .. } => {
                    let round = Round { profile: self.counts(), now: self.now, held: self.names_held() };
                    self.rounds.push(round);
                }
                Visit::End { times } => self.repeat(times),
                Visit::Step(step) => self.step(step),
            }
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Compute(span) => self.compute(span.least, span.most),
            Step::Execute(execute) => {
                self.profile.phases = true;
                let [least, most] = self.pace.executes(&execute.phase, execute.instructions);
                self.now.computed = self.now.computed.saturating_add(most.get());
                self.profile.least = self.profile.least.saturating_add(least.get());
                if let Some(touch) = &execute.touch {
                    // Those at an access are done in one piece, as far as they are few.
                    self.profile.think = self.profile.think.max(most.get());
                    self.touch(touch);
                }
            }
            Step::Touch(touch) => self.touch(touch),
            Step::Replay(_) => {
                self.now.touches += 1;
                self.profile.touches = true;
                self.profile.writes = true;
                self.profile.replays = true;
            }
            Step::Acquire(lock) => self.take(*lock),
            Step::Release(lock) => self.give_back(*lock),
            Step::Sleep(span) if span.most.is_zero() => {}
            Step::Sleep(span) => {
                self.now.sleeps += 1;
                self.profile.sleeps = self.profile.sleeps.saturating_add(1);
                self.profile.asleep = self.profile.asleep.saturating_add(span.most.get());
                self.profile.least = self.profile.least.saturating_add(span.least.get());
            }
            // No task of a scenario that empties caches has a bound: see `Open::Flushes`.
            Step::Flush(_) => {
                self.now.touches += 1;
                self.profile.touches = true;
                self.profile.writes = true;
            }
            // Nobody knows what it does, but that an interrupt is taken within it at any time. Of one that is not of best effort nothing is
            // proved: see `Open::Command`.
            Step::Command(_) => {
                self.now.touches += 1;
                self.profile.touches = true;
                self.profile.writes = true;
            }
            // In no time.
            Step::Allocate { .. } | Step::Free(_) | Step::Repeat { .. } => {}
        }
    }

    fn touch(&mut self, touch: &Touch) {
        let think = Duration::new(touch.think.get().saturating_mul(touch.accesses));
        self.compute(think, think);
        self.now.touches += 1;
        let profile = &mut self.profile;
        profile.touches = true;
        profile.think = profile.think.max(self.pace.longest(touch.think).get());
        // Rows are written whatever the share.
        profile.writes |= touch.writes.get() > 0 || matches!(touch.pattern, Pattern::Rows { .. });
        profile.streams |= matches!(touch.pattern, Pattern::Stream | Pattern::Rows { .. });
        let stride = touch.stride.get().max(1);
        profile.finest_stride = Some(profile.finest_stride.map_or(stride, |least| least.min(stride)));
    }

    fn counts(&self) -> Counts {
        let Profile { sleeps, asleep, least, .. } = self.profile;
        Counts { sleeps, asleep, least }
    }

    fn names_held(&self) -> Vec<usize> {
        self.held.iter().map(|&(lock, _)| lock).collect()
    }

    fn compute(&mut self, least: Duration, most: Duration) {
        self.now.computed = self.now.computed.saturating_add(self.pace.longest(most).get());
        self.profile.least = self.profile.least.saturating_add(self.pace.shortest(least).get());
    }

    /// True for a semaphore, which is noted.
    fn is_semaphore(&mut self, lock: LockId) -> bool {
        self.now.operations = self.now.operations.saturating_add(1);
        let semaphore = matches!(self.protocols.get(lock.index()), Some(LockProtocol::Semaphore { .. }));
        if semaphore && !self.profile.semaphores.contains(&lock.index()) {
            self.profile.semaphores.push(lock.index());
        }
        semaphore
    }

    fn take(&mut self, lock: LockId) {
        // Taking a mutex that one holds has no effect.
        if self.is_semaphore(lock) || self.held.iter().any(|&(held, _)| held == lock.index()) {
            return;
        }
        if self.held.is_empty() {
            self.since = self.now;
            self.nested = true;
        }
        self.held.push((lock.index(), self.now));
    }

    fn give_back(&mut self, lock: LockId) {
        if self.is_semaphore(lock) {
            return;
        }
        let Some(at) = self.held.iter().rposition(|&(held, _)| held == lock.index()) else { return };
        self.nested &= at + 1 == self.held.len();
        let (lock, since) = self.held.remove(at);
        self.within.push(self.section(vec![lock], since));
        if self.held.is_empty() {
            let within = core::mem::take(&mut self.within);
            if self.nested {
                self.profile.sections.extend(within);
            } else {
                // Who waits for one of a chain waits to the end of the chain.
                let mut locks: Vec<usize> = within.iter().flat_map(|section| section.locks.clone()).collect();
                locks.sort_unstable();
                locks.dedup();
                let section = self.section(locks, self.since);
                self.profile.sections.push(section);
            }
        }
    }

    fn section(&self, locks: Vec<usize>, since: Mark) -> Section {
        let known = self.now.touches == since.touches;
        // It began when its first lock had been taken.
        let operations = self.now.operations.saturating_sub(since.operations).saturating_add(1);
        Section {
            locks,
            length: known.then(|| self.now.computed.saturating_sub(since.computed)),
            operations,
            sleeps: self.now.sleeps != since.sleeps,
        }
    }

    /// Ends a repetition of which the first round has been walked.
    fn repeat(&mut self, times: u32) {
        let Some(Round { profile: before, now, held }) = self.rounds.pop() else { return };
        if times > 1 {
            let after = self.names_held();
            let differs = |lock: &&usize| held.contains(lock) != after.contains(lock);
            let kept: Vec<usize> = held.iter().chain(&after).filter(differs).copied().collect();
            self.profile.kept.extend(kept);
        }
        let more = u64::from(times.saturating_sub(1));
        let grown =
            |now: u64, before: u64| now.saturating_add(now.saturating_sub(before).saturating_mul(more));
        let profile = &mut self.profile;
        profile.sleeps = grown(profile.sleeps, before.sleeps);
        profile.asleep = grown(profile.asleep, before.asleep);
        profile.least = grown(profile.least, before.least);
        self.now.computed = grown(self.now.computed, now.computed);
        self.now.operations = grown(self.now.operations, now.operations);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::work::Span;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }
    fn compute(n: u64) -> Step {
        Step::Compute(Span::exactly(ms(n)))
    }
    fn take(lock: u16) -> Step {
        Step::Acquire(LockId(lock))
    }
    fn give(lock: u16) -> Step {
        Step::Release(LockId(lock))
    }
    fn walk(steps: &[Step]) -> Profile {
        Walk::of(
            steps,
            &Pace::of(&solo_model::fixtures::chip(1), solo_model::CoreSet::first(1)),
            &[LockProtocol::Ceiling, LockProtocol::Ceiling, LockProtocol::Semaphore { units: 1 }],
        )
    }
    fn section(locks: &[usize], length: u64, operations: u64) -> Section {
        Section { locks: locks.to_vec(), length: Some(ms(length).get()), operations, sleeps: false }
    }

    #[test]
    fn a_job_that_only_computes_tells_how_long() {
        let round = vec![take(0), compute(2), give(0), compute(1)];
        let found = walk(&[compute(1), Step::Repeat { times: 3, steps: round }]);
        assert_eq!(found.computed, ms(10).get());
        assert_eq!((found.operations, found.sections), (6, vec![section(&[0], 2, 2)]));
        assert!(found.kept.is_empty());
    }

    /// Nested sections are two; those that overlap are one that holds both locks from first to last.
    #[test]
    fn sections_that_overlap_are_one() {
        let nested = walk(&[take(0), compute(2), take(1), compute(1), give(1), compute(2), give(0)]);
        assert_eq!(nested.sections, [section(&[1], 1, 2), section(&[0], 5, 4)]);
        let chained = walk(&[take(0), compute(2), take(1), compute(1), give(0), compute(2), give(1)]);
        assert_eq!(chained.sections, [section(&[0, 1], 5, 4)]);
    }

    /// What is held over a repetition holds all operations of all its rounds.
    #[test]
    fn a_section_counts_the_operations_within_it() {
        let round = vec![take(1), compute(1), give(1)];
        let found = walk(&[take(0), Step::Repeat { times: 3, steps: round }, give(0)]);
        assert_eq!(found.sections, [section(&[1], 1, 2), section(&[0], 3, 8)]);
        assert_eq!(found.operations, 8);
    }

    #[test]
    fn sleeps_semaphores_and_locks_that_are_kept_are_found() {
        let sleep = Step::Sleep(Span { least: ms(1), most: ms(4) });
        let round = vec![compute(1), sleep, take(2)];
        let found = walk(&[Step::Repeat { times: 5, steps: round }, take(0)]);
        assert_eq!((found.sleeps, found.asleep, found.least), (5, ms(20).get(), ms(10).get()));
        assert_eq!((found.semaphores, found.kept), (vec![2], vec![0]));
        let uneven = walk(&[Step::Repeat { times: 2, steps: vec![take(0)] }, give(0)]);
        assert_eq!(uneven.kept, [0], "the second round begins with it");
    }
}
