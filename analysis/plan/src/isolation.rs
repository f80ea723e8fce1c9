//! Isolation: who is meant, and what each mechanism comes to.

use crate::place::{TextRange, Wish};
use crate::request::{IsolationWish, Mechanisms, Named};
use crate::{Doubtful, Draft, Fault};
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;
use solo_isolate::admission::IsolationRefusal;
use solo_isolate::diagnose::Warning;
use solo_isolate::ways;
use solo_model::isolation::{Isolation, WayMask, WayOwner};
use solo_model::{Platform, TaskId};

impl<'r> Draft<'r> {
    /// Decides on isolation as it is wished.
    pub(crate) fn isolate(&mut self) {
        let request = self.request;
        let (Some(platform), IsolationWish::By(wished)) = (request.platform.value(), &request.isolation)
        else {
            return;
        };
        let bandwidth = self.bandwidth(wished, platform);
        let memory = self.coloring(wished, platform);
        let ways = self.ways(wished, platform);
        let members = self.partitions(wished);
        let partitions = self.windows(wished, &members);
        let lockdown = self.lockdown(wished, platform, memory.as_ref(), members);
        self.isolation = Isolation { bandwidth, memory, ways, lockdown, partitions };
    }

    /// True for the scenario as it stands: a variant may leave out what the scenario isolates.
    pub(crate) fn is_whole(&self) -> bool {
        self.request.variant.is_empty()
    }

    /// A mechanism that would do less than is expected of it.
    pub(crate) fn warn(&mut self, at: TextRange, warning: Warning) {
        self.doubt(at, Doubtful::Ineffective(warning));
    }

    pub(crate) fn refuse(&mut self, at: TextRange, refusal: IsolationRefusal) {
        self.object(at, Fault::Refused(refusal));
    }

    /// The tasks of a name: one task, or all copies of a pattern.
    pub(crate) fn tasks_called(&mut self, name: &Wish<String>) -> Option<Range<u32>> {
        let found = self.tasks_named(&name.value);
        if found.is_none() && self.is_whole() {
            let known = self.owners.iter().map(|owner| owner.wish.name.value.clone()).collect();
            self.object(name.at, Fault::NoSuchTask { name: name.value.clone(), known });
        }
        found
    }

    /// The same, and nothing is said of a name that nobody has.
    pub(crate) fn tasks_named(&self, name: &str) -> Option<Range<u32>> {
        let exact = self.tasks.iter().position(|task| task.name == name);
        let exact = exact.map(|at| at as u32..at as u32 + 1);
        let pattern = || self.owners.iter().find(|owner| owner.wish.name.value == name);
        exact.or_else(|| pattern().map(|owner| owner.tasks.clone()))
    }

    /// What is wished by name, by the tasks meant.
    pub(crate) fn by_task<T: Clone>(&mut self, named: &[Named<T>]) -> Vec<(Range<u32>, Wish<T>)> {
        let meant = |one: &Named<T>| Some((self.tasks_called(&one.name)?, one.wish.clone()));
        named.iter().filter_map(meant).collect()
    }

    /// Way masks by name and by the tasks' own wishes.
    fn ways(&mut self, wished: &Mechanisms, platform: &Platform) -> Vec<WayMask> {
        let mut all = self.by_task(&wished.ways);
        let own = |owner: &crate::tasks::Owner<'r>| Some((owner.tasks.clone(), owner.wish.ways?));
        all.extend(self.owners.iter().filter_map(own));
        let last = platform.last_level().map_or(0, |cache| cache.ways);
        let mut masks = Vec::new();
        for (tasks, mask) in all {
            match ways::check(mask.value, last) {
                Err(error) => self.object(mask.at, Fault::Ways { error, ways: last }),
                Ok(()) => masks
                    .extend(tasks.map(|at| WayMask { owner: WayOwner::Task(TaskId(at)), mask: mask.value })),
            }
        }
        masks
    }
}
