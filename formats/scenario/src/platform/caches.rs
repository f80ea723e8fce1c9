//! Caches of a platform file: `[[cache]]`.

use super::sourced::{Sourced, number};
use crate::code::Code;
use crate::fields::{At, Fields, Problems};
use crate::tree::Table;
use solo_model::platform::{Cache, Contents, Core, Inclusion, Replacement, XorBits};
use solo_model::{Bytes, CoreId, CoreSet, Cycles};
use std::ops::Range;

/// The highest address bit that a hash may use, exclusive.
pub(super) const ADDRESS_BITS: u64 = 48;

/// The logical processors that caches stand behind.
pub(super) struct Layout {
    pub(super) cores: Vec<Core>,
    /// The names of the kinds that cores are of.
    pub(super) kinds: Vec<String>,
}

impl Layout {
    fn core(&self, core: CoreId) -> Option<&Core> {
        self.cores.get(core.index())
    }

    /// The groups of cores that share one cache each; `None` for words that mean nothing.
    fn groups(&self, shared_by: &str) -> Option<Vec<CoreSet>> {
        let (shared_by, kind) = match shared_by.split_once(" of ") {
            Some((who, kind)) => (who, Some(self.kinds.iter().position(|known| known == kind.trim())?)),
            None => (shared_by, None),
        };
        let is_meant = |core: &CoreId| {
            kind.is_none_or(|kind| self.core(*core).map(|core| usize::from(core.kind)) == Some(kind))
        };
        let all = || (0..self.cores.len()).map(|core| CoreId(core as u16)).filter(is_meant);
        let by_key = |key: &dyn Fn(CoreId) -> usize| {
            let mut groups: Vec<(usize, CoreSet)> = Vec::new();
            for core in all() {
                let key = key(core);
                match groups.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, set)) => *set = set.with(core),
                    None => groups.push((key, CoreSet::only(core))),
                }
            }
            groups.into_iter().map(|(_, set)| set).collect()
        };
        match shared_by {
            "core" => Some(by_key(&|core| core.index())),
            "physical-core" => {
                Some(by_key(&|core| self.core(core).map_or(0, |core| usize::from(core.physical))))
            }
            "chip" => Some(vec![all().collect()]),
            text if kind.is_none()
                && text.contains(|c: char| c.is_ascii_digit())
                && !text.contains("cores") =>
            {
                self.listed(text)
            }
            text => {
                let count: usize = text.strip_suffix(" cores")?.trim().parse().ok()?;
                let first = all().next()?.index();
                let fits = count > 0 && all().count().is_multiple_of(count);
                fits.then(|| {
                    by_key(&|core| core.index().saturating_sub(first).checked_div(count).unwrap_or(0))
                })
            }
        }
    }

    /// Groups by their numbers: `0 2, 1 3` or `0-3, 4-7`. Each core exists and stands in one group only.
    fn listed(&self, text: &str) -> Option<Vec<CoreSet>> {
        let mut seen = CoreSet::EMPTY;
        let mut group = |part: &str| {
            let mut set = CoreSet::EMPTY;
            for word in part.split_whitespace() {
                let (first, last) = word.split_once('-').unwrap_or((word, word));
                let (first, last) = (first.parse::<u16>().ok()?, last.parse::<u16>().ok()?);
                for core in (first..=last).map(CoreId) {
                    if core.index() >= self.cores.len() || seen.contains(core) {
                        return None;
                    }
                    (set, seen) = (set.with(core), seen.with(core));
                }
            }
            (!set.is_empty()).then_some(set)
        };
        text.split(',').map(&mut group).collect()
    }
}

/// Reads all caches, first level first.
pub(super) fn read<'t>(top: &Fields<'t>, sourced: &Sourced<'t>, layout: &Layout) -> Option<Vec<Cache>> {
    let tables = top.tables("cache", "[[cache]]");
    if tables.is_empty() {
        if !top.has("cache") {
            top.missing("cache", "[[cache]]");
        }
        return None;
    }
    let mut caches = Vec::new();
    let mut whole = true;
    for at in &tables {
        match cache(top.problems, at, sourced, layout) {
            Some(group) => caches.extend(group),
            None => whole = false,
        }
    }
    let order = |cache: &Cache| (cache.level, cache.cores.lowest(), cache.contents == Contents::Instructions);
    caches.sort_by_key(order);
    whole.then_some(caches)
}

