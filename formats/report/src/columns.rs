//! The columns of the table of cores: each is told here, once, for the terminal and for pages.

use crate::report::{CoreReport, Report};
use crate::text;
use solo_model::{Bandwidth, EventId};

/// Where a column is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shown {
    /// Wherever the table is.
    Everywhere,
    /// In the terminal.
    Terminal,
    /// On pages.
    Page,
}

/// A column.
pub(crate) struct Column {
    /// Its title.
    pub(crate) name: &'static str,
    /// Where it is shown.
    pub(crate) shown: Shown,
    /// What it says of a core.
    pub(crate) text: fn(&Report, &CoreReport) -> String,
}

const fn column(name: &'static str, shown: Shown, text: fn(&Report, &CoreReport) -> String) -> Column {
    Column { name, shown, text }
}

/// The columns of the table of cores, from the left.
pub(crate) const CORES: &[Column] = &[
    column("core", Shown::Everywhere, |_, core| core.core.to_string()),
    column("ran", Shown::Terminal, occupants),
    column("busy", Shown::Everywhere, |report, core| text::percent(core.busy.get(), report.end.get())),
    column("switches", Shown::Everywhere, |_, core| core.switches.to_string()),
    column("IPIs", Shown::Everywhere, |_, core| core.ipis_received.to_string()),
    column("instr/cycle", Shown::Everywhere, |_, core| sampled(core, text::per_cycle(&core.counts))),
    column("LLC misses", Shown::Everywhere, |_, core| count(core, EventId::LLC_MISSES)),
    column("HITM", Shown::Everywhere, |_, core| count(core, EventId::SNOOP_HITM)),
    column("invalidations", Shown::Page, |_, core| count(core, EventId::INVALIDATIONS)),
    column("DRAM mean", Shown::Everywhere, |_, core| rate(core.bandwidth_mean())),
    column("DRAM peak", Shown::Everywhere, |_, core| rate(core.bandwidth_max())),
];

/// A dash for a core that was never sampled.
fn sampled(core: &CoreReport, text: String) -> String {
    if core.samples > 0 { text } else { "-".into() }
}

fn count(core: &CoreReport, event: EventId) -> String {
    sampled(core, text::count_or_dash(core.counts.get(event)))
}

fn rate(rate: Option<Bandwidth>) -> String {
    rate.map_or("-".into(), text::rate)
}

fn occupants(report: &Report, core: &CoreReport) -> String {
    let names = core.occupants.iter().filter_map(|occupant| report.tasks.get(occupant.task.index()));
    let mut names: Vec<&str> = names.map(|task| task.name.as_str()).collect();
    let rest = names.len().saturating_sub(3);
    names.truncate(3);
    let listed = names.join(", ");
    match (listed.is_empty(), rest) {
        (true, _) => "-".into(),
        (_, 0) => listed,
        (_, rest) => format!("{listed} +{rest}"),
    }
}
