//! `[power]`: what cores and memory draw, for the meter.
//!
//! ```toml
//! [power.a57]             # a kind of core; beside it, what events cost stands in its [cores.energy]
//! on     = "120mW @G"     # each core that runs a thread or the kernel
//! gated  = "5mW @G"       # each core that does neither
//! shared = "80mW @G"      # what these cores share, all the time
//!
//! [power.dram]
//! background = "100mW @G" # all the time
//! activate   = "10nJ @G"  # a row opened, and closed
//! read       = "5nJ @G"   # a line
//! write      = "5nJ @G"
//! refresh    = "100nJ @G" # a rank
//! ```

use super::sourced::Sourced;
use crate::code::Code;
use crate::diagnostic::clip;
use crate::fields::{At, Fields};
use crate::nearest::nearest;
use crate::units::Quantity;
use solo_model::check::{MOST_COST, MOST_POWER};
use solo_model::platform::CoreKind;
use solo_model::power::{ClusterPower, DramPower};
use solo_model::{Energy, EventTable, Power, PowerModel, Signal};
use std::fmt::Display;
use std::ops::Range;

/// The name of memory's table.
const DRAM: &str = "dram";

/// Reads `[power]`: nothing where there is none, `None` where it is wrong.
pub(super) fn read<'t>(
    top: &Fields<'t>,
    sourced: &Sourced<'t>,
    kinds: &[CoreKind],
    events: &EventTable,
) -> Option<Option<PowerModel>> {
    let Some(table) = top.table("power", "[power.big]") else { return (!top.has("power")).then_some(None) };
    let fields = Fields::new(top.problems, table.value, table.span.clone(), "power");
    let mut whole = true;
    for entry in fields.entries() {
        if entry.key != DRAM && !kinds.iter().any(|kind| kind.name == entry.key) {
            stranger(&fields, &entry.key, &entry.key_span, kinds);
            whole = false;
        }
    }
    let mut clusters = Vec::new();
    for kind in kinds {
        let place = fields.entries().iter().find(|entry| entry.key == kind.name);
        match place.map(|entry| entry.key.as_str()).and_then(|key| part(&fields, key)) {
            Some(own) => clusters.extend(cluster(own, sourced)),
            None if place.is_some() => {}
            None => missing(&fields, &kind.name),
        }
    }
    let dram = match fields.has(DRAM) {
        true => Some(part(&fields, DRAM).and_then(|own| dram(own, sourced))?),
        false => None,
    };
    if dram.is_some() && counted_twice(&fields, kinds, events) {
        return None;
    }
    (whole && clusters.len() == kinds.len()).then_some(Some(PowerModel { clusters, dram }))
}

/// One of its tables.
fn part<'t>(fields: &Fields<'t>, key: &'t str) -> Option<Fields<'t>> {
    let table = fields.table(key, &format!("[power.{key}]"))?;
    Some(Fields::new(fields.problems, table.value, table.span, format!("power of {key}")))
}

/// A meter for cores that are not there.
fn stranger(fields: &Fields<'_>, key: &str, span: &Range<usize>, kinds: &[CoreKind]) {
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name.as_str()).chain([DRAM]).collect();
    let label = match nearest(key, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => String::from("no core is of this kind"),
    };
    let headline = format!("there is a meter for `{}`, and no such core", clip(key));
    let error = fields.problems.error(Code::UnknownName, headline, span).label(label);
    fields.problems.push(error.help(format!("meters that there can be: {}", names.join(", "))));
}

/// A kind of core without a meter beside others that have one.
fn missing(fields: &Fields<'_>, kind: &str) {
    let headline = format!("cores of kind {kind} have no meter");
    let error = fields.problems.error(Code::MissingKey, headline, &fields.span);
    let help = format!("add [power.{kind}] with `on`, `gated` and `shared`, or take [power] away");
    fields.problems.push(error.label("each kind of core has a meter here, or none has").help(help));
}

/// What memory does would be counted by its own meter and as an event of a core.
fn counted_twice(fields: &Fields<'_>, kinds: &[CoreKind], events: &EventTable) -> bool {
    let of_memory = |signal: Signal| matches!(signal, Signal::DramRead | Signal::DramWrite);
    let costs = kinds.iter().flat_map(|kind| kind.energy.iter().map(move |(event, _)| (kind, *event)));
    let twice = costs
        .filter(|(_, event)| events.get(*event).and_then(|event| event.signal).is_some_and(of_memory))
        .map(|(kind, event)| (kind.name.as_str(), events.name(event)))
        .next();
    let Some((kind, event)) = twice else { return false };
    let headline = format!("`{event}` of {kind} costs energy, and memory has a meter of its own");
    let error = fields.problems.error(Code::Both, headline, &fields.span_of(DRAM));
    let help = format!("remove `{event}` from [cores.energy] of {kind}, or [power.dram]");
    fields.problems.push(error.label("would count it twice").help(help));
    true
}

fn cluster<'t>(fields: Fields<'t>, sourced: &Sourced<'t>) -> Option<ClusterPower> {
    let [on, gated, shared] = ["on", "gated", "shared"].map(|key| power(&fields, sourced, key));
    fields.finish();
    Some(ClusterPower { on: on?, gated: gated?, shared: shared? })
}

fn dram<'t>(fields: Fields<'t>, sourced: &Sourced<'t>) -> Option<DramPower> {
    let background = power(&fields, sourced, "background");
    let costs = ["activate", "read", "write", "refresh"];
    let [activate, read, write, refresh] = costs.map(|key| {
        let found = sourced.quantity::<Energy>(&fields, key);
        limited(&fields, found, key, MOST_COST)
    });
    fields.finish();
    let (activate, read, write, refresh) = (activate?, read?, write?, refresh?);
    Some(DramPower { activate, read, write, refresh, background: background? })
}

fn power<'t>(fields: &Fields<'t>, sourced: &Sourced<'t>, key: &'static str) -> Option<Power> {
    limited(fields, sourced.quantity::<Power>(fields, key), key, MOST_POWER)
}

fn limited<Q: Quantity + Ord + Copy + Display>(
    fields: &Fields<'_>,
    found: Option<At<Q>>,
    key: &str,
    most: Q,
) -> Option<Q> {
    let found = found?;
    if found.value > most {
        let headline = format!("`{key}` is {}", found.value);
        let error = fields.problems.error(Code::TooLarge, headline, &found.span);
        fields.problems.push(error.label("nothing here draws this").expected(format!("at most {most}")));
        return None;
    }
    Some(found.value)
}
