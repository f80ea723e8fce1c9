//! From a platform file's tree to a [`Platform`].

use super::caches::{self, Layout};
use super::dram::at_most;
use super::sourced::{Sourced, SourcedValue, TOP};
use super::{check, dram, events, power};
use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::fields::{At, Fields, Problems, unknown_key, word};
use crate::kind::{FileKind, or_other};
use crate::source::Source;
use crate::tree::{self, Table};
use solo_model::check::MOST_COST;
use solo_model::platform::{
    ClockStep, Coherence, Core, CoreKind, FramePolicy, FrontSideBus, Pmu, Ports, Protocol, StreamPrefetcher,
};
use solo_model::{
    Bytes, CoreSet, Cycles, Energy, EventId, EventTable, Frequency, PerMille, Picoseconds, Platform, Voltage,
};

/// The largest clock, and so latency, that makes sense: keeps arithmetic far from overflow.
const MOST_CYCLES: u64 = 1_000_000;

/// Reads and checks a platform.
pub(super) fn platform(source: &Source) -> Result<Platform, Diagnostics> {
    with_values(source).map(|(platform, _)| platform)
}

/// Reads and checks a platform; with it every value as it stands in the file.
pub(super) fn with_values(source: &Source) -> Result<(Platform, Vec<SourcedValue>), Diagnostics> {
    values(source).map_err(|report| or_other(report, source, &FileKind::Platform))
}

fn values(source: &Source) -> Result<(Platform, Vec<SourcedValue>), Diagnostics> {
    let tree = tree::read(source)?;
    let problems = Problems::new(source);
    let read = read(&problems, &tree);
    if let Some((platform, _)) = &read {
        check::check(&problems, platform, &tree);
    }
    let (errors, _) = problems.finish();
    match read {
        Some(read) if errors.is_empty() => Ok(read),
        _ => Err(Diagnostics::new(errors)),
    }
}

fn read(problems: &Problems, tree: &Table) -> Option<(Platform, Vec<SourcedValue>)> {
    let top = Fields::new(problems, tree, 0..0, TOP);
    let name = top.required_string("name", "name = \"my-chip\"").map(|name| name.value.to_owned());
    let no_sources = Table::default();
    let sources = section(&top, "sources").map_or(&no_sources, |fields| fields.1);
    let sourced = Sourced::read(problems, sources);

    let page = page(&top, &sourced);
    let frames = sourced
        .word(&top, "frames", &[("sequential", FramePolicy::Sequential), ("random", FramePolicy::Random)])
        .map(|frames| frames.value);
    let events = events::read(&top)?;
    let cores = cores(&top, &sourced, &events);
    let reference = reference(&top, cores.as_ref().map_or(&[], |(kinds, _)| kinds));
    let power = cores.as_ref().map(|(kinds, _)| power::read(&top, &sourced, kinds, &events));
    let caches =
        cores.as_ref().and_then(|(kinds, cores)| caches::read(&top, &sourced, &layout(kinds, cores)));
    if cores.is_none() {
        // Asked for, so that it does not count as unknown.
        let _ = (top.get("cache"), top.get("power"));
    }
    let coherence = section(&top, "coherence").and_then(|(fields, _)| coherence(fields, &sourced));
    let bus = optional_section(&top, "bus").map(|fields| bus(fields, &sourced));
    let prefetcher = optional_section(&top, "prefetcher").map(|fields| prefetcher(fields, &sourced));
    let dram = section(&top, "dram").and_then(|(fields, _)| dram::read(fields, &sourced));
    let pmu = section(&top, "pmu").and_then(|(fields, _)| pmu(fields, &sourced));
    top.finish();

    let (kinds, cores) = cores?;
    let values = sourced.into_values();
    let sources = values.iter().map(|value| (value.key.clone(), value.source.clone())).collect();
    let platform = Platform {
        name: name?,
        kinds,
        reference: reference?,
        cores,
        caches: caches?,
        coherence: coherence?,
        bus: bus.map_or(Some(None), |bus| bus.map(Some))?,
        prefetcher: prefetcher.map_or(Some(None), |prefetcher| prefetcher.map(Some))?,
        dram: dram?,
        page: page?,
        frames: frames?,
        pmu: pmu?,
        power: power??,
        events,
        sources,
    };
    Some((platform, values))
}

fn layout(kinds: &[CoreKind], cores: &[Core]) -> Layout {
    Layout { cores: cores.to_vec(), kinds: kinds.iter().map(|kind| kind.name.clone()).collect() }
}