/// One `[[cache]]` table: a cache for each group of cores.
fn cache<'t>(
    problems: &'t Problems,
    at: &At<&'t Table>,
    sourced: &Sourced<'t>,
    layout: &Layout,
) -> Option<Vec<Cache>> {
    let name = at.value.get("name").map(|entry| problems.source.slice(entry.node.span.clone()));
    let what = format!("cache {}", name.unwrap_or("").trim_matches('"'));
    let fields = Fields::new(problems, at.value, at.span.clone(), what);
    let names = [
        ("L1d", (1, Contents::Data)),
        ("L1i", (1, Contents::Instructions)),
        ("L1", (1, Contents::Unified)),
        ("L2", (2, Contents::Unified)),
        ("L3", (3, Contents::Unified)),
        ("L4", (4, Contents::Unified)),
        ("L5", (5, Contents::Unified)),
        ("L6", (6, Contents::Unified)),
    ];
    let level = fields
        .required_string("name", "name = \"L2\"")
        .and_then(|found| crate::fields::word(problems, &found, "name", &names));
    let shared = sourced.text(&fields, "shared-by", "core");
    let size = sourced.positive::<Bytes>(&fields, "size");
    let ways = sourced.number(&fields, "ways", 1, 1 << 12);
    let line = sourced.positive::<Bytes>(&fields, "line");
    let latency = sourced.number(&fields, "latency", 0, 100_000);
    let replacement = sourced.word(&fields, "replacement", Replacement::NAMES);
    let inclusion = sourced.word(
        &fields,
        "inclusion",
        &[
            ("inclusive", Inclusion::Inclusive),
            ("non-inclusive", Inclusion::NonInclusive),
            ("exclusive", Inclusion::Exclusive),
        ],
    );
    let slices = if fields.has("slice-hash") {
        sourced.text(&fields, "slice-hash", "17^18, 19^20").and_then(|found| slices(problems, &found))
    } else {
        let _ = fields.get("slice-hash");
        Some((Vec::new(), 1))
    };
    fields.finish();
    let shared = shared?;
    let groups = layout.groups(shared.value);
    if groups.is_none() {
        unknown_sharers(problems, &shared, layout.cores.len());
    }
    let (level, contents) = level?.value;
    let (slice_hash, hashed_slices) = slices?;
    let template = Cache {
        level,
        contents,
        cores: CoreSet::EMPTY,
        size: size?.value,
        ways: ways?.value as u16,
        line: line?.value,
        latency: Cycles::new(latency?.value),
        replacement: replacement?.value,
        inclusion: inclusion?.value,
        slice_hash,
        hashed_slices,
    };
    let geometry_holds = geometry(problems, &template, &at.span);
    let caches = groups?.into_iter().map(|cores| Cache { cores, ..template.clone() }).collect();
    geometry_holds.then_some(caches)
}

/// How lines are spread over slices: by parities of address bits, or, for `hashed 14`, by a hash that nobody has
/// published.
fn slices(problems: &Problems, found: &At<&str>) -> Option<(Vec<XorBits>, u16)> {
    match found.value.strip_prefix("hashed ") {
        Some(count) => {
            let count = number(problems, count.trim(), &found.span, "slice-hash", 2, 256)?;
            Some((Vec::new(), count as u16))
        }
        None => bits(problems, found, "slice-hash").map(|bits| (bits, 1)),
    }
}

fn unknown_sharers(problems: &Problems, shared: &At<&str>, cores: usize) {
    problems.push(
        problems
            .error(
                Code::Sharers,
                format!("`shared-by` = \"{}\" names no cores", shared.value),
                &shared.span,
            )
            .label("who stands before this cache?")
            .expected(format!(
                "core, physical-core, chip, or \"N cores\" where N divides {cores}, each also \"... of KIND\"; or \
                 groups of their numbers, as in \"0 2, 1 3\""
            )),
    );
}

/// Checks that lines and sets come out even.
fn geometry(problems: &Problems, cache: &Cache, span: &Range<usize>) -> bool {
    let mut holds = true;
    let mut complain = |headline: String, expected: &str| {
        holds = false;
        problems
            .push(problems.error(Code::Geometry, headline, span).label("in this cache").expected(expected));
    };
    let line = cache.line.get();
    if !line.is_power_of_two() || !(8..=4096).contains(&line) {
        complain(format!("a line of {line} B is no cache line"), "a power of two from 8 B to 4096 B");
        return false;
    }
    let way = line.saturating_mul(u64::from(cache.ways));
    if !cache.size.get().is_multiple_of(way) {
        complain(
            format!("{} do not divide into {} ways of {line} B lines", cache.size, cache.ways),
            "a size that is a multiple of ways x line",
        );
        return false;
    }
    let (slices, sets) = (cache.slices(), cache.sets());
    if !sets.is_multiple_of(slices) {
        complain(
            format!("{sets} sets do not divide into {slices} slices"),
            "as many sets in each slice: size / (ways x line x slices)",
        );
    }
    holds
}

/// Address bits such as `12, 13, 19^20`: a list of bits, each the parity of one or more address bits.
/// `none` is the empty list.
pub(super) fn bits(problems: &Problems, found: &At<&str>, key: &str) -> Option<Vec<XorBits>> {
    if found.value == "none" {
        return Some(Vec::new());
    }
    let mut masks = Vec::new();
    for part in found.value.split(',') {
        let mut mask = 0_u64;
        for bit in part.split('^') {
            let bit = number(problems, bit.trim(), &found.span, key, 0, ADDRESS_BITS - 1)?;
            if mask >> bit & 1 == 1 {
                problems.push(
                    problems
                        .error(
                            Code::Bits,
                            format!("`{key}` names bit {bit} twice in one parity"),
                            &found.span,
                        )
                        .label("a bit cancels itself out")
                        .expected("each bit once"),
                );
                return None;
            }
            mask |= 1 << bit;
        }
        masks.push(XorBits(mask));
    }
    if masks.len() > 8 || !independent(&masks) {
        problems.push(
            problems
                .error(
                    Code::Bits,
                    format!("`{key}` does not select among {} places", 1_u64 << masks.len().min(63)),
                    &found.span,
                )
                .label("bits repeat each other")
                .expected("at most 8 bits, none of which is the parity of others"),
        );
        return None;
    }
    Some(masks)
}

/// True where no mask is the sum of others (Gaussian elimination over one bit).
pub(super) fn independent(masks: &[XorBits]) -> bool {
    let mut basis: Vec<u64> = Vec::new();
    for mask in masks {
        let reduced = basis.iter().fold(mask.0, |mask, &known| mask.min(mask ^ known));
        if reduced == 0 {
            return false;
        }
        basis.push(reduced);
        basis.sort_unstable_by(|a, b| b.cmp(a));
    }
    true
}
