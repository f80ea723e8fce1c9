//! Events that the kernel counts of each job.

use solo_model::{Counts, EventId};
use solo_perf::group::{Group, Start, Whom};
use solo_perf::resolve::Member;
use std::io;

/// Events that are counted of each job.
#[derive(Clone, Debug)]
pub struct Counted {
    ids: Vec<EventId>,
    groups: Vec<Vec<Member>>,
}

impl Counted {
    /// Those of `groups`, as a resolver makes them; member N of them is `ids[N]`.
    pub fn new(ids: Vec<EventId>, groups: Vec<Vec<Member>>) -> Self {
        Self { ids, groups }
    }

    /// Whether the kernel counts them of a thread of ours, here and now.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn probe(&self) -> io::Result<()> {
        Meter::open(self).map(drop)
    }

    /// What is counted.
    pub fn ids(&self) -> &[EventId] {
        &self.ids
    }
}

/// The counters of a thread.
pub(crate) struct Meter {
    ids: Vec<EventId>,
    groups: Vec<Group>,
    /// Jobs of which an event was not on a counter all the time.
    pub(crate) multiplexed: u64,
}

impl Meter {
    /// Of the calling thread, from now on.
    pub(crate) fn open(counted: &Counted) -> io::Result<Self> {
        Self::open_for(counted, Whom::Thread(0))
    }

    /// The same with all processes that come out of it from now on.
    pub(crate) fn open_with_processes(counted: &Counted) -> io::Result<Self> {
        Self::open_for(counted, Whom::Tree(0))
    }

    /// Zero is who asks.
    fn open_for(counted: &Counted, whom: Whom) -> io::Result<Self> {
        let open =
            |members: &Vec<Member>| Group::open(members, whom, Start::Now).map_err(|refused| refused.source);
        let groups = counted.groups.iter().map(open).collect::<io::Result<_>>()?;
        Ok(Self { ids: counted.ids.clone(), groups, multiplexed: 0 })
    }

    /// What was counted since it was asked last. What can't be read is left out.
    pub(crate) fn take(&mut self) -> Counts {
        let mut counts: Vec<(EventId, u64)> = Vec::with_capacity(self.ids.len());
        let mut is_whole = true;
        for group in &mut self.groups {
            let Ok(growth) = group.advance() else { continue };
            is_whole &= growth.running + growth.enabled / 1000 >= growth.enabled;
            let named = group.events.iter().zip(&growth.counts);
            counts.extend(named.filter_map(|(event, count)| Some((*self.ids.get(*event)?, *count))));
        }
        self.multiplexed += u64::from(!is_whole);
        counts.into_iter().collect()
    }
}
