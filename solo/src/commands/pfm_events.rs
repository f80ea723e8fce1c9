//! libpfm4's tables in `solo events`.

use super::known::{Known, Mask};
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::output;
use solo_model::text::{Printable, counted};
use solo_perf::files::Host;
use solo_perf::pfm::{Event, NoCode, Pfm, Pmu};
use std::fmt::Write;

/// PMUs that stand for the kernel's own generic events, which the catalogue has.
const GENERIC: [&str; 2] = ["perf", "perf_raw"];

fn known(pmu: &Pmu, event: Event) -> Known {
    Known {
        name: event.name,
        aliases: Vec::new(),
        counted_by: format!("libpfm4 {}", pmu.name),
        meaning: event.description,
        masks: event.masks.into_iter().map(|(name, meaning)| Mask { name, meaning }).collect(),
    }
}

/// The events of PMUs that this machine has; none without the library.
pub(super) fn present() -> Vec<Known> {
    let Ok(pfm) = Pfm::get() else { return Vec::new() };
    let here = |pmu: &Pmu| pmu.present && !GENERIC.contains(&pmu.name.as_str());
    let events =
        |pmu: Pmu| pfm.events(&pmu).into_iter().map(move |event| known(&pmu, event)).collect::<Vec<_>>();
    pfm.pmus().into_iter().filter(here).flat_map(events).collect()
}

/// The unit masks of an event, a line each.
pub(super) fn masks(event: &Known, text: &mut String) {
    for Mask { name, meaning } in &event.masks {
        let _ = writeln!(text, "{:<26} {:<18} :{name}  {meaning}", "", "");
    }
}

/// Lists the events of a PMU, this machine's or not.
///
/// # Errors
/// No library, or no such PMU.
pub(super) fn list(name: &str, json: bool) -> Result<Exit, Failure> {
    let pfm = Pfm::get()?;
    let pmus = pfm.pmus();
    let Some(pmu) = pmus.iter().find(|pmu| pmu.name == name) else {
        let names: Vec<&str> = pmus.iter().map(|pmu| pmu.name.as_str()).collect();
        let version = pfm.version();
        return Err(Failure::Usage(format!(
            "libpfm4 {version} has no PMU `{}`; it has {}",
            Printable(name),
            names.join(", ")
        )));
    };
    let events: Vec<Known> = pfm.events(pmu).into_iter().map(|event| known(pmu, event)).collect();
    if json {
        output::list(Document::Events, "events", &events)?;
    } else {
        let here = if pmu.present { "on this machine" } else { "not on this machine" };
        let mut text = format!(
            "{} ({}), {here}: {} for any event, {} for one each\n",
            pmu.description,
            pmu.name,
            counted(pmu.counters, "counter"),
            pmu.fixed_counters
        );
        for event in &events {
            let _ = writeln!(text, "{:<44} {}", event.name, event.meaning);
            masks(event, &mut text);
        }
        output::text(&text)?;
    }
    Ok(Exit::Held)
}

/// Encodes every event of this machine's PMUs; says how many there were.
pub(super) fn validate(faults: &mut Vec<String>) -> String {
    let pfm = match Pfm::get() {
        Ok(pfm) => pfm,
        Err(error) => return format!("no events of libpfm4 ({error})"),
    };
    let (host, mut checked, mut without_unit) = (Host::new(), 0, 0);
    for event in present() {
        checked += 1;
        // Some events count nothing without a unit mask.
        let with = |mask: &Mask| pfm.code(&format!("{}:{}", event.name, mask.name), &host);
        let code = pfm.code(&event.name, &host);
        let Err(error) = code else { continue };
        if event.masks.iter().any(|mask| with(mask).is_ok()) {
            continue;
        }
        match error {
            // The tables may be right: nobody can tell here.
            NoCode::NoUnit(_) => without_unit += 1,
            NoCode::Refused(why) => faults.push(format!("{}: {why}", event.name)),
        }
    }
    let text = format!("{} of libpfm4 {}", counted(checked, "event"), pfm.version());
    match without_unit {
        0 => text,
        some => format!("{text} ({some} of units that this kernel does not offer)"),
    }
}
