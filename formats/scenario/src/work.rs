//! `work = [...]`: the steps of a job.
//!
//! A step is a small table whose verb says what it does: `{ sweep = "4MiB", writes = "50%" }`.

use crate::code::Code;
use crate::diagnostic::clip;
use crate::fields::{At, Fields, Problems, integer, quantity, wrong_type};
use crate::files::Files;
use crate::limits::not_too_long;
use crate::nearest::nearest;
use crate::phase::NamedPhase;
use crate::tree::{Node, Table, Value};
use solo_model::work::{Buffer, Lock, LockProtocol, Pattern, Replay, Span, Step, Touch};
use solo_model::{BufferId, Bytes, Duration, Execute, KindId, LockId, PerMille, Phase, Platform};
use solo_plan::{Memory, Region, Steps};
use std::collections::HashMap;
use std::ops::Range;

mod flush;
mod heap;

/// What a step can do, as written.
const VERBS: [&str; 16] = [
    "compute", "execute", "sweep", "ring", "stream", "rows", "random", "chase", "replay", "lock", "unlock",
    "repeat", "sleep", "allocate", "free", "flush",
];
/// The deepest nesting of `repeat`.
const DEEPEST_REPEAT: usize = 8;
/// The distance between the elements of a pass that names none: a cache line of all known platforms.
const DEFAULT_STRIDE: Bytes = Bytes::new(64);
/// The most accesses, passes or the like in one step; more would overflow and never end.
const MOST: u64 = 1 << 40;

/// Steps while they are read.
#[derive(Default)]
struct Reading {
    steps: Steps,
    /// Where each memory stands among their regions.
    positions: HashMap<Memory, u32>,
    /// What is taken from heaps, by name: its size, and where it was named first.
    allocated: Vec<(String, Bytes, Range<usize>)>,
}

/// What steps can refer to.
pub(crate) struct Surroundings<'s, 'f> {
    pub(crate) problems: &'s Problems,
    pub(crate) buffers: &'s [Buffer],
    pub(crate) buffer_names: &'s HashMap<String, BufferId>,
    pub(crate) locks: &'s [Lock],
    pub(crate) lock_names: &'s HashMap<String, LockId>,
    pub(crate) platform: Option<&'s Platform>,
    pub(crate) phases: &'s [NamedPhase<'s>],
    pub(crate) files: &'s mut Files<'f>,
}

/// Reads the steps of a task.
pub(crate) fn read(around: &mut Surroundings<'_, '_>, list: &[Node]) -> Option<Steps> {
    let mut reading = Reading::default();
    let read = read_steps(around, list, 0, &mut reading)?;
    let steps = Steps { steps: read, ..reading.steps.clone() };
    heap::check(around, list, &reading);
    let mut held = Vec::new();
    let balanced = check_locks(around, list, &mut held);
    if let (true, Some((lock, span))) = (balanced, held.pop()) {
        let name = around.locks.get(LockId::index(lock)).map_or("", |lock| lock.name.as_str());
        around.problems.push(
            around
                .problems
                .error(Code::Lock, format!("`{name}` is never unlocked"), &span)
                .label("locked here and still held when the job ends")
                .help(format!("add {{ unlock = \"{name}\" }} after the steps that need it")),
        );
    }
    Some(steps)
}

fn read_steps(
    around: &mut Surroundings<'_, '_>,
    list: &[Node],
    depth: usize,
    into: &mut Reading,
) -> Option<Vec<Step>> {
    let mut steps = Vec::with_capacity(list.len());
    let mut whole = true;
    for node in list {
        into.steps.count = into.steps.count.saturating_add(1);
        match &node.value {
            Value::Table(table) => match step(around, table, node, depth, into) {
                Some(step) => steps.push(step),
                None => whole = false,
            },
            _ => {
                wrong_type(around.problems, node, "work", "a step", "{ compute = \"300us\" }");
                whole = false;
            }
        }
    }
    whole.then_some(steps)
}

