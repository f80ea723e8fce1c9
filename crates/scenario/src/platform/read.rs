//! From a platform file's tree to a [`Platform`].

use super::caches::{self, Layout};
use super::sourced::Sourced;
use super::{check, dram};
use crate::diagnostic::Report;
use crate::fields::{Fields, Problems};
use crate::source::Source;
use crate::tree::{self, Table};
use solo_model::platform::{Coherence, Core, CoreKind, FramePolicy, Pmu, Protocol};
use solo_model::{Bytes, CoreSet, Cycles, Frequency, PerMille, Platform};

/// The largest clock, and so latency, that makes sense: keeps arithmetic far from overflow.
const MOST_CYCLES: u64 = 1_000_000;

/// What messages call the top of the file.
pub(super) const TOP: &str = "the platform";

/// Reads and checks a platform.
pub(super) fn platform(source: &Source) -> Result<Platform, Report> {
    let tree = tree::read(source)?;
    let problems = Problems::new(source);
    let platform = read(&problems, &tree);
    if let Some(platform) = &platform {
        check::check(&problems, platform, &tree);
    }
    let (errors, _) = problems.finish();
    match platform {
        Some(platform) if errors.is_empty() => Ok(platform),
        _ => Err(Report::new(errors)),
    }
}

fn read(problems: &Problems, tree: &Table) -> Option<Platform> {
    let top = Fields::new(problems, tree, 0..0, TOP);
    let name = top.required_string("name", "name = \"my-chip\"").map(|name| name.value.to_owned());
    let no_sources = Table::default();
    let sources = section(&top, "sources").map_or(&no_sources, |fields| fields.1);
    let sourced = Sourced::read(problems, sources);

    let page = page(&top, &sourced);
    let frames = sourced
        .word(&top, "frames", &[("sequential", FramePolicy::Sequential), ("random", FramePolicy::Random)])
        .map(|frames| frames.value);
    let cores = cores(&top, &sourced);
    let caches =
        cores.as_ref().and_then(|(_, cores)| caches::read(&top, &sourced, &Layout { cores: cores.clone() }));
    if cores.is_none() {
        // Asked for, so that it does not count as unknown.
        let _ = top.get("cache");
    }
    let coherence = section(&top, "coherence").and_then(|(fields, _)| coherence(fields, &sourced));
    let dram = section(&top, "dram").and_then(|(fields, _)| dram::read(fields, &sourced));
    let pmu = section(&top, "pmu").and_then(|(fields, _)| pmu(fields, &sourced));
    top.finish();

    let (kinds, cores) = cores?;
    Some(Platform {
        name: name?,
        kinds,
        cores,
        caches: caches?,
        coherence: coherence?,
        dram: dram?,
        page: page?,
        frames: frames?,
        pmu: pmu?,
        sources: sourced.into_sources(),
    })
}

/// A required table of the file.
pub(super) fn section<'t>(top: &Fields<'t>, key: &'static str) -> Option<(Fields<'t>, &'t Table)> {
    if !top.has(key) {
        let _ = top.get(key);
        top.problems.push(
            top.problems
                .error("solo::missing_key", format!("{} has no [{key}]", top.what), &top.span)
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
                .error("solo::power_of_two", format!("a page of {size} B is no page"), &page.span)
                .label("not a usable page size")
                .expected("a power of two from 512 B to 1 GiB"),
        );
        return None;
    }
    Some(page.value)
}

/// The kinds of cores and the logical processors: `[[cores]]`, siblings of a physical core side by side.
fn cores<'t>(top: &Fields<'t>, sourced: &Sourced<'t>) -> Option<(Vec<CoreKind>, Vec<Core>)> {
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
        let kind = kind(&fields, sourced);
        let count = sourced.number(&fields, "count", 1, CoreSet::CAPACITY as u64);
        let smt = sourced.number(&fields, "smt", 1, 8);
        fields.finish();
        let (Some(kind), Some(count), Some(smt)) = (kind, count, smt) else {
            whole = false;
            continue;
        };
        if count.value % smt.value != 0 || cores.len() as u64 + count.value > CoreSet::CAPACITY as u64 {
            problems.push(
                problems
                    .error(
                        "solo::cores",
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
        for _ in 0..count.value / smt.value {
            for _ in 0..smt.value {
                cores.push(Core { kind: kind_index, physical });
            }
            physical += 1;
        }
    }
    whole.then_some((kinds, cores))
}

fn kind<'t>(fields: &Fields<'t>, sourced: &Sourced<'t>) -> Option<CoreKind> {
    let name = fields.required_string("kind", "kind = \"big\"");
    let clock = sourced.positive::<Frequency>(fields, "clock");
    let clock = clock.filter(|clock| {
        let plausible = (Frequency::new(1_000)..=Frequency::new(1_000_000_000_000)).contains(&clock.value);
        if !plausible {
            let problems = fields.problems;
            problems.push(
                problems
                    .error("solo::out_of_range", format!("a clock of {}", clock.value), &clock.span)
                    .label("no processor runs at this rate")
                    .expected("1kHz to 1000GHz"),
            );
        }
        plausible
    });
    let speed = sourced.number(fields, "instructions-per-kilocycle", 1, 100_000);
    let outstanding = sourced.number(fields, "outstanding-misses", 1, 255);
    let smt_speed = sourced.positive::<PerMille>(fields, "smt-speed");
    Some(CoreKind {
        name: name?.value.to_owned(),
        clock: clock?.value,
        instructions_per_kilocycle: u32::try_from(speed?.value).ok()?,
        outstanding_misses: u8::try_from(outstanding?.value).ok()?,
        smt_speed: smt_speed?.value,
    })
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

fn pmu<'t>(fields: Fields<'t>, sourced: &Sourced<'t>) -> Option<Pmu> {
    let [programmable, fixed] = ["programmable", "fixed"].map(|key| sourced.number(&fields, key, 0, 32));
    let width = sourced.number(&fields, "width", 1, 64);
    let overflow = sourced.word(&fields, "overflow", &[("yes", true), ("no", false)]);
    fields.finish();
    Some(Pmu {
        programmable: programmable?.value as u8,
        fixed: fixed?.value as u8,
        width: width?.value as u8,
        overflow: overflow?.value,
    })
}
