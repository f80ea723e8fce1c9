//! `[isolation.colors]`, `[isolation.banks]`, `[isolation.memory]` and `[isolation.ways]`.

use super::Reader;
use crate::code::Code;
use crate::diagnostic::clip;
use crate::fields::{At, Fields, Problems, string};
use crate::tree::Node;
use solo_isolate::admission::coloring_fits;
use solo_isolate::{MemoryMap, diagnose, lockdown, ways};
use solo_model::isolation::*;
use solo_model::work::Buffer;
use solo_model::{Bank, Bytes, Color, TaskId};
use std::ops::Range;

impl Reader<'_> {
    /// `[isolation.colors]`, `[isolation.banks]`, `[isolation.memory]`.
    pub(super) fn memory(&self, isolation: &Fields<'_>, buffers: &[Buffer]) -> Option<Coloring> {
        let problems = self.problems;
        let errors = problems.errors();
        let colors = self.by_task(isolation, "colors");
        let banks = self.by_task(isolation, "banks");
        let mut coloring = Coloring::default();
        if let Some(table) = isolation.table("memory", "[isolation.memory]\nkernel = 0") {
            let fields = Fields::new(problems, table.value, table.span, "[isolation.memory]");
            let words = [("fail", Fallback::Fail), ("borrow", Fallback::Borrow)];
            coloring.fallback = fields.word("fallback", &words).map_or(Fallback::Fail, |word| word.value);
            let most = u64::from(u16::MAX);
            coloring.groups = fields.integer("groups", 1, most).map_or(0, |groups| groups.value as u16);
            coloring.kernel = fields.integer("kernel", 0, most).map(|color| Color(color.value as u16));
            let truth = [("yes", true), ("no", false)];
            coloring.shared = fields.word("shared", &truth).is_some_and(|word| word.value);
            coloring.kernel_touches = fields.word("kernel-touches", &truth).is_some_and(|word| word.value);
            fields.finish();
        }
        let mut last = isolation.span.clone();
        for at in 0..self.tasks.len() as u32 {
            let owner = self.owners.iter().find(|owner| owner.tasks.contains(&at));
            let wish = |named: &[(Range<u32>, At<Vec<u16>>)], own: Option<&At<Vec<u16>>>| {
                named
                    .iter()
                    .find(|(tasks, _)| tasks.contains(&at))
                    .map(|(_, list)| list.clone())
                    .or(own.cloned())
            };
            let own_colors = wish(&colors, owner.and_then(|owner| owner.wishes.colors.as_ref()));
            let own_banks = wish(&banks, owner.and_then(|owner| owner.wishes.banks.as_ref()));
            if let Some(place) = own_colors.as_ref().or(own_banks.as_ref()) {
                last = place.span.clone();
                coloring.owners.push(ColorOwner {
                    task: TaskId(at),
                    colors: own_colors.map_or(Vec::new(), |list| list.value.into_iter().map(Color).collect()),
                    banks: own_banks.map_or(Vec::new(), |list| list.value.into_iter().map(Bank).collect()),
                });
            }
        }
        let wanted = !coloring.owners.is_empty() || coloring.kernel.is_some() || coloring.kernel_touches;
        if !wanted || problems.errors() > errors {
            return None;
        }
        if let Err(refusal) = coloring_fits(&coloring, self.platform, self.tasks) {
            self.refuse(&refusal, &last);
            return None;
        }
        if problems.variant.borrow().is_none() {
            self.warn_of(&coloring, buffers, &last);
        }
        Some(coloring)
    }

    /// What the chip or the neighbors make of the colors and banks that were asked for.
    fn warn_of(&self, coloring: &Coloring, buffers: &[Buffer], place: &Range<usize>) {
        let Ok(map) = MemoryMap::of(self.platform) else { return };
        let hash = self.platform.last_level().map_or(&[][..], |cache| &cache.slice_hash);
        let banks_too = coloring.owners.iter().any(|owner| !owner.banks.is_empty());
        let colors_too = coloring.owners.iter().any(|owner| !owner.colors.is_empty());
        let concerns = |warning: &diagnose::Warning| match warning {
            diagnose::Warning::PageCoversColors { .. } | diagnose::Warning::HashOverColors { .. } => {
                colors_too || coloring.kernel.is_some()
            }
            _ => true,
        };
        let warnings = diagnose::coloring(&map, Bytes::from_kib(4), hash, banks_too);
        for warning in warnings.into_iter().filter(concerns) {
            self.warn(Some(warning), place);
        }
        let touches = |task: TaskId| {
            let work = &self.tasks[task.index()].work;
            !lockdown::ranks(task, work, buffers, self.platform.page, &[]).is_empty()
        };
        for warning in diagnose::open_neighbors(coloring, self.tasks, touches) {
            self.warn(Some(warning), place);
        }
    }

    /// `[isolation.ways]` and the tasks' own keys.
    pub(super) fn ways(&self, isolation: &Fields<'_>) -> Vec<WayMask> {
        let problems = self.problems;
        let mut masks = Vec::new();
        let named = self.by_task(isolation, "ways");
        let named = named.into_iter().filter_map(|(tasks, list)| Some((tasks, mask(problems, list)?)));
        let own = self.owners.iter();
        let own = own.filter_map(|owner| Some((owner.tasks.clone(), owner.wishes.ways.clone()?)));
        let last = self.platform.last_level().map_or(0, |cache| cache.ways);
        for (tasks, mask) in named.chain(own) {
            if let Err(error) = ways::check(mask.value, last) {
                problems.push(
                    problems
                        .error(Code::Ways, error.to_string(), &mask.span)
                        .label("not a set of ways of the last-level cache")
                        .expected(format!(
                            "neighbouring ways from 0 to {}, for example \"0-3\"",
                            last.max(1) - 1
                        )),
                );
                continue;
            }
            for at in tasks {
                masks.push(WayMask { owner: WayOwner::Task(TaskId(at)), mask: mask.value });
            }
        }
        masks
    }

    /// A table whose keys are tasks and whose values are lists of numbers.
    fn by_task(&self, isolation: &Fields<'_>, key: &'static str) -> Vec<(Range<u32>, At<Vec<u16>>)> {
        let Some(table) = isolation.table(key, &format!("[isolation.{key}]\nframe = \"0-3\"")) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for entry in &table.value.entries {
            let Some(tasks) = self.tasks_named(entry) else { continue };
            if let Some(list) = numbers(self.problems, &entry.node, &entry.key) {
                found.push((tasks, list));
            }
        }
        found
    }
}