fn step(
    around: &mut Surroundings<'_, '_>,
    table: &Table,
    node: &Node,
    depth: usize,
    into: &mut Reading,
) -> Option<Step> {
    let problems = around.problems;
    let mut verbs = table.entries.iter().filter(|entry| VERBS.contains(&entry.key.as_str()));
    let Some(verb) = verbs.next() else {
        no_verb(problems, table, node);
        return None;
    };
    if let Some(second) = verbs.next() {
        problems.push(
            problems
                .error(
                    Code::Step,
                    format!("a step that does both `{}` and `{}`", verb.key, second.key),
                    &second.key_span,
                )
                .label("a second verb")
                .also(verb.key_span.clone(), "the first verb")
                .help("give each its own step: [{ ... }, { ... }]"),
        );
        return None;
    }
    let fields = Fields::new(problems, table, node.span.clone(), format!("a `{}` step", verb.key));
    let value = &verb.node;
    let step = match verb.key.as_str() {
        "compute" => {
            let _ = fields.get("compute");
            span(problems, value, "compute").map(Step::Compute)
        }
        "sleep" => {
            let _ = fields.get("sleep");
            span(problems, value, "sleep").map(Step::Sleep)
        }
        "execute" => execute(around, &fields, into),
        "sweep" => touch(around, &fields, "sweep", Pattern::Sweep, into),
        "ring" => touch(around, &fields, "ring", Pattern::Ring, into),
        "stream" => touch(around, &fields, "stream", Pattern::Stream, into),
        "rows" => touch(
            around,
            &fields,
            "rows",
            Pattern::Rows { row: Bytes::ZERO, arrays: 1, goes_on: false },
            into,
        ),
        "random" => touch(around, &fields, "random", Pattern::Random, into),
        "chase" => touch(around, &fields, "chase", Pattern::Chase, into),
        "replay" => replay(around, &fields, into),
        "lock" => lock(around, &fields, "lock").map(Step::Acquire),
        "unlock" => lock(around, &fields, "unlock").map(Step::Release),
        "allocate" => heap::allocate(around, &fields, into),
        "free" => heap::free(around, &fields, into),
        "flush" => flush::read(around, &fields, into),
        _ => repeat(around, &fields, node, depth, into),
    };
    fields.finish();
    step
}

/// `{ execute = 400_000_000, phase = "name" }`: instructions, as the kinds of cores are or as a phase says.
fn execute(around: &mut Surroundings<'_, '_>, fields: &Fields<'_>, into: &mut Reading) -> Option<Step> {
    let problems = around.problems;
    let instructions = fields.integer("execute", 1, Execute::INSTRUCTIONS_MAX);
    let named = fields.string("phase");
    let instructions = instructions?;
    let (phase, touch) = match named {
        None if fields.has("phase") => return None,
        None => (Phase::default(), None),
        Some(name) => {
            let known = around.phases;
            let Some(found) = known.iter().find(|known| known.name == name.value) else {
                let names: Vec<(&str, ())> = known.iter().map(|known| (known.name.as_str(), ())).collect();
                unknown_phase(problems, &name, &names);
                return None;
            };
            let touch = match &found.accesses {
                None => None,
                Some(accesses) => {
                    let fields =
                        Fields::new(problems, accesses.table.value, accesses.table.span.clone(), "a phase");
                    let Step::Touch(mut touch) =
                        touch(around, &fields, accesses.verb, accesses.pattern, into)?
                    else {
                        return None;
                    };
                    touch.accesses = accesses.of(instructions.value);
                    Some(touch)
                }
            };
            (found.phase.clone(), touch)
        }
    };
    let platform = around.platform?;
    let kinds = (0..platform.kinds.len()).map(|kind| KindId(kind as u8));
    let longest = kinds.map(|kind| phase.longest(platform, kind, instructions.value)).max();
    let length = At { value: longest.unwrap_or(Duration::ZERO), span: instructions.span.clone() };
    not_too_long(problems, length, "execute")?;
    Some(Step::Execute(Execute::new(platform, instructions.value, phase, touch)))
}

