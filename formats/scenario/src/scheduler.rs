//! `[scheduler]`: the policy, its clusters and times, and what kernel paths cost, as far as they are said.

use crate::code::Code;
use crate::diagnostic::clip;
use crate::fields::{At, Fields, Problems, integer, wrong_type};
use crate::files::Files;
use crate::limits::at_least;
use crate::monitor;
use crate::nearest::nearest;
use crate::tree::{Node, Value};
use crate::units::{Kind, Quantity};
use solo_model::{CoreId, CoreSet, Criterion, Duration, OverheadTable, PerMille, Platform, Scope};
use solo_plan::{CoreCapacity, Partitioner, Said, SchedulerWish, Wish};

/// Reads `[scheduler]`.
pub(crate) fn read(
    fields: Fields<'_>,
    platform: Option<&Platform>,
    files: &mut Files<'_>,
) -> Said<SchedulerWish> {
    let problems = fields.problems;
    let name = fields.required_string("policy", "policy = \"P-EDF\"");
    let named = name.as_ref().and_then(|name| policy_name(problems, name));
    let quantum = at_least(problems, fields.positive::<Duration>("quantum"), "quantum");
    let tick = at_least(problems, fields.positive::<Duration>("tick"), "tick");
    let (quantum, tick) = (fields.said("quantum", quantum), fields.said("tick", tick));
    let overheads = overheads(&fields, platform, files);
    let partition = fields.said("partition", fields.word("partition", &Partitioner::all()));
    let (capacity, alpha) =
        (fields.said("capacity", capacity(&fields)), fields.said("alpha", alpha(&fields)));
    let monitor = monitor::read(&fields, platform, files);
    let fastest_first = fields.word("cores", &[("any", false), ("fastest-first", true)]);
    let clusters = fields.get("clusters").map(|entry| &entry.node);
    let scope = match (named, clusters, platform) {
        (Some(('P', _)), ..) => Some(Scope::Partitioned),
        (Some(('G', _)), ..) => Some(Scope::Global),
        (Some(_), Some(node), Some(platform)) => {
            read_clusters(problems, node, platform).map(Scope::Clustered)
        }
        (Some(_), None, _) => {
            fields.missing("clusters", "clusters = \"L2\"");
            None
        }
        _ => None,
    };
    if let (Some(('P' | 'G', _)), Some(node), Some(name)) = (named, clusters, &name)
        && problems.variant.borrow().is_none()
    {
        problems.push(
            problems
                .error(Code::UnusedKey, format!("`clusters` has no effect under {}", name.value), &node.span)
                .label("only C- policies have clusters")
                .into_warning(),
        );
    }
    if let (Some(order), Some((letter, criterion)), Some(platform)) = (&fastest_first, named, platform) {
        warn_of_order(problems, order, letter, criterion, platform);
    }
    let fastest_first = fastest_first.is_some_and(|order| order.value);
    let wish = || {
        let (_, criterion) = named?;
        let at = name?.span;
        // Whoever can't read the costs of kernel paths, or what is listened to, knows no scheduler, either.
        let known = !matches!(overheads, Said::Unreadable) && !matches!(monitor, Said::Unreadable);
        let criterion = Wish::new(criterion, at);
        known.then_some(SchedulerWish {
            scope: scope?,
            criterion,
            quantum,
            tick,
            fastest_first,
            overheads,
            partition,
            capacity,
            alpha,
            monitor,
        })
    };
    let span = fields.span.clone();
    fields.finish();
    wish().map_or(Said::Unreadable, |wish| Said::This(Wish::new(wish, span)))
}

/// `cores = "fastest-first"` where it has no effect.
fn warn_of_order(
    problems: &Problems,
    order: &At<bool>,
    letter: char,
    criterion: Criterion,
    platform: &Platform,
) {
    let why = if letter == 'P' || criterion.is_bound() {
        "each job has one core"
    } else if !criterion.facts().preemptive {
        "jobs stay where they are until they end"
    } else if platform.speeds().len() < 2 {
        "all cores are equally fast"
    } else {
        return;
    };
    if order.value && problems.variant.borrow().is_none() {
        let said = format!("`cores` has no effect under {letter}-{} on {}", criterion.name(), platform.name);
        problems.push(problems.error(Code::UnusedKey, said, &order.span).label(why).into_warning());
    }
}

/// `capacity`: a word or a share of a core.
fn capacity(fields: &Fields<'_>) -> Option<At<CoreCapacity>> {
    let entry = fields.get("capacity")?;
    if let Value::String(text) = &entry.node.value
        && !text.starts_with(|first: char| first.is_ascii_digit())
    {
        return fields.word("capacity", &[("edf", CoreCapacity::Edf), ("rm", CoreCapacity::Rm)]);
    }
    let share: At<PerMille> = fields.positive("capacity")?;
    Some(At { value: CoreCapacity::Share(share.value), span: share.span })
}

/// A multiple, in thousandths: `"400%"`.
#[derive(PartialEq)]
struct Multiple(u64);

impl Quantity for Multiple {
    const KIND: Kind = Kind { name: "a multiple", example: "400%", units: &[("%", 10)] };
    fn from_raw(raw: u64) -> Option<Self> {
        Some(Self(raw))
    }
}

/// `alpha`: what 0.69 is multiplied by.
fn alpha(fields: &Fields<'_>) -> Option<At<u64>> {
    let entry = fields.get("alpha")?;
    if let Value::Integer(Some(whole)) = &entry.node.value
        && let Ok(whole) = u64::try_from(*whole)
    {
        return Some(At { value: whole.saturating_mul(1000), span: entry.node.span.clone() });
    }
    let found: At<Multiple> = fields.quantity("alpha")?;
    Some(At { value: found.value.0, span: found.span })
}

