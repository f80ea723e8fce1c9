//! `[isolation.colors]`, `[isolation.banks]`, `[isolation.ways]`, `[isolation.memory]` and the keys of tasks.

use super::named;
use crate::code::Code;
use crate::diagnostic::clip;
use crate::fields::{At, Fields, Problems, string};
use crate::tree::Node;
use solo_model::Bytes;
use solo_model::isolation::{Allocation, Fallback, Heaps, KernelData};
use solo_plan::{ColoringWish, MemoryWish, Named, Wish};

/// Reads `[isolation.colors]`, `[isolation.banks]`, `[isolation.memory]`.
pub(super) fn read(problems: &Problems, isolation: &Fields<'_>) -> ColoringWish {
    let errors = problems.errors();
    let colors = by_task(problems, isolation, "colors");
    let banks = by_task(problems, isolation, "banks");
    let memory = memory(problems, isolation);
    ColoringWish { colors, banks, memory, in_part: problems.errors() > errors }
}

fn memory(problems: &Problems, isolation: &Fields<'_>) -> MemoryWish {
    let Some(table) = isolation.table("memory", "[isolation.memory]\nkernel = 0") else {
        return MemoryWish::default();
    };
    let fields = Fields::new(problems, table.value, table.span, "[isolation.memory]");
    let fallbacks = [("fail", Fallback::Fail), ("borrow", Fallback::Borrow)];
    let truth = [("yes", true), ("no", false)];
    let number = |key, least| {
        let found = fields.integer(key, least, u64::from(u16::MAX))?;
        Some(Wish::new(found.value as u16, found.span))
    };
    let wish = MemoryWish {
        fallback: fields.word("fallback", &fallbacks).map(At::wish),
        groups: number("groups", 1),
        kernel: number("kernel", 0),
        shared: fields.word("shared", &truth).map(At::wish),
        kernel_touches: fields.word("kernel-touches", &truth).map(At::wish),
        kernel_walks: most(problems, fields.positive("kernel-walks"), KernelData::MOST_WALKED),
        allocation: fields
            .word("allocation", &[("user", Allocation::User), ("os", Allocation::Os)])
            .map(At::wish),
        heap: most(problems, fields.positive("heap"), Heaps::MOST),
        kernel_packed: fields.word("kernel-lines", &[("own", false), ("packed", true)]).map(At::wish),
    };
    for key in ["kernel-walks", "kernel-lines"].into_iter().filter(|key| fields.has(key)) {
        if !wish.kernel_touches.is_some_and(|said| said.value) {
            problems.push(
                problems
                    .error(
                        Code::UnusedKey,
                        format!("`{key}` of a kernel that touches no memory"),
                        &fields.span_of(key),
                    )
                    .label("says what its paths touch")
                    .help("add kernel-touches = \"yes\"")
                    .into_warning(),
            );
        }
    }
    fields.finish();
    wish
}

/// A size that is not larger than that.
fn most(problems: &Problems, found: Option<At<Bytes>>, most: Bytes) -> Option<Wish<Bytes>> {
    let found = found?;
    if found.value > most {
        let problem =
            problems.error(Code::TooLarge, format!("{} is more than is kept", found.value), &found.span);
        problems.push(problem.label("too large").expected(format!("at most {most}")));
        return None;
    }
    Some(found.wish())
}

/// Reads `[isolation.ways]`.
pub(super) fn ways(problems: &Problems, isolation: &Fields<'_>) -> Vec<Named<u64>> {
    let as_mask = |list: Named<Vec<u16>>| {
        let ways = At { value: list.wish.value, span: list.wish.at.into() };
        Some(Named { name: list.name, wish: mask(problems, ways)?.wish() })
    };
    by_task(problems, isolation, "ways").into_iter().filter_map(as_mask).collect()
}

/// A table whose keys are tasks and whose values are lists of numbers.
fn by_task(problems: &Problems, isolation: &Fields<'_>, key: &'static str) -> Vec<Named<Vec<u16>>> {
    let Some(table) = isolation.table(key, &format!("[isolation.{key}]\nframe = \"0-3\"")) else {
        return Vec::new();
    };
    let list = |entry| {
        let entry: &crate::tree::Entry = entry;
        Some(named(entry, numbers(problems, &entry.node, &entry.key)?.wish()))
    };
    table.value.entries.iter().filter_map(list).collect()
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