fn unknown_phase(problems: &Problems, name: &At<&str>, names: &[(&str, ())]) {
    let label = match nearest(name.value, names.iter().map(|(name, ())| *name)) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => String::from("no [[phase]] of this name"),
    };
    problems.push(
        problems
            .error(Code::UnknownName, format!("there is no phase \"{}\"", clip(name.value)), &name.span)
            .label(label)
            .help("a phase is declared once: [[phase]] with name and what its instructions cost"),
    );
}

fn no_verb(problems: &Problems, table: &Table, node: &Node) {
    let verbs = || VERBS.iter().copied();
    let meant = table.entries.iter().find_map(|entry| nearest(&entry.key, verbs()).map(|verb| (entry, verb)));
    let problem = match meant {
        Some((entry, verb)) => problems
            .error(Code::Step, format!("a step cannot `{}`", clip(&entry.key)), &entry.key_span)
            .label(format!("did you mean `{verb}`?")),
        None => {
            problems.error(Code::Step, "a step that does nothing", &node.span).label("no verb in this step")
        }
    };
    problems.push(problem.expected(format!("one of {}", VERBS.join(", "))));
}

/// `"300us"` or `["200us", "400us"]`.
fn span(problems: &Problems, node: &Node, verb: &'static str) -> Option<Span> {
    let Value::Array(items) = &node.value else {
        let found = quantity::<Duration>(problems, node, verb)?;
        return Some(Span::exactly(not_too_long(problems, found, verb)?.value));
    };
    let [least, most] = items.as_slice() else {
        problems.push(
            problems
                .error(Code::Compute, format!("a range of {} times", items.len()), &node.span)
                .label("not a range")
                .expected("the shortest and the longest time: [\"200us\", \"400us\"]"),
        );
        return None;
    };
    let least = quantity::<Duration>(problems, least, verb);
    let most = quantity::<Duration>(problems, most, verb).and_then(|most| not_too_long(problems, most, verb));
    let (least, most) = (least?, most?);
    if least.value > most.value {
        problems.push(
            problems
                .error(Code::Compute, format!("{} is longer than {}", least.value, most.value), &least.span)
                .label("the shortest time comes first"),
        );
        return None;
    }
    Some(Span { least: least.value, most: most.value })
}

/// A pass over a buffer.
fn touch(
    around: &mut Surroundings<'_, '_>,
    fields: &Fields<'_>,
    verb: &'static str,
    pattern: Pattern,
    into: &mut Reading,
) -> Option<Step> {
    let problems = around.problems;
    let size = fields.positive::<Bytes>(verb);
    let stride = fields.positive::<Bytes>("stride");
    let writes = fields.quantity::<PerMille>("writes");
    let think = fields.quantity::<Duration>("think").and_then(|think| not_too_long(problems, think, "think"));
    let passes = fields.integer("passes", 1, MOST);
    let accesses = fields.integer("accesses", 1, MOST);
    let named = fields.string("buffer");
    let rows = matches!(pattern, Pattern::Rows { .. }).then(|| RowKeys::read(fields));
    let size = size?;
    let memory = match named {
        Some(name) => heap::named(around, into, &name, &size)?,
        None if fields.has("buffer") => return None,
        None => Memory::Private(size.value),
    };
    let stride = match stride {
        Some(stride) => stride.value,
        None if fields.has("stride") => return None,
        None => DEFAULT_STRIDE.min(size.value),
    };
    if stride > size.value {
        problems.push(
            problems
                .error(
                    Code::Stride,
                    format!("a stride of {stride} in a buffer of {}", size.value),
                    &fields.span_of("stride"),
                )
                .label("larger than the whole buffer"),
        );
        return None;
    }
    if let (Some(_), Some(accesses)) = (&passes, &accesses) {
        problems.push(
            problems
                .error(Code::Both, "a step has both `passes` and `accesses`", &accesses.span)
                .label("one of the two says how long the step is")
                .also(fields.span_of("passes"), "the other one"),
        );
        return None;
    }
    let (pattern, piece, each) = match rows {
        None => (pattern, None, 1),
        // Each element is read once, and its row's first written once.
        Some(keys) => {
            let (pattern, piece) = keys.pattern(problems, &size, stride)?;
            (pattern, piece, 2)
        }
    };
    let whole_pass = size.value.get().checked_div(stride.get()).unwrap_or(0).saturating_mul(each);
    let accesses = accesses.map(|accesses| accesses.value).or(piece);
    let accesses = accesses.unwrap_or_else(|| whole_pass.saturating_mul(passes.map_or(1, |p| p.value)));
    Some(Step::Touch(Touch {
        pattern,
        buffer: local(into, memory),
        accesses,
        stride,
        writes: writes.map_or(PerMille::default(), |writes| writes.value),
        think: think.map_or(Duration::ZERO, |think| think.value),
    }))
}