/// A table that may be absent.
fn optional_section<'t>(top: &Fields<'t>, key: &'static str) -> Option<Fields<'t>> {
    let table = top.table(key, &format!("[{key}]"))?;
    Some(Fields::new(top.problems, table.value, table.span, key))
}

/// A required table of the file.
pub(super) fn section<'t>(top: &Fields<'t>, key: &'static str) -> Option<(Fields<'t>, &'t Table)> {
    if !top.has(key) {
        let _ = top.get(key);
        top.problems.push(
            top.problems
                .error(Code::MissingKey, format!("{} has no [{key}]", top.what), &top.span)
                .label(format!("no table [{key}] in this file"))
                .help("platforms/xeon-w3530.toml shows every table and key"),
        );
        return None;
    }
    let table = top.table(key, &format!("[{key}]"))?;
    Some((Fields::new(top.problems, table.value, table.span, key), table.value))
}

fn page<'t>(top: &Fields<'t>, sourced: &Sourced<'t>) -> Option<Bytes> {
    let page = sourced.positive::<Bytes>(top, "page")?;
    let size = page.value.get();
    if !size.is_power_of_two() || !(512..=1 << 30).contains(&size) {
        top.problems.push(
            top.problems
                .error(Code::PowerOfTwo, format!("a page of {size} B is no page"), &page.span)
                .label("not a usable page size")
                .expected("a power of two from 512 B to 1 GiB"),
        );
        return None;
    }
    Some(page.value)
}

/// The kind on which computing takes as long as a scenario says: the one that is named, or the only one.
fn reference(top: &Fields<'_>, kinds: &[CoreKind]) -> Option<u8> {
    let names: Vec<(&str, u8)> = kinds.iter().map(|kind| kind.name.as_str()).zip(0..=u8::MAX).collect();
    if !top.has("reference")
        && let [(first, _), _, ..] = names.as_slice()
    {
        top.missing("reference", &format!("reference = \"{first}\""));
        return None;
    }
    match top.string("reference") {
        Some(found) if kinds.is_empty() => Some(0).filter(|_| !found.value.is_empty()),
        Some(found) => word(top.problems, &found, "reference", &names).map(|kind| kind.value),
        None => (!top.has("reference")).then_some(0),
    }
}

/// The kinds of cores and the logical processors: `[[cores]]`, siblings of a physical core side by side.
fn cores<'t>(
    top: &Fields<'t>,
    sourced: &Sourced<'t>,
    events: &EventTable,
) -> Option<(Vec<CoreKind>, Vec<Core>)> {
    let problems = top.problems;
    let tables = top.tables("cores", "[[cores]]");
    if tables.is_empty() {
        if !top.has("cores") {
            top.missing("cores", "[[cores]]");
        }
        return None;
    }
    let (mut kinds, mut cores, mut whole, mut physical) = (Vec::new(), Vec::new(), true, 0_u16);
    for (position, at) in tables.iter().enumerate() {
        let fields = Fields::new(problems, at.value, at.span.clone(), format!("cores {position}"));
        let kind = kind(&fields, sourced, events);
        let count = sourced.number(&fields, "count", 1, CoreSet::CAPACITY as u64);
        let smt = sourced.number(&fields, "smt", 1, 8);
        fields.finish();
        let (Some(kind), Some(count), Some(smt)) = (kind, count, smt) else {
            whole = false;
            continue;
        };
        if !count.value.is_multiple_of(smt.value)
            || count.value.saturating_add(cores.len() as u64) > CoreSet::CAPACITY as u64
        {
            problems.push(
                problems
                    .error(
                        Code::Cores,
                        format!("{} cores with {} threads each do not fit", count.value, smt.value),
                        &count.span,
                    )
                    .label("counts logical processors")
                    .expected(format!("a multiple of `smt`, and at most {} cores in all", CoreSet::CAPACITY)),
            );
            whole = false;
            continue;
        }
        let kind_index = kinds.len() as u8;
        kinds.push(kind);
        for _ in 0..count.value.checked_div(smt.value).unwrap_or(0) {
            for _ in 0..smt.value {
                cores.push(Core { kind: kind_index, physical });
            }
            physical = physical.saturating_add(1);
        }
    }
    whole.then_some((kinds, cores))
}

