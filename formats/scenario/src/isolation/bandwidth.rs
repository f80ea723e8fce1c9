//! `[isolation.bandwidth]` and budgets of tasks.

use crate::code::Code;
use crate::diagnostic::clip;
use crate::fields::{At, Fields, Problems, integer, parse_quantity, positive, quantity, string};
use crate::limits::{at_least, not_too_long};
use crate::tree::{Entry, Node, Table, Value};
use solo_model::isolation::*;
use solo_model::{Bandwidth, CoreId, Duration, Events, Platform};
use solo_plan::{BandwidthWish, Said, Wish};

/// Reads `[isolation.bandwidth]`.
pub(super) fn read(problems: &Problems, isolation: &Fields<'_>, platform: &Platform) -> Said<BandwidthWish> {
    let table = isolation.table("bandwidth", "[isolation.bandwidth]\ncores = { 0 = \"900MiB/s\" }");
    let Some(table) = table else {
        // Budgets of tasks are nobody's where the whole table is none.
        return Said::Nothing;
    };
    let fields = Fields::new(problems, table.value, table.span, "[isolation.bandwidth]");
    let errors = problems.errors();
    let wish = wish(&fields, platform);
    let span = fields.span.clone();
    fields.finish();
    if problems.errors() > errors { Said::Unreadable } else { Said::This(Wish::new(wish, span)) }
}

fn wish(fields: &Fields<'_>, platform: &Platform) -> BandwidthWish {
    let problems = fields.problems;
    let truth = [("yes", true), ("no", false)];
    let sharing =
        [("none", Sharing::None), ("spare", Sharing::Spare), ("proportional", Sharing::Proportional)];
    let reclaim = [("off", Reclaim::Off), ("pool", Reclaim::Pool), ("peers", Reclaim::Peers)];
    let wrong = [("overdraw", WrongDonation::Overdraw), ("throttle", WrongDonation::Throttle)];
    let period = at_least(problems, fields.positive::<Duration>("period"), "period");
    let quantum = fields.integer("quantum", 1, u64::from(u32::MAX));
    let charge = fields.get("charge").and_then(|entry| {
        let value = percents(problems, &entry.node, "charge")?;
        Some(Wish::new(value, entry.node.span.clone()))
    });
    BandwidthWish {
        cores: core_budgets(fields, platform),
        cores_at: fields.span_of("cores").into(),
        changes: changes(fields, platform),
        period: period.map(At::wish),
        counted: counted(fields, platform).map(At::wish),
        sharing: fields.word("sharing", &sharing).map(At::wish),
        reclaim: fields.word("reclaim", &reclaim).map(At::wish),
        prediction: prediction(fields).map(At::wish),
        quantum: quantum.map(At::wish),
        wrong_donation: fields.word("wrong-donation", &wrong).map(At::wish),
        carry_over: fields.word("carry-over", &truth).map(At::wish),
        charge,
        guaranteed: fields.positive::<Bandwidth>("guaranteed").map(At::wish),
        best_effort: fields.word("best-effort", &truth).map(At::wish),
        dma: dma(fields),
    }
}