/// `"0-3, 7"` as numbers, ascending and each once.
pub(super) fn numbers(problems: &Problems, node: &Node, key: &str) -> Option<At<Vec<u16>>> {
    let text = string(problems, node, key)?;
    let wrong = |what: String| {
        problems.push(
            problems
                .error(Code::NotAList, format!("`{key}` = \"{}\": {what}", clip(text.value)), &text.span)
                .label("not a list of numbers")
                .expected("numbers and ranges, for example \"0-3, 7\""),
        );
    };
    let mut found: Vec<u16> = Vec::new();
    for part in text.value.split(',').map(str::trim) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let range = first.trim().parse::<u16>().ok().zip(last.trim().parse::<u16>().ok());
        match range {
            Some((first, last)) if first <= last => found.extend(first..=last),
            Some((first, last)) => {
                wrong(format!("the range {first}-{last} runs backwards"));
                return None;
            }
            None => {
                wrong(format!("\"{}\" is no number and no range", clip(part)));
                return None;
            }
        }
    }
    found.sort_unstable();
    let before = found.len();
    found.dedup();
    if found.len() < before {
        wrong("a number stands twice".to_owned());
        return None;
    }
    Some(At { value: found, span: text.span })
}

/// A list of ways as a mask.
pub(super) fn mask(problems: &Problems, ways: At<Vec<u16>>) -> Option<At<u64>> {
    if let Some(far) = ways.value.iter().find(|&&way| way >= 64) {
        problems
            .push(problems.error(Code::Ways, format!("there is no way {far}"), &ways.span).label("too high"));
        return None;
    }
    let mask = ways.value.iter().fold(0, |mask, way| mask | 1 << way);
    Some(At { value: mask, span: ways.span })
}