/// What is said of rows.
struct RowKeys {
    row: Option<At<Bytes>>,
    arrays: u64,
    pieces: Option<Option<u64>>,
}

impl RowKeys {
    fn read(fields: &Fields<'_>) -> Self {
        let arrays = fields.integer("arrays", 1, 64).map_or(1, |arrays| arrays.value);
        Self { row: row(fields), arrays, pieces: pieces(fields) }
    }

    /// The pattern, and the accesses of the rows that are done each time, where that is said.
    fn pattern(self, problems: &Problems, size: &At<Bytes>, stride: Bytes) -> Option<(Pattern, Option<u64>)> {
        let Self { row, arrays, pieces } = self;
        let row = whole_row(problems, &row?, size, stride, arrays)?;
        let each = row.get().checked_div(stride.get())?.saturating_mul(arrays).saturating_mul(2);
        let piece = pieces?.map(|rows| rows.saturating_mul(each));
        Some((Pattern::Rows { row, arrays: arrays as u16, goes_on: piece.is_some() }, piece))
    }
}

/// How many rows are done each time, where that is said; `None` where it can't be told.
fn pieces(fields: &Fields<'_>) -> Option<Option<u64>> {
    let rows = fields.integer("rows-at-a-time", 1, MOST);
    if !fields.has("rows-at-a-time") {
        return Some(None);
    }
    if let Some(key) = ["passes", "accesses"].into_iter().find(|key| fields.has(key)) {
        let headline = format!("a step has both `rows-at-a-time` and `{key}`");
        let problem = fields.problems.error(Code::Both, headline, &fields.span_of("rows-at-a-time"));
        let problem = problem.label("one of the two says how long the step is");
        let help = "repeat the step: `{ repeat = 64, steps = [...] }`";
        fields.problems.push(problem.also(fields.span_of(key), "the other one").help(help));
        return None;
    }
    Some(Some(rows?.value))
}

/// The size of a row; must be there.
fn row(fields: &Fields<'_>) -> Option<At<Bytes>> {
    if !fields.has("row") {
        let _ = fields.get("row");
        fields.missing("row", "row = \"256B\"");
        return None;
    }
    fields.positive::<Bytes>("row")
}

/// Checks that a buffer is made of `arrays` arrays of whole rows of whole elements.
fn whole_row(
    problems: &Problems,
    row: &At<Bytes>,
    size: &At<Bytes>,
    stride: Bytes,
    arrays: u64,
) -> Option<Bytes> {
    let whole = row.value.get().is_multiple_of(stride.get())
        && size.value.get().is_multiple_of(row.value.get().saturating_mul(arrays));
    if !whole {
        problems.push(
            problems
                .error(Code::Row, format!("rows of {} in a buffer of {}", row.value, size.value), &row.span)
                .label("does not divide")
                .expected(format!(
                    "a row of which each of {arrays} array(s) has a whole number, a multiple of the stride, {stride}"
                )),
        );
    }
    whole.then_some(row.value)
}