/// How use is predicted.
fn prediction(fields: &Fields<'_>) -> Option<At<Prediction>> {
    let words =
        [("ewma-1/2", Prediction::EwmaHalf), ("ewma-1/4", Prediction::EwmaQuarter), ("lms", Prediction::Lms)];
    let names: Vec<(&'static str, usize)> =
        words.iter().enumerate().map(|(at, (name, _))| (*name, at)).collect();
    let found = fields.word("predictor", &names)?;
    Some(At { value: words.get(found.value)?.1.clone(), span: found.span })
}

fn counted(fields: &Fields<'_>, platform: &Platform) -> Option<At<Counted>> {
    let table = &platform.events;
    let mut words: Vec<(&str, Counted)> =
        table.simulated().map(|(event, _)| (table.name(event), Counted::One(event))).collect();
    words.push(("reads-and-writes", Counted::ReadsAndWrites));
    fields.word("counts", &words)
}

/// `cores` and `writes`.
fn core_budgets(fields: &Fields<'_>, platform: &Platform) -> Vec<CoreBudget> {
    let problems = fields.problems;
    let mut cores: Vec<CoreBudget> = Vec::new();
    for (key, writes) in [("cores", false), ("writes", true)] {
        let Some(table) = fields.table(key, &format!("{key} = {{ 0 = \"900MiB/s\" }}")) else { continue };
        for entry in &table.value.entries {
            let Some(core) = core_of(problems, entry, platform) else { continue };
            let Some(budget) = budget(problems, &entry.node, key) else { continue };
            match cores.iter_mut().find(|known| known.core == core) {
                Some(known) if writes => known.writes = Some(budget.value),
                None if !writes => cores.push(CoreBudget { core, budget: budget.value, writes: None }),
                _ => problems.push(
                    problems
                        .error(Code::CoreBudget, format!("`{key}` of {core} has no place"), &entry.key_span)
                        .label("`writes` adds to a core of `cores`; each core stands once"),
                ),
            }
        }
    }
    cores.sort_by_key(|entry| entry.core);
    cores
}

/// The most changes of a run.
const MOST_CHANGES: usize = 1000;

/// `[[isolation.bandwidth.change]]`: when, and what budgets are then.
fn changes(fields: &Fields<'_>, platform: &Platform) -> Vec<Wish<BudgetChange>> {
    let problems = fields.problems;
    let example = "[[isolation.bandwidth.change]]\nat = \"20ms\"\ncores = { 0 = \"300MiB/s\" }";
    let tables = fields.tables("change", example);
    if let Some(first_too_many) = tables.get(MOST_CHANGES) {
        problems.push(
            problems
                .error(Code::TooLarge, format!("budgets change {} times", tables.len()), &first_too_many.span)
                .label("one too many")
                .expected(format!("at most {MOST_CHANGES} changes")),
        );
        return Vec::new();
    }
    let change = |table: At<&Table>| {
        let fields = Fields::new(problems, table.value, table.span.clone(), "[[isolation.bandwidth.change]]");
        let at = fields.positive::<Duration>("at").and_then(|at| not_too_long(problems, at, "at"));
        let cores = core_budgets(&fields, platform);
        for (key, example) in [("at", "at = \"20ms\""), ("cores", "cores = { 0 = \"300MiB/s\" }")] {
            if !fields.has(key) {
                fields.missing(key, example);
            }
        }
        fields.finish();
        Some(Wish::new(BudgetChange { at: at?.value, cores }, table.span))
    };
    tables.into_iter().filter_map(change).collect()
}

fn core_of(problems: &Problems, entry: &Entry, platform: &Platform) -> Option<CoreId> {
    let count = platform.cores.len();
    let core = entry.key.parse::<u16>().ok().filter(|&core| usize::from(core) < count);
    if core.is_none() {
        problems.push(
            problems
                .error(
                    Code::NoSuchCore,
                    format!("there is no core `{}` on {}", clip(&entry.key), platform.name),
                    &entry.key_span,
                )
                .label("no such core")
                .expected(format!("0 to {}", count.saturating_sub(1))),
        );
    }
    core.map(CoreId)
}

fn dma(fields: &Fields<'_>) -> Vec<Wish<DmaMaster>> {
    let problems = fields.problems;
    let Some(table) = fields.table("dma", "dma = { camera = \"100MB/s\" }") else { return Vec::new() };
    let master = |entry: &Entry| {
        let rate = positive(problems, quantity::<Bandwidth>(problems, &entry.node, &entry.key)?, &entry.key)?;
        Some(Wish::new(DmaMaster { name: entry.key.clone(), rate: rate.value }, entry.key_span.clone()))
    };
    table.value.entries.iter().filter_map(master).collect()
}

/// A rate (`"900MiB/s"`), a share of the guaranteed bandwidth (`"25%"`), a weight (`"weight 3"`), or events in a
/// period (a whole number).
pub(super) fn budget(problems: &Problems, node: &Node, key: &str) -> Option<At<Budget>> {
    let span = node.span.clone();
    if matches!(node.value, Value::Integer(_)) {
        let events = integer(problems, node, key, 1, 1 << 40)?.value;
        return Some(At { value: Budget::Events(Events::new(events)), span });
    }
    let text = string(problems, node, key)?;
    if let Some(weight) = text.value.strip_prefix("weight ").and_then(|weight| weight.trim().parse().ok()) {
        return Some(At { value: Budget::Weight(weight), span });
    }
    if text.value.trim_end().ends_with('%') {
        return percents(problems, node, key).map(|share| At { value: Budget::Share(share), span });
    }
    let rate = quantity::<Bandwidth>(problems, node, key)?;
    if rate.value.is_zero() {
        problems.push(
            problems
                .error(Code::Zero, format!("`{key}` is zero: it could never run"), &span)
                .label("above zero")
                .expected("for example \"300MiB/s\""),
        );
        return None;
    }
    Some(At { value: Budget::Rate(rate.value), span })
}

/// Thousandths, also above one whole.
fn percents(problems: &Problems, node: &Node, key: &str) -> Option<u32> {
    let text = string(problems, node, key)?;
    match crate::units::SHARE.parse(text.value).ok().and_then(|raw| u32::try_from(raw).ok()) {
        Some(share) => Some(share),
        None => {
            let _ = parse_quantity::<solo_model::PerMille>(text.value);
            problems.push(
                problems
                    .error(
                        Code::NotAQuantity,
                        format!("`{key}` = \"{}\" is no share", clip(text.value)),
                        &text.span,
                    )
                    .label("not a share")
                    .expected("for example \"25%\""),
            );
            None
        }
    }
}