fn kind<'t>(fields: &Fields<'t>, sourced: &Sourced<'t>, events: &EventTable) -> Option<CoreKind> {
    let name = fields.required_string("kind", "kind = \"big\"");
    let clock = sourced.positive::<Frequency>(fields, "clock");
    let clock = clock.filter(|clock| {
        let plausible = (Frequency::new(1_000)..=Frequency::new(1_000_000_000_000)).contains(&clock.value);
        if !plausible {
            let problems = fields.problems;
            problems.push(
                problems
                    .error(Code::OutOfRange, format!("a clock of {}", clock.value), &clock.span)
                    .label("no processor runs at this rate")
                    .expected("1kHz to 1000GHz"),
            );
        }
        plausible
    });
    let speed = sourced.number(fields, "instructions-per-kilocycle", 1, 100_000);
    let outstanding = sourced.number(fields, "outstanding-misses", 1, 255);
    let smt_speed = sourced.positive::<PerMille>(fields, "smt-speed");
    let cycles = |key: &'static str| match fields.has(key) {
        true => sourced.number(fields, key, 0, 10_000).and_then(|found| u16::try_from(found.value).ok()),
        false => Some(0),
    };
    let (branch_miss, tlb_miss) = (cycles("branch-miss"), cycles("tlb-miss"));
    let inside = |table: &str| format!("{table} of {}", name.as_ref().map_or("", |name| name.value));
    let ports = match fields.table("ports", "[cores.ports]") {
        Some(table) => {
            Some(ports(Fields::new(fields.problems, table.value, table.span, inside("ports")), sourced)?)
        }
        None if fields.has("ports") => return None,
        None => None,
    };
    let energy = match fields.table("energy", "[cores.energy]") {
        Some(table) => {
            energy(&Fields::new(fields.problems, table.value, table.span, inside("energy")), sourced, events)?
        }
        None if fields.has("energy") => return None,
        None => Vec::new(),
    };
    let steps = steps(fields, sourced, clock.as_ref())?;
    Some(CoreKind {
        name: name?.value.to_owned(),
        clock: clock?.value,
        instructions_per_kilocycle: u32::try_from(speed?.value).ok()?,
        ports,
        outstanding_misses: u8::try_from(outstanding?.value).ok()?,
        smt_speed: smt_speed?.value,
        branch_miss: branch_miss?,
        tlb_miss: tlb_miss?,
        energy,
        steps,
        described_at: None,
    })
}

/// `[[cores.step]]`: the clocks that the kind can have, ascending, the one that it is described at among them. None where they are wrong.
fn steps<'t>(
    fields: &Fields<'t>,
    sourced: &Sourced<'t>,
    clock: Option<&At<Frequency>>,
) -> Option<Vec<ClockStep>> {
    let problems = fields.problems;
    let mut steps: Vec<ClockStep> = Vec::new();
    let mut whole = true;
    for at in fields.tables("step", "[[cores.step]]") {
        let own = Fields::new(problems, at.value, at.span.clone(), "step".to_owned());
        let found =
            sourced.positive::<Frequency>(&own, "clock").zip(sourced.positive::<Voltage>(&own, "voltage"));
        own.finish();
        let Some((clock, voltage)) = found else {
            whole = false;
            continue;
        };
        let rises = |last: &ClockStep| last.clock < clock.value && last.voltage <= voltage.value;
        if voltage.value > ClockStep::VOLTAGE_MAX || !steps.last().is_none_or(rises) {
            let headline = format!("a step of {} at {}", clock.value, voltage.value);
            let error =
                problems.error(Code::OutOfRange, headline, &at.span).label("comes after a higher one");
            problems.push(error.expected(
                "steps from the lowest clock to the highest, whose supplies don't fall, at most 10V",
            ));
            whole = false;
        }
        steps.push(ClockStep { clock: clock.value, voltage: voltage.value });
    }
    if let Some(clock) = clock
        && whole
        && !steps.is_empty()
        && !steps.iter().any(|step| step.clock == clock.value)
    {
        let headline = format!("no step has the clock of {}", clock.value);
        let error = problems.error(Code::OutOfRange, headline, &clock.span);
        problems.push(
            error.label("energy is said for this clock").expected("a step of this clock among the others"),
        );
        whole = false;
    }
    whole.then_some(steps)
}

/// `[cores.ports]`: what a core begins in a cycle when nothing waits for anything.
fn ports<'t>(fields: Fields<'t>, sourced: &Sourced<'t>) -> Option<Ports> {
    let [instructions, loads, stores] = ["instructions", "loads", "stores"]
        .map(|key| sourced.number(&fields, key, 1, 64).and_then(|found| u8::try_from(found.value).ok()));
    fields.finish();
    Some(Ports { instructions: instructions?, loads: loads?, stores: stores? })
}