fn shared_buffer(around: &Surroundings<'_, '_>, name: &At<&str>, size: &At<Bytes>) -> Option<Memory> {
    let problems = around.problems;
    let Some(&id) = around.buffer_names.get(name.value) else {
        if problems.is_full() {
            return None;
        }
        let mut names: Vec<&str> = around.buffer_names.keys().map(String::as_str).collect();
        names.sort_unstable();
        let label = match nearest(name.value, names.iter().copied()) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => String::from("no [[buffer]] of this name"),
        };
        problems.push(
            problems
                .error(Code::UnknownName, format!("there is no buffer \"{}\"", clip(name.value)), &name.span)
                .label(label)
                .help("a buffer that tasks share is declared once: [[buffer]] with name and size; without `buffer` the memory is the task's own"),
        );
        return None;
    };
    let whole = around.buffers.get(id.index())?.size;
    if whole != size.value {
        problems.push(
            problems
                .error(
                    Code::BufferSize,
                    format!("a step over {} of a buffer of {whole}", size.value),
                    &size.span,
                )
                .label("not the buffer's size")
                .also(name.span.clone(), format!("this buffer has {}", crate::units::SIZE.print(whole.get())))
                .help("a step visits the whole buffer; use `accesses` for a part, or a buffer of its own"),
        );
        return None;
    }
    Some(Memory::Shared(id))
}

/// The position of some memory among a task's.
fn local(into: &mut Reading, memory: Memory) -> BufferId {
    let (regions, allocated) = (&mut into.steps.regions, &into.allocated);
    let position = *into.positions.entry(memory).or_insert_with(|| {
        let name = match memory {
            Memory::Shared(_) => String::new(),
            Memory::Private(size) => crate::units::SIZE.print(size.get()),
            Memory::Recorded(trace, _) => format!("trace {trace}"),
            Memory::Allocated(number, _) => {
                allocated.get(number as usize).map_or(String::new(), |it| it.0.clone())
            }
        };
        regions.push(Region { memory, name });
        (regions.len() as u32).saturating_sub(1)
    });
    BufferId(position)
}

fn replay(around: &mut Surroundings<'_, '_>, fields: &Fields<'_>, into: &mut Reading) -> Option<Step> {
    let file = fields.required_string("replay", "replay = \"recordings/gzip.trace\"");
    let accesses = fields.integer("accesses", 1, MOST);
    let (trace, size) = around.files.trace(around.problems, &file?)?;
    let buffer = local(into, Memory::Recorded(trace, size));
    Some(Step::Replay(Replay { trace, buffer, accesses: accesses.map(|accesses| accesses.value) }))
}

fn lock(around: &Surroundings<'_, '_>, fields: &Fields<'_>, verb: &'static str) -> Option<LockId> {
    let name = fields.required_string(verb, &format!("{verb} = \"name\""))?;
    if let Some(&id) = around.lock_names.get(name.value) {
        return Some(id);
    }
    if around.problems.is_full() {
        return None;
    }
    let mut names: Vec<&str> = around.lock_names.keys().map(String::as_str).collect();
    names.sort_unstable();
    let label = match nearest(name.value, names.iter().copied()) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => String::from("no [[lock]] of this name"),
    };
    around.problems.push(
        around
            .problems
            .error(Code::UnknownName, format!("there is no lock \"{}\"", clip(name.value)), &name.span)
            .label(label)
            .help("a lock is declared once: [[lock]] with name and protocol"),
    );
    None
}

fn repeat(
    around: &mut Surroundings<'_, '_>,
    fields: &Fields<'_>,
    node: &Node,
    depth: usize,
    into: &mut Reading,
) -> Option<Step> {
    let problems = around.problems;
    let times = fields.integer("repeat", 1, u64::from(u32::MAX));
    if !fields.has("steps") {
        let _ = fields.get("steps");
        fields.missing("steps", "{ repeat = 3, steps = [{ compute = \"1ms\" }] }");
        return None;
    }
    let list = fields.list("steps", "steps = [{ compute = \"1ms\" }]");
    if depth >= DEEPEST_REPEAT {
        problems.push(
            problems
                .error(Code::TooDeep, "steps repeat inside each other too deep", &node.span)
                .label("one level too many")
                .expected(format!("at most {DEEPEST_REPEAT} levels")),
        );
        return None;
    }
    let steps = read_steps(around, list?, depth.saturating_add(1), into)?;
    Some(Step::Repeat { times: u32::try_from(times?.value).ok()?, steps })
}

