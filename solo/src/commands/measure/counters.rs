//! `solo measure counters`: what the few counters of a chip say of a scenario when more events are asked for than it can
//! count at once. Sets of events take turns, one a period, and every sample names its set; the simulated machine knows what
//! really happened.

use crate::cli::MeasureCounters;
use crate::commands::run::chosen;
use crate::control::control;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::progress::Bars;
use serde::Serialize;
use solo_lab::Recordings;
use solo_lab::campaign::counters::{CountedEvent, FoundCounts, counters};
use solo_model::text::{Printable, counted};
use solo_model::{CoreId, Duration, EventId, EventTable, Experiment, Instant, Sample};
use solo_scenario::units::TIME;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Runs the scenario once and shows counts, estimates and what they are off by.
pub(crate) fn run(options: &MeasureCounters) -> Result<Exit, Failure> {
    let period = TIME.parse(&options.period).ok().filter(|period| *period > 0).ok_or_else(|| {
        let wanted = format!("expected a time above zero, for example {}", TIME.example);
        Failure::Usage(format!("--period {}: {wanted}", Printable(&options.period)))
    })?;
    let (scenario, experiment) =
        chosen(&options.scenario, options.variant.as_deref(), &options.instead, options.show.quiet)?;
    let table = &experiment.platform.events;
    let events = options.events.iter().map(|name| event(table, name)).collect::<Result<Vec<_>, _>>()?;
    let bars = Bars::new(options.show.quiet);
    let (period, recordings) = (Duration::new(period), Recordings::of_scenario(&scenario));
    let found = counters(&experiment, &recordings, &events, period, &control(&bars))?;
    let shown = Shown::of(&found, &experiment, period);
    if options.show.json {
        output::json(Document::Counters, &shown)?;
    } else {
        output::text(&shown.text(&experiment))?;
    }
    Ok(Exit::Held)
}

/// An event that the simulated machine counts.
fn event(table: &EventTable, name: &str) -> Result<EventId, Failure> {
    let found = table.simulated().map(|(event, _)| event).find(|event| table.name(*event) == name);
    found.ok_or_else(|| Failure::Unknown {
        what: "event",
        found: name.to_owned(),
        known: table.simulated().map(|(event, _)| table.name(event).to_owned()).collect(),
    })
}

#[derive(Serialize)]
struct Shown {
    platform: String,
    period_ns: Duration,
    /// The events of each set.
    sets: Vec<Vec<String>>,
    rows: Vec<Estimated>,
    samples: Vec<Named>,
}

#[derive(Serialize)]
struct Row {
    core: usize,
    /// None where a counter of its own counts the event all the time.
    set: Option<usize>,
    event: String,
    turns: usize,
    counted_ns: Duration,
}

#[derive(Serialize)]
struct Estimated {
    #[serde(flatten)]
    row: Row,
    counted: u64,
    /// Of the whole time, at the rate of its own turns; none without a turn.
    estimate: Option<u64>,
    /// What really happened.
    all: u64,
}

impl Estimated {
    fn of(found: &CountedEvent, table: &EventTable) -> Self {
        let row = Row {
            core: found.core.index(),
            set: found.set,
            event: table.name(found.event).to_owned(),
            turns: found.turns,
            counted_ns: found.time,
        };
        Self { row, counted: found.counted, estimate: found.estimate, all: found.all }
    }
}

/// A sample, which names its set.
#[derive(Serialize)]
struct Named {
    core: usize,
    set: usize,
    at_ns: Instant,
    span_ns: Duration,
    /// By the names of the events of its set.
    counts: BTreeMap<String, u64>,
}

impl Shown {
    fn of(found: &FoundCounts, experiment: &Experiment, period: Duration) -> Self {
        let table = &experiment.platform.events;
        let counts = |sample: &Sample| {
            let events = found.sets.get(usize::from(sample.set)).into_iter().flatten();
            let count = |event: &EventId| Some((table.name(*event).to_owned(), sample.counts.get(*event)?));
            events.filter_map(count).collect()
        };
        let named = |sample: &Sample| Named {
            core: sample.core().map_or(0, CoreId::index),
            set: sample.set.into(),
            at_ns: sample.at,
            span_ns: sample.span,
            counts: counts(sample),
        };
        let names = |set: &Vec<EventId>| set.iter().map(|event| table.name(*event).to_owned()).collect();
        Self {
            platform: experiment.platform.name.clone(),
            period_ns: period,
            sets: found.sets.iter().map(names).collect(),
            rows: found.rows.iter().map(|row| Estimated::of(row, table)).collect(),
            samples: found.samples.iter().map(named).collect(),
        }
    }

    fn text(&self, experiment: &Experiment) -> String {
        let pmu = &experiment.platform.pmu;
        let mut text = format!(
            "{}: {} of {} bits; a set of events counts for {}, then the next of {}\n\n",
            self.platform,
            counted(pmu.programmable, "programmable counter"),
            pmu.width,
            self.period_ns,
            self.sets.len()
        );
        let head = ["core", "set", "event", "turns", "counted for", "counted", "estimate", "all", "off by"];
        let [core, set, event, turns, time, counted, estimate, all, off] = head;
        let _ = writeln!(
            text,
            "{core:>4} {set:>5} {event:<20} {turns:>6} {time:>12} {counted:>12} {estimate:>12} {all:>12} {off:>8}"
        );
        for Estimated { row, counted, estimate, all } in &self.rows {
            let set = row.set.map_or_else(|| "fixed".to_owned(), |set| set.to_string());
            let off = match estimate {
                Some(estimate) if *all > 0 => {
                    format!("{:+.1} %", (*estimate as f64 / *all as f64 - 1.0) * 100.0)
                }
                _ => "-".to_owned(),
            };
            let estimate = estimate.map_or_else(|| "-".to_owned(), |estimate| estimate.to_string());
            let (core, event, turns, time) = (row.core, &row.event, row.turns, row.counted_ns.to_string());
            let _ = writeln!(
                text,
                "{core:>4} {set:>5} {event:<20} {turns:>6} {time:>12} {counted:>12} {estimate:>12} {all:>12} {off:>8}"
            );
        }
        text.push_str(
            "\nAn estimate supposes that events come while a set counts as often as while it does not.\n\
             Sets count at different times: what two of them say need not add up. `--json` has every sample with its set.\n",
        );
        text
    }
}
