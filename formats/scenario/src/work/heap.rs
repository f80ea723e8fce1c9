//! `{ allocate = "64KiB", as = "array", color = 2 }` and `{ free = "array" }`: memory that a job takes from the heap of a color.

use super::{Reading, Surroundings, local, shared_buffer};
use crate::code::Code;
use crate::diagnostic::clip;
use crate::fields::{At, Fields};
use crate::nearest::nearest;
use crate::tree::{Node, Value};
use solo_model::work::Step;
use solo_model::{Bytes, Color};
use solo_plan::Memory;

/// The number of what is called so among what the task takes from heaps.
pub(super) fn known(into: &Reading, name: &str) -> Option<u32> {
    (0u32..).zip(&into.allocated).find(|(_, known)| known.0 == name).map(|(number, _)| number)
}

pub(super) fn memory(into: &Reading, number: u32) -> Memory {
    let size = into.allocated.get(number as usize).map_or(Bytes::ZERO, |known| known.1);
    Memory::Allocated(number, size)
}

/// `{ allocate = "64KiB", as = "array" }`, with a color where one is named.
pub(super) fn allocate(
    around: &mut Surroundings<'_, '_>,
    fields: &Fields<'_>,
    into: &mut Reading,
) -> Option<Step> {
    let problems = around.problems;
    let size = fields.positive::<Bytes>("allocate");
    let color = fields.integer("color", 0, u64::from(u16::MAX));
    let wrong_color = fields.has("color") && color.is_none();
    let name = fields.required_string("as", "as = \"array\"")?;
    let size = size?;
    if around.buffer_names.contains_key(name.value) {
        problems.push(
            problems
                .error(
                    Code::Duplicate,
                    format!("a [[buffer]] is called \"{}\"", clip(name.value)),
                    &name.span,
                )
                .label("another memory has this name")
                .help("what a job allocates is its own: give it a name of its own"),
        );
        return None;
    }
    let number = match known(into, name.value) {
        None => {
            into.allocated.push((name.value.to_owned(), size.value, name.span.clone()));
            (into.allocated.len() as u32).saturating_sub(1)
        }
        Some(number) => {
            whole(around, into, number, &name, &size)?;
            number
        }
    };
    let memory = memory(into, number);
    let color = color.map(|color| Color(color.value as u16));
    (!wrong_color).then(|| Step::Allocate { buffer: local(into, memory), color })
}

/// `{ free = "array" }`.
pub(super) fn free(
    around: &mut Surroundings<'_, '_>,
    fields: &Fields<'_>,
    into: &mut Reading,
) -> Option<Step> {
    let name = fields.required_string("free", "free = \"array\"")?;
    let Some(number) = known(into, name.value) else {
        let label = match nearest(name.value, into.allocated.iter().map(|known| known.0.as_str())) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => String::from("no step before allocates it"),
        };
        let headline = format!("nothing is allocated as \"{}\"", clip(name.value));
        let problem = around.problems.error(Code::UnknownName, headline, &name.span).label(label);
        around.problems.push(problem.help("{ allocate = \"64KiB\", as = \"array\" } comes first"));
        return None;
    };
    let memory = memory(into, number);
    Some(Step::Free(local(into, memory)))
}

/// The memory that a step names: what the job has allocated, or a buffer that tasks share.
pub(super) fn named(
    around: &Surroundings<'_, '_>,
    into: &Reading,
    name: &At<&str>,
    size: &At<Bytes>,
) -> Option<Memory> {
    match known(into, name.value) {
        Some(number) => whole(around, into, number, name, size),
        None => shared_buffer(around, name, size),
    }
}

/// The memory of this number, where a step is over all of it.
fn whole(
    around: &Surroundings<'_, '_>,
    into: &Reading,
    number: u32,
    name: &At<&str>,
    size: &At<Bytes>,
) -> Option<Memory> {
    let (_, allocated, first) = into.allocated.get(number as usize)?;
    if *allocated != size.value {
        let problems = around.problems;
        problems.push(
            problems
                .error(Code::BufferSize, format!("{} of \"{}\"", size.value, clip(name.value)), &size.span)
                .label("not the size that is allocated")
                .also(first.clone(), format!("allocated with {}", crate::units::SIZE.print(allocated.get()))),
        );
        return None;
    }
    Some(Memory::Allocated(number, *allocated))
}

/// Follows what is allocated through a job's steps: taken once, touched only while it is there, and each round of `repeat` ends with what
/// it began with. What is left at the end of the job is given back then.
pub(super) fn check(around: &Surroundings<'_, '_>, list: &[Node], reading: &Reading) {
    if !reading.allocated.is_empty() {
        let mut held = vec![false; reading.allocated.len()];
        follow(around, list, reading, &mut held);
    }
}

/// False where something was wrong, and told.
fn follow(around: &Surroundings<'_, '_>, list: &[Node], reading: &Reading, held: &mut Vec<bool>) -> bool {
    let problems = around.problems;
    let turn =
        |held: &mut [bool], at: usize, on| held.get_mut(at).is_some_and(|held| std::mem::replace(held, on));
    let complain = |node: &Node, headline: String, label: &str| {
        problems.push(problems.error(Code::Step, headline, &node.span).label(label));
        false
    };
    for node in list {
        let Value::Table(table) = &node.value else { continue };
        if let (Some(_), Some(steps)) = (table.get("repeat"), table.get("steps")) {
            let Value::Array(inner) = &steps.node.value else { continue };
            let before = held.clone();
            if !follow(around, inner, reading, held) {
                return false;
            }
            if *held != before {
                let headline = "a round of `repeat` ends with other memory than it began with".to_owned();
                return complain(node, headline, "the next round would allocate or free it again");
            }
        }
        let named = |key: &str| match table.get(key).map(|entry| &entry.node.value) {
            Some(Value::String(name)) => known(reading, name).map(|number| (number as usize, name.as_str())),
            _ => None,
        };
        let uses = || named("buffer").or_else(|| named("flush"));
        let uses = if table.get("allocate").is_some() { None } else { uses() };
        if let (Some(_), Some((at, name))) = (table.get("allocate"), named("as")) {
            if turn(held, at, true) {
                let headline = format!("\"{}\" is allocated twice", clip(name));
                return complain(node, headline, "the job has it already");
            }
        } else if let Some((at, name)) = named("free") {
            if !turn(held, at, false) {
                let headline = format!("\"{}\" is freed before it is allocated", clip(name));
                return complain(node, headline, "the job has none here");
            }
        } else if let Some((_, name)) = uses.filter(|(at, _)| held.get(*at) == Some(&false)) {
            let headline = format!("\"{}\" is touched where it is not allocated", clip(name));
            return complain(node, headline, "the job has none here");
        }
    }
    true
}
