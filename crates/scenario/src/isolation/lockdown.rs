//! `[isolation.lockdown]` and `[isolation.partitions]`.

use super::Reader;
use crate::code::Code;
use crate::diagnostic::clip;
use crate::fields::{Fields, integer, string, word, wrong_type};
use crate::tree::Value;
use solo_isolate::diagnose;
use solo_isolate::lockdown::{self, LockRequest, LockableCache, Window};
use solo_model::isolation::*;
use solo_model::work::{Buffer, Work};
use solo_model::{BufferId, Explain, TaskId};
use std::ops::Range;

/// Pages of one task: 4 GiB in pages of 4 KiB.
const MOST_RANKED: u64 = 1 << 20;

impl Reader<'_> {
    /// `[isolation.lockdown]`: how many of its most accessed pages each task keeps in the last level.
    pub(super) fn lockdown(
        &self,
        isolation: &Fields<'_>,
        buffers: &[Buffer],
        memory: Option<&Coloring>,
    ) -> Option<Lockdown> {
        let problems = self.problems;
        let partitions = self.partitions(isolation);
        let table = isolation.table("lockdown", "[isolation.lockdown]\nframe = 40")?;
        let (mut requests, mut profile) = (Vec::new(), Vec::new());
        let mut when = LockTime::Boot;
        if let Some(entry) = table.value.entries.iter().find(|entry| entry.key == "when") {
            let words = [
                ("boot", LockTime::Boot),
                ("task", LockTime::Task),
                ("job", LockTime::Job),
                ("partition", LockTime::Partition),
            ];
            let said = string(problems, &entry.node, "when");
            let said = said.and_then(|said| word(problems, &said, "when", &words));
            when = said.map_or(when, |said| said.value);
        }
        for entry in table.value.entries.iter().filter(|entry| entry.key != "when") {
            let Some(tasks) = self.tasks_named(entry) else { continue };
            let most = u64::from(u32::MAX);
            let Some(pages) = integer(problems, &entry.node, &entry.key, 0, most) else { continue };
            for at in tasks.filter(|_| pages.value > 0) {
                let (task, work) = (TaskId(at), &self.tasks[at as usize].work);
                let owner = memory.and_then(|memory| memory.owners.iter().find(|owner| owner.task == task));
                let colors = owner.map_or(Vec::new(), |owner| owner.colors.clone());
                let window = Window::of(when, &partitions, self.tasks, task);
                if when == LockTime::Partition && window.is_none() {
                    self.no_window(task, &entry.key_span);
                    return None;
                }
                if self.too_many_to_rank(work, buffers, &entry.key_span) {
                    return None;
                }
                requests.push(LockRequest { task, pages: pages.value, colors, window });
                profile.extend(lockdown::ranks(task, work, buffers, self.platform.page, self.recorded));
            }
        }
        let last = self.platform.last_level()?;
        let groups = memory.map_or(0, |memory| memory.groups);
        let colors = last.colors(self.platform.page);
        let colors = if groups == 0 { colors } else { groups.min(colors) };
        let cache = LockableCache { colors, ways: last.ways };
        // Whether the machine can lock is the machine's to say.
        match lockdown::plan(true, cache, &profile, &requests) {
            Ok(pages) if pages.is_empty() => None,
            Ok(pages) => {
                for request in &requests {
                    self.doubt_cold_pages(request.task, &pages, &profile, &table.span);
                }
                Some(Lockdown { pages, when, partitions })
            }
            Err(error) => {
                let text = error.with(&self.tasks).to_string();
                problems.push(
                    problems
                        .error(Code::Isolation, text, &table.span)
                        .label("these pages can't be locked")
                        .help(format!("the last level can hold {} pages of all tasks", cache.capacity())),
                );
                None
            }
        }
    }

    /// Refuses work whose pages can't all be counted: the busiest of them would have to be found.
    fn too_many_to_rank(&self, work: &Work, buffers: &[Buffer], span: &Range<usize>) -> bool {
        let touched = buffers.iter().enumerate().filter(|(at, _)| work.touches(BufferId(*at as u32)));
        let pages = touched.map(|(_, buffer)| buffer.size.in_pieces_of(self.platform.page));
        let pages = pages.fold(0, u64::saturating_add);
        if pages <= MOST_RANKED {
            return false;
        }
        let problems = self.problems;
        let headline = format!("the task touches {pages} pages, too many to find the busiest of them");
        let problem =
            problems.error(Code::Isolation, headline, span).label("pages of this task are to be locked");
        problems.push(problem.expected(format!("at most {MOST_RANKED} pages")));
        true
    }

    /// `[isolation.partitions]`: the tasks of each IMA partition.
    fn partitions(&self, isolation: &Fields<'_>) -> Vec<Vec<TaskId>> {
        let Some(table) = isolation.table("partitions", "[isolation.partitions]\nnavigation = [\"frame\"]")
        else {
            return Vec::new();
        };
        let problems = self.problems;
        let mut partitions: Vec<Vec<TaskId>> = Vec::new();
        for entry in &table.value.entries {
            let Value::Array(names) = &entry.node.value else {
                wrong_type(problems, &entry.node, &entry.key, "a list of tasks", "[\"frame\", \"route\"]");
                continue;
            };
            let mut own: Vec<TaskId> = Vec::new();
            for name in names {
                let Some(name) = string(problems, name, &entry.key) else { continue };
                let Some(tasks) = self.tasks_called(name.value, &name.span) else { continue };
                own.extend(tasks.map(TaskId));
                let core = |task: &TaskId| self.tasks[task.index()].core;
                let first = own.first().and_then(core);
                let apart = own.iter().any(|task| core(task).is_none() || core(task) != first);
                let twice = partitions.iter().flatten().any(|task| own.contains(task));
                let wrong = match (apart, twice) {
                    (true, _) => "a partition is on one core: its tasks need the same `core`",
                    (_, true) => "a task is in one partition",
                    _ => continue,
                };
                let headline = format!("`{}` can't be in partition `{}`", clip(name.value), clip(&entry.key));
                problems.push(problems.error(Code::Isolation, headline, &name.span).label(wrong));
            }
            partitions.push(own);
        }
        partitions
    }

    /// A task whose pages are to be locked in a partition's windows is in none.
    fn no_window(&self, task: TaskId, span: &Range<usize>) {
        let problems = self.problems;
        let headline = format!("the task `{}` is in no partition", self.tasks[task.index()].name);
        let problem =
            problems.error(Code::Isolation, headline, span).label("locked when its partition begins");
        problems.push(problem.help("name its partition in [isolation.partitions], or say another `when`"));
    }

    /// Warns of locked pages that nothing accesses.
    fn doubt_cold_pages(
        &self,
        task: TaskId,
        pages: &[LockedPage],
        profile: &[lockdown::RankedPage],
        span: &Range<usize>,
    ) {
        let cold = |locked: &&LockedPage| {
            let same = |page: &&lockdown::RankedPage| {
                (page.task, page.buffer, page.page) == (task, locked.buffer, locked.page)
            };
            locked.task == task && profile.iter().find(same).is_some_and(|page| page.accesses == 0)
        };
        let pages = pages.iter().filter(cold).count() as u64;
        if self.problems.variant.borrow().is_none() && pages > 0 {
            self.warn(Some(diagnose::Warning::ColdPages { task, pages }), span);
        }
    }
}
