//! A subject's open groups.

use solo_model::Instant;
use solo_perf::group::{Group, GroupReading, Refused, RingRecord, Start, Whom};
use solo_perf::resolve::{Attr, Member};
use std::io;

/// The groups of every event set.
pub(super) type Sets = Vec<Vec<Vec<Member>>>;

/// What is open for one subject.
pub(super) struct Watched {
    /// For each set, its groups; several of the same form where a subject is several threads.
    sets: Vec<Vec<Group>>,
    /// Moves from one CPU to another, counted beside the sets.
    migrations: Vec<Group>,
    /// The end of its last row.
    pub(super) since: Instant,
}

impl Watched {
    /// Nothing open yet.
    pub(super) fn new(sets: usize, since: Instant) -> Self {
        Self { sets: (0..sets).map(|_| Vec::new()).collect(), migrations: Vec::new(), since }
    }

    /// Opens the groups of every set for one more thread or CPU; only set `active` starts as `start` says.
    pub(super) fn open(
        &mut self,
        sets: &Sets,
        whom: Whom,
        active: usize,
        start: Start,
    ) -> Result<(), (usize, Refused)> {
        for (i, groups) in sets.iter().enumerate() {
            for members in groups {
                let start = if i == active { start } else { Start::Stopped };
                let group = Group::open(members, whom, start).map_err(|refused| (i, refused))?;
                if let Some(open) = self.sets.get_mut(i) {
                    open.push(group);
                }
            }
        }
        if !matches!(whom, Whom::Core(_)) {
            // A doubt's counter is no reason to refuse: without the right to count in the kernel there is none.
            self.migrations.extend(Group::open(&[(0, Attr::MIGRATIONS)], whom, start).ok());
        }
        Ok(())
    }

    /// How many groups a set has.
    pub(super) fn groups(&self, set: usize) -> usize {
        self.sets.get(set).map_or(0, Vec::len)
    }

    /// What each group of a set has counted since the last row, with the set's events that it counts.
    pub(super) fn advance(
        &mut self,
        set: usize,
        mut each: impl FnMut(&[usize], &GroupReading),
    ) -> io::Result<()> {
        for group in self.sets.get_mut(set).into_iter().flatten() {
            let reading = group.advance()?;
            each(&group.events, &reading);
        }
        Ok(())
    }

    /// Takes out the samples of a set's groups: which group, and what.
    pub(super) fn drain(&mut self, set: usize, mut take: impl FnMut(usize, RingRecord)) {
        for (i, group) in self.sets.get_mut(set).into_iter().flatten().enumerate() {
            group.drain(|record| take(i, record));
        }
    }

    /// The growth up to a sample's reading, with the events it is about.
    pub(super) fn advance_to(
        &mut self,
        set: usize,
        group: usize,
        words: &[u64],
    ) -> Option<(Vec<usize>, GroupReading)> {
        let group = self.sets.get_mut(set)?.get_mut(group)?;
        let reading = group.advance_to(GroupReading::from_words(words)?);
        Some((group.events.clone(), reading))
    }

    /// Puts another set on the counters.
    pub(super) fn stop(&self, set: usize) -> io::Result<()> {
        self.sets.get(set).into_iter().flatten().try_for_each(Group::disable)
    }

    /// Puts a set on the counters.
    pub(super) fn go(&self, set: usize) -> io::Result<()> {
        self.sets.get(set).into_iter().flatten().try_for_each(Group::enable)
    }

    /// Moves between CPUs since the last call.
    pub(super) fn migrations(&mut self) -> u64 {
        let read =
            |group: &mut Group| group.advance().ok().and_then(|reading| reading.counts.first().copied());
        self.migrations.iter_mut().filter_map(read).sum()
    }
}
