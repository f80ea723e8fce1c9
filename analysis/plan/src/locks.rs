//! Pages that are held in the last-level cache, and the IMA partitions in whose windows they may be.

use crate::place::{TextRange, Wish};
use crate::rationale::{Decided, Of, Reason, Rule};
use crate::request::{LockdownWish, Mechanisms};
use crate::{Apart, Draft, Fault};
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use solo_isolate::diagnose::Warning;
use solo_isolate::lockdown::{self, LockRequest, LockableCache, RankedPage, Window};
use solo_model::isolation::{Coloring, LockTime, Lockdown, LockedPage};
use solo_model::{BufferId, Events, Platform, TaskId};

/// Pages of one task: 4 GiB in pages of 4 KiB.
const MOST_RANKED: u64 = 1 << 20;

/// What tasks ask for, and how often each page is accessed.
#[derive(Default)]
struct Asked {
    requests: Vec<LockRequest>,
    profile: Vec<RankedPage>,
}

impl Draft<'_> {
    /// How many of its most accessed pages each task keeps in the last level, and which.
    pub(crate) fn lockdown(
        &mut self,
        wished: &Mechanisms,
        platform: &Platform,
        memory: Option<&Coloring>,
        partitions: Vec<Vec<TaskId>>,
    ) -> Option<Lockdown> {
        let wish = wished.lockdown.as_ref()?;
        let when = wish.when.map(|when| when.value);
        let when = when.unwrap_or_else(|| self.strategy.lock_time().value);
        let asked = self.asked(wish, platform, memory, when, &partitions)?;
        let last = platform.last_level()?;
        let groups = memory.map_or(0, |memory| memory.groups);
        let colors = last.colors(platform.page);
        let colors = if groups == 0 { colors } else { groups.min(colors) };
        let cache = LockableCache { colors, ways: last.ways };
        // Whether the machine can lock is the machine's to say.
        match lockdown::plan(true, cache, &asked.profile, &asked.requests) {
            Ok(pages) if pages.is_empty() => None,
            Ok(pages) => {
                self.explain_locks(wish, &asked.requests);
                if self.is_whole() {
                    self.doubt_cold_pages(&asked, &pages, wish.at);
                }
                Some(Lockdown { pages, when, partitions })
            }
            Err(error) => {
                self.object(wish.at, Fault::Locking { error, capacity: cache.capacity() });
                None
            }
        }
    }

    fn asked(
        &mut self,
        wish: &LockdownWish,
        platform: &Platform,
        memory: Option<&Coloring>,
        when: LockTime,
        partitions: &[Vec<TaskId>],
    ) -> Option<Asked> {
        let recorded: Vec<Vec<Events>> =
            self.request.recordings.iter().map(|recording| recording.pages.clone()).collect();
        let mut asked = Asked::default();
        for named in &wish.pages {
            let Some(tasks) = self.tasks_called(&named.name) else { continue };
            let (pages, at) = (named.wish.value, named.name.at);
            for task in tasks.filter(|_| pages > 0).map(TaskId) {
                let owner = memory.and_then(|memory| memory.owners.iter().find(|owner| owner.task == task));
                let colors = owner.map_or(Vec::new(), |owner| owner.colors.clone());
                let window = Window::of(when, partitions, &self.tasks, task);
                if when == LockTime::Partition && window.is_none() {
                    self.object(at, Fault::NoPartition { task });
                    return None;
                }
                if self.too_many_to_rank(task, platform, at) {
                    return None;
                }
                let work = &self.tasks[task.index()].work;
                asked.requests.push(LockRequest { task, pages, colors, window });
                asked.profile.extend(lockdown::ranks(task, work, &self.buffers, platform.page, &recorded));
            }
        }
        Some(asked)
    }

    /// Refuses work whose pages can't all be counted: the busiest of them would have to be found.
    fn too_many_to_rank(&mut self, task: TaskId, platform: &Platform, at: TextRange) -> bool {
        let work = &self.tasks[task.index()].work;
        let touched = self.buffers.iter().enumerate().filter(|(at, _)| work.touches(BufferId(*at as u32)));
        let pages = touched.map(|(_, buffer)| buffer.size.in_pieces_of(platform.page));
        let pages = pages.fold(0, u64::saturating_add);
        if pages > MOST_RANKED {
            self.object(at, Fault::TooManyPagesToRank { pages, most: MOST_RANKED });
        }
        pages > MOST_RANKED
    }

    fn explain_locks(&mut self, wish: &LockdownWish, requests: &[LockRequest]) {
        if wish.when.is_none() {
            let _ = self.decide(Of::Lockdown, self.strategy.lock_time(), Decided::LockTime);
        }
        self.rationale.extend(requests.iter().map(|request| Reason {
            of: Of::Tasks { first: request.task, count: 1 },
            what: Decided::LockedPages { pages: request.pages },
            rule: Rule::MostAccessed,
        }));
    }

    /// The tasks of each IMA partition: all on one core, each in one partition.
    pub(crate) fn partitions(&mut self, wished: &Mechanisms) -> Vec<Vec<TaskId>> {
        let mut partitions: Vec<Vec<TaskId>> = Vec::new();
        for partition in &wished.partitions {
            let mut own: Vec<TaskId> = Vec::new();
            for name in &partition.tasks {
                let Some(tasks) = self.tasks_called(name) else { continue };
                own.extend(tasks.map(TaskId));
                if let Some(why) = self.apart(&own, &partitions) {
                    self.not_in_partition(name, &partition.name.value, why);
                }
            }
            partitions.push(own);
        }
        partitions
    }

    fn apart(&self, own: &[TaskId], others: &[Vec<TaskId>]) -> Option<Apart> {
        let core = |task: &TaskId| self.tasks[task.index()].core;
        let first = own.first().and_then(core);
        if own.iter().any(|task| core(task).is_none() || core(task) != first) {
            return Some(Apart::OtherCore);
        }
        others.iter().flatten().any(|task| own.contains(task)).then_some(Apart::Twice)
    }

    fn not_in_partition(&mut self, name: &Wish<String>, partition: &str, why: Apart) {
        let fault = Fault::NotInPartition { task: name.value.clone(), partition: partition.to_owned(), why };
        self.object(name.at, fault);
    }

    /// Locked pages that nothing accesses.
    fn doubt_cold_pages(&mut self, asked: &Asked, locked: &[LockedPage], at: TextRange) {
        for task in asked.requests.iter().map(|request| request.task) {
            let cold = |page: &&LockedPage| {
                let same = |known: &&RankedPage| {
                    (known.task, known.buffer, known.page) == (task, page.buffer, page.page)
                };
                page.task == task && asked.profile.iter().find(same).is_some_and(|known| known.accesses == 0)
            };
            let pages = locked.iter().filter(cold).count() as u64;
            if pages > 0 {
                self.warn(at, Warning::ColdPages { task, pages });
            }
        }
    }
}
