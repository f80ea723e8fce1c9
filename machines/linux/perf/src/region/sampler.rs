//! Samples in regions: one group with all events, whose leader leaves their counts in a ring each time it has counted so many.

use super::{Counts, EVENTS_MAX, RegionError};
use crate::group::{Group, GroupReading, RingRecord, Start, Whom};
use crate::resolve::Member;
use solo_model::CoreId;

/// Samples that wait for their region's end, at most.
const WAITING_MAX: usize = 100_000;

/// A sample as the kernel left it: counts since the group was opened.
struct Left {
    at: u64,
    core: CoreId,
    group: usize,
    counts: Counts,
}

/// A sample of a region: counts since the one before.
pub(super) struct Sample {
    pub(super) at: u64,
    pub(super) core: CoreId,
    pub(super) counts: Vec<Option<u64>>,
}

/// Groups that leave samples.
pub(super) struct Sampler {
    groups: Vec<Group>,
    /// How many events there are.
    events: usize,
    waiting: Vec<Left>,
    /// Samples for which there was no room.
    pub(super) lost: u64,
}

impl Sampler {
    /// Opens a group for each thread or CPU; the first member leads and has a period.
    pub(super) fn open(members: &[Member], whom: &[Whom], events: usize) -> Result<Self, RegionError> {
        let one = |whom: &Whom| Group::open(members, *whom, Start::Now);
        let groups = whom.iter().map(one).collect::<Result<Vec<_>, _>>().map_err(|refused| refused.source)?;
        Ok(Self { groups, events, waiting: Vec::new(), lost: 0 })
    }

    /// What all groups together have counted so far, by event. Samples that wait are taken out of the rings, which are small.
    pub(super) fn read(&mut self, counts: &mut Counts) {
        self.drain();
        for group in &mut self.groups {
            let Ok(reading) = group.reading() else { continue };
            add(&group.events, &reading, counts);
        }
    }

    fn drain(&mut self) {
        let (waiting, lost) = (&mut self.waiting, &mut self.lost);
        for (number, group) in self.groups.iter_mut().enumerate() {
            let events = group.events.clone();
            group.drain(|record| match record {
                RingRecord::Sample { time, cpu, words, .. } if waiting.len() < WAITING_MAX => {
                    let Some(reading) = GroupReading::from_words(&words) else { return };
                    let mut counts = [0; EVENTS_MAX];
                    add(&events, &reading, &mut counts);
                    let core = CoreId(u16::try_from(cpu).unwrap_or(u16::MAX));
                    waiting.push(Left { at: time, core, group: number, counts });
                }
                RingRecord::Sample { .. } => *lost += 1,
                RingRecord::Lost(count) => *lost += count,
                RingRecord::Switch(_) | RingRecord::Throttled => {}
            });
        }
        waiting.sort_by_key(|left| left.at);
    }

    /// The samples since a region began, whose own they are: inner regions end first and have taken theirs. Counts are those since the
    /// sample before, the first one's since the beginning; of several CPUs each has its own, and the first sample of a CPU none.
    pub(super) fn taken(&mut self, begin: u64, counts: &Counts, machine: bool) -> Vec<Sample> {
        let first = self.waiting.iter().position(|left| left.at >= begin).unwrap_or(self.waiting.len());
        let mut before: Vec<Option<Counts>> = vec![(!machine).then_some(*counts); self.groups.len()];
        let events = self.events;
        let sample = |left: Left| {
            let since = before[left.group].replace(left.counts);
            let count = |at: usize| since.map(|since| left.counts[at].wrapping_sub(since[at]));
            Sample { at: left.at, core: left.core, counts: (0..events).map(count).collect() }
        };
        self.waiting.split_off(first).into_iter().map(sample).collect()
    }
}

/// Adds a group's counts to those of its events; the clock that leads samples by time is none of them.
fn add(events: &[usize], reading: &GroupReading, counts: &mut Counts) {
    for (event, count) in events.iter().zip(&reading.counts) {
        if let Some(sum) = counts.get_mut(*event) {
            *sum = sum.wrapping_add(*count);
        }
    }
}