/// Follows mutexes through a job's steps, `held` in the order of locking. Semaphores are free: a task may
/// signal what another waits for. False where something was wrong.
fn check_locks(around: &Surroundings<'_, '_>, list: &[Node], held: &mut Vec<(LockId, Range<usize>)>) -> bool {
    let problems = around.problems;
    for node in list {
        let Value::Table(table) = &node.value else { continue };
        if let (Some(_), Some(steps)) = (table.get("repeat"), table.get("steps")) {
            let Value::Array(inner) = &steps.node.value else { continue };
            let before = held.len();
            if !check_locks(around, inner, held) {
                return false;
            }
            if held.len() != before {
                let span = held.last().map_or(node.span.clone(), |(_, span)| span.clone());
                problems.push(
                    problems
                        .error(
                            Code::Lock,
                            "a round of `repeat` ends with other locks than it began with",
                            &span,
                        )
                        .label("still held when the next round begins"),
                );
                return false;
            }
        }
        for (verb, takes) in [("lock", true), ("unlock", false)] {
            let Some(Value::String(name)) = table.get(verb).map(|entry| &entry.node.value) else { continue };
            let Some(&id) = around.lock_names.get(name) else { continue };
            if around
                .locks
                .get(id.index())
                .is_some_and(|lock| matches!(lock.protocol, LockProtocol::Semaphore { .. }))
            {
                continue;
            }
            let position = held.iter().position(|(lock, _)| *lock == id);
            let complain = |headline: String, label: &str| {
                problems.push(problems.error(Code::Lock, headline, &node.span).label(label));
            };
            match (takes, position) {
                (true, None) => held.push((id, node.span.clone())),
                (true, Some(_)) => {
                    complain(
                        format!("`{name}` is locked twice"),
                        "the job holds it already and would wait for itself",
                    );
                    return false;
                }
                (false, Some(position)) => drop(held.remove(position)),
                (false, None) => {
                    complain(
                        format!("`{name}` is unlocked before it is locked"),
                        "the job does not hold it here",
                    );
                    return false;
                }
            }
        }
    }
    true
}

/// Reads `[[buffer]]`.
pub(crate) fn read_buffer(problems: &Problems, at: &At<&Table>) -> Option<(Buffer, Range<usize>)> {
    let fields = Fields::new(problems, at.value, at.span.clone(), "this buffer");
    let name = fields.required_string("name", "name = \"shared\"");
    let size = fields.positive::<Bytes>("size");
    if !fields.has("size") {
        fields.missing("size", "size = \"64KiB\"");
    }
    fields.finish();
    let name = name?;
    Some((Buffer { name: name.value.to_owned(), size: size?.value }, name.span))
}

/// Reads `[[lock]]`.
pub(crate) fn read_lock(problems: &Problems, at: &At<&Table>) -> Option<(Lock, Range<usize>)> {
    let fields = Fields::new(problems, at.value, at.span.clone(), "this lock");
    let name = fields.required_string("name", "name = \"bus\"");
    let protocols = [
        ("ceiling", LockProtocol::Ceiling),
        ("inheritance", LockProtocol::Inheritance),
        ("plain", LockProtocol::Plain),
        ("semaphore", LockProtocol::Semaphore { units: 1 }),
    ];
    let protocol = fields.word("protocol", &protocols);
    if !fields.has("protocol") {
        fields.missing("protocol", "protocol = \"ceiling\"");
    }
    let units =
        fields.get("units").and_then(|entry| integer(problems, &entry.node, "units", 0, u64::from(u32::MAX)));
    let protocol = match (protocol.map(|found| found.value), units) {
        (Some(LockProtocol::Semaphore { .. }), Some(units)) => {
            Some(LockProtocol::Semaphore { units: u32::try_from(units.value).ok()? })
        }
        (Some(_), Some(units)) => {
            problems.push(
                problems
                    .error(Code::Units, "only a semaphore has units", &units.span)
                    .label("a mutex is held by one job"),
            );
            None
        }
        (protocol, None) => protocol,
        (None, _) => None,
    };
    fields.finish();
    let name = name?;
    Some((Lock { name: name.value.to_owned(), protocol: protocol? }, name.span))
}