/// `[cores.energy]`: what each of some events costs.
fn energy<'t>(
    fields: &Fields<'t>,
    sourced: &Sourced<'t>,
    events: &EventTable,
) -> Option<Vec<(EventId, Energy)>> {
    let mut costs = Vec::new();
    let mut whole = true;
    for entry in fields.entries() {
        let simulated = |event: &EventId| events.get(*event).is_some_and(|event| event.signal.is_some());
        let Some(event) = events.find(&entry.key).filter(simulated) else {
            let known: Vec<&str> = events.simulated().map(|(event, _)| events.name(event)).collect();
            unknown_key(fields.problems, entry, &fields.what, &known);
            whole = false;
            continue;
        };
        match sourced.quantity::<Energy>(fields, &entry.key) {
            // A joule an event: keeps sums far from overflow.
            Some(cost) if cost.value <= MOST_COST => costs.push((event, cost.value)),
            Some(cost) => {
                let error = fields.problems.error(
                    Code::TooLarge,
                    format!("`{}` costs {} each time", entry.key, cost.value),
                    &cost.span,
                );
                fields.problems.push(error.label("no event costs this").expected("at most 1000mJ"));
                whole = false;
            }
            None => whole = false,
        }
    }
    whole.then_some(costs)
}

fn coherence<'t>(fields: Fields<'t>, sourced: &Sourced<'t>) -> Option<Coherence> {
    let protocols = [
        ("mesi", Protocol::Mesi),
        ("mesif", Protocol::Mesif),
        ("moesi", Protocol::Moesi),
        ("none", Protocol::None),
    ];
    let protocol = sourced.word(&fields, "protocol", &protocols);
    let [clean, modified, upgrade] = ["snoop-clean", "snoop-modified", "upgrade"]
        .map(|key| sourced.number(&fields, key, 0, MOST_CYCLES).map(|n| Cycles::new(n.value)));
    fields.finish();
    Some(Coherence {
        protocol: protocol?.value,
        snoop_clean: clean?,
        snoop_modified: modified?,
        upgrade: upgrade?,
    })
}

/// `[prefetcher]`.
fn prefetcher<'t>(fields: Fields<'t>, sourced: &Sourced<'t>) -> Option<StreamPrefetcher> {
    let on = sourced.word(&fields, "on", &[("yes", true), ("no", false)]);
    let [streams, after, distance] = ["streams", "after", "distance"]
        .map(|key| sourced.number(&fields, key, 1, 64).map(|found| found.value as u16));
    fields.finish();
    Some(StreamPrefetcher { on: on?.value, streams: streams?, after: after?, distance: distance? })
}

/// `[bus]`: a front-side bus.
fn bus<'t>(fields: Fields<'t>, sourced: &Sourced<'t>) -> Option<FrontSideBus> {
    let clock = sourced.positive::<Picoseconds>(&fields, "clock");
    let clock = at_most(&fields, clock, "clock", Picoseconds::new(1_000_000_000));
    let clocks = |key: &'static str, least: u64| {
        sourced.number(&fields, key, least, 10_000).map(|found| found.value as u16)
    };
    let (address, snoop, data) = (clocks("address", 1), clocks("snoop", 0), clocks("data", 1));
    let reply = clocks("reply", 0);
    let (signal, depth) = (clocks("signal", 1), clocks("depth", 1));
    fields.finish();
    Some(FrontSideBus {
        clock: clock?.value,
        address: address?,
        snoop: snoop?,
        reply: reply?,
        data: data?,
        signal: signal?,
        depth: depth?,
    })
}

fn pmu<'t>(fields: Fields<'t>, sourced: &Sourced<'t>) -> Option<Pmu> {
    let [programmable, fixed] = ["programmable", "fixed"].map(|key| sourced.number(&fields, key, 0, 32));
    let width = sourced.number(&fields, "width", 1, 64);
    let overflow = sourced.word(&fields, "overflow", &[("yes", true), ("no", false)]);
    let told = fields.has("rmids");
    let rmids = told.then(|| sourced.number(&fields, "rmids", 2, solo_model::check::MOST_RMIDS));
    fields.finish();
    Some(Pmu {
        programmable: programmable?.value as u8,
        fixed: fixed?.value as u8,
        width: width?.value as u8,
        overflow: overflow?.value,
        rmids: rmids.map_or(Some(0), |rmids| Some(rmids?.value as u16))?,
    })
}