/// `P-RM` as a letter and a criterion.
fn policy_name(problems: &Problems, name: &At<&str>) -> Option<(char, Criterion)> {
    let all = ['P', 'C', 'G'].into_iter().flat_map(|letter| {
        Criterion::ALL
            .into_iter()
            .map(move |criterion| (format!("{letter}-{}", criterion.name()), letter, criterion))
    });
    let all: Vec<(String, char, Criterion)> = all.collect();
    if let Some((_, letter, criterion)) = all.iter().find(|(known, ..)| known == name.value) {
        return Some((*letter, *criterion));
    }
    let criteria = Criterion::ALL.map(Criterion::name);
    let label = if criteria.contains(&name.value) {
        format!("did you mean \"P-{}\"?", name.value)
    } else {
        match nearest(name.value, all.iter().map(|(known, ..)| known.as_str())) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => String::from("no such policy"),
        }
    };
    problems.push(
        problems
            .error(Code::UnknownPolicy, format!("unknown policy \"{}\"", clip(name.value)), &name.span)
            .label(label)
            .expected(format!(
                "P- (partitioned), C- (clustered) or G- (global) and one of {}",
                criteria.join(", ")
            )),
    );
    None
}

/// Clusters by cache level, by size, or as lists of cores.
fn read_clusters(problems: &Problems, node: &Node, platform: &Platform) -> Option<Vec<CoreSet>> {
    let cores = platform.cores.len();
    match &node.value {
        Value::String(text) => by_level(problems, node, text, platform),
        Value::Integer(_) => {
            let size = integer(problems, node, "clusters", 1, cores as u64)?.value as usize;
            if !cores.is_multiple_of(size) {
                problems.push(
                    problems
                        .error(
                            Code::Clusters,
                            format!("{cores} cores do not divide into clusters of {size}"),
                            &node.span,
                        )
                        .label("does not come out even")
                        .expected(format!("a divisor of {cores}, or a list such as [[0, 1], [2, 3]]")),
                );
                return None;
            }
            let cluster =
                |first: usize| (first..first.saturating_add(size)).map(|core| CoreId(core as u16)).collect();
            Some((0..cores).step_by(size).map(cluster).collect())
        }
        Value::Array(lists) => by_list(problems, node, lists, cores),
        _ => {
            wrong_type(
                problems,
                node,
                "clusters",
                "a cache level, a size or lists of cores",
                "clusters = \"L2\"",
            );
            None
        }
    }
}

fn by_level(problems: &Problems, node: &Node, text: &str, platform: &Platform) -> Option<Vec<CoreSet>> {
    let level = text.strip_prefix('L').and_then(|level| level.parse().ok());
    let clusters = level.map(|level| platform.clusters(level)).filter(|clusters| !clusters.is_empty());
    if clusters.is_none() {
        let levels: Vec<String> = (1..=platform.levels()).map(|level| format!("\"L{level}\"")).collect();
        problems.push(
            problems
                .error(
                    Code::Clusters,
                    format!("{} has no caches \"{}\"", platform.name, clip(text)),
                    &node.span,
                )
                .label("not a cache level of the platform")
                .expected(format!(
                    "one of {}, a size such as 2, or a list such as [[0, 1], [2, 3]]",
                    levels.join(", ")
                )),
        );
    }
    clusters
}

fn by_list(problems: &Problems, node: &Node, lists: &[Node], cores: usize) -> Option<Vec<CoreSet>> {
    let mut clusters = Vec::new();
    let mut seen = CoreSet::EMPTY;
    for list in lists {
        let Value::Array(items) = &list.value else {
            wrong_type(problems, list, "clusters", "a list of cores", "clusters = [[0, 1], [2, 3]]");
            return None;
        };
        let mut cluster = CoreSet::EMPTY;
        for item in items {
            let core = CoreId(
                integer(problems, item, "clusters", 0, (cores as u64).saturating_sub(1))?.value as u16,
            );
            if seen.contains(core) {
                problems.push(
                    problems
                        .error(
                            Code::Clusters,
                            format!("core {} is in the clusters twice", core.0),
                            &item.span,
                        )
                        .label("named before")
                        .expected("every core in one cluster"),
                );
                return None;
            }
            seen = seen.with(core);
            cluster = cluster.with(core);
        }
        if !cluster.is_empty() {
            clusters.push(cluster);
        }
    }
    let left: Vec<String> =
        (0..cores as u16).filter(|&c| !seen.contains(CoreId(c))).map(|c| c.to_string()).collect();
    if !left.is_empty() {
        problems.push(
            problems
                .error(Code::Clusters, "the clusters leave cores out", &node.span)
                .label(format!("without core {}", left.join(", ")))
                .expected("every core in one cluster"),
        );
        return None;
    }
    clusters.sort_by_key(|cluster: &CoreSet| cluster.lowest());
    Some(clusters)
}

/// `overheads`: a built-in table or a file.
fn overheads(fields: &Fields<'_>, platform: Option<&Platform>, files: &mut Files<'_>) -> Said<OverheadTable> {
    let name = fields.string("overheads");
    let found = name.and_then(|name| {
        let value = files.overheads(fields.problems, &name, platform)?;
        Some(At { value, span: name.span })
    });
    fields.said("overheads", found)
}
