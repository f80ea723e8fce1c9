//! `{ flush = "all" }` and `{ flush = "image" }`: caches are written back and emptied.

use super::{Reading, Surroundings, heap, local};
use crate::code::Code;
use crate::diagnostic::clip;
use crate::fields::{At, Fields};
use crate::nearest::nearest;
use solo_model::work::{Flush, Step};
use solo_plan::Memory;

/// What means all lines instead of a buffer's.
const ALL: &str = "all";

/// The step that names what is flushed.
pub(super) fn read(
    around: &mut Surroundings<'_, '_>,
    fields: &Fields<'_>,
    into: &mut Reading,
) -> Option<Step> {
    let name = fields.required_string("flush", "flush = \"all\"")?;
    let allocated = heap::known(into, name.value);
    let shared = around.buffer_names.get(name.value).copied();
    let memory = match (name.value, allocated, shared) {
        (ALL, None, None) => return Some(Step::Flush(Flush::All)),
        (ALL, ..) => return two_meanings(around, &name),
        (_, Some(number), _) => heap::memory(into, number),
        (_, None, Some(id)) => Memory::Shared(id),
        (_, None, None) => return unknown(around, into, &name),
    };
    Some(Step::Flush(Flush::Buffer(local(into, memory))))
}

fn two_meanings(around: &Surroundings<'_, '_>, name: &At<&str>) -> Option<Step> {
    let problems = around.problems;
    problems.push(
        problems
            .error(Code::Duplicate, "\"all\" is a buffer here, and all lines of all buffers", &name.span)
            .label("which of the two?")
            .help("give the buffer another name"),
    );
    None
}

fn unknown(around: &Surroundings<'_, '_>, into: &Reading, name: &At<&str>) -> Option<Step> {
    let problems = around.problems;
    if problems.is_full() {
        return None;
    }
    let mut names: Vec<&str> = around.buffer_names.keys().map(String::as_str).collect();
    names.extend(into.allocated.iter().map(|known| known.0.as_str()));
    names.push(ALL);
    names.sort_unstable();
    let label = match nearest(name.value, names.iter().copied()) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => String::from("no [[buffer]] of this name, and no step before allocates it"),
    };
    problems.push(
        problems
            .error(Code::UnknownName, format!("there is no buffer \"{}\" to flush", clip(name.value)), &name.span)
            .label(label)
            .help("memory without a name, and what other tasks allocate, is flushed with everything else: { flush = \"all\" }"),
    );
    None
}
